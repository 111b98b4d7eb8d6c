"""The code of the methods of dataclasses and named tuples from files: Python compiles it anew in every process.

A file stands beside the byte code of this module and holds each text with its code: it may be old, and is never wrong. As with
byte code, who can write there writes it, and all read it. One that is broken, from another Python, or that everybody may write
does not count.
"""

import atexit
import marshal
import os
import sys
from binascii import crc32
from contextlib import suppress
from importlib import import_module
from typing import Any

from ..settings.documents import open_regular, write_whole

_MOST = 5_000  # texts; with more, a file is begun anew


def remember_methods(module: str, name: str) -> None:
    """Let a module run its texts by a function ``name``, ``exec`` or ``eval``, that compiles none twice on this machine."""
    space = vars(import_module(module))
    if name not in space and __spec__ is not None and __spec__.cached is not None:
        space[name] = _Compiled(f"{__spec__.cached}.{module}", name)


class _Compiled:
    def __init__(self, path: str, mode: str) -> None:
        self._path, self._mode, self._run = path, mode, {"exec": exec, "eval": eval}[mode]
        self._places: dict[int, int] = {}
        self._old, self._new = memoryview(b""), dict[int, bytes]()
        with suppress(OSError, EOFError, ValueError, TypeError), open_regular(path) as file:
            modes = os.fstat(file.fileno()).st_mode | os.stat(os.path.dirname(path)).st_mode
            if os.name != "posix" or not modes & 0o002:
                python, check, kept = marshal.loads(file.read())  # noqa: S302 - from where Python imports code, too
                if python == sys.version and check == crc32(kept):
                    self._places, records = marshal.loads(kept)  # noqa: S302
                    self._old = memoryview(records)
        if not sys.dont_write_bytecode:
            atexit.register(self._keep)

    def __call__(self, source: str, *names: Any) -> Any:
        key, code = crc32(source.encode()) | len(source) << 32, None
        if key in self._places:
            text, code = marshal.loads(self._old[self._places[key] :])  # noqa: S302
            code = code if text == source else None
        if code is None:
            code = compile(source, "<string>", self._mode, dont_inherit=True)
            self._new[key] = marshal.dumps((source, code))
        return self._run(code, *names)

    def _keep(self) -> None:
        if self._new:
            keeps = len(self._places) < _MOST
            places, records = (dict(self._places), bytearray(self._old)) if keeps else (dict[int, int](), bytearray())
            for key, record in self._new.items():
                places[key] = len(records)
                records += record
            kept = marshal.dumps((places, bytes(records)))
            with suppress(OSError):
                write_whole(self._path, marshal.dumps((sys.version, crc32(kept), kept)))
