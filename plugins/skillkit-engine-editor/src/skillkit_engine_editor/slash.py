"""``/editor`` in front ends, also for programs that steer an agent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillkit_engines import editor_of

from skillkit_core.errors import ToolError, UsageError

from .applying import locate
from .documents import close, current, document_of, open_document

if TYPE_CHECKING:
    from skillkit_core import AgentRunner, UserInterface

__all__ = ["editor"]


async def editor(agent: AgentRunner, arguments: str, ui: UserInterface | None) -> str:
    """Open a file, with its type or without; close what is open; or tell what is."""
    words = arguments.split()
    if words == ["close"]:
        found = close(agent)
        return f"{found.file or 'The document'} is closed." if found is not None else "Nothing was open."
    if words:
        try:
            file = locate(agent.cwd, words[0])
        except ToolError as error:
            raise UsageError(str(error)) from None
        open_document(agent, document_of(file, words[0], words[1] if len(words) > 1 else None))
    shown = editor_of(agent)
    if shown is None:
        return "Nothing is open; /editor FILE opens a file for skills that edit."
    shown = current(agent, shown)
    lines = shown.content.count("\n") + bool(shown.content and not shown.content.endswith("\n"))
    return f"{shown.file or 'a document without a file'} is open: {shown.type}, {lines} lines."
