"""What of the file system is inside: the arguments of bubblewrap for a policy, and the placeholders that they need.

Later mounts cover earlier ones: the readable rest, the private folders, what can be written, what is protected, what is
hidden. A mount point cannot be renamed or removed, but a folder above it can, so that every folder between a writable root
and a protected or hidden path is mounted onto itself.
"""

from __future__ import annotations

import fcntl
import os
import stat
import time

TYPE_CHECKING = False  # see launcher.py: what it imports costs at every command
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

__all__ = ["MountProblem", "Mounts", "is_below"]

PRIVATE = ("/tmp", "/var/tmp", "/dev/shm")  # noqa: S108 - these are covered, not used
# Of the process file system, what changes or shows the host. Every mount costs a tenth of a millisecond, so that what belongs to
# root, and what root alone may open, is covered for root alone.
_PROC_READ_ONLY = ("sys",)
_PROC_READ_ONLY_FOR_ROOT = (
    "irq", "bus", "fs", "acpi", "scsi", "driver", "tty", "sysrq-trigger", "mtrr", "timer_list",
)  # fmt: skip
_PROC_HIDDEN = ("keys", "key-users")
_PROC_HIDDEN_FROM_ROOT = ("kcore", "kmsg", "kpagecount", "kpageflags", "kpagecgroup", "vmallocinfo", "slabinfo")
_FILES_OF_GIT = ("config", "config.worktree", "attributes")
_PLACEHOLDER_DIR, _PLACEHOLDER_FILE = 0o555, 0o444


class MountProblem(Exception):
    """A path of the policy cannot be kept as the policy says."""


