"""Runs that were aborted, steered, suspended, that failed, asked other agents or were long: all of them replay."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from pathlib import Path
from typing import Any

import pytest
from recorder_scripted import SECRET, counting, scripted
from skillkit_recorder import Recorder, Recording, replay

from skillkit_core import (
    AgentConfig,
    AgentError,
    AgentRunner,
    ApprovalDecision,
    Approver,
    ErrorKind,
    Host,
    Limits,
    ModelCost,
    ModelDefinition,
    Origin,
    ProviderError,
    RunAborted,
    Tool,
    ToolCallEventResult,
    hookimpl,
)
from skillkit_core.testing import Call as Calls, Hang, Reply as Says, ScriptedModel, VirtualClock


@pytest.mark.smoke
def test_tools_side_by_side_begin_and_end_in_the_recorded_order(tmp_path: Path) -> None:
    """A tool may have waited to begin, and a result to be told: who made them wait may not be there in the replay."""
    path = tmp_path / "session.jsonl"

    async def main() -> None:
        quick, shown, told, last = (asyncio.Event() for _ in range(4))

        async def act(args: Any, ctx: Any) -> str:
            if ctx.tool_call_id == "shows":
                await quick.wait()
                ctx.on_output("shown")
                shown.set()
                await last.wait()
            (quick if ctx.tool_call_id == "quick" else last).set()
            return "done"

        class Waits:
            @hookimpl
            async def wrap_tool_call(self, call: Any, call_next: Any) -> Any:
                if call.tool_call_id == "last":
                    await told.wait()
                return await call_next()

            @hookimpl
            async def after_tool_result(self, event: Any) -> None:
                if event.tool_call_id == "quick":
                    await shown.wait()

            @hookimpl
            def tool_execution_end(self, event: Any) -> None:
                if event.tool_call_id == "quick":
                    told.set()

        calls = [Calls("act", id=name) for name in ("shows", "quick", "last")]
        host = Host(discover=False, environ={}, plugins=[("waits", Waits())])
        async with AgentRunner(AgentConfig(tools=(Tool("act", "Act.", act),)), host=host) as agent:
            agent.set_adapter(ScriptedModel([Says(calls=calls), "Done."]))
            with Recorder(agent, path):
                await agent.chat("Go.")

    asyncio.run(main())
    ends = [e["tool_call_id"] for e in Recording.load(path).events if e["type"] == "after_tool_result"]
    assert ends == ["quick", "last", "shows"]
    done = asyncio.run(replay(path))
    assert done.matches, done.report()


def test_abort_steering_and_a_second_run_are_replayed_at_their_places(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"

    async def main() -> None:
        started = asyncio.Event()
        tool = counting([])
        turns = (Says(calls=[Calls("count", {"n": 1})]), "Steered.", Hang("half an ans", started=started), "Again.")
        async with scripted(*turns, tools=(tool,)) as agent:
            agent.events.on("tool_execution_start", lambda e: asyncio.ensure_future(agent.steer("Faster.")) and None)
            with Recorder(agent, path):
                await agent.chat("One.")
                task = asyncio.create_task(agent.chat("Two."))
                await started.wait()
                agent.abort("enough")
                await asyncio.wait([task])
                await agent.chat("Three.")

    asyncio.run(main())
    done = asyncio.run(replay(path))
    assert done.matches, done.report()
    assert [getattr(r, "content", type(r).__name__) for r in done.responses] == ["Steered.", "RunAborted", "Again."]


def test_an_abort_in_an_answer_strikes_where_it_did_also_beside_a_handler_that_waits(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"

    class Slow(ScriptedModel):
        async def stream(self, request: Any) -> Any:
            async for item in super().stream(request):
                await asyncio.sleep(0)
                yield item

    async def main() -> None:
        agent = AgentRunner(AgentConfig(), host=Host(discover=False, environ={}))
        agent.set_adapter(Slow([Hang("x"), Says([str(i) for i in range(50)]), "Again."]))
        seen: list[str] = []

        async def waits(event: Any) -> None:
            for _ in range(5):
                await asyncio.sleep(0)
            seen.append(event.event.content)
            if "".join(seen).endswith("30"):
                asyncio.get_running_loop().call_soon(agent.abort)

        async with agent:
            agent.events.on("message_update", waits)
            with Recorder(agent, path):
                task = asyncio.create_task(agent.chat("One."))
                while not seen or "x" not in seen:
                    await asyncio.sleep(0)
                agent.abort()
                await asyncio.wait([task])
                with contextlib.suppress(RunAborted):
                    await agent.chat("Two.")
                await agent.chat("Three.")

    asyncio.run(main())
    recording = Recording.load(path)
    updates = [e for e in recording.events if e["type"] == "message_update"]
    assert len(updates) < 50  # it was told several pieces at once
    done = asyncio.run(replay(path))
    assert done.matches, done.report()


def test_a_failure_in_an_answer_and_its_retries_replay_without_the_wait(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    broken = ProviderError("it broke", kind=ErrorKind.server, status=500)

    async def main() -> None:
        turns = (Says(["Half ", "an "], fail=broken), Says(["Whole."]), *[Says("Half", fail=broken)] * 9)
        async with scripted(*turns) as agent:
            agent.clock = VirtualClock()
            with Recorder(agent, path):
                await agent.chat("One.")
                with pytest.raises(AgentError, match="it broke"):
                    await agent.chat("Two.")

    asyncio.run(main())
    done = asyncio.run(replay(path))
    assert done.matches, done.report()
    one, two = done.responses
    assert one.content == "Whole." and isinstance(two, AgentError) and "it broke" in str(two)
    assert any(e["type"] == "retry_scheduled" for e in done.recording.events)


def test_agents_inside_tools_count_in_the_replay_as_they_did(tmp_path: Path) -> None:
    """Two levels of agents: their requests are not made again, what they used and cost counts, also against the budget."""
    path = tmp_path / "session.jsonl"
    tiers = (ModelCost(above=9, input=3_000.0, output=20_000.0),)
    model = ModelDefinition("priced", cost=ModelCost(input=1_000.0, output=10_000.0, tiers=tiers))

    def asks(depth: int) -> Tool:
        async def ask(args: Any, ctx: Any) -> str:
            tools = (asks(depth - 1),) if depth else ()
            async with AgentRunner(AgentConfig(tools=tools, model=model)) as agent:
                agent.set_adapter(ScriptedModel([Says(calls=[Calls("ask")]), f"{depth}"] if depth else ["bottom"]))
                return (await agent.chat("Down.")).content

        return Tool("ask", "Ask another agent.", ask)

    async def main() -> list[Any]:
        turns = (Says(calls=[Calls("ask")] * 2), "One.", Says(calls=[Calls("ask")] * 3), "Never.")
        limits = Limits(tokens=130)
        async with scripted(*turns, tools=(asks(1),), model=model, limits=limits) as agent:
            with Recorder(agent, path):
                return [await agent.chat("One."), await agent.chat("Two.")]

    was = asyncio.run(main())
    done = asyncio.run(replay(path))
    assert done.matches, done.report()
    assert [(r.outcome, r.usage.total, r.cost) for r in done.responses] == [
        (r.outcome, r.usage.total, r.cost) for r in was
    ]
    assert was[0].usage.total == 8 * 15 and was[1].outcome == "limit"
    below = [e for e in done.recording.events if "below" in e and e["type"] == "agent_start"]
    assert sorted((e["agent"], e["below"]) for e in below)[:4] == [(1, 1), (2, 1), (3, 2), (4, 2)]


def test_runs_that_a_message_began_are_replayed(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"

    async def main() -> None:
        async with scripted("One.", "Two.", "Three.") as agent:
            with Recorder(agent, path):
                await (await agent.steer("First.", trigger=True)).response()
                await (await agent.follow_up("Second.", trigger=True)).response()
                await agent.chat("Third.")

    asyncio.run(main())
    told = [(line.name, line.idle, line.refused) for line in Recording.load(path).directives]
    assert told == [("steer", True, False), ("follow_up", True, False), ("chat", True, False)]
    again = asyncio.run(replay(path))
    assert again.matches, again.report()
    assert [response.content for response in again.responses] == ["One.", "Two.", "Three."]


@pytest.mark.smoke
def test_a_suspension_and_its_decision_are_replayed(tmp_path: Path) -> None:
    path, ran = tmp_path / "session.jsonl", []

    class Later(Approver):
        async def approve(self, request: Any) -> ApprovalDecision:
            return ApprovalDecision("defer")

    async def main() -> None:
        turns = (Says(calls=[Calls("count", {"n": 3}, id="c1")]), "Done.")
        async with scripted(*turns, tools=(counting(ran),), approver=Later()) as agent:
            agent.events.on("before_tool_call", lambda e: ToolCallEventResult(ask="really?"))
            with Recorder(agent, path):
                await agent.chat("Count.")
                assert agent.suspension is not None
                await agent.resume({"c1": "allow"})

    asyncio.run(main())

    def prepare(agent: AgentRunner) -> None:
        agent.events.on("before_tool_call", lambda e: ToolCallEventResult(ask="really?"))

    done = asyncio.run(replay(path, prepare=prepare))
    assert done.matches and ran == [3], done.report()
    without = asyncio.run(replay(path))  # nobody asks: the recorded suspension does not happen
    assert not without.matches


@pytest.mark.parametrize("pieces", [4_000, pytest.param(20_000, marks=pytest.mark.slow)])
def test_an_answer_of_many_pieces_is_recorded_and_replayed_in_linear_work(tmp_path: Path, pieces: int) -> None:
    path = tmp_path / "session.jsonl"

    async def talk(n: int) -> None:
        async with scripted(Says([f"piece {i} " for i in range(n)])) as agent:
            agent.host.remember_secret(SECRET)
            with Recorder(agent, path):
                await agent.chat("Talk.")

    def work(n: int) -> list[int]:
        """Function calls per piece: recorded and saved; loaded, replayed and compared."""
        done: list[Any] = []
        recorded = calls_in(lambda: asyncio.run(talk(n)))
        replayed = calls_in(lambda: done.append(asyncio.run(replay(path))))
        assert done[0].matches, done[0].report()
        assert len(path.read_bytes()) < 300 * n  # an answer is kept once, not once a piece
        return [recorded // n, replayed // n]

    few, many = work(pieces // 10), work(pieces)
    assert all(b <= a for a, b in zip(few, many, strict=True)), (few, many)


def calls_in(work: Any) -> int:
    """How many functions are called, those in C included."""
    calls = 0

    def count(frame: Any, event: str, arg: Any) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
    return calls


def test_long_conversations_share_what_their_lines_have_in_common(tmp_path: Path) -> None:
    """Every request holds all messages of the one before; a recording does not."""
    path = tmp_path / "session.jsonl"

    async def talk(turns: int) -> int:
        async with scripted(*["Yes."] * turns) as agent:
            with Recorder(agent, path):
                for _ in range(turns):
                    await agent.chat("And?")
        return len(path.read_bytes())

    few, many = asyncio.run(talk(20)), asyncio.run(talk(100))
    assert many < 6 * few
    done = asyncio.run(replay(path))
    assert done.matches, done.report()


def test_who_said_something_is_recorded_and_said_again(tmp_path: Path) -> None:
    async def work() -> Any:
        async with scripted("one", "two") as agent:
            with Recorder(agent, tmp_path / "said.jsonl"):
                await agent.chat("hello", origin=Origin("web", "ada", id="m1"))
        return await replay(tmp_path / "said.jsonl")

    done = asyncio.run(work())
    assert done.matches, done.report()
    (told,) = Recording.load(tmp_path / "said.jsonl").directives
    assert told.arguments["origin"] == {"kind": "web", "principal": "ada", "id": "m1"}
