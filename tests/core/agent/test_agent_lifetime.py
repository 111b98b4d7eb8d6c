"""An agent that is let go is gone: nothing of SkillKit keeps it, and no garbage collector has to find it."""

from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import Iterator
from typing import Any
from weakref import ref

import pytest

from skillkit_core import AgentError, HandlerContext, Tool
from skillkit_core.testing import Call, Reply

OBJECT = {"type": "object", "properties": {}}


@pytest.fixture
def no_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("no_collector")
def test_a_closed_agent_is_freed_when_its_last_reference_goes(kit: Any, go: Any) -> None:
    async def main() -> None:
        async def slow(args: Any, ctx: Any) -> str:
            await pause()
            return "done"

        async def handler(event: Any, ctx: HandlerContext) -> None:
            await pause()  # arms the timer of the handler's limit

        agent = kit.agent(Reply("look", calls=[Call("slow")]), "ready", tools=[Tool("slow", "d", slow, OBJECT)])
        agent.events.on("turn_end", handler)
        async with agent:
            await agent.chat("go")
        gone = [ref(agent), ref(agent.session), ref(agent.events)]
        agent.scripted.requests.clear()  # they lead to the run that sent them
        del agent
        assert [one() for one in gone] == [None] * 3

    go(main, 5)


async def pause() -> None:
    """Suspend once, as a handler or tool does that waits for something."""
    await asyncio.sleep(0)


def test_time_limits_of_tools_and_handlers_keep_nothing_behind_another_timer(kit: Any, go: Any) -> None:
    """The loop drops a cancelled timer only when it is the next one."""

    async def main() -> None:
        async def slow(args: Any, ctx: Any) -> str:
            await pause()
            return "done"

        async def handler(event: Any) -> None:
            await pause()

        asyncio.get_running_loop().call_later(60.0, gc.collect)
        tool = Tool("slow", "d", slow, OBJECT, timeout=600.0)
        agent = kit.agent(Reply("look", calls=[Call("slow")]), "ready", tools=[tool])
        agent.events.on("turn_end", handler, timeout=600.0)
        async with agent:
            await agent.chat("go")
        gone = [ref(agent), ref(agent.session), ref(agent.events)]
        agent.scripted.requests.clear()
        del agent
        gc.collect()
        assert [one() for one in gone] == [None] * 3

    go(main, 5)


@pytest.mark.usefixtures("no_collector")
def test_an_agent_that_was_never_closed_is_freed_too(kit: Any, go: Any) -> None:
    async def main() -> None:
        agent = kit.agent("hello")
        await agent.chat("go")
        gone = ref(agent)
        agent.scripted.requests.clear()
        del agent
        assert gone() is None

    go(main, 5)


@pytest.mark.usefixtures("no_collector")
def test_an_agent_whose_run_a_message_began_is_freed_also_while_the_receipt_is_kept(kit: Any, go: Any) -> None:
    async def main() -> None:
        agent = kit.agent("hello")
        receipt = await agent.steer("go", trigger=True)
        await agent.wait_idle()
        await pause()
        gone = ref(agent)
        agent.scripted.requests.clear()
        del agent
        assert gone() is None and (await receipt.response()).content == "hello"

    go(main, 5)


def test_an_agent_that_a_thread_lets_go_of_right_after_a_trigger_still_answers(kit: Any, go: Any) -> None:
    async def main() -> None:
        agents = [kit.agent("hello")]
        await agents[0].open()
        receipts: list[Any] = []

        async def trigger() -> None:
            receipts.append(await agents.pop().steer("go", trigger=True))

        thread = threading.Thread(target=lambda: asyncio.run(trigger()))
        thread.start()
        thread.join()  # the loop of the agent has not had its turn
        gc.collect()
        assert (await receipts[0].response()).content == "hello"

    go(main, 5)


def test_who_keeps_a_handlers_context_longer_than_the_agent_is_told_so(kit: Any, go: Any) -> None:
    async def main() -> None:
        kept: list[HandlerContext] = []
        agent = kit.agent("hello")
        agent.events.on("agent_start", lambda event, ctx: kept.append(ctx))
        await agent.chat("go")
        assert kept[0].agent is agent
        agent.scripted.requests.clear()
        slot = agent.scheduler
        del agent
        gc.collect()
        assert kept[0].agent is None
        with pytest.raises(RuntimeError, match="the agent is gone"):
            kept[0].abort()
        with pytest.raises(AgentError, match="keep a reference"):
            await slot.alone("chat", lambda run: pause())

    go(main, 5)
