"""The engine: loads the skill, prepares its context, lets a model call the skill's tools, and forms the answer."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from skillkit_engines import (
    Answered,
    Notebook,
    Task,
    TaskResult,
    compose,
    converse,
    load_context,
    messages_of,
    node,
    run_below,
    run_fragments,
    settings_of,
    task_tools,
    tool_names,
)

if TYPE_CHECKING:
    from skillkit_core import DrivenRun, Host, Skill, SkillProblem

__all__ = ["AutomationEngine", "rejection"]

BASE = """You carry out one kind of task, described below, with the tools that you are given.
Call the tools that the task needs, several at once where none needs the result of another. Say what the results say, and \
nothing that they do not say. Where a tool fails or is refused, say so.
If the request is a task of another kind, answer with this JSON object alone: {"rejected": true, "reason": "why"}"""
_FENCE = re.compile(r"```(?:json)?\s*(.*?)\s*```\Z", re.S)


class AutomationEngine:
    """Runs skills that their prompt and tools describe in full."""

    name = "automation"
    fields = frozenset(
        ("system_prompt", "tool_packs", "optional_tools", "subgraphs", "context_loader", "supports_hitl")
    )

    def __init__(self, host: Host) -> None:
        self._host = host

    def problems(self, skill: Skill, host: Host) -> Sequence[SkillProblem]:
        """Return nothing: any skill will do."""
        return ()

    def tools(self, task: Task) -> Sequence[str]:
        """Return the tools of the skill and of its packs."""
        return tool_names(task)

    def prompt(self, task: Task) -> str:
        """Return the rules of the engine, the prompt of the skill, and what holds in all skills."""
        return compose(BASE, task)

    async def run(self, task: Task, run: DrivenRun | None) -> TaskResult:
        """Do the task: ``load_skill``, ``prepare_context``, ``execute_with_tools``, ``format_response``."""
        if run is None:
            return await run_below(self, task)
        async with node(task, "load_skill"):
            system, tools = self.prompt(task), task_tools(self, task)
        async with node(task, "prepare_context"):
            messages = messages_of(task, run, await load_context(task))
        async with node(task, "execute_with_tools"):
            answered = await converse(
                run,
                Notebook(run, task.id),
                messages,
                system=system,
                tools=tools,
                purpose="engine-automation.answer",
                max_rounds=settings_of(self._host).max_tool_rounds,
                role=task.role,
            )
        async with node(task, "format_response"):
            return await _formed(task, answered)


async def _formed(task: Task, answered: Answered) -> TaskResult:
    """Return the result of a task: what its fragments make of the answer, or why there is none."""
    status, reason = answered.ended()
    if answered.stopped == "loop":
        return TaskResult(status, reason=reason, denied=answered.denied)
    if (why := rejection(answered.text)) is not None:
        return TaskResult("rejected", reason=f"rejected: {why}", denied=answered.denied)
    given = {"query": task.query, "text": answered.text}
    values, failed = await run_fragments(task, task.skill.subgraphs, given)
    text = str(values.get("text", answered.text))
    data: dict[str, Any] = {name: value for name, value in values.items() if name not in given}
    if answered.stopped:
        data["stopped"] = answered.stopped
    if failed and status == "completed":
        status, reason = "partial", f"fragments: {', '.join(failed)} failed"
    return TaskResult(status, text=text, data=data, reason=reason, denied=answered.denied)


def rejection(text: str) -> str | None:
    """Return the reason of an answer that is ``{"rejected": true, "reason": ...}``, bare or in a fence; else ``None``."""
    fenced = _FENCE.match(text.strip())
    bare = fenced[1] if fenced else text.strip()
    if not bare.startswith("{"):
        return None
    try:
        found = json.loads(bare)
    except ValueError:
        return None
    if not isinstance(found, Mapping) or found.get("rejected") is not True:
        return None
    return str(found.get("reason") or "no reason given")
