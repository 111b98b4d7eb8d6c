"""A plan in words: the answer that its steps come to, and what a person reads before it runs."""

from __future__ import annotations

from .models import ExecutionPlan
from .notes import PlanView, StepView

__all__ = ["MARKS", "WORDS", "line_of", "told"]

MARKS = {
    "completed": "✓", "failed": "✗", "skipped": "–", "cancelled": "■", "not_started": "·", "waiting": "?", "running": "▸",
    "retrying": "↻", "pending": "·",
}  # fmt: skip
WORDS = {"not_started": "not begun", "waiting": "waits for a decision", "completed": "done"}


def told(view: PlanView) -> str:
    """Return the answer of a plan: what each completed step said, and of each other one why it is not done."""
    parts = [_part(view, step) for number, step in sorted(view.steps.items()) if number not in view.replaced]
    return "\n\n".join(filter(None, [*parts, _summary(view)]))


def _part(view: PlanView, step: StepView) -> str:
    head = f"**{step.step.step_id}. {step.step.target}**"
    if step.state == "completed":
        text = str(step.result.get("response_text") or "").strip() or "done"
        note = str(step.result.get("partial") or "")
        return f"{head}\n\n{text}" + (f"\n\n({note})" if note else "")
    return f"{head}: {_why(view, step)}"


def _why(view: PlanView, step: StepView) -> str:
    if step.reason == "dependency_failed":
        failed = [n for n in step.step.depends_on if view.steps[n].state != "completed"]
        return f"left out, because step {' and '.join(map(str, failed))} is not done"
    word = WORDS.get(step.state, step.state)
    return f"{word} ({step.reason})" if step.reason else word


def _summary(view: PlanView) -> str:
    counted = [step for number, step in view.steps.items() if number not in view.replaced]
    done = sum(step.state == "completed" for step in counted)
    return f"{done} of {len(counted)} steps are done." if done < len(counted) else ""


def line_of(plan: ExecutionPlan, number: int) -> str:
    """Return a step on one line: ``2 org-capture: capture the key points (after 1)``."""
    step = plan.step(number)
    after = f" (after {', '.join(map(str, step.depends_on))})" if step.depends_on else ""
    return f"{number} {step.target}: {' '.join(step.sub_query.split())}{after}"
