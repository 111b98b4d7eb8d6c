"""Every start has its end, however a run ends (I8), and nothing follows ``agent_end`` (I9)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from skillkit_core import (
    AgentError,
    ApprovalDecision,
    Approver,
    BeforeCompactResult,
    CompactionResult,
    ErrorKind,
    Limits,
    ProviderError,
    RunAborted,
    Session,
    TokenUsage,
    ToolCallEventResult,
    ToolOutput,
)
from skillkit_core.testing import Call, Fail, Hang, Reply


class Defers(Approver):
    async def approve(self, request: Any) -> ApprovalDecision:
        return ApprovalDecision("defer")


CALL = Reply("I will act.", [Call("act", id="c")])
ENDS: dict[str, tuple[Any, str, str | None, list[str]]] = {
    "completed": (["done"], "completed", "done", []),
    "aborted before the answer": ([Hang()], "aborted", None, []),
    "aborted in the answer": ([Hang("half an")], "aborted", "half an", []),
    "aborted in a tool": ([CALL], "aborted", "I will act.", ["interrupted"]),
    "failed before the answer": ([Fail(ErrorKind.auth)], "failed", None, []),
    "failed in the answer": (
        [Reply("half an", fail=ProviderError("no", kind=ErrorKind.auth))],
        "failed",
        "half an",
        [],
    ),
    "a limit between two attempts": ([Fail(), "never"], "limit", None, []),
    "suspended": ([CALL], "suspended", "I will act.", []),
}


@pytest.mark.spec("I8", "I9")
@pytest.mark.parametrize("name", ENDS)
def test_a_turn_ends_with_what_there_is_of_it_however_the_run_ends(kit: Any, go: Any, name: str) -> None:
    turns, outcome, answer, results = ENDS[name]

    async def main() -> None:
        started = asyncio.Event()

        async def hangs(args: Any, ctx: Any) -> str:
            started.set()
            await asyncio.Event().wait()
            return ""

        script = [Hang(t.text, started) if isinstance(t, Hang) else t for t in turns]
        agent = kit.agent(*script, tools=[kit.tool("act", hangs)], limits=Limits(requests=1), approver=Defers())
        if name == "suspended":
            agent.events.on("tool_call", lambda e: ToolCallEventResult(ask="sure?"))
        task = asyncio.create_task(agent.chat("go"))
        if outcome == "aborted":
            await started.wait()
            agent.abort()
        try:
            response = await task
        except AgentError as error:
            response = error.response
        assert response.outcome == outcome
        end = agent.seen.one("turn_end")
        assert (None if end.message is None else end.message.text) == answer
        assert [r.outcome for r in end.tool_results] == results
        types = agent.seen.types
        assert types.index("turn_start") < types.index("turn_end") < types.index("agent_end")
        kit.check_brackets(agent.seen.events)

    go(main)


@pytest.mark.spec("I8")
def test_a_compaction_that_is_aborted_at_its_start_has_its_end(kit: Any, go: Any) -> None:
    async def main() -> None:
        agent = kit.agent("long " * 500)
        shorter = BeforeCompactResult(compaction=CompactionResult("short", 1))
        agent.events.on("before_compact", lambda e: shorter)

        async def leaves(event: Any, ctx: Any) -> None:
            ctx.abort()
            await asyncio.sleep(0)

        agent.events.on("compaction_start", leaves)
        await agent.chat("go")
        with pytest.raises(RunAborted):
            await agent.compact()
        assert agent.seen.one("compaction_end").outcome == "aborted"
        kit.check(agent)

    go(main)


@pytest.mark.spec("I8", "I17")
def test_a_call_that_is_aborted_while_its_usage_is_written_ends(kit: Any, go: Any) -> None:
    async def main() -> None:
        store, writing = kit.RecordingStore(), asyncio.Event()
        output = ToolOutput("done", usage=TokenUsage(3, 1))
        session = await Session.create(store, lambda: 1.0)
        agent = kit.agent(Reply(calls=[Call("act")]), tools=[kit.tool("act", output)], session=session)

        async def slow(entry: Any) -> None:
            if entry.type == "usage" and entry.data["purpose"] == "tool":
                writing.set()
                await asyncio.Event().wait()

        store.before = slow
        task = asyncio.create_task(agent.chat("go"))
        await writing.wait()
        agent.abort()
        with pytest.raises(RunAborted):
            await task
        assert agent.seen.one("tool_execution_end").outcome == "ok" == kit.results(agent)[0].outcome
        kit.check(agent)

    go(main)
