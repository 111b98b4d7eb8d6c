"""What tools answer: errors, nonsense, too much, too late, patched or withheld; always one legal result (spec, 9.20 and 9.25)."""

from __future__ import annotations

import asyncio
import re
import threading
from typing import Any

import pytest

from skillkit_core import ImageBlock, TokenUsage, ToolError, ToolOutput, ToolResultEventResult
from skillkit_core.testing import Call, Reply

BAD_OUTPUTS: dict[str, Any] = {
    "raises": lambda a, c: 1 / 0,
    "none": None,
    "number": 5,
    "dict": {"a": 1},
    "content none": ToolOutput(None),  # type: ignore[arg-type]
    "content of numbers": ToolOutput([1, 2]),  # type: ignore[list-item]
    "content of calls": ToolOutput([__import__("skillkit_core").ToolCall("1", "a")]),
}


@pytest.mark.spec("9.20")
@pytest.mark.parametrize("kind", sorted(BAD_OUTPUTS))
def test_a_tool_that_raises_or_answers_nonsense_gives_an_error_result(kit: Any, go: Any, kind: str) -> None:
    async def main() -> None:
        agent = kit.agent(
            Reply(calls=[Call("a"), Call("b")]), "end", tools=[kit.tool("a", BAD_OUTPUTS[kind]), kit.tool("b", "ok")]
        )
        response = await agent.chat("go")
        assert response.content == "end"
        assert [r.outcome for r in kit.results(agent)] == ["error", "ok"] and kit.results(agent)[0].text
        kit.check(agent)

    go(main)


def test_a_tool_error_is_told_in_its_own_words(kit: Any, go: Any) -> None:
    async def main() -> None:
        def body(args: Any, ctx: Any) -> str:
            raise ToolError("no such file", hint="list the folder first")

        agent = kit.agent(Reply(calls=[Call("a")]), "end", tools=[kit.tool("a", body)])
        await agent.chat("go")
        assert kit.results(agent)[0].text == "no such file; list the folder first"

    go(main)


@pytest.mark.spec("9.20")
def test_huge_output_is_cut_in_the_middle_and_says_how_much(kit: Any, go: Any) -> None:
    async def main() -> None:
        text = "a" * 5_000_000 + "b" * 5_000_000
        agent = kit.agent(Reply(calls=[Call("a")]), "end", tools=[kit.tool("a", text, max_output=1000)])
        await agent.chat("go")
        got = kit.results(agent)[0].text
        assert len(got) <= 1000 and got.startswith("aaa") and got.endswith("bbb") and "characters left out" in got

    go(main)


@pytest.mark.spec("9.20")
def test_lone_surrogates_are_replaced_and_details_stay_with_people(kit: Any, go: Any) -> None:
    async def main() -> None:
        output = ToolOutput("a\ud83d b \ud83d\ude00", details={"rows": 3, "when": object})
        agent = kit.agent(Reply(calls=[Call("a")]), "end", tools=[kit.tool("a", output)])
        await agent.chat("x\udc00y")
        assert kit.results(agent)[0].text == "a\ufffd b 😀" and kit.results(agent)[0].details["rows"] == 3
        assert agent.messages[0].text == "x\ufffdy"
        for message in agent.scripted.requests[-1].messages:
            message.text.encode()

    go(main)


@pytest.mark.spec("9.20")
def test_images_alone_are_a_legal_result(kit: Any, go: Any) -> None:
    async def main() -> None:
        agent = kit.agent(Reply(calls=[Call("a")]), "end", tools=[kit.tool("a", ToolOutput([ImageBlock("aGk=")]))])
        await agent.chat("go")
        assert kit.results(agent)[0].content == (ImageBlock("aGk="),) and kit.results(agent)[0].outcome == "ok"
        kit.check(agent)

    go(main)


def test_a_tool_that_takes_too_long_gets_the_outcome_timeout(kit: Any, go: Any) -> None:
    async def main() -> None:
        agent = kit.agent(
            Reply(calls=[Call("a")]), "end", tools=[kit.tool("a", lambda a, c: asyncio.Event().wait(), timeout=0.02)]
        )
        agent.events.on("tool_result", lambda e: ToolResultEventResult(details=str(e.outcome)))
        await agent.chat("go")
        assert kit.results(agent)[0].outcome == "timeout" and kit.results(agent)[0].details == "timeout"
        kit.check(agent)

    go(main)


