"""Action `usage`: the largest files, folders and kinds of files below a folder."""

from __future__ import annotations

import heapq
import os
import stat
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePath

sys.dont_write_bytecode = True  # the skill's folder stays as it was installed

from command import Result, count, fitting, folder, run, shown, table, whole  # noqa: E402

MOST_TOP = 200
ROOM = 50_000  # bytes of JSON for each list


@dataclass(slots=True)
class Usage:
    """What was found below a folder; sizes are bytes of content, hard links are counted once."""

    total: int = 0
    on_disk: int = 0
    files: int = 0
    larger: int = 0  # files of more than the size that was asked for
    largest: list[tuple[int, str]] = field(default_factory=list)
    folders: dict[str, tuple[int, int]] = field(default_factory=dict)
    kinds: dict[str, tuple[int, int]] = field(default_factory=lambda: defaultdict(lambda: (0, 0)))
    links: int = 0
    unreadable: list[str] = field(default_factory=list)

    def notes(self) -> list[str]:
        """Return what was passed over, one sentence each."""
        notes = [f"skipped {count(self.links, 'symbolic link')}"] if self.links else []
        if self.unreadable:
            names = ", ".join(shown(name) for name in self.unreadable[:5]) + (
                ", ..." if len(self.unreadable) > 5 else ""
            )
            notes.append(f"could not read {count(len(self.unreadable), 'file or folder', 'files or folders')}: {names}")
        return notes


def measure(root: str, top: int, larger: int = -1) -> Usage:
    """Walk the folder from the bottom up without following links."""
    usage = Usage()
    seen: set[tuple[int, int]] = set()

    def failed(error: OSError) -> None:
        usage.unreadable.append(str(error.filename))

    for parent, folders, names in os.walk(root, topdown=False, onerror=failed):
        size = files = 0
        for name in folders:
            path = os.path.join(parent, name)  # noqa: PTH118 - half a second per 100,000 files
            if os.path.islink(path):  # noqa: PTH114
                usage.links += 1
            below = usage.folders.get(path, (0, 0))
            size += below[0]
            files += below[1]
        for path, status in _regular(usage, parent, names):
            if status.st_nlink > 1:
                if (status.st_dev, status.st_ino) in seen:
                    continue
                seen.add((status.st_dev, status.st_ino))
            _count(usage, path, status, top, larger)
            size += status.st_size
            files += 1
        usage.folders[parent] = (size, files)
    return usage


def _regular(usage: Usage, parent: str, names: list[str]) -> Iterator[tuple[str, os.stat_result]]:
    for name in names:
        path = os.path.join(parent, name)  # noqa: PTH118
        try:
            status = os.lstat(path)
        except OSError:
            usage.unreadable.append(path)
            continue
        if stat.S_ISLNK(status.st_mode):
            usage.links += 1
        elif stat.S_ISREG(status.st_mode):
            yield path, status


def _count(usage: Usage, path: str, status: os.stat_result, top: int, larger: int) -> None:
    usage.total += status.st_size
    usage.on_disk += getattr(status, "st_blocks", 0) * 512
    usage.files += 1
    kind = PurePath(path).suffix.lower() or "(no extension)"
    size, files = usage.kinds[kind]
    usage.kinds[kind] = (size + status.st_size, files + 1)
    if status.st_size <= larger:
        return
    usage.larger += 1
    heapq.heappush(usage.largest, (status.st_size, path))
    if len(usage.largest) > top:
        heapq.heappop(usage.largest)


def size_text(size: float) -> str:
    """Return "12 bytes", "3.4 MB"."""
    if size < 1000:
        return count(int(size), "byte")
    for unit in ("kB", "MB", "GB", "TB"):
        size /= 1000
        if size < 999.95 or unit == "TB":
            break
    return f"{size:,.1f} {unit}"


def usage(values: Mapping[str, str]) -> Result:
    """Report what takes the space below `path`."""
    name = values["path"]
    folder(name)
    top = min(whole(values, "top", 10), MOST_TOP)
    larger = whole(values, "larger", 0, minimum=0) if "larger" in values else -1
    found = measure(name, top, larger)
    files = sorted(found.largest, key=lambda item: (-item[0], item[1]))
    below = [(path, *sizes) for path, sizes in found.folders.items() if path != name]
    folders = heapq.nsmallest(top, below, key=lambda item: (-item[1], item[0]))
    kinds = heapq.nsmallest(
        top, [(kind, *sizes) for kind, sizes in found.kinds.items()], key=lambda item: (-item[1], item[0])
    )
    lines = [
        f"{shown(name)}: {size_text(found.total)} in {count(found.files, 'file')} ({size_text(found.on_disk)} on disk)"
    ]
    if larger >= 0:
        lines.append(f"{count(found.larger, 'file')} larger than {size_text(larger)}")
    if files:
        lines += [
            "",
            table(
                ["size", "largest files"],
                [[size_text(size), _below(path, name)] for size, path in files],
                ["size"],
                100,
            ),
        ]
    if folders and larger < 0:
        rows = [[size_text(size), f"{number:,}", _below(path, name)] for path, size, number in folders]
        lines += ["", table(["size", "files", "largest folders"], rows, ["size", "files"], 100)]
    if len(kinds) > 1 and larger < 0:
        rows = [[size_text(size), f"{number:,}", kind] for kind, size, number in kinds]
        lines += ["", table(["size", "files", "kind"], rows, ["size", "files"])]
    notes = found.notes()
    return {
        "answer": "\n".join([*lines, *(f"note: {note}" for note in notes)]),
        "path": name,
        "bytes": found.total,
        "bytes_on_disk": found.on_disk,
        "files": found.files,
        "largest_files": fitting([{"path": shown(path), "bytes": size} for size, path in files], ROOM),
        "largest_folders": fitting(
            [{"path": shown(path), "bytes": size, "files": number} for path, size, number in folders], ROOM
        ),
        "kinds": [{"kind": shown(kind), "bytes": size, "files": number} for kind, size, number in kinds],
        "notes": notes,
    }


def _below(path: str, root: str) -> str:
    return str(Path(path).relative_to(root))


if __name__ == "__main__":
    sys.exit(run(usage, positional=["path"], options=["top", "larger"]))
