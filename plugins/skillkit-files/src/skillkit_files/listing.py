"""Lists: the names in a folder, and the files that a pattern names."""

from __future__ import annotations

import os
from collections.abc import Callable

from .folder import FileError, Folder, shown
from .globs import compile_glob, fixed_part
from .walk import MAX_FILES, walk

__all__ = ["beginning", "find", "listed"]


def listed(folder: Folder, rel: str, limit: int) -> tuple[list[str], int]:
    """Return the names in a folder, a line each, and how many there are. Folders end in ``/``; links name their target."""
    names = folder.names(rel)
    lines = [shown(name) + _ending(kind) for name, kind in names[:limit]]
    if len(names) > limit:
        lines.append(f"[{len(names) - limit} more of {len(names)} entries; raise limit, or use glob]")
    return lines or ["(the folder is empty)"], len(names)


def _ending(kind: str) -> str:
    if kind.startswith("-> "):
        return f" -> {shown(kind[3:])}"
    return {"folder": "/", "file": "", "other": " (no regular file)"}[kind]


def beginning(folder: Folder, pattern: str, path: str) -> tuple[str, str]:
    """Return where the search for a pattern begins, relative to the root, and the pattern from there.

    Raises:
        FileError: the pattern or the path leads outside.
    """
    start = folder.locate(path)
    base = folder.root.rstrip("/") + "/"
    if pattern.startswith("/"):
        if not pattern.startswith(base):
            raise FileError("outside_root", f"{shown(pattern)} is outside of {shown(folder.root)}")
        start, pattern = "", pattern[len(base) :]
    parts = [part for part in pattern.split("/") if part not in ("", ".")]
    if ".." in parts:
        raise FileError("outside_root", f"{shown(pattern)}: .. is not taken in a pattern; give path")
    return start, "/".join(parts) + ("/**" if pattern.endswith("/") else "")


def find(
    folder: Folder,
    pattern: str,
    path: str,
    limit: int,
    *,
    ignores: bool,
    allowed: Callable[[str], bool],
    stop: Callable[[], bool],
) -> tuple[list[str], int, bool]:
    """Return the files that a pattern names below ``path``, the newest first: lines, how many, and whether there are more.

    Raises:
        FileError: the pattern cannot be used or leads outside, or there is no such folder.
    """
    start, pattern = beginning(folder, pattern, path)
    matches, fixed = compile_glob(pattern), fixed_part(pattern)
    cut = len(start) + 1 if start else 0

    def enter(where: str) -> bool:
        inner = where[cut:].split("/")
        return all(one == two for one, two in zip(inner, fixed, strict=False))

    found: list[tuple[int, str]] = []
    seen = 0
    for file in walk(folder, start, ignores=ignores, enter=enter, stop=stop):
        seen += 1
        if seen > MAX_FILES:
            break
        if matches(file.path[cut:]) and allowed(file.path):
            try:
                found.append((-os.stat(file.name, dir_fd=file.fd, follow_symlinks=False).st_mtime_ns, file.path))
            except OSError:
                continue  # it is gone
    found.sort()
    lines = [shown(name) for _, name in found[:limit]]
    if len(found) > limit:
        lines.append(f"[{len(found) - limit} more files; narrow the pattern or raise limit]")
    if seen > MAX_FILES:
        lines.append(f"[stopped after {MAX_FILES:,} files; name a folder]")
    return lines, len(found), len(found) > limit
