"""The files of a bundle, looked at by their real paths: what a link leads to outside is reported and never read."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from skillkit_markdown import FileError, read_inside

from ..model import Problem

__all__ = ["SKILL", "Tree", "named_paths", "paths_of", "text_of"]

SKILL = "SKILL.md"

_MOST_BYTES = 2 << 20  # of a manifest or a Markdown file
_MOST_FILES = 5000  # of one folder of commands or agents
_MOST_DEEP = 12


class Tree:
    """A folder, and what was noticed in it.

    Attributes:
        root: the real path.
        problems: grows while the folder is read.
    """

    def __init__(self, root: Path) -> None:
        self.root = Path(os.path.realpath(root))
        self.problems: list[Problem] = []

    def complain(self, code: str, where: str, what: str, *, fatal: bool = False) -> None:
        """Notice a problem, once."""
        problem = Problem(code, where, what, fatal)
        if problem not in self.problems:
            self.problems.append(problem)

    def holds(self, path: Path) -> bool:
        """Return whether the real path is in the folder."""
        real = os.path.realpath(path)
        return real == str(self.root) or real.startswith(str(self.root).rstrip(os.sep) + os.sep)

    def relative(self, path: Path) -> str:
        """Return a path from the root, with forward slashes; ``.`` is the root."""
        return Path(os.path.relpath(path, self.root)).as_posix()

    def is_file(self, relative: str) -> bool:
        """Return whether there is such a file inside."""
        path = self.root / relative
        return path.is_file() and self.holds(path)

    def is_folder(self, relative: str) -> bool:
        """Return whether there is such a folder inside."""
        path = self.root / relative
        return path.is_dir() and self.holds(path)

    def read(self, path: Path) -> bytes | None:
        """Return the bytes of a file, or ``None`` with a problem."""
        where = self.relative(path)
        try:
            data = read_inside(path, (self.root,), _MOST_BYTES + 1)
        except FileError as error:
            code = "path-outside" if error.reason == "outside" else "unreadable"
            self.complain(code, where, str(error))
            return None
        except ValueError:
            self.complain("unreadable", where, "its name is none of a file")
            return None
        if len(data) > _MOST_BYTES:
            self.complain("too-large", where, f"it is larger than {_MOST_BYTES >> 20} MiB")
            return None
        return data

    def json(self, relative: str, code: str, *, fatal: bool = False) -> Any:
        """Return the content of a JSON file; ``None`` with a problem ``code`` where it is none."""
        data = self.read(self.root / relative)
        if data is None:
            return None
        try:
            return json.loads(data.decode("utf-8-sig"))
        except RecursionError:
            self.complain(code, relative, "it nests too deeply", fatal=fatal)
        except ValueError as error:
            self.complain(code, relative, f"is no JSON: {error}", fatal=fatal)
        return None

    def markdown(self, folder: Path) -> Iterator[tuple[str, Path]]:
        """Yield the Markdown files below a folder, each with the names of its folders and its own, without the ending.

        Links inside are followed once, links out are reported. Hidden files are left out.
        """
        left = _MOST_FILES
        for parts, path in self._walk(folder, (), set()):
            if path.suffix == ".md":
                if left == 0:
                    self.complain("too-many", self.relative(folder), f"only the first {_MOST_FILES} files are read")
                    return
                left -= 1
                yield ":".join((*parts, path.stem)), path

    def _walk(self, folder: Path, parts: tuple[str, ...], seen: set[str]) -> Iterator[tuple[tuple[str, ...], Path]]:
        real = os.path.realpath(folder)
        if real in seen or len(parts) > _MOST_DEEP:
            return
        seen.add(real)
        for path in self.children(folder):
            if path.is_dir():
                yield from self._walk(path, (*parts, path.name), seen)
            elif path.is_file():
                yield parts, path

    def children(self, folder: Path) -> list[Path]:
        """Return what lies in a folder by name; hidden files and links out are left out, the latter with a problem."""
        try:
            names = sorted(os.listdir(folder))  # noqa: PTH208 - the names alone
        except OSError as error:
            self.complain("unreadable", self.relative(folder), f"it cannot be read: {error.strerror}")
            return []
        found = []
        for name in names:
            path = folder / name
            if name.startswith(".") or name in ("node_modules", "__pycache__"):
                continue
            if not self.holds(path):
                self.complain("path-outside", self.relative(path), "a link out of the bundle is not followed")
            else:
                found.append(path)
        return found


# --- paths that a manifest names -----------------------------------------------------------------------------------------


def paths_of(value: Any) -> list[str]:
    """Return the paths of a field that is one or a list; what is inline is left out."""
    every = value if isinstance(value, list) else [value]
    return [one for one in every if isinstance(one, str)]


def named_paths(tree: Tree, value: Any, *, dotted: bool = True) -> Iterator[tuple[str, Path]]:
    """Yield each path that a manifest names, as written and absolute; one that must not be is a fatal problem.

    Args:
        dotted: paths must begin with ``./``.
    """
    for text in paths_of(value):
        path = _inside(tree, text, dotted=dotted)
        if path is None:
            continue
        if not path.exists():
            tree.complain("path-missing", text, "there is no such file or folder in the bundle")
        elif not tree.holds(path):
            tree.complain("path-outside", text, "a link out of the bundle is not followed")
        else:
            yield text, path


def _inside(tree: Tree, text: str, *, dotted: bool) -> Path | None:
    """Return the path that a text names below the root; ``None`` with a fatal problem where it leaves it."""
    plain = text.replace("\\", "/")
    if "\0" in text or plain.startswith(("/", "~")) or re.match(r"[A-Za-z]:", plain):
        tree.complain("path-form", text, "a path must begin with './' and stay in the bundle", fatal=True)
        return None
    if ".." in plain.split("/"):
        tree.complain("path-outside", text, "the path leaves the bundle", fatal=True)
        return None
    if dotted and plain not in (".", "./") and not plain.startswith("./"):
        tree.complain("path-form", text, "a path must begin with './'", fatal=True)
        return None
    return tree.root / plain


def text_of(data: Mapping[str, Any], key: str) -> str | None:
    """Return a text field, ``None`` where there is none."""
    value = data.get(key)
    return value if isinstance(value, str) else None
