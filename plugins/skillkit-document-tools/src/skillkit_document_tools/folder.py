"""The folder of documents: what lies in it, on the real path, and what of it may be seen."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from skillkit_core import ToolError
from skillkit_core.descriptors import load_object

if TYPE_CHECKING:
    from skillkit_core import ToolContext

__all__ = ["MOST_BYTES", "ROOT", "DocumentFolder"]

ROOT = "."
"""The folder of documents where the configuration names none: the workspace."""
MOST_BYTES = 5_000_000
"""The largest document that is read."""
_MOST_FILES = 20_000


class DocumentFolder:
    """The folder, for one call of a tool.

    Attributes:
        cwd: the workspace, to which paths of arguments are relative.
        root: the real path of the folder.
    """

    def __init__(self, ctx: ToolContext) -> None:
        self.cwd = ctx.cwd
        self.root = (ctx.cwd / Path(ctx.agent.host.config.section("documents").root).expanduser()).resolve()
        self._allows = list(_filters(ctx))

    def inside(self, name: str) -> Path:
        """Return the real path of an argument.

        Raises:
            ToolError: it lies outside of the folder, also behind a link.
        """
        if "\0" in name:
            raise ToolError("a path holds no null character")
        try:
            found = (self.cwd / Path(name).expanduser()).resolve()
        except (OSError, RuntimeError) as error:
            raise ToolError(f"{name[:200]!r} is no path: {error}") from None
        if not found.is_relative_to(self.root):
            raise ToolError(f"{name} lies outside of the documents, {self.shown(self.root)}")
        return found

    def document(self, name: str) -> Path:
        """Return the real path of a document that is there.

        Raises:
            ToolError: there is none.
        """
        found = self.inside(name)
        try:
            there = found.is_file()
        except OSError as error:  # a name that is too long
            raise ToolError(f"{name[:200]!r} is no path: {error.strerror}") from None
        if not there or found.suffix.lower() != ".md":
            raise ToolError(f"there is no document {name}; documents are files that end in .md")
        return found

    def shown(self, path: Path) -> str:
        """Return a path as arguments say it."""
        base = self.cwd.resolve()
        return str(path.relative_to(base)) if path.is_relative_to(base) else str(path)

    def documents(self, folder: Path) -> Iterator[Path]:
        """Yield the documents below a folder that may be read, without hidden folders and links."""
        count = 0
        for where, folders, files in os.walk(folder):
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            for name in sorted(files):
                file = Path(where, name)
                if not name.lower().endswith(".md") or file.is_symlink() or not self._readable(file):
                    continue
                count += 1
                if count > _MOST_FILES:
                    raise ToolError(f"more than {_MOST_FILES} documents lie there: name one of the folders")
                yield file

    def folders(self, folder: Path) -> Iterator[Path]:
        """Yield the folders below a folder, without hidden ones and links."""
        for where, folders, _ in os.walk(folder):
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            yield from (Path(where, name) for name in folders if not Path(where, name).is_symlink())

    def _readable(self, file: Path) -> bool:
        return all(allows(str(file)) for allows in self._allows)


def _filters(ctx: ToolContext) -> Iterator[Callable[[str], bool]]:
    """Yield what leaves files out of searches (``register_file_filters``), where the plugin ``files`` is there."""
    host = ctx.agent.host
    if "file_filters" in host.kinds:
        for entry in host.registry("file_filters").entries():
            if (allows := load_object(entry.item.create)(ctx.agent, ctx.tool_name)) is not None:
                yield allows
