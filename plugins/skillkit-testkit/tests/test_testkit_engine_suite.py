"""The suite of engines: a right engine passes, and each fault is found by the check that names it."""

from __future__ import annotations

import asyncio
import inspect
from dataclasses import replace
from typing import Any

import pytest
from skillkit_testkit.conformance import EngineConformance

from skillkit_core import LimitReached, ProviderError, hookimpl
from skillkit_core.descriptors import Factory

engines = pytest.importorskip("skillkit_engines", reason="the extra engines is not installed")


class Right:
    """An engine as short as a right one can be."""

    name = "right"
    fields = frozenset(("system_prompt", "tool_packs", "supports_hitl"))
    rounds = 8

    def problems(self, skill: Any, host: Any) -> Any:
        return ()

    def tools(self, task: Any) -> Any:
        return engines.tool_names(task)

    def prompt(self, task: Any) -> str:
        return engines.compose("You are right.", task)

    def book(self, run: Any, task: Any) -> Any:
        return engines.Notebook(run, task.id)

    def offered(self, task: Any) -> Any:
        return engines.task_tools(self, task)

    async def answered(self, run: Any, task: Any) -> Any:
        return await engines.converse(
            run, self.book(run, task), engines.messages_of(task, run), system=self.prompt(task),
            tools=self.offered(task), purpose="right.answer", max_rounds=self.rounds,
        )  # fmt: skip

    async def run(self, task: Any, run: Any) -> Any:
        if run is None:
            return await engines.run_below(self, task)
        async with engines.node(task, "work"):
            answered = await self.answered(run, task)
        if answered.text.startswith('{"rejected": true'):
            return engines.TaskResult("rejected", reason="rejected: it is not mine")
        status, reason = answered.ended()
        return engines.TaskResult(status, text=answered.text, reason=reason, denied=answered.denied)


# --- one fault each -------------------------------------------------------------------------------------------------


class Renamed(Right):
    name = "left"


class Boasts(Right):
    fields = frozenset(("no_such_field",))


class Chokes(Right):
    def problems(self, skill, host):
        return [skill.tools[0] for _ in range(1) if not skill.tools[0]]


class Repeats(Right):
    async def run(self, task, run):
        result = await super().run(task, run)
        if run is not None and result.text:
            await run.say(result.text)
        return result


class Opens(Right):
    def tools(self, task):
        return [tool.name for tool in task.agent.tools]


class Calls(Right):
    """Makes whatever call a model names."""

    async def answered(self, run, task):
        answer = await run.ask(engines.messages_of(task, run), system=self.prompt(task), purpose="right.answer")
        if answer.tool_calls:
            await run.call(*answer.tool_calls)
        return engines.Answered(answer.text or "done")


class Widens(Right):
    def tools(self, task):
        return engines.tool_names(replace(task, tools=None))


class Forgets(Right):
    def prompt(self, task):
        return engines.compose("You are right.", replace(task, rules=""))


class Mute(Right):
    def prompt(self, task):
        return task.rules


class Trusts(Right):
    def prompt(self, task):
        return f"{super().prompt(task)}\n{task.context}"


class Deaf(Right):
    async def answered(self, run, task):
        return await super().answered(run, replace(task, context=""))


class Praises(Right):
    """Takes the words about a refused call for an answer."""

    async def run(self, task, run):
        result = await super().run(task, run)
        return replace(result, status="completed", reason="", denied=()) if result.text else result


class Endless(Right):
    rounds = 10_000


class Blurts(Right):
    """Shows a rejection as if it were an answer."""

    async def run(self, task, run):
        result = await super().run(task, run)
        return replace(result, status="completed", text="not mine") if result.status == "rejected" else result


class Silent(Right):
    async def run(self, task, run):
        return replace(await super().run(task, run), reason="")


class Cheerful(Right):
    """Answers although nobody answered it."""

    async def run(self, task, run):
        try:
            return await super().run(task, run)
        except ProviderError:
            return engines.TaskResult("completed", text="All is well.")


class Unlimited(Right):
    async def run(self, task, run):
        try:
            return await super().run(task, run)
        except LimitReached:
            return engines.TaskResult("completed", text="All is well.")


class Clings(Right):
    """Goes on where it was cancelled."""

    async def run(self, task, run):
        try:
            return await super().run(task, run)
        except asyncio.CancelledError:
            await asyncio.sleep(0.3)
            await asyncio.Event().wait()


