"""The tool that carries out a plan: its steps in agents of their own, with every state in the session before and after."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from skillkit_core.errors import ToolError
from skillkit_core.tools import Tool, ToolContext, ToolOutput

from .asking import confirmed, may_run_again
from .budget import Budget
from .drawing import as_text
from .events import PlanEndEvent
from .executor import Executor, Outcome, Stops
from .journal import SessionJournal
from .models import ExecutionPlan
from .notes import END, STEP, PlanView, notes_of, plans_of
from .replanning import replanned
from .settings import settings_of
from .stepping import StepRunner

if TYPE_CHECKING:
    from skillkit_core import AgentRunner

__all__ = ["TOOLS", "run_plan"]


async def run_plan(args: Mapping[str, Any], ctx: ToolContext) -> ToolOutput:
    """Carry out a plan of the session, or what is not done of it."""
    agent = ctx.agent
    view = _view(agent, str(args["plan"]))
    if settings_of(agent.host).confirm and not view.confirmed:
        changed = await confirmed(ctx, view)
        if changed is None:
            return await _declined(agent, view)
        view = _view(agent, view.plan.id)
    began = agent.clock.monotonic()
    outcome = await _carry_out(ctx, view)
    if (new := await replanned(ctx, _view(agent, view.plan.id))) is not None:
        outcome = await _carry_out(ctx, new)
    ms = round((agent.clock.monotonic() - began) * 1000, 3)
    await _end(agent, view.plan, outcome, ms)
    view = _view(agent, view.plan.id)
    return ToolOutput(as_text(view), {"plan": view.plan.id, "status": view.status}, is_error=outcome.status == "failed")


def _view(agent: AgentRunner, name: str) -> PlanView:
    found = next((v for v in plans_of(agent.host, agent.session) if v.plan.id == name), None)
    if found is None:
        raise ToolError(f"there is no plan {name!r} in this session")
    return found


async def _carry_out(ctx: ToolContext, view: PlanView) -> Outcome:
    """Do the steps that are not done yet, within the budget.

    Raises:
        Suspended: a step waits for a decision, and nothing else can be done meanwhile.
    """
    agent, settings = ctx.agent, settings_of(ctx.agent.host)
    budget = Budget(settings, view, notes_of(agent.session), agent.clock.monotonic)
    steps = [step for step in view.plan.steps if step.step_id not in view.replaced]
    stops = agent.state("planner")["stops"] = Stops()
    journal = SessionJournal(ctx, view, budget)
    runner = StepRunner(ctx, view, journal, budget)
    executor = Executor(
        [runner.prepared(step) for step in steps],
        run_step=runner.run,
        journal=journal,
        ask=lambda step: may_run_again(ctx, view, step),
        stops=stops,
        max_parallel=settings.max_parallel,
        take=budget.take,
    )
    remove = [
        agent.events.observe(budget.see, ["usage"]),
        agent.events.on("before_model_request", budget.guard, phase="guard"),
    ]
    try:
        outcome = await executor.execute()
    finally:
        agent.state("planner").pop("stops", None)
        for one in remove:
            one()
    if outcome.status == "waiting" and outcome.suspended is not None:
        raise outcome.suspended
    return outcome


# --- the end ----------------------------------------------------------------------------------------------------------


async def _end(agent: AgentRunner, plan: ExecutionPlan, outcome: Outcome, ms: float) -> None:
    await agent.session.note(END, {"plan": plan.id, "status": outcome.status, "ms": ms}, sync=True)
    states = {str(number): state for number, state in sorted(outcome.states.items())}
    await agent.events.emit(agent.events.make(PlanEndEvent, plan=plan.id, status=outcome.status, states=states, ms=ms))


async def _declined(agent: AgentRunner, view: PlanView) -> ToolOutput:
    """End a plan that a person does not want."""
    reason = "cancelled: a person did not want the plan"
    for step in view.plan.steps:
        data = {"step_id": step.step_id, "state": "not_started", "attempt": 0, "reason": reason}
        await agent.session.note(STEP, {"plan": view.plan.id, **data})
    states = dict.fromkeys((step.step_id for step in view.plan.steps), "not_started")
    await _end(agent, view.plan, Outcome("cancelled", states), 0.0)  # type: ignore[arg-type]
    return ToolOutput("The plan was not carried out: a person did not want it.")


TOOLS = (
    Tool(
        "run_plan",
        "Carry out a plan of this session.",
        f"{__name__}:run_plan",
        {
            "type": "object",
            "properties": {"plan": {"type": "string"}, "again": {"type": "integer"}},
            "required": ["plan"],
            "additionalProperties": False,
        },
        sequential=True,
        replay="safe",
        suspends=True,
        annotations={"mutates": "none", "asks": True},
    ),
)
