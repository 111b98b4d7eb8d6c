"""The tool ``tasks``: what is to be done, in a list that the model keeps and the person sees. The session holds it, by branch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from skillkit_core import Tool, ToolOutput

from .state import TASKS

if TYPE_CHECKING:
    from skillkit_core import AgentRunner, UserInterface
    from skillkit_core.tools import ToolContext

__all__ = ["KEEP_TASKS", "keep_tasks", "now_doing", "remembered", "show_tasks"]

_MARKS = {"pending": "☐", "doing": "▶", "done": "☑"}
KEEP_TASKS = Tool(
    "tasks",
    "Keep the list of steps of a longer work, which the person sees. Give the whole list whenever a step begins or is done.",
    "skillkit_planning.tasks:keep_tasks",
    {
        "type": "object",
        "properties": {
            "tasks": {
                "type": "array",
                "maxItems": 100,
                "items": {
                    "type": "object",
                    "properties": {
                        "task": {"type": "string", "minLength": 1, "maxLength": 300},
                        "state": {"enum": [*_MARKS]},
                    },
                    "required": ["task", "state"],
                    "additionalProperties": False,
                },
            }
        },
        "required": ["tasks"],
        "additionalProperties": False,
    },
    sequential=True,
    annotations={"mutates": "none", "purpose": "keep the list of tasks"},
)


async def keep_tasks(args: Mapping[str, Any], ctx: ToolContext) -> ToolOutput:
    """Write the list into the session; return it as the person reads it."""
    tasks = [{"task": one["task"], "state": one["state"]} for one in args["tasks"]]
    assert ctx.agent is not None  # the tool is one of an agent's set
    await ctx.agent.session.note(TASKS, {"tasks": tasks})
    return ToolOutput(_drawn(tasks) or "The list is empty.", {"tasks": tasks})


async def show_tasks(agent: AgentRunner, arguments: str, ui: UserInterface | None) -> str:
    """Return the list, for ``/tasks``."""
    return _drawn(_tasks(agent)) or "The model keeps no list of tasks here."


def now_doing(agent: AgentRunner) -> str:
    """Return how far the list is and what is done now, for a status line; nothing when all is done."""
    tasks = _tasks(agent)
    waiting = [one for one in tasks if one["state"] != "done"]
    if not waiting:
        return ""
    doing = next((one["task"] for one in waiting if one["state"] == "doing"), waiting[0]["task"])
    return f"{len(tasks) - len(waiting)}/{len(tasks)} {' '.join(doing.split())}"


def remembered(agent: AgentRunner) -> str | None:
    """Return the list as a part of the system prompt when a compaction has taken away the call that wrote it."""
    session = agent.open_session
    tasks = _tasks(agent)
    if session is None or all(one["state"] == "done" for one in tasks):
        return None
    written = session.notes(TASKS)[-1].entry_id
    for entry in reversed(session.path()):
        if entry.id == written:
            return None
        if entry.type == "compaction":
            break
    return f"## Tasks\n\nYour list, which the tool tasks keeps:\n\n{_drawn(tasks)}"


def _tasks(agent: AgentRunner) -> Sequence[Mapping[str, str]]:
    session = agent.open_session
    notes = session.notes(TASKS) if session is not None else ()
    return notes[-1].data["tasks"] if notes else ()


def _drawn(tasks: Sequence[Mapping[str, str]]) -> str:
    return "\n".join(f"{_MARKS[one['state']]} {' '.join(one['task'].split())}" for one in tasks)