class Amnesic(Right):
    """Keeps no answer for a resumed run."""

    def book(self, run, task):
        class Book:
            replays = False

            async def ask(self, messages, **asked):
                return await run.ask(messages, **asked)

        return Book()


class Restless(Right):
    """Makes the call of before anew, with other arguments."""

    async def answered(self, run, task):
        names = self.offered(task)
        if "look" in names:
            from skillkit_core import ToolCall

            attempt = len(run.messages)
            await run.call(ToolCall("", "look", {"place": f"attempt {attempt}"}))
        return await super().answered(run, task)


class Leaves(Right):
    """Begins a node that never ends."""

    async def run(self, task, run):
        if run is not None:
            events = task.agent.events
            about = {"task": task.id, "skill": task.skill.name, "node": "left open"}
            await events.emit(events.make(engines.TaskNodeEvent, **about))
        return await super().run(task, run)


class Turnbound(Right):
    """Works in a turn alone."""

    async def run(self, task, run):
        if run is None:
            return engines.TaskResult("failed", reason="no run")
        return await super().run(task, run)


class Shared(Right):
    """Keeps the task of the moment in itself."""

    async def answered(self, run, task):
        self.last = task
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        mine = getattr(self, "last", task)
        told = engines.messages_of(task, run)[:-1]
        from skillkit_core.messages import UserMessage, blocks_of

        return await engines.converse(
            run, self.book(run, task), [*told, UserMessage(content=blocks_of(mine.query))], system=self.prompt(task),
            tools=self.offered(task), purpose="right.answer", max_rounds=8,
        )  # fmt: skip


class Opaque(Right):
    async def run(self, task, run):
        return replace(await super().run(task, run), data={"when": object()})


FAULTS = [
    (Renamed, "name_is_that_under_which"),
    (Boasts, "name_is_that_under_which"),
    (Chokes, "what_is_wrong_with_a_skill"),
    (Repeats, "said_once"),
    (Opens, "no_tool_is_offered"),
    (Calls, "not_the_skills_is_not_called"),
    (Widens, "narrowed_task"),
    (Forgets, "rules_of_the_project"),
    (Mute, "prompt_of_the_skill"),
    (Trusts, "no_instruction"),
    (Deaf, "no_instruction"),
    (Praises, "refused_is_named"),
    (Endless, "for_ever"),
    (Blurts, "rejection_is_structured"),
    (Silent, "has_a_reason"),
    (Cheerful, "provider_that_does_not_answer"),
    (Unlimited, "limit_of_the_run"),
    (Clings, "abort_ends"),
    (Amnesic, "waits_is_made_once"),
    (Restless, "no_tool_runs_twice"),
    (Leaves, "node_that_begins_ends"),
    (Turnbound, "step_is_done"),
    (Shared, "two_agents_at_once"),
    (Opaque, "values_are_json"),
]
ENGINE: dict[str, type] = {"class": Right}


class Brings:
    @hookimpl(optionalhook=True)
    def register_engines(self, register: Any) -> None:
        register(Factory("right", lambda host: ENGINE["class"]()))


@pytest.fixture
def engine_plugins() -> Any:
    return [("right", Brings())]


@pytest.fixture
def engine_name() -> str:
    return "right"


class TestRight(EngineConformance):
    """The engine as short as a right one can be passes."""


@pytest.mark.parametrize(("engine", "check"), FAULTS, ids=lambda one: one.__name__ if isinstance(one, type) else "")
def test_a_fault_is_found_by_the_check_that_names_it(
    request, monkeypatch, engine_stage, engine_skill, engine_name, engine, check
):
    monkeypatch.setitem(ENGINE, "class", engine)
    suite = TestRight()
    given = {"engine_stage": engine_stage, "engine_name": engine_name, "monkeypatch": monkeypatch}
    given["engine"] = engine_stage.host().registry("engines").get("right")
    given["make_probe"] = EngineConformance.make_probe._get_wrapped_function()(suite, engine_stage, engine_skill)
    (name,) = [name for name in dir(suite) if name.startswith("test_") and check in name]
    found = getattr(suite, name)
    with pytest.raises((AssertionError, IndexError, pytest.fail.Exception)):
        found(**{key: given[key] for key in inspect.signature(found).parameters})
    monkeypatch.setitem(ENGINE, "class", Right)
