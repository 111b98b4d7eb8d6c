"""``/collaborations`` in front ends: the thread of the last session of several skills, as a tree."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillkit_core.errors import UnknownName

from .exports import as_text
from .record import records_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from skillkit_core import AgentRunner, UserInterface

__all__ = ["collaborations", "complete"]


async def collaborations(agent: AgentRunner, arguments: str, ui: UserInterface | None) -> str:
    """Show the newest collaboration of the conversation, or the one that is named."""
    found = records_of(agent.host, await agent.open())
    name = arguments.strip()
    if name and name not in (known := [one.id for one in found]):
        raise UnknownName("collaboration", name, known)
    if not found:
        return "No skills have worked together here yet; /NAME of a pattern begins it."
    record = next(one for one in reversed(found) if name in ("", one.id))
    return str(agent.host.redact(as_text(record.trace())))


def complete(agent: AgentRunner, arguments: str) -> Iterable[str]:
    """Return the names that fit."""
    session = agent.open_session
    found = records_of(agent.host, session) if session is not None else []
    return [one.id for one in found if one.id.startswith(arguments.strip())]
