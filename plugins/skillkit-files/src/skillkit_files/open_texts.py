"""Texts that a person has open in an editor, and has not saved: the tools read and change them as they are there.

A front end that is an editor sets the option ``files.editor`` of its agent (``AgentConfig.options``) to an object with the
methods of :class:`Editor`. Changes are made on the disk, and shown to the editor, so that none of its texts is an old one.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

from .folder import FileError, Folder, shown
from .stand_in import AgentStandIn
from .text import Text, decode, lf

if TYPE_CHECKING:
    from skillkit_core import AgentRunner

    from .changes import Change

__all__ = ["OPTION", "EditedFolder", "Editor", "show_changes", "unsaved"]

OPTION = "files.editor"
_MOST = 8 * 1024 * 1024  # bytes of a text that an editor is asked for


class Editor(Protocol):
    """What the option ``files.editor`` holds."""

    async def read(self, path: str) -> str | None:
        """Return the text of a file as the editor has it; ``None``: it has none."""

    async def write(self, path: str, text: str) -> None:
        """Take a text that was written. What is raised is told to the model."""


class EditedFolder(Folder):
    """A folder in which some files read as an editor has them.

    Args:
        root: the folder.
        texts: what the editor has, by real path.
    """

    def __init__(self, root: str | os.PathLike[str], texts: Mapping[str, bytes]) -> None:
        super().__init__(root)
        self._texts = texts

    @contextmanager
    def open(self, rel: str) -> Iterator[tuple[int, os.stat_result]]:
        """Open a file as :meth:`Folder.open`; the descriptor gives the editor's text, the rest is the file on the disk."""
        with super().open(rel) as (fd, info):
            text = self._texts.get(f"{self.root}/{rel}")
            if text is None:
                yield fd, info
                return
            with tempfile.TemporaryFile() as file:
                file.write(text)
                file.seek(0)
                yield file.fileno(), info


async def unsaved(agent: AgentRunner | AgentStandIn, tool: str, args: Mapping[str, Any]) -> dict[str, bytes]:
    """Return the texts of the files that a call names, where the editor has others than the disk, by real path."""
    editor = _editor_of(agent)
    if editor is None:
        return {}
    found: dict[str, bytes] = {}
    for path, kept in (await asyncio.to_thread(_on_disk, Folder(agent.cwd), _named(tool, args))).items():
        text = await editor.read(path)
        if text is not None and lf(text) != lf(kept.text):
            found[path] = (lf(text).replace("\n", "\r\n") if kept.crlf else text).encode(errors="replace")
    return found


async def show_changes(agent: AgentRunner | AgentStandIn, root: str, changes: Sequence[Change]) -> str:
    """Show the editor what was written; return what the model is told of it, mostly nothing."""
    editor = _editor_of(agent)
    told = ""
    for change in changes if editor is not None else ():
        text = _text(change.after, change.path) if change.after is not None else None
        if text is None or editor is None:
            continue
        try:
            await editor.write(f"{root}/{change.path}", text.text)
        except Exception as error:  # noqa: BLE001 - an editor's answer
            told += f"\n[{shown(change.path)} is written, but the editor did not take it: {error}]"
    return told


def _editor_of(agent: AgentRunner | AgentStandIn) -> Editor | None:
    """Return the editor of an agent or of one above it; in a process that runs tools for others there is none."""
    if isinstance(agent, AgentStandIn):
        return None
    return next((one.config.options[OPTION] for one in agent.ancestors() if OPTION in one.config.options), None)


def _named(tool: str, args: Mapping[str, Any]) -> Sequence[str]:
    """Return the paths that a call names; none where it cannot be read, which it says itself."""
    if tool != "apply_patch":
        return [str(args["path"])] if "path" in args else []
    from .patch import paths_of

    try:
        return paths_of(dict(args))
    except FileError:
        return []


def _on_disk(folder: Folder, paths: Sequence[str]) -> dict[str, Text]:
    """Return the texts on the disk by real path; only those in UTF-8, of which an editor keeps every byte."""
    found: dict[str, Text] = {}
    for path in paths:
        try:
            rel = folder.locate(path)
            kept = folder.snapshot(rel) if rel else None
        except FileError:
            continue  # the call says what is wrong
        if kept is not None and kept.data is not None and len(kept.data) <= _MOST and (text := _text(kept.data, path)):
            found[f"{folder.root}/{rel}"] = text
    return found


def _text(data: bytes, path: str) -> Text | None:
    """Return a text in UTF-8 without a mark; ``None``: the content is something else."""
    try:
        data.decode()
        text = decode(data, path)
    except (FileError, UnicodeDecodeError):
        return None
    return text if text.encoding == "utf-8" and not text.mark else None
