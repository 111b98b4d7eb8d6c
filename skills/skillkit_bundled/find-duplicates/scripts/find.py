"""Action `find`: files of equal content below a folder, by size, then by hash."""

from __future__ import annotations

import fnmatch
import hashlib
import os
import stat
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

sys.dont_write_bytecode = True  # the skill's folder stays as it was installed

from command import Result, count, fitting, folder, run, shown, whole  # noqa: E402

HEAD = 65_536  # bytes hashed first, since most files of equal size differ early
MOST_GROUPS = 200
MOST_NAMES = 500
SHOWN_GROUPS = 20
SHOWN_NAMES = 10
SKIPPED = frozenset({".git", ".hg", ".svn"})

Group = tuple[int, list[str]]  # a size, and the paths of equal files


@dataclass(slots=True)
class Scan:
    """The files below a folder, and what was passed over."""

    sizes: dict[int, list[str]] = field(default_factory=lambda: defaultdict(list))
    files: int = 0
    links: int = 0
    same: int = 0  # further names of a file that was already seen (hard links)
    special: int = 0
    unreadable: list[str] = field(default_factory=list)

    def notes(self) -> list[str]:
        """Return what was passed over, one sentence each."""
        notes = []
        if self.links:
            notes.append(f"skipped {count(self.links, 'symbolic link')}")
        if self.same:
            notes.append(f"skipped {count(self.same, 'hard link')}, which share their space")
        if self.special:
            notes.append(f"skipped {count(self.special, 'special file')} (pipes, sockets, devices)")
        if self.unreadable:
            notes.append(f"could not read {count(len(self.unreadable), 'file or folder', 'files or folders')}: "
                         + ", ".join(shown(name) for name in self.unreadable[:5])
                         + (", ..." if len(self.unreadable) > 5 else ""))  # fmt: skip
        return notes


def scan(root: str, smallest: int, pattern: str) -> Scan:
    """Walk the folder without following links; version control folders are left out."""
    found = Scan()
    seen: set[tuple[int, int]] = set()

    def failed(error: OSError) -> None:
        found.unreadable.append(str(error.filename))

    for parent, folders, names in os.walk(root, onerror=failed):
        folders[:] = sorted(name for name in folders if name not in SKIPPED)
        found.links += sum(os.path.islink(os.path.join(parent, name)) for name in folders)  # noqa: PTH114, PTH118
        for name in sorted(names):
            path = os.path.join(parent, name)  # noqa: PTH118 - half a second per 100,000 files
            try:
                status = os.lstat(path)
            except OSError:
                found.unreadable.append(path)
                continue
            if stat.S_ISLNK(status.st_mode):
                found.links += 1
            elif not stat.S_ISREG(status.st_mode):
                found.special += 1
            elif status.st_size >= smallest and fnmatch.fnmatch(name.lower(), pattern.lower()):
                _keep(found, seen, path, status)
    return found


def _keep(found: Scan, seen: set[tuple[int, int]], path: str, status: os.stat_result) -> None:
    if status.st_nlink > 1:
        identity = (status.st_dev, status.st_ino)
        if identity in seen:
            found.same += 1
            return
        seen.add(identity)
    found.files += 1
    found.sizes[status.st_size].append(path)


def duplicates(found: Scan) -> list[Group]:
    """Return the groups of equal files with their size, the most wasteful first."""
    groups = []
    for size, paths in found.sizes.items():
        for alike in _split(found, [paths], lambda path: _digest(path, HEAD)):
            whole_files = _split(found, [alike], lambda path: _digest(path, None)) if size > HEAD else [alike]
            groups += [(size, sorted(group)) for group in whole_files]
    return sorted(groups, key=lambda group: (-group[0] * (len(group[1]) - 1), group[1]))


def _split(found: Scan, groups: Iterable[list[str]], key: Callable[[str], bytes]) -> list[list[str]]:
    """Return the groups split by `key`, without those of a single file."""
    result = []
    for group in groups:
        if len(group) < 2:
            continue
        by_key: dict[bytes, list[str]] = defaultdict(list)
        for path in group:
            try:
                by_key[key(path)].append(path)
            except OSError:
                found.unreadable.append(path)
        result += [alike for alike in by_key.values() if len(alike) > 1]
    return result


def _digest(path: str, limit: int | None) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with open(descriptor, "rb", buffering=0) as stream:  # noqa: PTH123 - a descriptor, so that no link is followed
        if limit is not None:
            return hashlib.sha256(stream.read(limit)).digest()
        return hashlib.file_digest(stream, "sha256").digest()


def size_text(size: float) -> str:
    """Return "12 bytes", "3.4 MB"."""
    if size < 1000:
        return count(int(size), "byte")
    for unit in ("kB", "MB", "GB", "TB"):
        size /= 1000
        if size < 999.95 or unit == "TB":
            break
    return f"{size:,.1f} {unit}"


def find(values: Mapping[str, str]) -> Result:
    """Report the groups of equal files below `path`."""
    name = values["path"]
    folder(name)
    found = scan(name, whole(values, "minimum", 1, minimum=0), values.get("pattern", "*"))
    groups = duplicates(found)
    wasted = sum(size * (len(paths) - 1) for size, paths in groups)
    copies = sum(len(paths) - 1 for _, paths in groups)
    notes = found.notes()
    records = _records(groups)
    listed = sum(len(paths) for _, paths in records)
    return {
        "answer": "\n".join([*_lines(name, found, groups, copies, wasted), *(f"note: {note}" for note in notes)]),
        "path": name,
        "files": found.files,
        "groups": len(groups),
        "copies": copies,
        "wasted_bytes": wasted,
        "duplicates": [{"size": size, "paths": paths} for size, paths in records],
        "truncated": listed < copies + len(groups),
        "notes": notes,
    }


def _records(groups: list[Group]) -> list[Group]:
    """Return as much of the groups as fits into an action's output."""
    room = MOST_NAMES
    records = []
    for size, paths in groups[:MOST_GROUPS]:
        kept = paths[: max(room, 2)]
        room -= len(kept)
        records.append((size, fitting([shown(path) for path in kept])))
        if room <= 0:
            break
    return fitting(records)


def _lines(name: str, found: Scan, groups: list[Group], copies: int, wasted: int) -> list[str]:
    if not groups:
        return [f"no duplicates among {count(found.files, 'file')} in {shown(name)}"]
    could_go = f"{count(copies, 'copy', 'copies')} that could go, {size_text(wasted)}"
    lines = [f"{count(len(groups), 'group')} of equal files in {shown(name)}: {could_go}"]
    for size, paths in groups[:SHOWN_GROUPS]:
        lines += ["", f"{len(paths)} x {size_text(size)}", *(f"  {shown(path)}" for path in paths[:SHOWN_NAMES])]
        if len(paths) > SHOWN_NAMES:
            lines.append(f"  ... and {len(paths) - SHOWN_NAMES:,} more")
    if len(groups) > SHOWN_GROUPS:
        lines += ["", f"... and {len(groups) - SHOWN_GROUPS:,} more groups"]
    return lines


if __name__ == "__main__":
    sys.exit(run(find, positional=["path"], options=["minimum", "pattern"]))
