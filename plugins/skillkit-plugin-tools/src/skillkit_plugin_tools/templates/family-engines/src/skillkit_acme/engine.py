"""The engine "acme": a model works with the skill's tools, then reads its own answer once and mends it."""

from __future__ import annotations

from collections.abc import Sequence

from skillkit_core import DrivenRun, Host, Skill, SkillProblem, UserMessage, blocks_of
from skillkit_engines import (
    Notebook,
    Task,
    TaskResult,
    compose,
    converse,
    messages_of,
    node,
    run_below,
    task_tools,
    tool_names,
)

BASE = """You do one kind of task, described below, with the tools that you are given.
If the request is a task of another kind, answer with this alone: REJECTED: why"""
REVIEW = "This is your answer:\n\n{text}\n\nMend what is wrong or missing, and give the whole answer again."


class AcmeEngine:
    """Runs the skills that say ``engine: acme``."""

    name = "acme"
    fields = frozenset(("system_prompt", "tool_packs", "supports_hitl"))

    def __init__(self, host: Host) -> None:
        pass

    def problems(self, skill: Skill, host: Host) -> Sequence[SkillProblem]:
        """Return what is wrong with a skill."""
        return ()

    def tools(self, task: Task) -> Sequence[str]:
        """Return the names of the tools that a model may call."""
        return tool_names(task)

    def prompt(self, task: Task) -> str:
        """Return the system prompt."""
        return compose(BASE, task)

    async def run(self, task: Task, run: DrivenRun | None) -> TaskResult:
        """Do the task; whoever called the engine says the text of the result."""
        if run is None:  # a step of a plan: an agent of its own below the caller
            return await run_below(self, task)
        book, messages, system = Notebook(run, task.id), messages_of(task, run), self.prompt(task)
        async with node(task, "work"):
            tools = task_tools(self, task)
            found = await converse(
                run,
                book,
                messages,
                system=system,
                tools=tools,
                purpose="acme.work",
                max_rounds=8,
            )
        if found.text.startswith("REJECTED:"):
            return TaskResult("rejected", reason=f"rejected:{found.text.partition(':')[2]}")
        status, reason = found.ended()
        if status != "completed":
            return TaskResult(status, text=found.text, reason=reason, denied=found.denied)
        async with node(task, "review"):
            asked = UserMessage(content=blocks_of(REVIEW.format(text=found.text)))
            mended = await book.ask([*messages, asked], system=system, purpose="acme.review")
        return TaskResult("completed", text=mended.text or found.text)
