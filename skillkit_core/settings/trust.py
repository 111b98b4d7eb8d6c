"""Trusted folders: nothing from a project counts before the user has seen what it brings, and while that is as it was."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from os.path import dirname, isdir, join, lexists, realpath, relpath
from stat import S_ISREG
from typing import Any

from ..errors import ConfigError
from .documents import open_regular

PROJECT_CONFIG = join(".skillkit", "config.yaml")
MOST_KEPT = 256 * 1024
"""Most bytes of a file whose text is kept, so that a difference can be shown."""


class Trust:
    """The user's list of trusted folders by their real paths, a JSON file in the data directory.

    With each folder the list keeps the parts (files and folders) that count there, and a digest of each file in them. The texts
    lie beside the list under their digests.
    """

    def __init__(self, data_dir: str | os.PathLike[str]) -> None:
        self.path = join(data_dir, "trusted.json")
        self._texts = join(data_dir, "trusted")

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
        """Return the files that are not as they were when ``folder``, or a folder above it, was trusted. ``None``: it never was.

        A folder below a trusted one must be trusted itself as soon as it holds such parts of its own, which are returned.
        """
        real = realpath(folder)
        here, record = self._find(real)
        if here is None or record is None:
            return None if here is None else []
        parts, files = record["parts"], record["files"]
        if here != real:
            return [part for part in parts if lexists(join(real, part))]
        if not parts:
            return [PROJECT_CONFIG]
        if (stamp := _stamp(real, parts)) == record["stamp"]:
            return []
        now = _digests(real, parts)
        changed = sorted(file for file in {*now, *files} if now.get(file) != files.get(file))
        if not changed:
            # Without the new stamp the next start compares contents again.
            with suppress(ConfigError):
                self._write({**self._read(), real: {**record, "stamp": stamp}})
        return changed

    def _find(self, real: str) -> tuple[str | None, Any]:
        """Return the trusted folder at or above a real path, and its record."""
        kept = self._read()
        here = real
        while here not in kept and dirname(here) != here:
            here = dirname(here)
        return (here, kept[here]) if here in kept else (None, None)

    def is_trusted(self, folder: str | os.PathLike[str]) -> bool:
        """Return whether ``folder`` or a folder above it is trusted, and what counts there is as it was."""
        return self.changed(folder) == []

    def seen(self, folder: str | os.PathLike[str], file: str) -> str | None:
        """Return the text of a file of a trusted folder as it was seen; ``None``: it was not there, or is no short text."""
        here, record = self._find(realpath(folder))
        if here != realpath(folder) or record is None or file not in record["files"]:
            return None
        with suppress(OSError, UnicodeDecodeError), open(join(self._texts, record["files"][file]), "rb") as kept:
            return kept.read().decode()
        return None

    def files(self, folder: str | os.PathLike[str]) -> set[str]:
        """Return the files of a trusted folder that the user has seen; of a folder below one none."""
        here, record = self._find(realpath(folder))
        return set(record["files"]) if here == realpath(folder) and record is not None else set()

    def look(self, folder: str | os.PathLike[str], parts: Iterable[str]) -> dict[str, Any]:
        """Return what :meth:`add` keeps of the files and folders that count in ``folder``, as they are now."""
        named = sorted(parts)
        return {"parts": named, "files": _digests(os.fspath(folder), named), "stamp": _stamp(os.fspath(folder), named)}

    def add(
        self, folder: str | os.PathLike[str], seen: dict[str, Any] | None = None, refused: Iterable[str] = ()
    ) -> str:
        """Trust ``folder`` and return its real path.

        Args:
            seen: the content that counts, from :meth:`look`; ``None``: any content counts, also after a change.
            refused: files among it that count only as they were before, if they did.
        """
        real = realpath(folder)
        kept = self._read()
        if seen is not None:
            before = (kept.get(real) or {"files": {}})["files"]
            as_before = {file: before[file] for file in refused if file in before}
            files = {file: digest for file, digest in seen["files"].items() if file not in set(refused)}
            seen = {**seen, "files": {**files, **as_before}, "stamp": "" if refused else seen["stamp"]}
            self._keep(real, files)
        self._write({**kept, real: seen})
        return real

    def _keep(self, real: str, files: Mapping[str, str]) -> None:
        """Keep the texts of short files under their digests. Without one a later change is told, and not shown."""
        from .documents import write_whole

        for file, digest in files.items():
            kept = join(self._texts, digest)
            with suppress(OSError, UnicodeDecodeError):
                if not lexists(kept) and os.stat(join(real, file)).st_size <= MOST_KEPT:
                    with open_regular(join(real, file)) as opened:
                        text = opened.read().decode()
                    if _content(join(real, file)) == digest:
                        write_whole(kept, text)

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
            # Releases before kept no digests of files: each folder must be trusted again.
            if isinstance(found, list):
                found = {os.fspath(folder): {} for folder in found}
            for folder, record in found.items():
                if record is not None and "files" not in record:
                    found[folder] = {"parts": [], "files": {}, "stamp": ""}
                elif record is not None:
                    _ = "".join((record["stamp"], *record["parts"], *record["files"].values()))
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


def _digests(folder: str, parts: Iterable[str]) -> dict[str, str]:
    """Return a digest of the content of every file in the ``parts`` of ``folder``, by its path there."""
    files = {relpath(file, folder): _content(file) for part in parts for file in _files(join(folder, part))}
    return {file: content for file, content in files.items() if content}


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
