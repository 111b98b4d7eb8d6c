"""Plans that no router makes: saved ones that a person names, and those of plugins."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from skillkit_engines import CHAT, Route, RouteRequest, SkillCandidate, named_plan

from skillkit_core.errors import in_words

from .models import ExecutionPlan
from .settings import settings_of
from .templates import load, steps_for

if TYPE_CHECKING:
    from skillkit_core import AgentRunner

__all__ = ["select"]


async def select(request: RouteRequest, candidates: Sequence[SkillCandidate], agent: AgentRunner) -> Route | None:
    """Return the route of a request for which a person or a plugin has a plan; ``None``: a router chooses."""
    if not settings_of(agent.host).enabled:
        return None
    if name := named_plan(agent):
        agent.state("engines").pop("plan", None)
        plan = load(agent.host, name)
        return _route(plan, steps_for(plan, request.query), candidates, by=f"template {name}")
    for impl in agent.host.impls("make_plan"):
        given = {"request": request, "candidates": candidates, "agent": agent}
        try:
            made = await impl.function(*(given[name] for name in impl.argnames))
        except Exception as error:  # noqa: BLE001 - code of a plugin
            agent.host.note(impl.plugin_name, f"make_plan failed: {in_words(error)}")
            continue
        if isinstance(made, ExecutionPlan):
            return _route(made, [step.to_dict() for step in made.steps], candidates, by=impl.plugin_name)
    return None


def _route(
    plan: ExecutionPlan, steps: Sequence[dict[str, object]], candidates: Sequence[SkillCandidate], *, by: str
) -> Route:
    usable = {one.skill.name for one in candidates}
    main = next((step.skill_name for step in plan.steps if step.skill_name in usable), None)
    return Route(main or CHAT, reason=plan.reasoning, by=by, why="plan", plan=tuple(steps))
