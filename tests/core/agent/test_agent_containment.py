"""Errors that are no subclasses of ``Exception`` pass when the run is closed (I1); a plugin's ``GeneratorExit`` fails it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from skillkit_core import (
    AgentError,
    CompactionResult,
    Compactor,
    Factory,
    LLMAdapter,
    ModelDefinition,
    StopReason,
    StreamEvent,
    Tool,
    hookimpl,
)
from skillkit_core.testing import Call, Reply


class Own(BaseException):
    """No ``Exception``."""


INTERRUPTS = [KeyboardInterrupt, SystemExit, Own]
THROWS = ("plain", "async", "after a wait")
EVENTS = (
    "session_start", "input", "before_agent_start", "agent_start", "turn_start", "context_transform", "message_start",
    "message_update", "message_end", "before_tool_call", "tool_execution_start", "after_tool_result",
    "tool_execution_end", "turn_end", "before_agent_end", "agent_end", "agent_settled",
)  # fmt: skip
interrupts = pytest.mark.parametrize("kind", INTERRUPTS)


def throwing(error: Callable[[], BaseException], how: str) -> Any:
    """A handler or a tool that raises ``error()``: a plain function, or an async one, at once or after it waited."""

    def plain(*args: Any) -> Any:
        raise error()

    async def late(*args: Any) -> Any:
        if how == "after a wait":
            await asyncio.sleep(0)
        raise error()

    return plain if how == "plain" else late


def check_file(agent: Any) -> None:
    """I1 and I2 in what is kept, without repair; the calls of an answer that was cut need no result."""
    waiting: list[str] = []
    for entry in agent.session.path():
        message = entry.data.get("message", {})
        if message.get("role") == "tool_result":
            assert waiting and waiting.pop(0) == message["tool_call_id"]
            continue
        assert not waiting
        if message.get("role") == "assistant" and message.get("stop_reason") not in ("aborted", "error"):
            waiting = [b["id"] for b in message["content"] if b["type"] == "tool_call"]
    assert not waiting


def outcomes(agent: Any) -> list[str]:
    return [str(m.outcome) for m in agent.messages if m.role == "tool_result"]


# --- tools ----------------------------------------------------------------------------------------------------------


@pytest.mark.spec("9.20")
@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit, StopIteration])
def test_what_a_plain_tool_raises_in_its_thread_is_its_own(kit: Any, go: Any, kind: type[BaseException]) -> None:
    """No signal arrives there; and a future takes no ``StopIteration``, so nobody would ever hear of it."""

    async def main() -> None:
        tool = kit.tool("a", "fine")
        bad = type(tool)("bad", "", throwing(kind, "plain"), tool.parameters)
        agent = kit.agent(Reply(calls=[Call("bad"), Call("a")]), "end", tools=[tool, bad])
        assert (await agent.chat("go")).content == "end"
        assert outcomes(agent) == ["error", "ok"]
        assert ("tried to end the program" if kind is SystemExit else kind.__name__) in kit.results(agent)[0].text
        kit.check(agent)

    go(main)


# --- handlers -------------------------------------------------------------------------------------------------------


# --- whoever else is asked ------------------------------------------------------------------------------------------


class Throwing(LLMAdapter):
    """Says ``text`` and raises."""

    api, provider = "scripted", "scripted"

    def __init__(self, error: type[BaseException], text: str = "", answers: Sequence[str] = ()) -> None:
        self.error, self.text, self.requests, self.answers = error, text, [], list(answers)

    async def stream(self, request: Any) -> Any:
        self.requests.append(request)
        if self.answers:
            yield StreamEvent("text_start", index=0)
            yield StreamEvent("text_delta", self.answers.pop(0), index=0)
            yield StreamEvent("text_end", index=0)
            yield StreamEvent("done", stop_reason=StopReason.stop)
            return
        if self.text:
            yield StreamEvent("text_start", index=0)
            yield StreamEvent("text_delta", self.text, index=0)
            await asyncio.sleep(0)
        raise self.error


# --- a GeneratorExit of a plugin -----------------------------------------------------------------------------------


@pytest.mark.spec("I1", "I8", "I9")
@pytest.mark.parametrize(
    ("place", "how"),
    [
        (place, how)
        for place in (*EVENTS[1:-2], "tool", "adapter")
        for how in THROWS
        if (place, how) != ("tool", "plain")
    ],
)
def test_a_generator_exit_of_a_plugin_fails_its_run_and_leaves_a_whole_file(
    kit: Any, go: Any, place: str, how: str
) -> None:
    async def main() -> None:
        tool = kit.tool("a", "fine")
        bad = type(tool)("a", "", throwing(GeneratorExit, how), tool.parameters) if place == "tool" else tool
        if place == "adapter":
            agent = kit.agent(adapter=Throwing(GeneratorExit, "half an ans"), tools=[bad])
        else:
            agent = kit.agent(Reply("one", calls=[Call("a")]), "end", "two", "three", tools=[bad])
        off = agent.events.on(place, throwing(GeneratorExit, how)) if place in EVENTS else lambda: None
        with pytest.raises(AgentError, match="it raised GeneratorExit"):
            await agent.chat("go")
        assert agent.scheduler.run is None
        assert len(agent.seen.of("agent_end")) == len(agent.seen.of("agent_start"))
        check_file(agent)
        kit.check(agent)
        off()
        if place in EVENTS:
            assert (await agent.chat("again")).outcome == "completed"
        await agent.aclose()

    go(main)


# --- the user's own interrupt ---------------------------------------------------------------------------------------


@pytest.mark.spec("I1", "I9")
@interrupts
@pytest.mark.parametrize("parallel", [True, False])
def test_an_interrupt_in_a_tool_answers_every_call_in_the_file_before_it_passes(
    kit: Any, kind: type[BaseException], parallel: bool
) -> None:
    """The loop is not one of ``asyncio.run``, which would cancel what is left afterwards: nothing is left."""
    done = threading.Event()

    async def act(args: Any, ctx: Any) -> str:
        if args["n"] == 0:
            return "real"
        if args["n"] == 1:
            raise kind
        try:
            await asyncio.Event().wait()
        finally:
            done.set()
        return "never"

    calls = [Call("a", {"n": n}) for n in range(3)]
    agent = kit.agent(Reply(calls=calls), tools=[kit.tool("a", act)], parallel_tools=parallel)
    loop = asyncio.new_event_loop()
    try:
        task = loop.create_task(agent.chat("go"))
        with pytest.raises(kind):
            loop.run_until_complete(task)
        assert outcomes(agent) == ["ok", "interrupted", "interrupted"] and done.is_set() == parallel
        assert agent.seen.one("agent_end").outcome == "aborted" and agent.scheduler.run is None
        check_file(agent)
        kit.check(agent)
        assert isinstance(task.exception(), kind)
    finally:
        loop.close()


@pytest.mark.spec("I1", "9.49")
@interrupts
def test_an_interrupt_in_an_agent_inside_a_tool_closes_both_runs_before_it_reaches_who_waits(
    kit: Any, kind: type[BaseException]
) -> None:
    agents: list[Any] = []
    seen: list[str] = []

    async def interrupt(args: Any, ctx: Any) -> str:
        raise kind

    async def asks(args: Any, ctx: Any) -> str:
        agents.append(kit.agent(Reply(calls=[Call("b"), Call("b")]), tools=[kit.tool("b", interrupt)]))
        return (await agents[1].chat("deeper")).content

    async def main() -> None:
        agents.append(kit.agent(Reply(calls=[Call("a")]), tools=[kit.tool("a", asks)]))
        try:
            await agents[0].chat("go")
        except kind:
            seen.append("interrupted")
            raise

    loop = asyncio.new_event_loop()
    try:
        with pytest.raises(kind):
            loop.run_until_complete(main())
    finally:
        loop.close()
    assert seen == ["interrupted"]
    assert [outcomes(agent) for agent in agents] == [["interrupted"], ["interrupted"] * 2]
    for agent in agents:
        ends = [e.outcome for e in agent.seen.of("agent_end") if e.agent_path == agent.events.agent_path]
        assert ends == ["aborted"] and agent.scheduler.run is None
        check_file(agent)


@pytest.mark.spec("I1", "I8", "I9", "9.9")
@interrupts
@pytest.mark.parametrize("how", THROWS)
@pytest.mark.parametrize("event", [e for e in EVENTS if e not in ("session_start", "input")])
def test_an_interrupt_in_a_handler_passes_when_the_file_is_whole(
    kit: Any, go: Any, kind: type[BaseException], how: str, event: str
) -> None:
    agent = kit.agent(Reply("one", calls=[Call("a"), Call("a")]), "end", "two", "three", tools=[kit.tool("a", "fine")])
    off = agent.events.on(event, throwing(kind, how))
    with pytest.raises(kind):
        go(lambda: agent.chat("go"))
    check_file(agent)
    kit.check(agent)
    assert len(agent.seen.of("agent_end")) == len(agent.seen.of("agent_start")) and agent.scheduler.run is None
    off()
    assert go(lambda: agent.chat("again")).outcome == "completed"
    kit.check(agent)


@pytest.mark.spec("I1", "9.9", "9.50")
@interrupts
@pytest.mark.parametrize("event", ["message_update", "tool_execution_update"])
def test_an_interrupt_in_a_handler_beside_the_run_reaches_who_waits_for_it(
    kit: Any, go: Any, kind: type[BaseException], event: str
) -> None:
    async def shows(args: Any, ctx: Any) -> str:
        ctx.on_output("halfway")
        await asyncio.get_running_loop().create_future()
        return "never"

    async def main() -> None:
        turns = (Reply("one", calls=[Call("a"), Call("a")]), "and on")
        agent = kit.agent(*turns, tools=[kit.tool("a", shows)])

        async def slow(event: Any) -> None:
            await asyncio.sleep(0)
            raise kind("enough")

        off = agent.events.on(event, slow)
        with pytest.raises(kind, match="enough"):
            await agent.chat("go")
        assert agent.seen.one("agent_end").outcome == "aborted" and agent.scheduler.run is None
        check_file(agent)
        kit.check(agent)
        off()
        assert (await agent.chat("again")).content == "and on"
        await agent.aclose()

    loop = asyncio.new_event_loop()
    try:
        loop.run_until_complete(asyncio.wait_for(main(), 20))
    finally:
        loop.close()


@pytest.mark.spec("I7")
@interrupts
def test_an_interrupt_while_an_answer_arrives_keeps_what_was_said(kit: Any, go: Any, kind: type[BaseException]) -> None:
    agent = kit.agent(adapter=Throwing(kind, "half an ans"))
    with pytest.raises(kind):
        go(lambda: agent.chat("go"))
    assert kit.texts(agent) == ["user:go", "assistant:half an ans"]
    assert agent.messages[-1].stop_reason is StopReason.aborted and agent.seen.one("agent_end").outcome == "aborted"
    kit.check(agent)


@interrupts
def test_an_interrupt_of_a_compactor_leaves_the_context_and_ends_the_compaction(
    kit: Any, go: Any, kind: type[BaseException]
) -> None:
    class Interrupted(Compactor):
        async def compact(self, request: Any) -> CompactionResult:
            raise kind

    class Plugin:
        @hookimpl
        def register_compactors(self, register: Any) -> None:
            register(Factory("bad", lambda host: Interrupted()))

    small = ModelDefinition("model", "scripted", "scripted", context_window=400)
    agent = kit.agent("word " * 300, "end", plugins=[("bad", Plugin())], model=small)
    go(lambda: agent.chat("go"))
    with pytest.raises(kind):
        go(lambda: agent.chat("more"))
    assert [m.role for m in agent.messages] == ["user", "assistant", "user"]
    assert agent.seen.one("compaction_end").outcome == "aborted" and agent.scheduler.run is None
    kit.check(agent)


def test_it_is_said_where_a_plugin_ended_the_program(kit: Any, go: Any, caplog: pytest.LogCaptureFixture) -> None:
    agent = kit.agent("never")
    agent.events.on("turn_start", throwing(lambda: SystemExit(4), "async"))
    with pytest.raises(SystemExit):
        go(lambda: agent.chat("go"))
    assert f"the run was ended by SystemExit: 4, raised at {__file__}:" in caplog.text


class Cancels:
    """Cancels the task that it runs in, where ``hook`` is called."""

    name = "cancels"

    def __init__(self, hook: str, how: str, phase: str | None = None) -> None:
        async def after_a_wait(event: Any) -> None:
            await asyncio.sleep(0)
            working_task().cancel()
            await asyncio.sleep(0)

        def plain(event: Any) -> None:
            working_task().cancel()

        handler = {"plain": plain, "after a wait": after_a_wait}[how]
        setattr(self, hook, hookimpl(specname=hook, phase=phase)(handler))


LOOK = Tool("look", "looks", lambda args, ctx: "seen", {"type": "object", "properties": {}})


def working_task() -> asyncio.Task[Any]:
    task = asyncio.current_task()
    assert task is not None
    return task


@pytest.mark.parametrize("how", ["plain", "after a wait"])
@pytest.mark.parametrize("hook", ["input", "turn_start", "message_end", "after_tool_result"])
def test_a_plugin_that_cancels_its_own_task_fails_alone_and_is_named(kit: Any, hook: str, how: str) -> None:
    async def main() -> None:
        agent = kit.agent(Reply(calls=[Call("look", {})]), "done", tools=[LOOK], plugins=[Cancels(hook, how)])
        async with agent:
            errors = []
            agent.events.on("handler_error", lambda event: errors.append((event.plugin, event.error)))
            response = await agent.chat("go")
            assert response.content == "done"
            assert set(errors) == {
                ("cancels", "PluginError: plugin 'cancels': it cannot cancel the task of a run; call abort()")
            }

    kit.run(main())


def test_a_tool_of_a_plugin_that_cancels_the_task_of_its_run_fails_alone(kit: Any) -> None:
    class Plugin:
        @hookimpl
        def register_tools(self, register: Any) -> None:
            register(Tool("look", "looks", self.look))

        async def look(self, args: Any, ctx: Any) -> None:
            next(task for task in asyncio.all_tasks() if task.get_name() == "skillkit run r1").cancel()

    async def main() -> None:
        async with kit.agent(Reply(calls=[Call("look", {})]), "done", plugins=[("cancels", Plugin())]) as agent:
            assert (await agent.chat("go")).content == "done"
            (result,) = [m for m in agent.messages if getattr(m, "tool_call_id", None)]
            assert result.text == "plugin 'cancels': it cannot cancel the task of a run; call abort()"

    kit.run(main())


def test_a_guard_that_cancels_its_own_task_blocks(kit: Any) -> None:
    async def main() -> None:
        guard = Cancels("before_tool_call", "plain", "guard")
        async with kit.agent(Reply(calls=[Call("look", {})]), "done", tools=[LOOK], plugins=[guard]) as agent:
            await agent.chat("go")
            (result,) = [m for m in agent.messages if getattr(m, "tool_call_id", None)]
            assert result.outcome == "blocked" and "plugin 'cancels' failed" in result.text

    kit.run(main())