def test_a_tool_that_is_cancelled_from_the_inside_fails_alone(kit: Any, go: Any) -> None:
    async def main() -> None:
        async def body(args: Any, ctx: Any) -> str:
            inner = asyncio.ensure_future(asyncio.Event().wait())
            inner.cancel()
            await inner
            return ""

        agent = kit.agent(Reply(calls=[Call("a"), Call("b")]), "end", tools=[kit.tool("a", body), kit.tool("b", "ok")])
        response = await agent.chat("go")
        assert response.outcome == "completed" and [r.outcome for r in kit.results(agent)] == ["error", "ok"]
        kit.check(agent)

    go(main)


@pytest.mark.spec("13.4")
def test_updates_are_counted_delivered_in_order_and_dropped_after_the_call_has_settled(kit: Any, go: Any) -> None:
    async def main() -> None:
        kept: list[Any] = []

        async def body(args: Any, ctx: Any) -> str:
            kept.append(ctx)
            ctx.on_output("one\n")
            ctx.on_output("")
            ctx.on_output("two\n", "stderr")
            await asyncio.to_thread(ctx.on_output, "three\n")
            await asyncio.sleep(0)
            return "ok"

        agent = kit.agent(
            Reply(calls=[Call("a")]), lambda r: kept[0].on_output("late") or "end", tools=[kit.tool("a", body)]
        )
        slow: list[str] = []

        async def waits(event: Any) -> None:
            await asyncio.sleep(0)
            slow.append(event.output)

        agent.events.on("tool_execution_update", waits)
        await agent.chat("go")
        assert [(e.n, e.output, e.stream) for e in agent.seen.of("tool_execution_update")] == [
            (1, "one\n", "stdout"), (2, "two\n", "stderr"), (3, "three\n", "stdout"),
        ]  # fmt: skip
        assert slow == ["one\n", "two\n", "three\n"]
        assert max(e.seq for e in agent.seen.of("tool_execution_update")) < agent.seen.one("tool_execution_end").seq

    go(main)


@pytest.mark.spec("9.25", "13.3", "I13")
def test_a_raising_handler_of_a_result_keeps_earlier_patches_and_the_batch_whole(kit: Any, go: Any) -> None:
    async def main() -> None:
        agent = kit.agent(Reply(calls=[Call("a"), Call("a")]), "end", tools=[kit.tool("a", "raw")])
        agent.events.on("tool_result", lambda e: ToolResultEventResult(content="patched"))
        agent.events.on("tool_result", lambda e: 1 / 0)
        await agent.chat("go")
        assert [r.text for r in kit.results(agent)] == ["patched", "patched"]
        assert len(agent.seen.of("handler_error")) == 2
        kit.check(agent)

    go(main)


@pytest.mark.spec("9.26", "13.1")
@pytest.mark.parametrize(("is_error", "patch", "outcome"), [(False, True, "error"), (True, False, "ok")])
def test_a_patch_flips_the_error_both_ways(kit: Any, go: Any, is_error: bool, patch: bool, outcome: str) -> None:
    async def main() -> None:
        agent = kit.agent(
            Reply(calls=[Call("a")]), "end", tools=[kit.tool("a", ToolOutput("x", details={"a": 1}, is_error=is_error))]
        )
        agent.events.on("tool_result", lambda e: ToolResultEventResult(is_error=patch))
        agent.events.on("tool_result", lambda e: ToolResultEventResult(details=None))
        await agent.chat("go")
        (result,) = kit.results(agent)
        assert (result.is_error, result.outcome, result.details) == (patch, outcome, None)

    go(main)


def test_a_failing_guard_of_a_result_withholds_it(kit: Any, go: Any) -> None:
    async def main() -> None:
        answer = ToolOutput("the secret", usage=TokenUsage(input=100))
        agent = kit.agent(Reply(calls=[Call("a")]), "end", tools=[kit.tool("a", lambda args, ctx: answer)])
        agent.events.on("tool_result", lambda e: 1 / 0, phase="guard")
        await agent.chat("go")
        assert [e.get("input") for e in kit.ledger(agent) if e["purpose"] == "tool"] == [
            100
        ]  # it was used all the same
        (result,) = kit.results(agent)
        assert "secret" not in result.text and "withheld" in result.text and result.is_error
        assert all("secret" not in str(e) for e in agent.seen.of("tool_execution_end"))

    go(main)


