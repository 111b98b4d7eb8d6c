"""Runs inside runs: what they share, what is their own, and how they end (spec, section 7; section 9, edge case 49)."""

from __future__ import annotations

import asyncio
import gc
import weakref
from typing import Any

import pytest
from core_team import DELEGATE, Team

from skillkit_core import (
    AgentConfig,
    AgentError,
    AgentRunner,
    Limits,
    RunAborted,
    Session,
    StreamEvent,
    ToolCallEventResult,
    UsageError,
)
from skillkit_core.testing import Call, Hang, Reply, ScriptedModel


@pytest.mark.spec("9.49")
def test_a_nested_agent_shares_host_path_and_observers_and_has_a_session_of_its_own(kit: Any, go: Any) -> None:
    async def main() -> None:
        team = Team(kit, [DELEGATE, "done"], ["found it"])
        response = await team.parent.chat("go")
        child = team.children[0]
        assert response.content == "done" and team.results() == [("ok", "found it")]
        assert child.host is team.parent.host and child.session_id != team.parent.session_id
        path = team.events(2)[0].agent_path
        assert path[0] == "main" and path[1].startswith("sub:") and len({e.agent_path for e in team.events(2)}) == 1
        kit.check_brackets(team.events(1))
        kit.check_brackets(team.events(2))
        assert [e.type for e in team.events(2)].count("agent_end") == 1

    go(main)


def test_two_nested_agents_at_once_are_told_apart(kit: Any, go: Any) -> None:
    async def main() -> None:
        both = Reply(calls=[Call("delegate", {"task": "a"}), Call("delegate", {"task": "b"})])
        team = Team(kit, [both, "done"], lambda: None)
        team.scripted = ScriptedModel([lambda r: f"answer to {r.messages[-1].text}"], repeat=True)
        await team.parent.chat("go")
        assert team.results() == [("ok", "answer to a"), ("ok", "answer to b")]
        paths = {e.agent_path for e in team.events(2)}
        assert len(paths) == 2
        for path in paths:
            kit.check_brackets([e for e in team.events(2) if e.agent_path == path])

    go(main)


def test_an_agent_made_elsewhere_is_nested_while_it_answers_and_free_again_afterwards(kit: Any, go: Any) -> None:
    async def main() -> None:
        helper = kit.agent(
            Reply(calls=[Call("inner")]), "helped", Reply(calls=[Call("inner")]), "free", tools=[kit.tool("inner", "x")]
        )

        async def delegate(args: Any, ctx: Any) -> str:
            return (await helper.chat("help")).content

        parent = kit.agent(DELEGATE, "done", tools=[kit.tool("delegate", delegate)])
        parent.events.on("before_tool_call", lambda e: ToolCallEventResult(block=True), tools=["inner"])
        await parent.chat("go")
        assert [m.outcome.value for m in helper.messages if m.role == "tool_result"] == ["blocked"]
        assert helper.events.agent_path == ("main",)
        await helper.chat("alone")
        assert [m.outcome.value for m in helper.messages if m.role == "tool_result"] == ["blocked", "ok"]
        assert [len(e.agent_path) for e in helper.seen.of("agent_start")] == [2, 1]

    go(main)


# --- the end ----------------------------------------------------------------------------------------------------------


@pytest.mark.spec("9.49")
def test_an_abort_of_the_run_above_ends_the_nested_one_and_keeps_what_was_said(kit: Any, go: Any) -> None:
    async def main() -> None:
        started = asyncio.Event()
        team = Team(kit, [DELEGATE, "never"], [Hang("so far", started=started)])
        task = asyncio.create_task(team.parent.chat("go"))
        await started.wait()
        team.parent.abort("enough")
        with pytest.raises(RunAborted):
            await task
        child = team.children[0]
        assert [(m.role, m.text) for m in child.messages] == [("user", "look"), ("assistant", "so far")]
        assert team.results() == [("interrupted", "Interrupted: the run was aborted.")]
        ends = [(len(e.agent_path), e.outcome) for e in team.parent.seen.of("agent_end")]
        assert ends == [(2, "aborted"), (1, "aborted")]
        kit.check_brackets(team.events(1))
        kit.check_brackets(team.events(2))

    go(main)


