"""Walks the files below a folder by descriptor: without links, without ``.git``, and without what ignore files leave out."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from pathspec import GitIgnoreSpec

from .folder import FileError, Folder, read_all

__all__ = ["Found", "levels_above", "walk"]

MAX_FILES = 200_000
_DEPTH = 400  # folders; each holds a descriptor
_IGNORE = (".gitignore", ".ignore", ".rgignore")  # a later one overrules
_MOST = 1 << 20  # bytes of an ignore file
_LIST = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Found(NamedTuple):
    """A file on the walk.

    Attributes:
        path: the path relative to the root of the folder.
        fd: the descriptor of the folder that holds it, open until the walk goes on.
        name: its name there.
    """

    path: str
    fd: int
    name: str


@dataclass(frozen=True, slots=True)
class Level:
    """The ignore files of one folder: for each kind the rules, or ``None``."""

    base: str
    specs: tuple[GitIgnoreSpec | None, ...]


def walk(
    folder: Folder,
    start: str,
    *,
    ignores: bool = True,
    enter: Callable[[str], bool] | None = None,
    stop: Callable[[], bool],
) -> Iterator[Found]:
    """Yield the regular files below a folder, by path.

    Args:
        folder: the folder with the root.
        start: the place in it where the walk begins.
        ignores: leave out what ignore files name.
        enter: whether to look into a folder, by its path.
        stop: whether to end the walk now.

    Raises:
        FileError: the start is no folder that can be read.
    """
    levels = levels_above(folder, start) if ignores else []
    with folder.folder(start) as fd:
        top = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=fd)
    stack: list[tuple[int, str, Iterator[tuple[str, bool]], int]] = []
    try:  # each place: descriptor, path, what is left of it, and how many levels are above it
        above = len(levels)
        stack.append((top, start, _entries(top, start, levels, ignores), above))
        while stack:
            fd, base, entries, above = stack[-1]
            entry = next(entries, None)
            if entry is None or stop():
                stack.pop()
                os.close(fd)
                del levels[above:]
                continue
            name, is_folder = entry
            path = f"{base}/{name}" if base else name
            if ignores and _ignored(levels, f"{path}/" if is_folder else path):
                continue
            if not is_folder:
                yield Found(path, fd, name)
            elif len(stack) < _DEPTH and (enter is None or enter(path)):
                try:
                    inner = os.open(name, _LIST, dir_fd=fd)
                except OSError:
                    continue  # it may not be read, or is gone
                above = len(levels)
                stack.append((inner, path, _entries(inner, path, levels, ignores), above))
    finally:
        for fd, *_ in stack:
            os.close(fd)


def _entries(fd: int, base: str, levels: list[Level], ignores: bool) -> Iterator[tuple[str, bool]]:
    """Return the files and folders of a folder by name, and add its ignore files to ``levels``."""
    found: list[tuple[str, bool]] = []
    with os.scandir(fd) as listing:
        for entry in listing:
            try:
                if entry.is_dir(follow_symlinks=False):
                    if entry.name != ".git":
                        found.append((entry.name, True))
                elif entry.is_file(follow_symlinks=False):
                    found.append((entry.name, False))
            except OSError:
                continue  # it is gone
    if ignores:
        names = {name for name, is_folder in found if not is_folder and name in _IGNORE}
        levels.append(Level(base, tuple(_spec(fd, name) if name in names else None for name in _IGNORE)))
    found.sort()
    return iter(found)


def _spec(fd: int, name: str) -> GitIgnoreSpec | None:
    """Return the rules of an ignore file; ``None``: it cannot be read."""
    try:
        file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK, dir_fd=fd)
    except OSError:
        return None
    try:
        text = read_all(file, _MOST).decode("utf-8-sig", "surrogateescape")
    finally:
        os.close(file)
    try:
        return GitIgnoreSpec.from_lines(line.removesuffix("\r") for line in text.split("\n"))
    except ValueError:
        # one line that is no pattern does not undo the others
        return GitIgnoreSpec.from_lines(filter(_usable, (line.removesuffix("\r") for line in text.split("\n"))))


def _usable(line: str) -> bool:
    try:
        GitIgnoreSpec.from_lines([line])
    except ValueError:
        return False
    return True


def _ignored(levels: list[Level], path: str) -> bool:
    """Return whether ignore files leave a path out.

    Ignore files of deeper folders overrule those above, and ``.ignore`` overrules ``.gitignore``.
    """
    for kind in reversed(range(len(_IGNORE))):
        for level in reversed(levels):
            spec = level.specs[kind]
            if spec is None:
                continue
            answer = spec.check_file(path[len(level.base) + 1 :] if level.base else path).include
            if answer is not None:
                return bool(answer)
    return False


def levels_above(folder: Folder, start: str) -> list[Level]:
    """Return the ignore files of the folders above ``start``.

    Where they leave out ``start`` itself, which was named, none of them counts.
    """
    levels: list[Level] = []
    parts = start.split("/") if start else []
    for depth in range(len(parts)):
        base = "/".join(parts[:depth])
        try:
            with folder.folder(base) as fd:
                listing = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=fd)
        except FileError:
            return []
        try:
            levels.append(Level(base, tuple(_spec(listing, name) for name in _IGNORE)))
        finally:
            os.close(listing)
        if _ignored(levels, "/".join(parts[: depth + 1]) + "/"):
            return []
    return levels
