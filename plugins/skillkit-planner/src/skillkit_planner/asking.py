"""What a person is asked about a plan: whether it may run, with which steps; and whether a step may be done again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from skillkit_core import Survey, SurveyOption, SurveyQuestion

from .budget import Used, estimates
from .making import save_plan
from .models import ExecutionPlan, PlanStep
from .notes import PlanView, notes_of
from .telling import line_of

if TYPE_CHECKING:
    from skillkit_core.tools import ToolContext

__all__ = ["confirmed", "may_run_again", "without"]


async def may_run_again(ctx: ToolContext, view: PlanView, step: PlanStep) -> bool:
    """Ask whether a step which had begun, and may have changed something, is done again; nobody there: the run waits."""
    text = f"It had begun when the process ended, and may have changed something already: {' '.join(step.sub_query.split())}"
    question = SurveyQuestion("again", f"Do step {step.step_id} ({step.target}) again?", "confirm", default=False)
    answers = await ctx.ask(Survey(f"Step {view.plan.id}.{step.step_id} was interrupted", text, (question,)))
    return answers is not None and bool(answers.get("again"))


async def confirmed(ctx: ToolContext, view: PlanView) -> ExecutionPlan | None:
    """Show a plan to a person, who may drop steps and change questions; ``None``: it is not wanted."""
    plan = view.plan
    known = estimates(notes_of(ctx.agent.session))
    lines = [f"{line_of(plan, step.step_id)}{_estimate(known.get(step.target))}" for step in plan.steps]
    options = tuple(SurveyOption(line_of(plan, step.step_id)[:80], value=str(step.step_id)) for step in plan.steps)
    questions = [
        SurveyQuestion("run", "Carry out this plan?", "confirm", default=True),
        SurveyQuestion("drop", "Steps to leave out", "choices", options, required=False),
        *(
            SurveyQuestion(
                f"step_{step.step_id}", f"Words of step {step.step_id}", default=step.sub_query, required=False
            )
            for step in plan.steps
        ),
    ]
    text = "\n".join([*lines, *([plan.reasoning] if plan.reasoning else [])])
    answers = await ctx.ask(Survey(f"Plan {plan.id}: {len(plan.steps)} steps", text, tuple(questions)))
    if answers is None or not answers.get("run"):
        return None
    dropped = {int(one) for one in _several(answers.get("drop"))}
    words = {step.step_id: str(answers.get(f"step_{step.step_id}") or step.sub_query) for step in plan.steps}
    changed = without(plan, dropped, words)
    if not changed.steps:
        return None
    by = view.by if changed.steps == plan.steps else "person"
    return await save_plan(ctx.agent, changed, query=view.query, entry=view.input, by=by, confirmed=True)


def without(plan: ExecutionPlan, dropped: set[int], words: dict[int, str]) -> ExecutionPlan:
    """Return a plan without some steps, which no other step waits for any more, and with other words."""
    kept = []
    for step in plan.steps:
        if step.step_id in dropped:
            continue
        before = tuple(one for one in step.depends_on if one not in dropped)
        given: dict[str, Any] = {"depends_on": before, "sub_query": words.get(step.step_id, step.sub_query)}
        if not before:
            given["context_keys"] = ()
        kept.append(step.model_copy(update=given))
    return plan.model_copy(update={"steps": tuple(kept)})


def _several(value: Any) -> tuple[str, ...]:
    return tuple(value) if isinstance(value, (tuple, list)) else ()


def _estimate(used: Used | None) -> str:
    if used is None:
        return " (cost not known yet)"
    cost = f", ${used.cost:.4f}" if used.cost else ""
    return f" (about {used.tokens:,.0f} tokens{cost})"