@pytest.mark.spec("13.4")
def test_what_a_settled_call_still_puts_out_is_dropped_while_its_siblings_run(kit: Any, go: Any) -> None:
    async def main() -> None:
        settled, kept = asyncio.Event(), {}

        async def first(args: Any, ctx: Any) -> str:
            kept["ctx"] = ctx
            return "done"

        async def second(args: Any, ctx: Any) -> str:
            await settled.wait()
            kept["ctx"].on_output("late")
            await asyncio.to_thread(kept["ctx"].on_output, "late, from a thread")
            ctx.on_output("in time")
            return "done too"

        tools = [kit.tool("first", first), kit.tool("second", second)]
        agent = kit.agent(Reply(calls=[Call("first", id="1"), Call("second", id="2")]), "end", tools=tools)
        agent.events.on("tool_execution_end", lambda e: settled.set())
        await agent.chat("go")
        assert [(e.tool_call_id, e.output) for e in agent.seen.of("tool_execution_update")] == [("2", "in time")]

    go(main)


@pytest.mark.spec("13.4")
def test_what_a_thread_puts_out_at_the_last_moment_is_shown_before_the_call_ends(kit: Any, go: Any) -> None:
    async def main() -> None:
        async def body(args: Any, ctx: Any) -> str:
            thread = threading.Thread(target=ctx.on_output, args=("just in time",))
            thread.start()
            thread.join()  # the loop has no chance to hear of it before the tool returns
            return "done"

        agent = kit.agent(Reply(calls=[Call("a")]), "end", tools=[kit.tool("a", body)])
        await agent.chat("go")
        update, end = agent.seen.one("tool_execution_update"), agent.seen.one("tool_execution_end")
        assert update.output == "just in time" and update.seq < end.seq
        types = agent.seen.types
        assert types.index("tool_execution_update") < types.index("tool_execution_end")
        assert [e.seq for e in agent.seen.events] == sorted(e.seq for e in agent.seen.events)

    go(main)


@pytest.mark.spec("9.50")
@pytest.mark.parametrize("where", ["loop", "thread"])
def test_output_that_a_slow_observer_has_not_taken_waits_in_bounded_room_and_what_is_left_out_is_counted(
    kit: Any, go: Any, where: str
) -> None:
    async def main() -> None:
        taken, many, piece = asyncio.Event(), 200, "x" * 99_999 + "\n"

        async def body(args: Any, ctx: Any) -> str:
            ctx.on_output("first\n")
            await taken.wait()  # the observer has it, and is busy
            for n in range(many):
                if where == "loop":
                    ctx.on_output(piece, "stdout" if n % 2 else "stderr")
                else:
                    await asyncio.to_thread(ctx.on_output, piece, "stdout" if n % 2 else "stderr")
            ctx.on_output("last\n")
            go_on.set()
            return "all of it"

        go_on, shown = asyncio.Event(), []

        async def slow(event: Any) -> None:
            shown.append(event)
            taken.set()
            await go_on.wait()

        agent = kit.agent(Reply(calls=[Call("a")]), "end", tools=[kit.tool("a", body)])
        agent.events.on("tool_execution_update", slow)
        await agent.chat("go")
        text = "".join(event.output for event in shown)
        assert shown[0].output == "first\n" and shown[-1].output.endswith("last\n") and shown[-1].n == many + 2
        notes = [int(count) for count in re.findall(r"\n\[\.\.\. (\d+) characters left out: they came faster", text)]
        kept = text.count("x") + text.count("x\n")
        assert kept + sum(notes) == many * len(piece) and len(notes) == 2, "one for each stream"
        assert len(text) < 4_100_000
        assert [r.text for r in kit.results(agent)] == ["all of it"]

    go(main)


def test_many_small_pieces_that_wait_become_few_updates(kit: Any, go: Any) -> None:
    async def main() -> None:
        async def body(args: Any, ctx: Any) -> str:
            for n in range(50_000):
                ctx.on_output(f"{n}\n")
            return "done"

        shown: list[str] = []

        async def slow(event: Any) -> None:
            await asyncio.sleep(0)
            shown.append(event.output)

        agent = kit.agent(Reply(calls=[Call("a")]), "end", tools=[kit.tool("a", body)])
        agent.events.on("tool_execution_update", slow)
        await agent.chat("go")
        [text] = shown
        assert text.splitlines() == [str(n) for n in range(50_000)]

    go(main)
