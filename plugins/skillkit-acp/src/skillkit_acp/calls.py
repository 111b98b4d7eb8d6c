"""A tool call as editors show it: title, kind, places, and what it would change, says and leaves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from acp import schema as s
from skillkit_frontend import call_head

from skillkit_core import thaw

from .diffs import changes_in

if TYPE_CHECKING:
    from skillkit_core import AgentRunner

__all__ = ["Content", "changes", "described", "name_of", "text_content"]

Content: TypeAlias = list[s.ContentToolCallContent | s.FileEditToolCallContent | s.TerminalToolCallContent]
_SEARCHES = ("pattern", "query")  # parameters of tools that look for something


def name_of(path: Sequence[str], call: str) -> str:
    """Return the id of a call in the editor; calls of agents inside the run stand apart."""
    return "/".join((*path[1:], call))


def described(agent: AgentRunner, path: Sequence[str], name: str, args: Mapping[str, Any]) -> dict[str, Any]:
    """Return title, kind, places and arguments of a call, as fields of an update."""
    tool = agent.offered(name)
    facts: Mapping[str, Any] = tool.annotations if tool is not None else {}
    known = tool.parameters.get("properties", {}) if tool is not None else {}
    named = [args.get(key) for key in facts.get("paths", ())]
    paths = [one for value in named for one in (value if isinstance(value, (list, tuple)) else (value,))]
    line = args.get("offset") if isinstance(args.get("offset"), int) else None
    head = call_head(agent, name, args)
    return {
        "title": " › ".join((*path[1:], head)),
        "kind": _kind(facts, known),
        "locations": [
            s.ToolCallLocation(path=str(agent.cwd / one), line=line) for one in paths if isinstance(one, str) and one
        ],
        "raw_input": agent.redact(thaw(args)),
    }


def _kind(facts: Mapping[str, Any], parameters: Iterable[str]) -> Any:
    """Return the kind of a tool by what it declares."""
    if facts.get("command"):
        return "execute"
    if "host" in facts:
        return "fetch"
    if facts.get("mutates") == "files":
        return "edit"
    if facts.get("mutates") == "none" and "paths" in facts:
        return "search" if any(name in parameters for name in _SEARCHES) else "read"
    return "other"


def changes(diff: Any, folder: Path) -> Content:
    """Return what a preview or a result shows: the changes of a diff, else the text itself."""
    if not isinstance(diff, str) or not diff.strip():
        return []
    return [*changes_in(diff, folder)] or [text_content(diff)]


def text_content(text: str) -> s.ContentToolCallContent:
    """Return a text as content of a call."""
    return s.ContentToolCallContent(type="content", content=s.TextContentBlock(type="text", text=text))
