"""The plugin ``routing``: the choice of a skill, ``skillkit routing``, and routers that choose in the shadow."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING

from skillkit_core import hookimpl
from skillkit_core.descriptors import Command, ConfigSection

if TYPE_CHECKING:
    from skillkit_engines import Route, RouteRequest, SkillCandidate

    from skillkit_core import AgentRunner, HandlerContext, Skill
    from skillkit_core.events.types import SessionStartEvent


@hookimpl
def register_config(register: Callable[[ConfigSection], None]) -> None:
    """Offer the section ``routing``."""
    register(ConfigSection("routing", "skillkit_routing.config:RoutingConfig"))


@hookimpl
def register_commands(register: Callable[[Command], None]) -> None:
    """Offer ``skillkit routing``."""
    register(
        Command(
            "routing", "skillkit_routing.cli:routing", "Tell which skill takes a request and why; judge the choice."
        )
    )


@hookimpl(optionalhook=True)
def used_fields() -> Collection[str]:
    """Name the fields of skills that the choice uses."""
    return ("domains", "intents", "override_continuity", "not_for")


@hookimpl(optionalhook=True)
def rank_skills(skills: Sequence[Skill], agent: AgentRunner | None) -> Sequence[SkillCandidate]:
    """Put the skills for the open document first, then by priority."""
    from skillkit_engines import editor_of

    from .ranking import ranked

    return ranked(skills, agent is not None and editor_of(agent) is not None)


@hookimpl(optionalhook=True, trylast=True)
async def select_skill(
    request: RouteRequest, candidates: Sequence[SkillCandidate], agent: AgentRunner | None
) -> Route | None:
    """Choose, after every other plugin had its say."""
    if agent is None:
        return None
    from skillkit_engines import step_targets

    from .selecting import select

    return await select(request, candidates, agent.host, step_targets(agent))


@hookimpl
def session_start(event: SessionStartEvent, ctx: HandlerContext) -> None:
    """Choose in the shadow, where the settings want it; else nothing is added to a turn."""
    agent = ctx.agent
    if agent is None or agent.parent is not None:
        return
    config = agent.host.config
    own, family = config.section("routing", None), config.section("engines", None)
    if getattr(own, "shadow", None) or getattr(family, "mode", "") == "shadow":
        from .shadow import Shadow

        Shadow.of(agent).listen()
