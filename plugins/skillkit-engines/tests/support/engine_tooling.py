"""An engine as short as one can be, and a plugin that brings it and chooses."""

from __future__ import annotations

from typing import Any

from skillkit_engines import (
    Notebook,
    Route,
    TaskResult,
    compose,
    converse,
    messages_of,
    node,
    run_below,
    task_tools,
    tool_names,
)

from skillkit_core import Tool, hookimpl
from skillkit_core.descriptors import Factory

PLACE = {"type": "object", "properties": {"place": {"type": "string"}}, "required": ["place"]}


class Tooling:
    """An engine as short as one can be: a model, the skill's tools, an answer."""

    name = "tooling"
    fields = frozenset(("system_prompt", "tool_packs"))

    def problems(self, skill: Any, host: Any) -> Any:
        return ()

    def tools(self, task: Any) -> Any:
        return tool_names(task)

    def prompt(self, task: Any) -> str:
        return compose("Base.", task)

    async def run(self, task: Any, run: Any) -> TaskResult:
        if run is None:
            return await run_below(self, task)
        async with node(task, "work"):
            answered = await converse(
                run, Notebook(run, task.id), messages_of(task, run), system=self.prompt(task),
                tools=task_tools(self, task), purpose="tooling.answer", max_rounds=8,
            )  # fmt: skip
        if answered.text.startswith("not mine"):
            return TaskResult("rejected", reason="rejected: it is not mine")
        return TaskResult("completed", text=answered.text)


class Brings:
    """The plugin with the engine ``tooling``; what it chooses is given by skill, ``None``: it does not choose."""

    def __init__(self, choose: Any = None) -> None:
        self.choose = choose
        self.asked: list[Any] = []

    @hookimpl(optionalhook=True)
    def register_engines(self, register: Any) -> None:
        register(Factory("tooling", lambda host: Tooling()))

    @hookimpl(optionalhook=True)
    async def select_skill(self, request: Any, candidates: Any) -> Any:
        self.asked.append((request, [one.skill.name for one in candidates]))
        if self.choose is None:
            return None
        chosen = self.choose(request, candidates) if callable(self.choose) else self.choose
        return Route(chosen, 0.9, "it fits", why="selected", calls=0) if isinstance(chosen, str) else chosen


async def now(args: Any, ctx: Any) -> str:
    return f"12 C in {args['place']}"


WEATHER = Tool("weather_now", "Weather now.", now, PLACE, annotations={"mutates": "none"})
