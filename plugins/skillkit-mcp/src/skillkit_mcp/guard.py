"""What asks before a tool of a server runs, where nothing else does, and again when a server changed the tool."""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from skillkit_core import ToolCallEventResult

if TYPE_CHECKING:
    from skillkit_core import HandlerContext, Host, ToolCallEvent

__all__ = ["ask"]

_first: WeakKeyDictionary[Host, dict[str, str]] = WeakKeyDictionary()


def ask(event: ToolCallEvent, ctx: HandlerContext) -> ToolCallEventResult | None:
    """Return a question about a call of a server's tool, or ``None``.

    The answer is remembered for this definition of the tool: a server that describes it differently later is asked about again.
    """
    about = event.annotations.get("mcp")
    if about is None or ctx.agent is None:
        return None
    host = ctx.agent.host
    definition = event.annotations["definition"]
    first = _first.setdefault(host, {}).setdefault(event.tool_name, definition)
    if first != definition:
        text = f"The MCP server {about['server']} changed what {about['tool']} is since it was first called. Run it?"
        return ToolCallEventResult(ask=text, ask_key=definition)
    if about["always_allow"] or "permissions" in host.plugins:
        return None
    return ToolCallEventResult(ask=f"Run {about['tool']} of the MCP server {about['server']}?", ask_key=definition)
