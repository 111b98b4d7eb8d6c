"""``/route`` in front ends."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from .explaining import route_rows
from .pins import PIN, pin_of
from .registries import is_routed
from .types import CHAT

if TYPE_CHECKING:
    from skillkit_core import AgentRunner, UserInterface

__all__ = ["complete", "route"]

_AUTO = "auto"


async def route(agent: AgentRunner, arguments: str, ui: UserInterface | None) -> str:
    """Tell where the last input went; or let one skill take all inputs to come, ``auto``: choose for each again."""
    session = await agent.open()
    name = arguments.strip()
    if name == _AUTO:
        await session.note(PIN, {"skill": ""}, sync=True)
        return "Each input is routed again."
    if name:
        if name != CHAT and not agent.host.skills.has(name):
            return f"There is no skill {name!r}; /skills lists them."
        await session.note(PIN, {"skill": name}, sync=True)
        who = "The agent itself" if name == CHAT else name
        return f"{who} answers from now on; /route auto ends that."
    pin = pin_of(agent)
    told = [f"Pinned to {pin}; /route auto ends that."] if pin else []
    dispatcher = agent.state("engines").get("dispatcher")
    if dispatcher is None or dispatcher.route is None:
        return "\n".join(told) or "Nothing was routed yet."
    rows = route_rows(dispatcher.route, dispatcher.engine, planned=dispatcher.planned)
    width = max(len(row[0]) for row in rows)
    return "\n".join([*told, *(f"{word.ljust(width)}  {text}" for word, text in rows)])


def complete(agent: AgentRunner, arguments: str) -> Iterable[str]:
    """Return the names that fit."""
    skills = [skill.name for skill in agent.host.skills.items() if is_routed(agent.host, skill)]
    return [name for name in (_AUTO, CHAT, *sorted(skills)) if name.startswith(arguments.strip())]
