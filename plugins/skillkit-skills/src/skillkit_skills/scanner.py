"""Where the skills of a directory are (SCAN-1): a walk with limits that never leaves the directory."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from stat import S_ISREG
from types import MappingProxyType

__all__ = ["FILE", "FoundSkill", "Scan", "scan", "skill_file"]

MAX_DEPTH = 6
MAX_FOLDERS = 2000
_LOOK_DEPTH = 24  # how deep a skill is still named that lies too deep to be used
_SKIPPED = frozenset(("node_modules", "__pycache__"))
FILE = "SKILL.md"


@dataclass(slots=True)
class FoundSkill:
    """A folder with a SKILL.md.

    Attributes:
        notes: codes.
        agents: it may have files of other carriers in ``agents/``.
        unchanged: the file is as it was known.
    """

    folder: str
    file: str
    notes: list[str] = field(default_factory=list)
    agents: bool = True
    unchanged: bool = False


@dataclass(slots=True)
class Scan:
    """What a walk found: skills sorted by path, and ``(code, path)`` of every place that it refused."""

    skills: list[FoundSkill] = field(default_factory=list)
    refused: list[tuple[str, str]] = field(default_factory=list)


def skill_file(names: list[str]) -> str | None:
    """Which of ``names`` is the skill's file: exactly SKILL.md, else the same in other letters."""
    if FILE in names:
        return FILE
    return next((n for n in sorted(names) if n.lower() == "skill.md"), None)


class _Walk:
    def __init__(self, root: str, known: Mapping[str, tuple[int, int, int]], own: bool) -> None:
        self.root = os.path.realpath(root)
        self.own = own
        self.known = known
        self.out = Scan()
        self.folders = 0
        self.seen: dict[str, str] = {}
        self.links: list[tuple[str, str, int]] = []

    def visit(self, folder: str, real: str, depth: int) -> None:
        if self.folders >= MAX_FOLDERS:
            if self.folders == MAX_FOLDERS or os.path.isfile(os.path.join(folder, FILE)):  # noqa: PTH113, PTH118
                self.out.refused.append(("scan-limit", folder))
            self.folders += 1
            return
        self.folders += 1
        self.seen[real] = folder
        if self.known and self._unchanged(folder):
            return
        try:
            with os.scandir(folder) as listing:
                entries = sorted(listing, key=lambda e: e.name)
        except OSError:
            self.out.refused.append(("unreadable", folder))
            return
        names = [e.name for e in entries]
        name = skill_file(names)
        if name is not None:
            entry = entries[names.index(name)]
            if depth > MAX_DEPTH:
                self.out.refused.append(("too-deep", folder))
                return
            if self._take(folder, entry, "agents" in names):
                return
        for entry in entries:
            if entry.name.startswith(".") or entry.name in _SKIPPED:
                continue
            if entry.is_symlink():
                if depth < MAX_DEPTH:
                    self.links.append((entry.path, real, depth + 1))
            elif entry.is_dir(follow_symlinks=False):
                if depth >= _LOOK_DEPTH:
                    self.out.refused.append(("too-deep", entry.path))
                    continue
                below = entry.path if real == folder else os.path.join(real, entry.name)  # noqa: PTH118
                self.visit(entry.path, below, depth + 1)

    def _unchanged(self, folder: str) -> bool:
        """Whether the folder is a known leaf whose file did not change: then nothing else in it matters."""
        stamp = self.known.get(folder)
        if stamp is None or os.access(f"{folder}/agents", os.F_OK):
            return False
        file = f"{folder}/{FILE}"
        try:
            now = os.lstat(file)
        except OSError:
            return False
        if (now.st_size, now.st_mtime_ns, now.st_ctime_ns) != stamp or not S_ISREG(now.st_mode):
            return False
        self.out.skills.append(FoundSkill(folder, file, _NO_NOTES, False, True))
        return True

    def _take(self, folder: str, entry: os.DirEntry[str], agents: bool) -> bool:
        """Whether ``entry``, a SKILL.md, makes the folder a leaf."""
        if entry.is_symlink() and not self._inside(os.path.realpath(entry.path)):
            self.out.refused.append(("symlink-escape", entry.path))
            return True
        try:
            if not entry.is_file():
                self.out.refused.append(("no-file", entry.path))
                return False
        except OSError:
            self.out.refused.append(("unreadable", entry.path))
            return True
        notes = [] if entry.name == FILE else ["file-name-case"]
        self.out.skills.append(FoundSkill(folder, entry.path, notes, agents))
        return True

    def _inside(self, real: str) -> bool:
        return real == self.root or real.startswith(self.root.rstrip(os.sep) + os.sep)

    def follow(self) -> None:
        """Follow links to folders once everything that is really there is known."""
        while self.links:
            path, parent, depth = self.links.pop(0)
            real = os.path.realpath(path)
            if not os.path.isdir(real):  # noqa: PTH112
                continue
            if not self._inside(real) and not (self.own and _holds_skills(real)):
                self.out.refused.append(("symlink-escape", path))
            elif real in self.seen:
                if not (parent == real or parent.startswith(real.rstrip(os.sep) + os.sep)):
                    self.out.refused.append(("duplicate-realpath", path))
            else:
                self.visit(path, real, depth)


_NO_NOTES: list[str] = []


def _holds_skills(folder: str) -> bool:
    """Whether a folder is a skill or has some in it, so that a link to it was made for them and not for a home folder."""
    try:
        with os.scandir(folder) as listing:
            entries = [(entry.name, entry.is_dir()) for entry in listing]
        if skill_file([name for name, is_folder in entries if not is_folder]):
            return True
        return any(skill_file(os.listdir(f"{folder}/{name}")) for name, is_folder in entries if is_folder)  # noqa: PTH208
    except OSError:
        return False


def scan(root: str, known: Mapping[str, tuple[int, int, int]] = MappingProxyType({}), *, own: bool = False) -> Scan:
    """Find the skills below ``root``, which may be a skill itself.

    A folder with a SKILL.md is a leaf; folders whose name begins with a dot, ``node_modules`` and ``__pycache__`` are
    left out; at most 6 levels and 2,000 folders. Links are followed once, and only inside the root unless it is a person's
    ``own``. A skill that is found and not used is among the refused places.

    Args:
        root: the directory.
        known: folders that were skills, with size, modification and change time of their file: where these are the same,
            the folder is not listed again.
        own: the folder is a person's own: links to skills elsewhere, and to folders of skills, are followed.
    """
    walk = _Walk(root, known, own)
    walk.visit(root, walk.root, 0)
    walk.follow()
    walk.out.skills.sort(key=lambda s: s.folder)
    return walk.out
