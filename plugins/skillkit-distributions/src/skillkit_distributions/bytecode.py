"""Bytecode that Python would run in place of a source file, and methods of dataclasses that the core keeps beside it, compared
with their source.
"""

from __future__ import annotations

import marshal
import sys
from collections.abc import Iterator
from importlib.util import MAGIC_NUMBER, cache_from_source
from pathlib import Path
from zlib import crc32

__all__ = ["foreign_bytecode"]

_HEAD = 16
_HASH_BASED, _CHECKED = 1, 2
_COMPILED = {"collections": "eval", "dataclasses": "exec"}  # what skillkit_core.host.methods keeps


def foreign_bytecode(sources: Iterator[Path]) -> Iterator[Path]:
    """Yield the cached bytecode of ``sources`` that counts for Python, and was not compiled from its source."""
    for source in sources:
        for level in ("", "1", "2"):
            cached = Path(cache_from_source(str(source), optimization=level))
            for module, mode in _COMPILED.items():
                kept = cached.with_name(f"{cached.name}.{module}")
                if kept.exists() and not _made_of_their_texts(kept, mode, int(level or 0)):
                    yield kept
            try:
                data = cached.read_bytes()
                if not _counts(data, source):
                    continue
                same = marshal.loads(data[_HEAD:]) == compile(  # noqa: S302 - it is compared, and never run
                    source.read_bytes(), str(source), "exec", dont_inherit=True, optimize=int(level or 0)
                )
            except OSError:
                continue
            except (EOFError, SyntaxError, TypeError, ValueError):
                same = False
            if not same:
                yield cached


def _made_of_their_texts(kept: Path, mode: str, level: int) -> bool:
    """Return whether each code in a file of ``skillkit_core.host.methods`` is that of its text."""
    try:
        python, check, data = marshal.loads(kept.read_bytes())  # noqa: S302 - it is compared, and never run
        if python != sys.version:
            return True  # it does not count
        if check != crc32(data):
            return False
        places, records = marshal.loads(data)  # noqa: S302
        pairs = (marshal.loads(records[place:]) for place in dict(places).values())  # noqa: S302
        return all(code == compile(text, "<string>", mode, dont_inherit=True, optimize=level) for text, code in pairs)
    except (OSError, EOFError, SyntaxError, TypeError, ValueError):
        return False


def _counts(data: bytes, source: Path) -> bool:
    """Return whether Python takes the bytecode without looking at the source again."""
    if data[:4] != MAGIC_NUMBER:
        return False
    flags = int.from_bytes(data[4:8], "little")
    if flags & _HASH_BASED:
        return not flags & _CHECKED
    found = source.stat()
    stamp = (int(found.st_mtime) & 0xFFFFFFFF, found.st_size & 0xFFFFFFFF)
    return (int.from_bytes(data[8:12], "little"), int.from_bytes(data[12:16], "little")) == stamp
