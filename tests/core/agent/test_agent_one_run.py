"""An agent runs once at a time: who calls from inside is told so, who comes second is refused (spec, 3, 7)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from skillkit_core import AgentBusy, AgentError, ReentrancyError
from skillkit_core.testing import Call, Reply


@pytest.mark.spec("9.32")
def test_a_handler_that_calls_chat_is_told_so_and_the_run_is_unaffected(kit: Any, go: Any) -> None:
    async def main() -> None:
        agent = kit.agent(
            Reply(calls=[Call("a")]), "end", "later", tools=[kit.tool("a", lambda a, c: c.agent.chat("nested"))]
        )
        later: list[Any] = []

        async def reenter(event: Any, ctx: Any) -> None:
            off()
            ctx.when_idle(again)
            for call in (agent.chat("x"), agent.wait_idle(), agent.aclose()):
                with pytest.raises(ReentrancyError):
                    await call

        async def again() -> None:
            later.append((await agent.chat("from the callback")).content)

        off = agent.events.on("turn_start", reenter)
        response = await agent.chat("go")
        assert response.content == "end" and kit.results(agent)[0].outcome == "error"
        assert "chat was called from" in kit.results(agent)[0].text
        assert later == ["later"]

    go(main)


def test_a_callback_for_later_that_fails_harms_nobody(kit: Any, go: Any) -> None:
    async def main() -> None:
        agent = kit.agent("end")
        agent.events.on("turn_start", lambda e, ctx: ctx.when_idle(lambda: 1 / 0))
        assert (await agent.chat("go")).content == "end"
        assert [e async for e in agent.chat_stream_events("go")][-1].type == "error"  # the script is over
        assert len(agent.seen.of("handler_error")) == 2

    go(main)


def test_a_second_chat_is_refused_while_one_runs(kit: Any, go: Any) -> None:
    async def main() -> None:
        gate = asyncio.Event()
        agent = kit.agent(Reply("slow", before=gate.wait), "next")
        first = asyncio.create_task(agent.chat("one"))
        while not agent.scripted.requests:
            await asyncio.sleep(0)
        with pytest.raises(AgentBusy):
            await agent.chat("two")
        events = [e async for e in agent.chat_stream_events("two")]
        assert [e.type for e in events] == ["error"] and isinstance(events[0].error, AgentBusy)
        gate.set()
        assert (await first).content == "slow"
        assert (await agent.chat("two")).content == "next"

    go(main)


def test_the_first_chat_opens_the_session_and_says_so_once(kit: Any, go: Any) -> None:
    async def main() -> None:
        agent = kit.agent("a", "b")
        opened = await asyncio.gather(agent.open(), agent.open())
        assert opened[0] is opened[1]
        await agent.chat("x")
        await agent.chat("y")
        await agent.aclose()
        await agent.aclose()
        assert agent.seen.one("session_start").reason == "new"
        assert agent.seen.one("session_shutdown")
        with pytest.raises(AgentError, match="closed"):
            await agent.chat("z")

    go(main)
