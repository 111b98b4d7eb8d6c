"""The hooks of plans."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from skillkit_core import hookspec

if TYPE_CHECKING:
    from skillkit_engines import RouteRequest, SkillCandidate, Task, TaskResult

    from skillkit_core import AgentRunner, HandlerContext, Host

    from .events import PlanCreatedEvent, PlanEndEvent, PlanFallbackEvent, PlanRejectedEvent, PlanStepEvent
    from .models import ExecutionPlan


@hookspec
async def make_plan(
    request: RouteRequest, candidates: Sequence[SkillCandidate], agent: AgentRunner
) -> ExecutionPlan | None:
    """Make a plan for a request before any router is asked; the first answer that is not ``None`` counts.

    It is validated as any other, and where it is wrong one skill does the request. An implementation that fails is
    reported, and counts as no answer.
    """


@hookspec
def check_plan(name: str, host: Host) -> None:
    """Raise where no saved plan has a name that a person typed (``skillkit run --plan NAME``)."""


@hookspec
async def run_collaboration(collaboration: Mapping[str, Any], task: Task) -> TaskResult | None:
    """Do a step of a plan in which several skills work on one thing; the first answer that is not ``None`` counts.

    ``task`` has the agent, the words of the step, its context and its packs; its skill has only a name.
    """


@hookspec
def plan_created(event: PlanCreatedEvent, ctx: HandlerContext) -> None:
    """See a plan that is about to be carried out. Observed."""


@hookspec
def plan_rejected(event: PlanRejectedEvent, ctx: HandlerContext) -> None:
    """See a plan that is wrong, with all reasons. Observed."""


@hookspec
def plan_fallback(event: PlanFallbackEvent, ctx: HandlerContext) -> None:
    """See that one skill does a request for which no plan could be made. Observed."""


@hookspec
def plan_step(event: PlanStepEvent, ctx: HandlerContext) -> None:
    """See a step of a plan begin or end. Observed."""


@hookspec
def plan_end(event: PlanEndEvent, ctx: HandlerContext) -> None:
    """See that a plan has ended. Observed."""
