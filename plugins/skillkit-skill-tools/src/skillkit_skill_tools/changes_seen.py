"""How folders of skills look at one moment: the files that say what a skill is, and the folders in which one may appear."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["Look", "is_remote", "look", "says", "skipped", "within"]

MAX_DEPTH = 6
MAX_FOLDERS = 2000
_ABOVE = 2  # folders above a root in which the root, or what holds it, may come and go
_SKIPPED = frozenset(("node_modules", "__pycache__"))
_CARRIERS = frozenset(("agents", ".claude-plugin"))  # folders beside a SKILL.md, or of a plugin, that say more
_SCRATCH = re.compile(
    r"\.#|#.*#\Z|.*(?:~|\.sw[a-z]|\.tmp|\.bak|\.orig)\Z|4913\Z|\.goutputstream-"
)  # what editors leave for a moment
_REMOTE = re.compile(
    r"nfs|cifs|smb|9p|afs|ceph|gluster|lustre|sshfs|s3fs|rclone|grpcfuse|osxfs|virtiofs|vboxsf|drvfs|davfs"
)
Stamp = tuple[int, ...] | None
Key = tuple[int, int]


@dataclass(slots=True)
class Look:
    """What was seen.

    Attributes:
        files: each file that counts, with what changes when it is written; ``None``: it cannot be read.
        folders: each folder to watch, by device and inode: its path, and the names in it that matter (``None``: all).
    """

    files: dict[str, Stamp] = field(default_factory=dict)
    folders: dict[Key, tuple[str, frozenset[str] | None]] = field(default_factory=dict)

    def watch(self, path: str, name: str | None = None) -> bool:
        """Note a folder to watch, for one name in it or for all; return whether all is new."""
        try:
            stat = os.stat(path)  # noqa: PTH116
        except OSError:
            return False
        key = (stat.st_dev, stat.st_ino)
        names = self.folders.get(key, (path, frozenset()))[1]
        if names is not None:
            self.folders[key] = (path, names | {name} if name is not None else None)
        return names is not None

    def changed(self, before: Look) -> list[str]:
        """Return the files that are new, gone or different since ``before``, sorted."""
        either = self.files.keys() | before.files.keys()
        return sorted(p for p in either if self.files.get(p, ()) != before.files.get(p, ()))


def skipped(name: str) -> bool:
    """Return whether folders of this name are neither looked into nor watched: ``.venv``, ``.git``, ``node_modules``, ..."""
    return name in _SKIPPED or (name.startswith(".") and name not in _CARRIERS)


def says(path: str) -> bool:
    """Return whether a file says what a skill is or how it is tested, so that only people write it."""
    return path.lower().endswith((".md", ".yaml", ".yml"))


def look(roots: Iterable[Path], *, files: Iterable[Path] = (), whole: bool = False) -> Look:
    """Look at the folders of skills ``roots``, which need not exist.

    A folder with a SKILL.md is a skill: only the SKILL.md and ``agents/`` of it count, unless ``whole`` asks for all of its
    files. Nothing below a skipped folder or a virtual environment counts, and at most 2,000 folders of a root do. ``files`` are
    looked at besides.
    """
    found = Look()
    for root in roots:
        _Walk(found, root, whole).begin()
    for file in files:
        found.watch(str(file.parent), file.name)
        found.files[str(file)] = _stamp(str(file))
    return found


class _Walk:
    def __init__(self, found: Look, root: Path, whole: bool) -> None:
        self.found, self.root, self.whole = found, Path(os.path.abspath(root)), whole  # noqa: PTH100
        self.real = os.path.realpath(root)
        self.left = MAX_FOLDERS

    def begin(self) -> None:
        path = self.root
        for _ in range(_ABOVE):
            while not path.parent.is_dir() and path.parent != path:
                path = path.parent
            self.found.watch(str(path.parent), path.name)
            path = path.parent
        if self.root.is_dir():
            self._folder(str(self.root), 0, inside=False)

    def _folder(self, path: str, depth: int, *, inside: bool) -> None:
        """Look at a folder; ``inside``: it belongs to a skill."""
        if self.left <= 0 or not self.found.watch(path):
            return
        self.left -= 1
        try:
            with os.scandir(path) as listing:
                entries = sorted(listing, key=lambda e: e.name)
        except OSError:
            self.found.files[path] = None
            return
        names = {e.name for e in entries}
        if "pyvenv.cfg" in names:
            return
        skill = inside or any(n.lower() == "skill.md" for n in names)
        for entry in entries:
            try:
                folder = entry.is_dir()
            except OSError:
                continue
            if folder:
                if self._wanted(entry, skill, depth):
                    self._folder(entry.path, depth + 1, inside=skill or entry.name == ".claude-plugin")
            elif skill and self._counts(entry.name, inside) and not _SCRATCH.match(entry.name):
                self._file(entry)

    def _wanted(self, entry: os.DirEntry[str], skill: bool, depth: int) -> bool:
        if (
            skipped(entry.name)
            or depth >= MAX_DEPTH + skill
            or (skill and not self.whole and entry.name not in _CARRIERS)
        ):
            return False
        if not entry.is_symlink():
            return True
        real = os.path.realpath(entry.path)
        within = real.startswith(self.real.rstrip(os.sep) + os.sep)
        return within or os.path.isfile(os.path.join(real, "SKILL.md"))  # noqa: PTH113, PTH118

    def _counts(self, name: str, inside: bool) -> bool:
        return self.whole or inside or name.lower() == "skill.md"

    def _file(self, entry: os.DirEntry[str]) -> None:
        self.found.files[entry.path] = _stamp(entry.path)
        if entry.is_symlink():
            real = os.path.realpath(entry.path)
            self.found.watch(os.path.dirname(real), os.path.basename(real))  # noqa: PTH119, PTH120


def _stamp(path: str) -> Stamp:
    try:
        stat = os.stat(path)  # noqa: PTH116
        readable = os.access(path, os.R_OK)
    except OSError:
        return None
    return (stat.st_mtime_ns, stat.st_ctime_ns, stat.st_size, stat.st_ino) if readable else None


def is_remote(paths: Iterable[Path], mounts: str = "/proc/self/mountinfo") -> bool:
    """Return whether a path lies on a file system on which others write unheard, such as NFS; only Linux says so."""
    try:
        rows = Path(mounts).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return False
    kinds = dict(_mount(row) for row in rows if " - " in row)
    for path in paths:
        place = Path(os.path.realpath(path))
        kind = next((kinds[str(p)] for p in (place, *place.parents) if str(p) in kinds), "")
        if _REMOTE.search(kind):
            return True
    return False


def _mount(row: str) -> tuple[str, str]:
    """Return the mount point and the kind of file system of a row of mountinfo."""
    before, _, after = row.partition(" - ")
    return re.sub(r"\\([0-7]{3})", lambda m: chr(int(m[1], 8)), before.split()[4]), after.split()[0]


def within(path: str, roots: Iterable[Path]) -> Sequence[str]:
    """Return the parts of ``path`` below the root that holds it; none where no root does."""
    for root in roots:
        with suppress(ValueError):
            return Path(path).relative_to(os.path.realpath(root)).parts
    return ()