def test_an_abort_reaches_a_nested_run_that_nobody_waits_for(kit: Any, go: Any) -> None:
    async def main() -> None:
        started, ended = asyncio.Event(), asyncio.Event()
        kept: list[Any] = []

        async def fire(args: Any, ctx: Any) -> str:
            child = AgentRunner(AgentConfig(model=parent.config.model))
            child.set_adapter(ScriptedModel([Hang("x", started=started)]))
            child.events.on("agent_end", lambda e: ended.set())
            kept.append(asyncio.create_task(child.chat("go")))
            await started.wait()
            return "fired"

        parent = kit.agent(Reply(calls=[Call("fire")]), Hang(), tools=[kit.tool("fire", fire)])
        task = asyncio.create_task(parent.chat("go"))
        await started.wait()
        parent.abort()
        await ended.wait()
        for failed in (task, kept[0]):
            with pytest.raises(RunAborted):
                await failed

    go(main)


@pytest.mark.spec("9.49")
def test_a_nested_run_that_fails_is_one_error_result(kit: Any, go: Any) -> None:
    async def main() -> None:
        team = Team(kit, [DELEGATE, "done"], [])  # its script is empty: the request is refused
        response = await team.parent.chat("go")
        assert response.content == "done"
        ((kind, text),) = team.results()
        assert kind == "error" and "the script has no turn 1" in text

    go(main)


def test_a_nested_stream_ends_with_the_error_of_its_run(kit: Any, go: Any) -> None:
    async def main() -> None:
        got: list[StreamEvent] = []

        async def delegate(args: Any, ctx: Any) -> str:
            child = AgentRunner(AgentConfig(model=parent.config.model))
            child.set_adapter(ScriptedModel(["x"]))
            async for event in child.chat_stream_events("go"):
                got.append(event)
            return "ok"

        parent = kit.agent(
            Reply(calls=[Call("delegate")]), "done", tools=[kit.tool("delegate", delegate)], limits=Limits(depth=0)
        )
        await parent.chat("go")
        assert [e.type for e in got] == ["error"] and "nested more than 0 deep" in str(got[0].error)

    go(main)


def test_an_agent_on_another_loop_is_refused(kit: Any, go: Any) -> None:
    async def main() -> None:
        def work() -> str:
            child = AgentRunner(AgentConfig(model=parent.config.model))
            child.set_adapter(ScriptedModel(["x"]))
            return asyncio.run(child.chat("go")).content

        async def delegate(args: Any, ctx: Any) -> str:
            with pytest.raises(UsageError, match="event loop"):
                await asyncio.to_thread(work)
            return "refused"

        parent = kit.agent(Reply(calls=[Call("delegate")]), "done", tools=[kit.tool("delegate", delegate)])
        await parent.chat("go")
        assert next(m for m in parent.messages if m.role == "tool_result").text == "refused"

    go(main)


# --- what is left -----------------------------------------------------------------------------------------------------


def test_a_tool_cannot_ask_the_agent_that_waits_for_it(kit: Any, go: Any) -> None:
    async def main() -> None:
        said: list[str] = []

        async def ask(args: Any, ctx: Any) -> str:
            try:
                await parent.chat("me again")
            except AgentError as error:
                said.append(type(error).__name__)
            return "ok"

        parent = kit.agent(Reply(calls=[Call("ask")]), "done", tools=[kit.tool("ask", ask)])
        await parent.chat("go")
        assert said == ["ReentrancyError"]

    go(main)


@pytest.mark.spec("I19")
def test_a_nested_agent_leaves_nothing_behind(kit: Any, go: Any) -> None:
    async def main() -> None:
        team = Team(kit, [DELEGATE, "done"] * 2, ["x", "y"])
        await team.parent.chat("go")
        gone = weakref.ref(team.children.pop())
        await team.parent.chat("again")
        team.children.clear()
        team.scripted.requests.clear()
        gc.collect()
        assert gone() is None

    go(main)


def test_a_stored_nested_session_names_the_session_above(kit: Any, go: Any) -> None:
    async def main() -> None:
        store = kit.RecordingStore()
        host = kit.host()
        host.session_stores.register("s", store)

        async def delegate(args: Any, ctx: Any) -> str:
            child = AgentRunner(AgentConfig(model=parent.config.model), session="new")
            child.set_adapter(ScriptedModel(["x"]))
            response = await child.chat("go")
            await child.aclose()
            found.append(response.session_id)
            return "ok"

        found: list[Any] = []
        parent = kit.agent(
            Reply(calls=[Call("delegate")]), "done", tools=[kit.tool("delegate", delegate)], host=host, session="new"
        )
        await parent.chat("go")
        again = await Session.open(store, found[0], lambda: 0.0, read_only=True)
        assert again.handle.header.parent_session == parent.session_id

    go(main)
