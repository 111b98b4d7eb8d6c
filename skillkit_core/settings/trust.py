"""Trusted folders: nothing from a project counts before the user has seen what it brings, and while that is as it was."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from os.path import dirname, isdir, join, lexists, realpath, relpath
from stat import S_ISREG
from typing import Any

from ..errors import ConfigError
from .documents import open_regular

PROJECT_CONFIG = join(".skillkit", "config.yaml")


class Trust:
    """The user's list of trusted folders by their real paths, a JSON file in the data directory.

    With each folder the list keeps the files and folders that count there, and a digest of the content of each.
    """

    def __init__(self, data_dir: str | os.PathLike[str]) -> None:
        self.path = join(data_dir, "trusted.json")

    def folders(self) -> list[str]:
        """Return the trusted folders, sorted.

        Raises:
            ConfigError: the file cannot be read, or is damaged.
        """
        return sorted(self._read())

    def parts(self, folder: str | os.PathLike[str]) -> set[str] | None:
        """Return the parts of a trusted folder that the user has seen, ``None`` when any content counts."""
        _, record = self._find(realpath(folder))
        return None if record is None else set(record["parts"])

    def changed(self, folder: str | os.PathLike[str]) -> list[str] | None:
        """Return what is not as it was when ``folder``, or a folder above it, was trusted. ``None``: it never was.

        A folder below a trusted one must be trusted itself as soon as it holds such parts of its own.
        """
        real = realpath(folder)
        here, record = self._find(real)
        if here is None or record is None:
            return None if here is None else []
        parts = record["parts"]
        if here != real:
            return [part for part in parts if lexists(join(real, part))]
        if not parts:
            return [PROJECT_CONFIG]
        if (stamp := _stamp(real, parts)) == record["stamp"]:
            return []
        changed = [part for part, digest in parts.items() if _digest(join(real, part)) != digest]
        if not changed:
            # Without the new stamp the next start compares contents again.
            with suppress(ConfigError):
                self._write({**self._read(), real: {"parts": parts, "stamp": stamp}})
        return changed

    def _find(self, real: str) -> tuple[str | None, Any]:
        """Return the trusted folder at or above a real path, and its record."""
        kept = self._read()
        here = real
        while kept and here not in kept:
            above = dirname(here)
            if above == here:
                break
            here = above
        return (here, kept[here]) if here in kept else (None, None)

    def is_trusted(self, folder: str | os.PathLike[str]) -> bool:
        """Return whether ``folder`` or a folder above it is trusted, and what counts there is as it was."""
        return self.changed(folder) == []

    def look(self, folder: str | os.PathLike[str], parts: Iterable[str]) -> dict[str, Any]:
        """Return what :meth:`add` keeps of the files and folders that count in ``folder``, as they are now."""
        digests = {part: _digest(join(folder, part)) for part in sorted(parts)}
        return {"parts": digests, "stamp": _stamp(os.fspath(folder), digests)}

    def add(self, folder: str | os.PathLike[str], seen: dict[str, Any] | None = None) -> str:
        """Trust ``folder`` and return its real path.

        Args:
            seen: the content that counts, from :meth:`look`; ``None``: any content counts, also after a change.
        """
        real = realpath(folder)
        self._write({**self._read(), real: seen})
        return real

    def remove(self, folder: str | os.PathLike[str]) -> bool:
        """Stop trusting ``folder``, and return whether the list held ``folder`` itself."""
        kept = self._read()
        if kept.pop(realpath(folder), self) is self:
            return False
        self._write(kept)
        return True

    def _read(self) -> dict[str, Any]:
        try:
            with open_regular(self.path) as file:
                text = file.read()
        except (FileNotFoundError, NotADirectoryError):
            return {}
        except OSError as error:
            raise ConfigError(f"cannot be read: {error.strerror}", where=self.path) from None
        import json

        try:
            found = json.loads(text)
            # A list is of a release that kept no digests: each folder must be trusted again.
            if isinstance(found, list):
                found = {os.fspath(folder): {"parts": {}, "stamp": ""} for folder in found}
            for record in found.values():
                _ = record is None or record["stamp"] + "".join(record["parts"].values())
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise ConfigError(f"cannot be read: {error}", where=self.path, hint="repair or remove it") from None
        return dict(found)

    def _write(self, kept: dict[str, Any]) -> None:
        import json

        from .documents import write_whole

        try:
            write_whole(self.path, json.dumps(kept, indent=1, sort_keys=True) + "\n")
        except OSError as error:
            raise ConfigError(f"cannot be written: {error.strerror}", where=self.path) from None


def _files(path: str) -> Iterator[str]:
    """Return the files at and below ``path``, also those behind links, in the order of their names."""
    if not isdir(path):
        if lexists(path):
            yield path
        return
    seen: set[str] = set()
    for folder, folders, names in os.walk(path, followlinks=True):
        folders[:] = [] if (real := realpath(folder)) in seen else sorted(folders)
        seen.add(real)
        yield from (join(folder, name) for name in sorted(names))


def _stamp(folder: str, parts: Iterable[str]) -> str:
    """Return what shows without reading a file that none of the ``parts`` of ``folder`` changed."""
    return _sum(f"{file}\0{_state(file)}" for part in parts for file in _files(join(folder, part)))


def _digest(path: str) -> str:
    """Return a digest of the content of a file, or of all files of a folder."""
    return _sum(f"{relpath(file, path)}\0{content}" for file in _files(path) if (content := _content(file)))


def _sum(lines: Iterable[str]) -> str:
    from hashlib import blake2b

    total = blake2b(digest_size=16)
    for line in lines:
        total.update(line.encode(errors="surrogateescape") + b"\n")
    return total.hexdigest()


def _state(path: str) -> list[int]:
    try:
        stat = os.stat(path)
    except OSError:
        return []
    return [stat.st_mode, stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns]


def _content(path: str) -> str:
    """Return a digest of one file, nothing for byte code that Python compares with its source by itself."""
    from hashlib import blake2b

    try:
        # Reading a pipe or a device would wait for ever.
        if not S_ISREG(os.stat(path).st_mode):
            return "no file"
        with open(path, "rb") as file:
            data = file.read()
    except OSError:
        return "unreadable"
    if "__pycache__" in path and path.endswith(".pyc") and data[4:8] == bytes(4):
        return ""
    return blake2b(data, digest_size=16).hexdigest()
