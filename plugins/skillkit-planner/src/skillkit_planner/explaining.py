"""A plan for ``skillkit why``: who made it, and what became of each step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from .drawing import became, headline
from .notes import REJECTED, PlanView, plans_of

if TYPE_CHECKING:
    from skillkit_core import AgentRunner

__all__ = ["sections"]


def sections(agent: AgentRunner) -> Sequence[Any]:
    """Return the section Plan of a turn in which a plan was carried out."""
    from skillkit_why import Section

    views = plans_of(agent.host, agent.session)
    return (Section("Plan", list(_rows(agent, views[-1]))),) if views else ()


def _rows(agent: AgentRunner, view: PlanView) -> Iterator[tuple[str, str]]:
    yield "plan", headline(view).removeprefix("plan ")
    yield "by", view.by
    for note in agent.session.notes(REJECTED):
        if note.data.get("input") == view.input:
            yield "rejected", "; ".join(map(str, note.data.get("reasons") or ()))
    for number, step in sorted(view.steps.items()):
        after = f" (after {', '.join(map(str, step.step.depends_on))})" if step.step.depends_on else ""
        own = [f"skillkit why {step.session}"] if step.session is not None else []
        yield f"step {number}", " · ".join([f"{step.step.target}{after}", *became(view, step), *own])
