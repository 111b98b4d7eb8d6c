"""A person calls a skill: ``/name text`` or ``$name text``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from skillkit_core.events.results import Handled, InputResult, Transform

from .activation import skill_content
from .gates import Request, gate
from .listing import listing
from .offers import skills_of

if TYPE_CHECKING:
    from skillkit_core import HandlerContext
    from skillkit_core.events.types import InputEvent

__all__ = ["invoke"]

_CALL = r"[/$](?:skill:)?([^\s/$][^\s/$]*)(?:\s+(.*))?\Z"


def invoke(event: InputEvent, ctx: HandlerContext) -> InputResult | None:
    """The skill's instructions in place of the call, ``None`` when no skill has that name.

    The text behind the name fills the skill's arguments. Skills without a description can be called too; one that cannot
    run here, or that people may not call, answers why. ``/skill:name`` reaches a skill that is called like a command.
    """
    match = re.match(_CALL, event.text.strip(), re.S)
    if match is None or ctx.agent is None or event.delivery == "steer":
        return None
    host = ctx.agent.host
    if not host.skills.has(match[1]):
        return None
    skill = host.skills.get(match[1])
    row = next(r for r in listing(host) if r.skill is skill)
    reasons = row.reasons or tuple(filter(None, [gate(skill, Request(event.text, caller="user"))]))
    if reasons:
        return Handled(f"Skill {row.name} cannot be called here: {', '.join(reasons)}.")
    state = skills_of(ctx.agent)
    state.activate(skill.name)
    session = ctx.agent.session
    return Transform(skill_content(skill, match[2], session_id=session.id if session is not None else None))
