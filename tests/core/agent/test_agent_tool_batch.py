"""The calls of an answer: side by side or in turn, in source order, with ids of their own and arguments that are objects."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from skillkit_core import AgentError, Session, ToolCallEventResult
from skillkit_core.messages import StopReason
from skillkit_core.testing import Call, Reply

pytestmark = pytest.mark.smoke


@pytest.mark.spec("I2")
def test_parallel_tools_overlap_and_their_results_keep_the_order_of_the_calls(kit: Any, go: Any) -> None:
    async def main() -> None:
        second_done, first_running = asyncio.Event(), asyncio.Event()

        async def first(args: Any, ctx: Any) -> str:
            first_running.set()
            await second_done.wait()
            return "first"

        async def second(args: Any, ctx: Any) -> str:
            await first_running.wait()
            second_done.set()
            return "second"

        agent = kit.agent(
            Reply(calls=[Call("one", id="1"), Call("two", id="2")]),
            "end",
            tools=[kit.tool("one", first), kit.tool("two", second)],
        )
        await agent.chat("go")
        assert [r.text for r in kit.results(agent)] == ["first", "second"]
        assert [e.tool_call_id for e in agent.seen.of("tool_execution_end")] == ["2", "1"]
        assert [e.tool_call_id for e in agent.seen.of("tool_execution_start")] == ["1", "2"]
        kit.check(agent)

    go(main)


@pytest.mark.parametrize("how", ["tool", "config"])
def test_sequential_tools_run_one_after_the_other(kit: Any, go: Any, how: str) -> None:
    async def main() -> None:
        running = most = 0

        async def body(args: Any, ctx: Any) -> str:
            nonlocal running, most
            running += 1
            most = max(most, running)
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            running -= 1
            return "ok"

        tools = [kit.tool("a", body, sequential=how == "tool"), kit.tool("b", body)]
        agent = kit.agent(
            Reply(calls=[Call("b"), Call("a"), Call("b")]), "end", tools=tools, parallel_tools=how == "tool"
        )
        await agent.chat("go")
        assert most == 1 and [r.outcome for r in kit.results(agent)] == ["ok"] * 3

    go(main)


@pytest.mark.spec("13.2", "I2")
def test_blocked_calls_between_others_do_not_disturb_the_order(kit: Any, go: Any) -> None:
    """Results leave in source order also where some calls were blocked."""

    async def main() -> None:
        agent = kit.agent(
            Reply(calls=[Call("a", {"i": i}, id=str(i)) for i in range(4)]),
            "end",
            tools=[kit.tool("a", lambda a, c: str(a["i"]))],
        )
        agent.events.on("tool_call", lambda e: ToolCallEventResult(block=e.index % 2 == 1, reason="odd"))
        await agent.chat("go")
        assert [(r.tool_call_id, r.outcome) for r in kit.results(agent)] == [
            ("0", "ok"),
            ("1", "blocked"),
            ("2", "ok"),
            ("3", "blocked"),
        ]
        kit.check(agent)

    go(main)


@pytest.mark.spec("9.18")
def test_duplicate_call_ids_are_made_unique_and_results_follow(kit: Any, go: Any) -> None:
    async def main() -> None:
        calls = [Call("a", {"i": 0}, id="x"), Call("a", {"i": 1}, id="x"), Call("a", {"i": 2}, id="x")]
        agent = kit.agent(
            Reply(calls=calls),
            Reply(calls=[Call("a", {"i": 3}, id="x")]),
            "end",
            tools=[kit.tool("a", lambda a, c: str(a["i"]))],
        )
        await agent.chat("go")
        assert [(r.tool_call_id, r.text) for r in kit.results(agent)] == [
            ("x", "0"),
            ("x_2", "1"),
            ("x_3", "2"),
            ("x_4", "3"),
        ]
        kit.check(agent)

    go(main)


@pytest.mark.spec("9.18")
def test_ids_stay_unique_over_a_reload(kit: Any, go: Any) -> None:
    async def main() -> None:
        store = kit.RecordingStore()
        session = await Session.create(store, lambda: 1.0, session_id="s")
        first = kit.agent(Reply(calls=[Call("a", id="x")]), "end", tools=[kit.tool("a", "1")], session=session)
        await first.chat("go")
        await first.aclose()
        again = await Session.open(store, "s", lambda: 2.0)
        second = kit.agent(Reply(calls=[Call("a", id="x")]), "end", tools=[kit.tool("a", "2")], session=again)
        await second.chat("more")
        assert [r.tool_call_id for r in kit.results(second)] == ["x", "x_2"]
        kit.check(second)

    go(main)


@pytest.mark.spec("9.18")
@pytest.mark.parametrize("reopened", [True, False])
def test_ids_stay_unique_over_a_compaction_and_on_other_branches(kit: Any, go: Any, reopened: bool) -> None:
    """What is not in the context any more is in the session still, and a reload changes nothing about that."""

    async def main() -> None:
        store, tools = kit.RecordingStore(), [kit.tool("a", "1")]
        session = await Session.create(store, lambda: 1.0, session_id="s")
        agent = kit.agent(Reply(calls=[Call("a", id="x")]), "end", tools=tools, session=session)
        await agent.chat("go")
        await session.append_compaction("short", len(session.context), 100)
        again = Reply(calls=[Call("a", id="x")])
        if reopened:
            await agent.aclose()
            agent = kit.agent(tools=tools, session=await Session.open(store, "s", lambda: 2.0))
        agent.scripted.turns[:] = [*(["used"] * len(agent.scripted.requests)), again, "end", again, "end"]
        await agent.chat("more")
        await agent.session.move_to("e1")
        await agent.chat("instead")
        calls = [b["id"] for e in agent.session.entries if e.type == "message"
                 for b in e.data["message"]["content"] if b["type"] == "tool_call"]  # fmt: skip
        assert calls == ["x", "x_2", "x_3"]
        kit.check(agent)

    go(main)


@pytest.mark.spec("9.19")
@pytest.mark.parametrize("raw", ["{broken", "[1]", '"text"', '{"n": NaN}', '{"n": Infinity}', '{"n": 1e999}', "null"])
def test_arguments_that_are_no_strict_json_object_give_an_error_and_the_others_run(kit: Any, go: Any, raw: str) -> None:
    async def main() -> None:
        agent = kit.agent(Reply(calls=[Call("a", raw=raw), Call("a"), Call("zzz")]), "end", tools=[kit.tool("a", "ok")])
        await agent.chat("go")
        assert [r.outcome for r in kit.results(agent)] == ["error", "ok", "error"]
        assert "not a JSON object" in kit.results(agent)[0].text
        kit.check(agent)

    go(main)


@pytest.mark.spec("9.21")
def test_truncated_calls_are_not_run_and_a_second_time_fails_the_run(kit: Any, go: Any) -> None:
    async def main() -> None:
        ran: list[Any] = []
        tool = kit.tool("a", lambda a, c: ran.append(a) or "ok")
        cut = Reply(calls=[Call("a", {"x": 1}), Call("a", raw='{"x": 1')], stop=StopReason.length)
        agent = kit.agent(cut, "recovered", tools=[tool])
        assert (await agent.chat("go")).content == "recovered"
        assert ran == [] and [r.outcome for r in kit.results(agent)] == ["truncated", "truncated"]
        kit.check(agent)
        agent = kit.agent(cut, cut, "never", tools=[tool])
        with pytest.raises(AgentError, match="twice in a row"):
            await agent.chat("go")
        assert ran == [] and len(agent.scripted.requests) == 2
        kit.check(agent)

    go(main)
