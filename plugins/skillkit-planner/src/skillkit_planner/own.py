"""The plan that a skill brings: ``metadata.skillkit.plan``, a list of steps as a saved plan has them.

Where all of it can be carried out here, it is done in the place of the skill; else the skill does the request alone. A step may
name the skill itself: a step is never a plan again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError
from skillkit_engines import RouteRequest
from skillkit_markdown import natural

from skillkit_core.frozen import thaw
from skillkit_core.skills import SkillProblem

from .events import PlanRejectedEvent
from .known import by_code, known_now, known_of
from .models import PlanStep
from .settings import settings_of
from .templates import QUERY
from .validating import Known, Reason, reasons

if TYPE_CHECKING:
    from skillkit_core import AgentRunner, Host, Skill

__all__ = ["MOST", "problems", "steps_here"]

MOST = 20  # steps of a plan that no model has made


async def steps_here(skill: Skill, request: RouteRequest, agent: AgentRunner) -> Sequence[Mapping[str, Any]] | None:
    """Return the steps of a skill's plan for a request; ``None``: it cannot be carried out, which is told with every reason."""
    if not settings_of(agent.host).enabled:
        return None
    steps = _steps(skill, request.query)
    wrong = list(_wrong(steps, known_now(agent, by_code(request, by_model=False))))
    if not wrong:
        return steps
    codes, texts = tuple(reason.code for reason in wrong), tuple(reason.text for reason in wrong)
    await agent.events.emit(agent.events.make(PlanRejectedEvent, codes=codes, reasons=texts))
    agent.host.note("planner", f"the skill {skill.name} does its work without its plan: {'; '.join(texts)}")
    return None


def problems(skill: Skill, host: Host) -> Sequence[SkillProblem]:
    """Return why the plan of a skill cannot be carried out on a host, whatever is asked."""
    skills = {one.name: one for one in (*host.skills.items(), skill)}
    where = str(skill.path / "SKILL.md") if skill.path is not None else None
    told = "; ".join(reason.text for reason in _wrong(_steps(skill, QUERY), known_of(host, [*skills.values()], {})))
    return (SkillProblem("skill-plan", f"the skill works without its plan: {told}", "warning", where),) if told else ()


def _steps(skill: Skill, query: str) -> list[dict[str, Any]]:
    """Return the steps as they are written, with the words of the request; what is no step is none."""
    given = natural(thaw(skill.metadata["skillkit"]["plan"]))
    found = [dict(step) for step in given if isinstance(step, Mapping)] if isinstance(given, list) else []
    return [{**step, "sub_query": str(step.get("sub_query", "")).replace(QUERY, query)} for step in found]


def _wrong(steps: Sequence[Mapping[str, Any]], known: Known) -> Iterator[Reason]:
    yield from reasons({"is_compound": True, "steps": steps}, known, max_steps=MOST)
    for step in steps:
        try:
            PlanStep(**dict(step))
        except (ValidationError, TypeError) as error:
            told = error.errors()[0] if isinstance(error, ValidationError) else {"loc": (), "msg": str(error)}
            yield Reason("bad_step", f"step {step.get('step_id')}: {'.'.join(map(str, told['loc']))} {told['msg']}")
