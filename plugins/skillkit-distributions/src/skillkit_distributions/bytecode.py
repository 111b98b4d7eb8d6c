"""Bytecode that Python would run in place of a source file, compared with the source."""

from __future__ import annotations

import marshal
from collections.abc import Iterator
from importlib.util import MAGIC_NUMBER, cache_from_source
from pathlib import Path

__all__ = ["foreign_bytecode"]

_HEAD = 16
_HASH_BASED, _CHECKED = 1, 2


def foreign_bytecode(sources: Iterator[Path]) -> Iterator[Path]:
    """Yield the cached bytecode of ``sources`` that counts for Python, and was not compiled from its source."""
    for source in sources:
        for level in ("", "1", "2"):
            cached = Path(cache_from_source(str(source), optimization=level))
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