def is_below(path: str, folder: str) -> bool:
    """Return whether ``path`` is ``folder`` or lies in it."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")


class Mounts:
    """The mounts of one start. ``close`` takes the placeholders away again.

    Args:
        policy: the data of a resolved policy.
        cwd: the current folder of the command.
        shown: paths that the command line names, which stay in sight where a private folder would cover them.
        size: bytes of each private folder; ``None``: as much as the kernel gives.
    """

    def __init__(self, policy: Mapping[str, Any], cwd: str, shown: Sequence[str] = (), size: int | None = None) -> None:
        self.args: list[str] = []
        self._size = size
        self._held: list[tuple[str, int]] = []
        self._made_files: list[str] = []
        self._write = [path for path in policy["write"] if self._usable(path)]
        try:
            self._read(policy["read"])
            self._private(policy, cwd, shown)
            for root in sorted(self._write, key=len):
                self._add("--bind", root, root)
            files = [self._writable_file(path) for path in policy["write_files"]]
            guarded = self._guarded(policy["protect"])
            hidden = self._hidden(policy["hide"])
            self._pin([*guarded, *hidden, *files])
            for path in sorted(files, key=len):
                self._add("--bind", path, path)
            for path in sorted(guarded, key=len):
                self._add("--ro-bind", path, path)
            for path in sorted(hidden, key=len):
                self._hide(path)
            if "/" not in policy["read"]:
                self._add("--remount-ro", "/")
        except BaseException:
            self.close()
            raise

    def _add(self, *args: str) -> None:
        self.args += args

    @staticmethod
    def _usable(path: str) -> bool:
        if path == "/":
            raise MountProblem("write: / cannot be written as a whole; name folders")
        if not os.path.isdir(path):
            raise MountProblem(f"write: {path} is no folder")
        return True

    def _read(self, folders: Iterable[str]) -> None:
        folders = sorted(set(folders), key=len)
        if "/" in folders:
            self._add("--ro-bind", "/", "/")
        else:
            self._add("--tmpfs", "/")
            for path in folders:
                self._show(path)
        self._add("--dev", "/dev", "--proc", "/proc")
        root = os.getuid() == 0
        for name in (*_PROC_READ_ONLY, *(_PROC_READ_ONLY_FOR_ROOT if root else ())):
            if os.path.exists(f"/proc/{name}"):
                self._add("--ro-bind", f"/proc/{name}", f"/proc/{name}")
        for name in (*_PROC_HIDDEN, *(_PROC_HIDDEN_FROM_ROOT if root else ())):
            if os.path.exists(f"/proc/{name}"):
                self._add("--ro-bind", "/dev/null", f"/proc/{name}")

    def _show(self, path: str) -> None:
        """Show a readable path, with the links that lead to it."""
        for _ in range(20):
            link = _first_link(path)
            if link is None:
                break
            target = os.readlink(link)
            self._add("--symlink", target, link)
            path = os.path.normpath(os.path.join(os.path.dirname(link), target) + path[len(link) :])
        if os.path.exists(path):
            self._add("--ro-bind", path, path)

    def _private(self, policy: Mapping[str, Any], cwd: str, shown: Sequence[str]) -> None:
        for folder in PRIVATE:
            if os.path.isdir(folder) and not os.path.islink(folder):
                self._add("--perms", "1777", *(["--size", str(self._size)] if self._size else []), "--tmpfs", folder)
        self._add("--remount-ro", "/dev")
        wanted = [path for path in policy["read"] if path != "/"]
        if _covered((cwd,), policy["read"]):
            wanted += [path for path in (cwd, *shown) if path not in PRIVATE]
        for path in sorted(set(wanted), key=len):
            if any(is_below(path, folder) for folder in PRIVATE) and os.path.exists(path):
                self._add("--ro-bind", path, path)

    def _writable_file(self, path: str) -> str:
        """Return the path of a file that exists. Make an empty one where there is none."""
        if not os.path.lexists(path):
            try:
                os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW, 0o644))
            except OSError as error:
                raise MountProblem(f"write_files: {path} cannot be made: {error.strerror}") from None
            self._made_files.append(path)
        if not stat.S_ISREG(os.lstat(path).st_mode):
            raise MountProblem(f"write_files: {path} is no file")
        return path

    def _root_of(self, path: str) -> str | None:
        """Return the innermost writable folder around ``path``; ``None``: nobody inside could change the path."""
        roots = [root for root in self._write if is_below(path, root) and path != root]
        return max(roots, key=len, default=None)

    def _guarded(self, paths: Iterable[str]) -> list[str]:
        found: list[str] = []
        for given in paths:
            path = self._anchored(given.removesuffix("?"))
            found += [root for root in self._write if is_below(root, path)]
            root = self._root_of(path)
            if root is None:
                continue
            self._refuse_links("protect", path, root)
            at, reserve = _first_missing(path, root)
            if not reserve:
                found.append(at)
            elif not given.endswith("?"):
                found += self._reserve(at)
        return list(dict.fromkeys(found))

    def _hidden(self, paths: Iterable[str]) -> list[str]:
        found: list[str] = []
        for given in paths:
            path = self._anchored(given)
            root = self._root_of(path)
            if root is not None:
                self._refuse_links("hide", path, root)
            if os.path.exists(path):
                found += {path: None, os.path.realpath(path): None}
        return [path for path in dict.fromkeys(found) if _first_link(path) is None]

    def _anchored(self, path: str) -> str:
        """Return ``path`` with the links followed that nobody inside can change."""
        at = ""
        for part in os.path.normpath(path).strip("/").split("/"):
            at = f"{at}/{part}"
            if self._root_of(at) is None:
                at = os.path.realpath(at)
        return at

    @staticmethod
    def _refuse_links(key: str, path: str, root: str) -> None:
        """Raise where a link below ``root`` leads to ``path``: programs inside could replace the link."""
        link = _first_link(path)
        if link is not None and is_below(link, root):
            raise MountProblem(
                f"{key}: {link} is a link in a folder that can be written; name what it leads to, or remove it"
            )

    def _reserve(self, path: str) -> list[str]:
        """Make a placeholder at ``path``, or share that of another sandbox, and return where it is."""
        if not os.path.lexists(path) and not os.access(os.path.dirname(path), os.W_OK):
            return []  # who cannot make it outside cannot make it inside
        for _ in range(200):
            try:
                if _is_git_file(path):
                    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, _PLACEHOLDER_FILE))
                else:
                    os.mkdir(path, _PLACEHOLDER_DIR)
            except FileExistsError:
                pass
            try:
                fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
            except FileNotFoundError:
                continue
            try:
                fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
                if os.fstat(fd).st_ino == os.lstat(path).st_ino:
                    self._held.append((path, fd))
                    return [path]
            except (BlockingIOError, FileNotFoundError):
                time.sleep(0.01)  # another sandbox is just taking it away
            os.close(fd)
        raise MountProblem(f"protect: {path} cannot be reserved, another program holds it")

    def _pin(self, paths: Iterable[str]) -> None:
        pins: dict[str, None] = {}
        for path in paths:
            root = self._root_of(path)
            folder = os.path.dirname(path)
            while root is not None and folder != root:
                pins[folder] = None
                folder = os.path.dirname(folder)
        for folder in sorted(pins, key=len):
            self._add("--bind", folder, folder)

    def _hide(self, path: str) -> None:
        if os.path.isdir(path):
            self._add("--perms", "0000", "--tmpfs", path, "--remount-ro", path)
        else:
            self._add("--ro-bind", "/dev/null", path)

    def close(self) -> None:
        """Remove the placeholders that no other sandbox uses, and the files that stayed empty."""
        for path, fd in reversed(self._held):
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                found = os.fstat(fd)
                if stat.S_ISDIR(found.st_mode) and stat.S_IMODE(found.st_mode) == _PLACEHOLDER_DIR:
                    os.rmdir(path)
                elif stat.S_IMODE(found.st_mode) == _PLACEHOLDER_FILE and found.st_size == 0:
                    os.unlink(path)
            except OSError:
                pass  # another sandbox uses it
            os.close(fd)
        self._held.clear()
        for path in self._made_files:
            try:
                if os.lstat(path).st_size == 0:
                    os.unlink(path)
            except OSError:
                pass  # it is gone already
        self._made_files.clear()


def _covered(paths: Iterable[str], folders: Iterable[str]) -> bool:
    return all(any(is_below(path, folder) for folder in folders) for path in paths)


def _first_link(path: str) -> str | None:
    """Return the first part of ``path`` that is a symbolic link."""
    at = ""
    for part in path.strip("/").split("/"):
        at = f"{at}/{part}"
        if os.path.islink(at):
            return at
    return None


def _is_git_file(path: str) -> bool:
    """Return whether git reads an empty file at ``path`` as if there were none, and an empty folder as an error."""
    *folders, name = path.split("/")
    return ".git" in folders and name in _FILES_OF_GIT


def _first_missing(path: str, root: str) -> tuple[str, bool]:
    """Return the first part of ``path`` below ``root`` that is missing or a placeholder, and true.

    Else return what is there, and false. Where a file stands instead of a folder (``.git`` of a worktree), that file is what is
    there.
    """
    at = root
    for part in path[len(root) :].strip("/").split("/"):
        at = os.path.join(at, part)
        try:
            found = os.lstat(at)
        except FileNotFoundError:
            return at, True
        mode = stat.S_IMODE(found.st_mode)
        if stat.S_ISDIR(found.st_mode):
            if mode == _PLACEHOLDER_DIR and not os.listdir(at):
                return at, True
        else:
            return at, _is_git_file(at) and mode == _PLACEHOLDER_FILE and found.st_size == 0
    return path, False
