"""The rest of a plan is planned once more, after a step has failed that wants it (``on_failure: replan``)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from skillkit_engines import RouteRequest, context_part

from skillkit_core.errors import LimitReached, SkillKitError
from skillkit_core.messages import UserMessage, blocks_of

from .known import known_now
from .making import listed, numbered, propose, save_plan, steps_in
from .models import ExecutionPlan
from .notes import PlanView, plans_of
from .offering import STEPS_SCHEMA

if TYPE_CHECKING:
    from collections.abc import Mapping

    from skillkit_core.tools import ToolContext

__all__ = ["replanned"]

CHARS = 2_000  # of what a completed step said
_SYSTEM = """A step of a plan has failed. You plan what is left of the request in another way. Answer with one JSON object \
{"steps": [...]}: only new steps, with numbers as they are given to you; depends_on may name completed steps and new ones. \
Do not repeat what is done. Name only what is listed. If nothing more can be done, answer {"steps": []}."""


async def replanned(ctx: ToolContext, view: PlanView) -> PlanView | None:
    """Return the plan with new steps in the place of those that failed and were left out; ``None``: it stays as it is."""
    agent = ctx.agent
    failed = [n for n, s in view.steps.items() if s.state == "failed" and s.step.on_failure == "replan"]
    if view.by == "replan" or view.replaced or not failed:
        return None
    done = [number for number, step in view.steps.items() if step.state == "completed"]
    gone = [number for number, step in view.steps.items() if step.state in ("failed", "skipped")]
    first = max(view.steps) + 1
    known = known_now(agent, RouteRequest(view.query))
    lines = [f"Request:\n{view.query}", f"New steps have numbers from {first} on."]
    for number in sorted(view.steps):
        step = view.steps[number]
        word = step.reason.partition(":")[0] if step.state != "completed" else "completed"
        lines.append(f"Step {number} ({step.step.target}): {step.step.sub_query}\nState: {step.state}, {word}")
        if number in done:
            lines.append(
                context_part(step.step.target, str(step.result.get("response_text", ""))[:CHARS], step=str(number))
            )
    try:
        answer = await ctx.complete(
            [UserMessage(content=blocks_of("\n\n".join([*lines, listed(agent, known)])))],
            system=_SYSTEM,
            schema=STEPS_SCHEMA,
            purpose="planner.replan",
        )
    except LimitReached:
        return None
    except SkillKitError:
        return None
    new = numbered(steps_in(answer.text) or ())
    old: list[Mapping[str, Any]] = [view.plan.step(number).to_dict() for number in done]
    plan, wrong = propose(agent, [*old, *new], known, max_steps=len(done) + 4)
    if plan is None or not new or any(int(step.get("step_id", 0)) < first for step in new):
        await agent.events.complain("plan_step", f"no other plan could be made: {json.dumps([r.code for r in wrong])}")
        return None
    fresh = [step for step in plan.steps if step.step_id >= first]
    whole = ExecutionPlan(
        is_compound=True, steps=(*view.plan.steps, *fresh), reasoning=view.plan.reasoning, id=view.plan.id
    )
    about: dict[str, Any] = {"query": view.query, "entry": view.input, "by": "replan", "confirmed": view.confirmed}
    await save_plan(agent, whole, **about, replaced=gone)
    return next(v for v in plans_of(agent.host, agent.session) if v.plan.id == view.plan.id)
