"""The gate before every effect (``support/core_gate.py``): what it holds, and that nothing else changes."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from core_gate import Gate

from skillkit_core import MemoryStore, RunAborted, Session
from skillkit_core.testing import Call, Fail, Reply


async def driven(agent: Any, gate: Gate, text: str = "go") -> list[str]:
    """Chat, releasing one stop after the other; what stopped, in order."""
    await gate.attach(agent)
    task = asyncio.create_task(agent.chat(text))
    seen = [f"{stop.kind} {stop.what}" async for stop in gate.stops(task)]
    await task
    return seen


@pytest.mark.spec("I10", "I11")
def test_every_effect_stops_at_the_gate_before_it_happens(kit: Any, go: Any) -> None:
    async def main() -> None:
        store = kit.RecordingStore()
        session = await Session.create(store, lambda: 1.0)
        ran: list[int] = []
        agent = kit.agent(
            Fail(),
            Reply(calls=[Call("act", {"n": 1})]),
            "done",
            tools=[kit.tool("act", lambda a, c: ran.append(a["n"]) or "ok")],
            session=session,
        )
        gate = Gate()
        await gate.attach(agent, hooks=False)
        task = asyncio.create_task(agent.chat("go"))
        seen = []
        async for stop in gate.stops(task):
            seen.append(f"{stop.kind} {stop.what}")
            kept = len(store.log)
            for _ in range(20):
                await asyncio.sleep(0)
            assert len(store.log) == kept and bool(ran) == ("tool act" in seen[:-1]), "something passed a parked stop"
        assert seen == [
            "persist user", "request model", "persist usage", seen[3], "request model", "persist usage",
            "persist assistant", "tool act", "persist tool_result", "request model", "persist usage", "persist assistant",
        ]  # fmt: skip
        assert seen[3].startswith("timer ") and (await task).content == "done" and ran == [1]
        kit.check(agent)

    go(main)


def test_handlers_stop_too_and_a_plain_handler_of_a_queue_update_passes_unparked(kit: Any, go: Any) -> None:
    async def main() -> None:
        agent = kit.agent("one", "two")
        agent.events.on("before_provider_request", lambda e: None)
        agent.events.on("turn_end", lambda e: None)
        gate = Gate()
        await gate.attach(agent)
        task = asyncio.create_task(agent.chat("go"))
        steered = False
        async for stop in gate.stops(task):
            if stop.what.startswith("turn_end") and not steered:
                steered = True
                steering = asyncio.create_task(agent.steer("and then?"))  # its input event stops too
        assert (await task).content == "two" and await steering == "q1"
        assert any(s.what.startswith("queue_update") for s in gate.passed)
        assert not any(s.what.startswith("queue_update") and s._released for s in gate.passed)
        kit.check(agent)

    go(main)


def test_an_abort_frees_what_is_parked(kit: Any, go: Any) -> None:
    async def main() -> None:
        gate = Gate()
        agent = kit.agent("never")
        await gate.attach(agent, hooks=False)
        task = asyncio.create_task(agent.chat("go"))
        async for stop in gate.stops(task):
            if stop.kind == "request":
                agent.abort("enough")
        with pytest.raises(RunAborted):
            await task
        assert gate.parked == []
        kit.check(agent)

    go(main)


def test_the_automatic_gate_gives_the_same_run_and_counts_its_stops(kit: Any, go: Any) -> None:
    async def main() -> None:
        script = (Reply(calls=[Call("a"), Call("b")]), "done")
        tools = [kit.tool("a", "x"), kit.tool("b", "y")]
        plain, gated, by_hand = (kit.agent(*script, tools=tools) for _ in range(3))
        counted: list[int] = []
        automatic, manual = Gate("auto", at=lambda stop: counted.append(stop.n)), Gate()
        await automatic.attach(gated)
        await plain.chat("go")
        await gated.chat("go")
        stops = await driven(by_hand, manual)
        assert plain.seen.types == gated.seen.types and sorted(by_hand.seen.types) == sorted(plain.seen.types)
        assert counted == list(range(1, len(automatic.passed) + 1))
        passed = [sorted(f"{s.kind} {s.what}" for s in gate.passed) for gate in (automatic, manual)]
        assert passed[0] == passed[1] and len(stops) == sum(s._released is not None for s in manual.passed) == 11

    go(main)


def test_a_gated_store_keeps_what_the_store_below_keeps(kit: Any, go: Any) -> None:
    async def main() -> None:
        below, gate = MemoryStore(), Gate("auto")
        store = gate.store(below)
        session = await Session.create(store, lambda: 1.0, session_id="s")
        agent = kit.agent("fine", session=session)
        await agent.chat("go")
        await session.close()
        again = await Session.open(below, "s", lambda: 1.0)
        assert again.messages == session.messages and (await store.list())[0]["id"] == "s"
        assert [s.what for s in gate.passed] == ["session", "user", "usage", "assistant"]
        assert [hit["session_id"] async for hit in store.search("fine")] == ["s"]
        with pytest.raises(Exception, match="being written"):
            await store.open("s")

    go(main)
