"""One skill for one request: ranks the candidates, and asks the plugins that choose."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from skillkit_core.errors import in_words
from skillkit_core.skills import Skill

from .pins import named_plan
from .settings import settings_of
from .types import CHAT, Route, RouteRequest, SkillCandidate, StepTargets

if TYPE_CHECKING:
    from skillkit_core import AgentRunner, Host

    from .gate import Gated

__all__ = ["MOST_KEPT", "choose", "rank", "step_targets"]

MOST_KEPT = 10  # candidates of a route


def rank(host: Host, query: str, skills: Sequence[Skill], agent: AgentRunner | None = None) -> list[SkillCandidate]:
    """Return the candidates, best first, as the implementations of ``rank_skills`` order them; without any, as they came."""
    found = [SkillCandidate(skill) for skill in skills]
    for impl in host.impls("rank_skills"):
        given = {"query": query, "skills": tuple(one.skill for one in found), "agent": agent}
        try:
            answer = impl.function(*(given[name] for name in impl.argnames))
            if answer is not None:
                found = [one if isinstance(one, SkillCandidate) else SkillCandidate(*one) for one in answer]
        except Exception as error:  # noqa: BLE001 - code of a plugin
            host.note(impl.plugin_name, f"rank_skills failed: {in_words(error)}")
    return found


def step_targets(agent: AgentRunner) -> StepTargets | None:
    """Return what may do a step of a compound request beside a skill, by the first plugin that says so; ``None``: nothing."""
    for impl in agent.host.impls("step_targets"):
        try:
            found = impl.function(*(agent for _ in impl.argnames))
        except Exception as error:  # noqa: BLE001 - code of a plugin
            agent.host.note(impl.plugin_name, f"step_targets failed: {in_words(error)}")
            continue
        if isinstance(found, StepTargets):
            return found
    return None


async def choose(
    host: Host,
    request: RouteRequest,
    gated: Gated,
    agent: AgentRunner | None = None,
    *,
    only: str | None = None,
    skip: str | None = None,
) -> Route:
    """Return the route of a request. It never raises because of a plugin: what fails is reported, and leads to ``chat``.

    Args:
        host: the host, whose plugins choose.
        request: the request.
        gated: what the gates left.
        agent: the agent that was asked; ``None``: nobody but ``skillkit routing why`` wants to know.
        only: the one plugin that is asked; default: all but ``skip``.
        skip: a plugin that is not asked.
    """
    if not gated.eligible and not (agent is not None and named_plan(agent)):
        return Route(CHAT, by="engines", why="no_eligible", reason="no skill may take it", dropped=gated.dropped)
    candidates = rank(host, request.query, gated.eligible, agent)
    for impl in sorted(host.impls("select_skill"), key=lambda impl: (bool(impl.trylast), not impl.tryfirst)):
        if impl.plugin_name == skip or only not in (None, impl.plugin_name):
            continue
        given = {"request": request, "candidates": candidates, "agent": agent}
        try:
            async with asyncio.timeout(settings_of(host).timeout):
                answer = await impl.function(*(given[name] for name in impl.argnames))
        except Exception as error:  # noqa: BLE001 - code of a plugin; LimitReached is no reason to fail the turn either
            host.note(impl.plugin_name, f"select_skill failed: {in_words(error)}")
            continue
        if answer is not None:
            return _checked(host, impl.plugin_name, answer, candidates, gated)
    why = "no plugin chose a skill"
    return Route(CHAT, by="engines", why="no_router", reason=why, candidates=_best(candidates), dropped=gated.dropped)


def _checked(host: Host, plugin: str, answer: Any, candidates: Sequence[SkillCandidate], gated: Gated) -> Route:
    """Return the answer of a plugin with what it does not know; a skill that may not be chosen becomes ``chat``."""
    names = {skill.name for skill in gated.eligible}
    found = answer if isinstance(answer, Route) else Route("", calls=0)
    if not (found.skill == CHAT or found.skill in names):
        wanted = found.skill or type(answer).__name__
        host.note(plugin, f"select_skill chose {wanted!r}, which is no candidate")
        found = Route(CHAT, why="ineligible_skill", reason=f"{wanted} may not take it", calls=found.calls)
    kept = found.candidates or _best(candidates)
    return replace(found, by=found.by or plugin, candidates=tuple(kept[:MOST_KEPT]), dropped=gated.dropped)


def _best(candidates: Sequence[SkillCandidate]) -> tuple[SkillCandidate, ...]:
    return tuple(candidates[:MOST_KEPT])
