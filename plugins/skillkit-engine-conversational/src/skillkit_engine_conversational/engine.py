"""The engine: the agent's own prompt and tools, a skill's instructions, and the skills that a request may be handed on to."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from skillkit_engines import (
    Notebook,
    RouteRequest,
    Task,
    TaskResult,
    converse,
    gated_now,
    load_context,
    messages_of,
    node,
    plain_tools,
    run_below,
    settings_of,
    task_tools,
    tool_names,
)

if TYPE_CHECKING:
    from skillkit_core import DrivenRun, Host, Skill, SkillProblem

__all__ = ["ConversationalEngine", "handoff"]

HANDOFF = """If the request is a task of one of these skills, do not do it yourself: answer with this JSON object alone: \
{"handoff": "NAME", "reason": "why"}
"""
CHARS = 200  # of a description
MOST = 30  # skills that are named


class ConversationalEngine:
    """Runs skills that talk: with the tools that they name, without any with those of the agent."""

    name = "conversational"
    fields = frozenset(("system_prompt", "tool_packs", "optional_tools", "context_loader", "supports_hitl"))

    def __init__(self, host: Host) -> None:
        self._host = host

    def problems(self, skill: Skill, host: Host) -> Sequence[SkillProblem]:
        """Return nothing: any skill will do."""
        return ()

    def tools(self, task: Task) -> Sequence[str]:
        """Return the tools that the skill and its packs name; where the skill names none, those of the agent."""
        named = tool_names(task)
        if tool_names(replace(task, packs=())):
            return named
        every = (tool.name for tool in plain_tools(task.agent) if task.tools is None or tool.name in task.tools)
        return tuple(dict.fromkeys((*every, *named)))

    def prompt(self, task: Task) -> str:
        """Return the prompt of the agent and that of the skill."""
        own = task.skill.system_prompt or task.skill.body
        return "\n\n".join(part.strip() for part in (task.agent.system_prompt(), own) if part.strip())

    async def run(self, task: Task, run: DrivenRun | None) -> TaskResult:
        """Do the task: ``prepare_context``, ``generate_response``, ``check_handoff``."""
        if run is None:
            return await run_below(self, task)
        async with node(task, "prepare_context"):
            others = self._others(task)
            system = "\n\n".join(filter(None, (self.prompt(task), _told(others))))
            messages = messages_of(task, run, await load_context(task))
        async with node(task, "generate_response"):
            answered = await converse(
                run,
                Notebook(run, task.id),
                messages,
                system=system,
                tools=task_tools(self, task),
                purpose="engine-conversational.answer",
                max_rounds=settings_of(self._host).max_tool_rounds,
                role=task.role,
            )
        async with node(task, "check_handoff"):
            if (found := handoff(answered.text, [skill.name for skill in others])) is not None:
                return TaskResult("rejected", reason=f"handoff: {found[1]}", data={"handoff": found[0]})
        status, reason = answered.ended()
        text = "" if answered.stopped == "loop" else answered.text
        return TaskResult(status, text=text, reason=reason, denied=answered.denied)

    def _others(self, task: Task) -> Sequence[Skill]:
        """Return the skills of other engines that may take the request."""
        images = len(task.images)
        gated = gated_now(task.agent, RouteRequest(task.query, images, task.editor))
        return [skill for skill in gated.eligible if skill.engine != self.name][:MOST]


def _told(others: Sequence[Skill]) -> str:
    rows = (f"- {skill.name}: {' '.join(skill.description.split())[:CHARS]}" for skill in others)
    return HANDOFF + "\n".join(rows) if others else ""


def handoff(text: str, names: Sequence[str]) -> tuple[str, str] | None:
    """Return the skill that an answer hands on to, and why; ``None``: it answers, or names none of ``names``."""
    bare = text.strip().removeprefix("```json").removeprefix("```").removesuffix("```").strip()
    if not bare.startswith("{"):
        return None
    try:
        found = json.loads(bare)
    except ValueError:
        return None
    name = found.get("handoff") if isinstance(found, Mapping) else None
    return (name, str(found.get("reason") or "it is its task")) if isinstance(name, str) and name in names else None
