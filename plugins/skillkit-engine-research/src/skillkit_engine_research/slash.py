"""``/sources``: what the conversation has found."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from skillkit_core.errors import UsageError

from .evidence import kept_sources, text_of

if TYPE_CHECKING:
    from skillkit_core import AgentRunner

__all__ = ["sources"]


async def sources(agent: AgentRunner, text: str, ctx: Any) -> str:
    """List the sources of the conversation, or show the text of one."""
    session = agent.open_session
    found = list(kept_sources(session)) if session is not None else []
    wanted = text.strip().upper()
    if not wanted:
        lines = [f"{one['id']}  {one['kind']}  {one['chars']:,} characters  {one['where']}" for one in found]
        return "\n".join(lines) or "The conversation holds no sources."
    one = next((one for one in found if one["id"] == wanted), None)
    if one is None:
        raise UsageError(f"the conversation has no source {wanted!r}", hint="/sources lists them")
    shown = text_of(agent.host, one)
    if shown is None:
        raise UsageError(f"the text of {wanted} is gone", hint=f"it was that of {one['where']}")
    return shown
