"""A folder whose files are opened by descriptor, and nothing outside of it.

The real path decides whether a path is inside: ``realpath`` follows all links first. Then every folder on the way is opened
by the descriptor of the one before, without following links, so that a link that is swapped in between leads nowhere.
"""

from __future__ import annotations

import difflib
import errno
import os
import stat
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Literal

from skillkit_core import ToolError

__all__ = ["MAX_BYTES", "FileError", "Folder", "Snapshot", "digest_of", "shown"]

Code = Literal[
    "not_found", "exists", "is_directory", "not_directory", "outside_root", "no_match", "ambiguous", "invalid", "overlap",
    "conflict", "binary", "encoding", "too_large", "permission", "unsupported",
]  # fmt: skip

MAX_BYTES = 64 * 1024 * 1024
"""Most bytes of a file that is changed as text."""

_STEP = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
_MOST_NAMES = 2_000  # names of a folder among which a close one is looked for


class FileError(ToolError):
    """A failure that the model reads.

    Attributes:
        code: the class of the failure.
        text: the whole text, which may have several lines.
    """

    def __init__(self, code: Code, text: str) -> None:
        super().__init__(text)
        self.code = code
        self.text = text


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A file as it was found.

    Attributes:
        info: what the system says of the file.
        digest: SHA-256 of the content; ``None``: too large to look at.
        data: the content; ``None``: too large to hold.
        link: the target, for a link that is meant itself.
    """

    info: os.stat_result
    digest: str | None = None
    data: bytes | None = None
    link: str | None = None

    @property
    def mode(self) -> int:
        """The permission bits."""
        return stat.S_IMODE(self.info.st_mode)


def digest_of(data: bytes) -> str:
    """Return the digest by which a content is known."""
    return sha256(data).hexdigest()


def shown(path: str) -> str:
    """Return a name for people and models: as it is, or quoted when it holds what must not be sent raw."""
    if path.isprintable() and '"' not in path:
        return path
    out = []
    for char in path:
        if char in '"\\':
            out.append(f"\\{char}")
        elif char.isprintable():
            out.append(char)
        elif "\udc80" <= char <= "\udcff":
            out.append(f"\\x{ord(char) - 0xDC00:02x}")
        else:
            out.append({"\n": "\\n", "\r": "\\r", "\t": "\\t"}.get(char, f"\\u{ord(char):04x}"))
    return f'"{"".join(out)}"'


class Folder:
    """A folder, its files and the folders below.

    Args:
        root: the folder; links on the way to it are followed once, here.
    """

    def __init__(self, root: str | os.PathLike[str]) -> None:
        self.root = os.path.realpath(root)

    def locate(self, path: str, *, last: bool = True) -> str:
        """Return the real path relative to the root; empty for the root itself.

        Args:
            path: as it was given: relative to the root, or absolute.
            last: follow the path's last part when that is a link.

        Raises:
            FileError: the path is no path, or leads outside.
        """
        if not path:
            raise FileError("invalid", "the path is empty")
        if "\0" in path:
            raise FileError("invalid", f"{shown(path)} is no path: it has a NUL character")
        full = path if path.startswith("/") else f"{self.root.rstrip('/')}/{path}"
        if (path == "~" or path.startswith("~/")) and not os.path.lexists(f"{self.root}/~"):
            raise FileError("outside_root", f"{shown(path)}: ~ is not expanded; name a path below {shown(self.root)}")
        try:
            parent, _, name = full.rstrip("/").rpartition("/")
            if last or name in ("", ".", ".."):
                real = os.path.realpath(full)
            else:
                real = f"{os.path.realpath(parent or '/').rstrip('/')}/{name}"
        except (ValueError, UnicodeError):
            raise FileError("invalid", f"{shown(path)} is no path") from None
        if real == self.root:
            return ""
        base = self.root.rstrip("/") + "/"
        if not real.startswith(base):
            raise FileError("outside_root", f"{shown(path)} is outside of {shown(self.root)}")
        if path.endswith("/") and not Path(real).is_dir():
            raise FileError("not_directory" if os.path.lexists(real) else "not_found", f"{shown(path)} is no folder")
        return real[len(base) :]

    @contextmanager
    def folder(self, rel: str, *, made: list[str] | None = None) -> Iterator[int]:
        """Open a folder below the root, and yield its descriptor.

        Args:
            rel: what :meth:`locate` returned.
            made: make folders that are missing, and add their paths here.
        """
        fd = os.open(self.root, _STEP)
        try:
            done = ""
            for part in rel.split("/") if rel else ():
                done = f"{done}/{part}" if done else part
                try:
                    step = os.open(part, _STEP, dir_fd=fd)
                except FileNotFoundError:
                    if made is None:
                        raise
                    os.mkdir(part, dir_fd=fd)
                    made.append(done)
                    step = os.open(part, _STEP, dir_fd=fd)
                os.close(fd)
                fd = step
            yield fd
        except OSError as error:
            raise self.error(error, rel) from error
        finally:
            os.close(fd)

    @contextmanager
    def parent(self, rel: str, *, made: list[str] | None = None) -> Iterator[tuple[int, str]]:
        """Open the folder that holds a file, and yield its descriptor and the file's name; ``made`` as in :meth:`folder`."""
        where, _, name = rel.rpartition("/")
        with self.folder(where, made=made) as fd:
            try:
                yield fd, name
            except OSError as error:
                raise self.error(error, rel) from error

    @contextmanager
    def open(self, rel: str) -> Iterator[tuple[int, os.stat_result]]:
        """Open a regular file for reading, and yield its descriptor and what the system says of it.

        Raises:
            FileError: there is no such file, it is none, or it may not be read.
        """
        if not rel:
            raise FileError("is_directory", f"{shown(self.root)} is a folder; use ls")
        with self.parent(rel) as (folder, name):
            fd = os.open(name, os.O_RDONLY | _FILE, dir_fd=folder)
            try:
                info = os.fstat(fd)
                self.require_file(info, rel)
                yield fd, info
            finally:
                os.close(fd)

    def require_file(self, info: os.stat_result, rel: str) -> None:
        """Raise :class:`FileError` unless ``info`` is that of a regular file."""
        if stat.S_ISDIR(info.st_mode):
            raise FileError("is_directory", f"{shown(rel)} is a folder; use ls")
        if not stat.S_ISREG(info.st_mode):
            raise FileError("unsupported", f"{shown(rel)} is no regular file (a pipe, a socket or a device)")

    def snapshot(self, rel: str, *, link: bool = False) -> Snapshot | None:
        """Return a file as it is now; ``None``: there is none. The content is there up to :data:`MAX_BYTES`.

        Args:
            rel: what :meth:`locate` returned.
            link: a link is meant itself.
        """
        try:
            if link:
                with self.parent(rel) as (folder, name):
                    info = os.stat(name, dir_fd=folder, follow_symlinks=False)
                    if stat.S_ISLNK(info.st_mode):
                        return Snapshot(info, link=os.readlink(name, dir_fd=folder))
            with self.open(rel) as (fd, info):
                if info.st_size > MAX_BYTES:
                    return Snapshot(info)
                data = read_all(fd, MAX_BYTES + 1)
                return Snapshot(info, digest_of(data), data)
        except FileError as error:
            if error.code == "not_found":
                return None
            raise

    def names(self, rel: str) -> list[tuple[str, str]]:
        """Return the names in a folder, sorted, each with its kind: ``folder``, ``file``, ``other`` or the target of a link."""
        with self.folder(rel) as fd:
            listing = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=fd)
            try:
                found = []
                with os.scandir(listing) as entries:
                    for entry in entries:
                        kind = "other"
                        if entry.is_symlink():
                            kind = "-> " + os.readlink(entry.name, dir_fd=listing)
                        elif entry.is_dir(follow_symlinks=False):
                            kind = "folder"
                        elif entry.is_file(follow_symlinks=False):
                            kind = "file"
                        found.append((entry.name, kind))
                return sorted(found)
            finally:
                os.close(listing)

    def missing(self, rel: str) -> FileError:
        """Return the error for a file that is not there, with names that come close."""
        where, _, name = rel.rpartition("/")
        close: list[str] = []
        try:
            names = [n for n, _ in self.names(where)][:_MOST_NAMES]
        except FileError:
            names = []
        same = [n for n in names if fold(n) == fold(name) and n != name]
        close = same or difflib.get_close_matches(name, names, n=3, cutoff=0.7)
        text = f"{shown(rel)} does not exist"
        if close:
            text += "; did you mean " + " or ".join(shown(f"{where}/{n}" if where else n) for n in close) + "?"
        return FileError("not_found", text)

    def error(self, error: OSError, rel: str) -> FileError:
        """Return what an error of the system means for a model."""
        name, reason = shown(rel or "."), error.strerror or str(error)
        if isinstance(error, FileNotFoundError):
            return self.missing(rel) if rel else FileError("not_found", f"the folder {shown(self.root)} is gone")
        if isinstance(error, NotADirectoryError):
            if self._has_link(rel):
                return FileError("outside_root", f"{name} was replaced by a link while it was opened; try again")
            return FileError("not_directory", f"{name}: a file stands where a folder is needed")
        if isinstance(error, FileExistsError):
            return FileError("exists", f"{name} exists already")
        if isinstance(error, IsADirectoryError):
            return FileError("is_directory", f"{name} is a folder")
        if isinstance(error, PermissionError):
            return FileError("permission", f"{name}: {reason}")
        if error.errno == errno.ELOOP:
            return FileError("invalid", f"{name} is a link that leads nowhere, or was swapped for one; try again")
        if error.errno in (errno.ENXIO, errno.ENODEV):
            return FileError("unsupported", f"{name} is no regular file")
        if error.errno in (errno.ENOSPC, errno.EFBIG, errno.EDQUOT):
            return FileError("too_large", f"{name} cannot be written: {reason}")
        if error.errno == errno.EROFS:
            return FileError("permission", f"{name}: {reason}")
        return FileError("invalid", f"{name}: {reason}")

    def _has_link(self, rel: str) -> bool:
        parts = rel.split("/")
        return any(Path(self.root, *parts[: n + 1]).is_symlink() for n in range(len(parts)))


def fold(name: str) -> str:
    """Return a name without what people overlook: case, and how accents are composed."""
    return unicodedata.normalize("NFC", name).casefold()


def read_all(fd: int, most: int) -> bytes:
    """Return what a descriptor has, up to ``most`` bytes."""
    parts: list[bytes] = []
    while most > 0 and (part := os.read(fd, min(most, 1 << 20))):
        parts.append(part)
        most -= len(part)
    return b"".join(parts)


def write_all(fd: int, data: bytes) -> None:
    """Write all of ``data``."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]
