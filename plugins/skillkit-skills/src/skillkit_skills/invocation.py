"""A person calls a skill: ``/name text`` or ``$name text``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from skillkit_core.events.results import UNSET, BeforeAgentStartResult, Handled, InputResult, Transform
from skillkit_core.messages import ImageBlock

from .agent_skills import skills_of
from .gates import Request, closed, editor_type
from .listed import listing

if TYPE_CHECKING:
    from skillkit_core import AgentRunner, HandlerContext
    from skillkit_core.events.types import BeforeAgentStartEvent, InputEvent

    from .activation import Overrides

__all__ = ["invoke"]

_CALL = r"[/$](?:skill:)?([^\s/$]+(?::[^\s/$]+/[^\s/$]+)?)(?:\s+(.*))?\Z"  # "user:folder/name" is an address, too


async def invoke(event: InputEvent, ctx: HandlerContext) -> InputResult | None:
    """The skill's instructions in place of the call, ``None`` when no skill has that name.

    The text behind the name fills the skill's arguments. Skills without a description can be called too; one that cannot
    run here, or that people may not call, answers why. ``/skill:name`` reaches a skill that is called like a command. A skill
    with ``context: fork`` is answered by a run of its own.
    """
    match = re.match(_CALL, event.text.strip(), re.S)
    if match is None or ctx.agent is None or event.delivery == "steer":
        return None
    agent, host = ctx.agent, ctx.agent.host
    if not host.skills.has(match[1]):
        return None
    skill = host.skills.get(match[1])
    row = next(r for r in listing(host) if r.skill is skill)
    request = Request(
        event.text,
        editor_type(agent.config.options.get("editor")),
        sum(isinstance(block, ImageBlock) for block in event.images),
        caller="user",
        host=host,
        session=agent.session,
    )
    if reasons := row.reasons or tuple(closed(host, [skill], request).values()):
        return Handled(f"Skill {row.name} cannot be called here: {', '.join(reasons)}.")
    from .activation import answered, opened, overrides_of

    if skill.context == "fork":
        answer = await answered(agent, skill, await opened(agent, skill, match[2]))
        return Handled(answer.content, keep=True)
    skills_of(agent).open(skill)
    own = overrides_of(host, skill)
    if own.limits or (own.model and agent.config.model is None):
        _for_the_next_run(agent, own)
    return Transform(await opened(agent, skill, match[2]), pinned=True)


def _for_the_next_run(agent: AgentRunner, own: Overrides) -> None:
    """Set model and limits of the run that the input begins."""
    model = own.model if own.model and agent.config.model is None else UNSET

    def begin(event: BeforeAgentStartEvent) -> BeforeAgentStartResult:
        remove()
        return BeforeAgentStartResult(model=model, limits=own.limits or UNSET)

    remove = agent.events.on("before_agent_start", begin)
