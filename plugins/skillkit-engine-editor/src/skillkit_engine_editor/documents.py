"""The document that is open: read from its file, and again when the file has changed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from skillkit_engines import EditorContext, editor_of
from skillkit_markdown import read_front_matter

from skillkit_core.errors import ToolError, UsageError

from .applying import locate

if TYPE_CHECKING:
    from skillkit_core import AgentRunner

__all__ = ["close", "current", "document_of", "open_document", "refreshed"]

_SUFFIXES = {".md": "markdown", ".markdown": "markdown", ".txt": "text", ".org": "org"}
FOLLOWS = "follows"  # the document is that of its file, whoever changes it


def document_of(file: Path, shown: str, kind: str | None = None) -> EditorContext:
    """Return a file as an editor would have it open.

    Args:
        file: the file.
        shown: its path, relative to the workspace.
        kind: the type of the document; default: ``type`` of its front matter, else that of its suffix.

    Raises:
        UsageError: it is no UTF-8 text.
    """
    try:
        content = file.read_bytes().decode()
    except UnicodeDecodeError as error:
        raise UsageError(f"{shown} is no UTF-8 text: {error.reason} at byte {error.start}") from None
    front = read_front_matter(content.encode()).natural()
    named = kind or front.get("type") or _SUFFIXES.get(file.suffix.lower(), "text")
    return EditorContext(type=str(named), file=shown, front_matter=front, content=content)


def open_document(agent: AgentRunner, document: EditorContext) -> None:
    """Open a document for an agent: from now on it is what its file says."""
    agent.configure(options={**agent.config.options, "editor": document})
    agent.state("engine-editor")[FOLLOWS] = document.file


def close(agent: AgentRunner) -> EditorContext | None:
    """Close what is open, and return it."""
    found = editor_of(agent)
    agent.configure(options={name: value for name, value in agent.config.options.items() if name != "editor"})
    agent.state("engine-editor").pop(FOLLOWS, None)
    return found


def current(agent: AgentRunner, editor: EditorContext) -> EditorContext:
    """Return the document as it is now, where it follows its file; else as its editor said.

    A step of a plan has an agent of its own; the document is open for an agent above.
    """
    if editor.file and any(one.state("engine-editor").get(FOLLOWS) == editor.file for one in agent.ancestors()):
        return refreshed(agent, editor)
    return editor


def refreshed(agent: AgentRunner, editor: EditorContext) -> EditorContext:
    """Read a document from its file again, for this and the next requests and steps; one that is gone stays as it was."""
    try:
        found = document_of(locate(agent.cwd, editor.file), editor.file, editor.type)
    except (ToolError, UsageError, OSError):
        return editor
    if found.revision == editor.revision:
        return editor
    kept = replace(found, cursor=min(editor.cursor, len(found.content)))
    for one in agent.ancestors():
        if (known := editor_of(one)) is not None and known.file == editor.file:
            one.configure(options={**one.config.options, "editor": kept})
    return kept
