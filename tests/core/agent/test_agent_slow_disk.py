"""Entries that are written while the disk is still waited for: whatever cuts the waiting off, they count once."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import pytest

from skillkit_core import AgentError, MemoryStore, RunAborted, Session, SessionError, TokenUsage
from skillkit_core.contracts.session_store import SessionEntry, SessionHandle, SessionHeader
from skillkit_core.testing import Call, Reply


class SlowDisk(MemoryStore):
    """Has an entry at once, and then waits for the disk: for ever at the one numbered ``at``, or fails there."""

    def __init__(self, at: int, error: SessionError | None = None) -> None:
        super().__init__()
        self.at, self.error = at, error
        self.waiting = asyncio.Event()

    async def create(self, header: SessionHeader) -> Any:
        handle: SessionHandle = await super().create(header)
        append = handle.append

        async def slow(entry: SessionEntry, *, sync: bool = False) -> None:
            await append(entry, sync=sync)
            if len(handle.entries()) == self.at:
                self.waiting.set()
                if self.error is not None:
                    raise self.error
                await asyncio.get_running_loop().create_future()

        handle.append = slow  # type: ignore[method-assign]
        return handle


def said(session: Session) -> Counter[str]:
    """Every message of all branches, with how often it was written."""
    return Counter(str(e.data["message"]) for e in session.handle.entries() if e.type == "message")


def steered(kit: Any) -> Any:
    async def tool(args: Any, ctx: Any) -> str:
        await ctx.agent.steer("rather this")
        return "done"

    return kit.tool("work", tool)


WRITES = 9  # user, usage, answer, result, steering, usage, answer, follow-up message, usage


@pytest.mark.spec("I14", "I17", "9.1")
@pytest.mark.parametrize("at", range(1, WRITES + 1))
def test_an_abort_while_the_disk_is_waited_for_keeps_what_was_written_once(kit: Any, go: Any, at: int) -> None:
    async def main() -> None:
        disk = SlowDisk(at)
        session = await Session.create(disk, lambda: 1.0)
        turns = (Reply("at once", calls=[Call("work")]), "so be it", "and this", "again")
        agent = kit.agent(*turns, tools=[steered(kit)], session=session)
        agent.events.on("turn_start", lambda event: event.turn_index == 1 and agent.queues.put("follow_up", "besides"))
        chat = asyncio.create_task(agent.chat("hello"))
        await disk.waiting.wait()

        agent.abort()

        with pytest.raises(RunAborted):
            await chat
        assert [e.seq for e in session.handle.entries()] == list(range(1, len(session.handle.entries()) + 1))
        assert set(said(session).values()) == {1}
        usage = [m for m in session.handle.entries() if m.type == "usage"]
        assert len(usage) == len(agent.scripted.requests)
        kit.check(agent)
        await agent.aclose()

    go(main())


@pytest.mark.spec("I14")
def test_a_disk_that_fails_after_the_write_fails_the_run_and_loses_nothing(kit: Any, go: Any) -> None:
    async def main() -> None:
        disk = SlowDisk(1, SessionError("the disk did not take the session"))
        agent = kit.agent("welcome back", session=await Session.create(disk, lambda: 1.0))

        with pytest.raises(Exception, match="the disk did not take the session"):
            await agent.chat("hello")
        await agent.chat("once more")

        assert kit.texts(agent) == ["user:hello", "user:once more", "assistant:welcome back"]
        kit.check(agent)
        await agent.aclose()

    go(main())


@pytest.mark.spec("I8", "I10")
@pytest.mark.parametrize("how", ["aborted", "failed"])
def test_a_tool_with_effects_waits_for_the_disk_also_in_vain(kit: Any, go: Any, how: str) -> None:
    async def main() -> None:
        session, syncing = await Session.create(MemoryStore(), lambda: 1.0), asyncio.Event()
        ran: list[str] = []
        tools = [
            kit.tool("act", lambda args, ctx: ran.append("act") or "done"),
            kit.tool("look", lambda args, ctx: ran.append("look") or "seen", replay="safe"),
        ]
        turn = Reply("both", calls=[Call("look", id="l"), Call("act", id="a")])
        agent = kit.agent(turn, tools=tools, session=session)

        async def sync() -> None:
            session.handle.sync = session.handle.__class__.sync.__get__(session.handle)  # type: ignore[method-assign]
            syncing.set()
            if how == "failed":
                raise SessionError("the disk did not take the session")
            await asyncio.get_running_loop().create_future()

        session.handle.sync = sync  # type: ignore[method-assign]
        chat = asyncio.create_task(agent.chat("go"))
        await syncing.wait()
        while not ran and how == "aborted":
            await asyncio.sleep(0)
        if how == "aborted":
            agent.abort()

        with pytest.raises(AgentError):
            await chat
        assert "act" not in ran, "its call may not be on the disk"
        assert how == "failed" or ran == ["look"], "what has no effects does not wait"
        assert agent.seen.one("agent_end").outcome == how
        assert agent.seen.types[-3:] == ["turn_end", "agent_end", "agent_settled"]
        kit.check(agent)
        await agent.aclose()

    go(main())


@pytest.mark.spec("I8")
def test_a_sync_that_failed_behind_the_run_fails_the_turn_that_hears_of_it(kit: Any, go: Any) -> None:
    async def main() -> None:
        session = await Session.create(MemoryStore(), lambda: 1.0)
        agent = kit.agent("hello", "welcome back", session=session)
        begun: list[int] = []

        def begin_sync() -> None:
            begun.append(len(session.entries))
            if len(begun) == 2:
                raise SessionError("the disk did not take the session")

        session.handle.begin_sync = begin_sync  # type: ignore[method-assign]
        with pytest.raises(AgentError, match="the disk did not take the session"):
            await agent.chat("go")
        assert begun[:2] == [1, 3], "after the message of the user, and when the turn ends"
        assert agent.seen.types[-3:] == ["turn_end", "agent_end", "agent_settled"]
        assert (await agent.chat("once more")).content == "welcome back"
        kit.check(agent)
        await agent.aclose()

    go(main())


@pytest.mark.spec("I17", "9.49")
def test_what_a_nested_run_used_is_in_the_books_above_it_also_when_its_disk_is_waited_for_in_vain(
    kit: Any, go: Any
) -> None:
    async def main() -> None:
        disk = SlowDisk(2)  # its ledger entry

        async def asks(args: Any, ctx: Any) -> str:
            inner = kit.agent(Reply("yes", usage=TokenUsage(7, 3)), session=await Session.create(disk, lambda: 1.0))
            return (await inner.chat("may I?")).content

        outer = kit.agent(Reply("look", calls=[Call("ask")], usage=TokenUsage(2, 1)), tools=[kit.tool("ask", asks)])
        chat = asyncio.create_task(outer.chat("go"))
        await disk.waiting.wait()

        outer.abort()

        with pytest.raises(RunAborted):
            await chat
        told = [(entry["purpose"], entry.get("input")) for entry in kit.ledger(outer)]
        assert told == [("turn", 2), ("nested", 7)]
        assert (outer.session.usage.input, outer.session.usage.output) == (9, 4)

    go(main())
