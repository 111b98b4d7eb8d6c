"""What happens between runs and at their very beginning: aborts before the first step, and what must not overlap."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from skillkit_core import AgentBusy, AgentRunner, ReentrancyError, RunAborted
from skillkit_core.testing import Call, Hang, Reply


@pytest.mark.spec("9.7", "I9")
@pytest.mark.parametrize("how", ["abort", "aclose"])
def test_an_abort_before_the_first_step_of_a_run_ends_it(kit: Any, go: Any, how: str) -> None:
    async def main() -> None:
        agent = kit.agent("never")
        task = asyncio.create_task(agent.chat("go"))
        await asyncio.sleep(0)
        if how == "abort":
            agent.abort("changed my mind")
        else:
            await agent.aclose()
        with pytest.raises(RunAborted):
            await task
        assert agent.scripted.requests == [] and agent.seen.of("agent_start") == agent.seen.of("agent_end") == []

    go(main, 5)


def test_a_chat_and_a_close_in_the_same_tick_both_end(kit: Any, go: Any) -> None:
    async def main() -> None:
        agent = kit.agent("never")
        done = await asyncio.gather(agent.chat("go"), agent.aclose(), return_exceptions=True)
        assert isinstance(done[0], Exception) and done[1] is None

    go(main, 5)


OPERATIONS: dict[str, Any] = {
    "fork": lambda agent: agent.fork(),
    "move_to": lambda agent: agent.move_to(None),
    "switch": lambda agent: agent.switch("new"),
    "reload": lambda agent: agent.reload(),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_no_run_begins_while_the_agent_changes_its_session(kit: Any, go: Any, name: str) -> None:
    """A message that was said into two sessions would be in neither."""

    async def main() -> None:
        agent = kit.agent("one", Reply("two", calls=[Call("tool")]), "three", "four", tools=[kit.tool("tool", "ok")])
        agent.host.session_stores.register("s", kit.RecordingStore())
        await agent.chat("a")

        async def pause(event: Any) -> None:
            await asyncio.sleep(0)

        for event in ("session_start", "session_before_tree"):
            agent.events.on(event, pause)
        first, second = await asyncio.gather(OPERATIONS[name](agent), agent.chat("b"), return_exceptions=True)
        assert not isinstance(first, Exception), first
        assert isinstance(second, AgentBusy) and f"{name} is going on" in str(second)
        third, fourth = await asyncio.gather(agent.chat("c"), OPERATIONS[name](agent), return_exceptions=True)
        assert isinstance(fourth, AgentBusy) and third.content == "three"
        kit.check_legal(agent.conversation.context.messages())

    go(main)


def test_a_handler_of_a_switch_cannot_wait_for_what_waits_for_it(kit: Any, go: Any) -> None:
    async def main() -> None:
        agent = kit.agent("one")
        agent.host.session_stores.register("s", kit.RecordingStore())
        refused: list[str] = []

        @agent.events.on("session_before_switch")
        async def handler(event: Any) -> None:
            for work in (agent.chat("x"), agent.aclose(), agent.fork()):
                with pytest.raises(ReentrancyError):
                    await work
                refused.append("x")

        await agent.switch("new")
        assert len(refused) == 3

    go(main)


def test_a_close_waits_for_a_fork_and_leaves_no_session_open(kit: Any, go: Any) -> None:
    async def main() -> None:
        store = kit.RecordingStore()
        agent: AgentRunner = kit.agent("one", session="new")
        agent.host.session_stores.register("s", store)
        await agent.chat("a")
        session, _ = await asyncio.gather(agent.fork(), agent.aclose())
        again = await store.open(session.id)  # its lock was given back
        await again.close()

    go(main)


SLOW = (
    "turn_end",
    "message_end",
    "agent_end",
    "agent_settled",
    "before_agent_start",
    "turn_start",
    "context_transform",
)


@pytest.mark.spec("I20")
@pytest.mark.parametrize("stubborn", [False, True])
@pytest.mark.parametrize("event", SLOW)
def test_handlers_get_the_grace_time_of_an_abort_and_no_more(kit: Any, go: Any, event: str, stubborn: bool) -> None:
    """The time limit of a handler is 30 s; the limit of this test is five."""

    async def main() -> None:
        begun = asyncio.Event()
        agent = kit.agent(Hang("x", started=begun), abort_grace=0.2)

        @agent.events.on(event)
        async def handler(told: Any) -> None:
            begun.set()
            while True:
                try:
                    await asyncio.sleep(3600)
                except asyncio.CancelledError:
                    if not stubborn:
                        raise

        task = asyncio.create_task(agent.chat("go"))
        await begun.wait()
        agent.abort("stop")
        with pytest.raises(RunAborted):
            await task
        assert agent.events.deadline is None

    go(main, 5)
