"""Tools with which a step knows where it stands, and reads what was too long to be handed to it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from skillkit_core.tools import Tool, ToolContext

from .budget import step_of
from .notes import kept_text, plans_of
from .telling import WORDS, line_of

if TYPE_CHECKING:
    from skillkit_core import AgentRunner

__all__ = ["TOOLS"]

PIECE = 16_000  # characters of one answer


async def get_session_plan(args: Mapping[str, Any], ctx: ToolContext) -> str:
    """Return the newest plan of the session, and at which of its steps the caller is."""
    top: AgentRunner = list(ctx.agent.ancestors())[-1]
    views = plans_of(top.host, top.session)
    if not views:
        return "There is no plan: the request has one part."
    view = views[-1]
    own = step_of(ctx.agent_path)
    here = f" You are in step {own} of {len(view.steps)}." if own is not None else ""
    lines = [f"Plan {view.plan.id}, {view.status}.{here}", f"Request: {view.query}"]
    for number, step in sorted(view.steps.items()):
        lines.append(f"- {line_of(view.plan, number)}: {WORDS.get(step.state, step.state)}")
    return "\n".join(lines)


async def get_step_output(args: Mapping[str, Any], ctx: ToolContext) -> str:
    """Return a piece of an output that was too long to be handed on."""
    text, start = kept_text(ctx.agent.host, str(args["handle"])), int(args.get("offset") or 0)
    piece = text[start : start + PIECE]
    more = len(text) - start - len(piece)
    return piece + (f"\n[{more:,} characters follow; go on with offset {start + len(piece)}]" if more > 0 else "")


TOOLS = (
    Tool(
        "get_session_plan_tool",
        "Tell the plan of the request, which steps are done, and in which step you are.",
        f"{__name__}:get_session_plan",
        annotations={"mutates": "none"},
        replay="safe",
    ),
    Tool(
        "get_step_output_tool",
        "Read the whole output of an earlier step of the plan by the handle that stands where it was shortened.",
        f"{__name__}:get_step_output",
        {
            "type": "object",
            "properties": {
                "handle": {"type": "string"},
                "offset": {"type": "integer", "minimum": 0, "description": "First character, from 0."},
            },
            "required": ["handle"],
            "additionalProperties": False,
        },
        annotations={"mutates": "none"},
        replay="safe",
        max_output=20_000,
    ),
)
