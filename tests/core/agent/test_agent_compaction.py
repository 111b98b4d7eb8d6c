"""Compaction: when a history is shortened, and what it never loses (spec, section 7; edge cases 34 to 37)."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from skillkit_core import (
    AgentError,
    BeforeCompactResult,
    CompactionRequest,
    CompactionResult,
    Compactor,
    ErrorKind,
    Factory,
    ModelDefinition,
    ProviderError,
    RunAborted,
    StreamEvent,
    TokenEstimator,
    TokenUsage,
    ToolOutput,
    UserMessage,
    hookimpl,
)
from skillkit_core.messages import blocks_of
from skillkit_core.testing import Call, Fail, Hang, Raw, Reply

SMALL = ModelDefinition("small", "scripted", "scripted", context_window=400)
ROOMY = ModelDefinition("roomy", "scripted", "scripted", context_window=0)


class Tiny(Compactor):
    """Keeps the last ``keep`` messages; what it was asked is in ``requests``."""

    def __init__(self, keep: int = 2, summary: str = "earlier talk", ask: bool = False, fail: bool = False) -> None:
        self.keep, self.summary, self.ask, self.fail = keep, summary, ask, fail
        self.requests: list[CompactionRequest] = []

    async def compact(self, request: CompactionRequest) -> CompactionResult | None:
        self.requests.append(request)
        if self.fail:
            raise RuntimeError("no summary today")
        text = self.summary
        if self.ask:
            text = await request.complete("summarise", [m for m in request.messages if m.role == "user"])  # type: ignore[misc]
        return CompactionResult(text, max(0, len(request.messages) - self.keep))


def with_compactor(compactor: Compactor) -> tuple[str, Any]:
    class Plugin:
        @hookimpl
        def register_compactors(self, register: Any) -> None:
            register(Factory("tiny", lambda host: compactor))

    return ("tiny", Plugin())


LONG = "word " * 120


def test_the_history_is_shortened_at_a_turn_boundary_before_the_window_is_full(kit: Any, go: Any) -> None:
    async def main() -> None:
        compactor = Tiny(keep=1)
        agent = kit.agent(LONG, LONG, "end", model=SMALL, plugins=[with_compactor(compactor)], reserve_tokens=100)
        await agent.chat("one")
        await agent.chat("two")
        assert compactor.requests == []
        await agent.chat("three")
        (request,) = compactor.requests
        assert request.reason == "threshold" and request.window == 400 and request.tokens > 300
        assert request.estimate(request.messages) <= request.tokens
        assert [m.text.split()[0] for m in agent.scripted.requests[-1].messages] == ["Summary", "three"]
        end = agent.seen.one("compaction_end")
        assert end.outcome == "completed" and end.after_tokens < end.before_tokens
        types = agent.seen.types
        assert types.index("compaction_start") < types.index("compaction_end")
        last_turn = max(i for i, t in enumerate(types) if t == "turn_start")
        assert types.index("compaction_end") < last_turn
        kit.check(agent)

    go(main)


@pytest.mark.spec("9.36", "I4")
def test_a_cut_never_parts_a_result_from_its_call(kit: Any, go: Any) -> None:
    async def main() -> None:
        compactor = Tiny(keep=3)
        calls = [Call("a", {"text": "x" * 400}), Call("a", {"text": "y" * 400}), Call("a", {"text": "z" * 400})]
        agent = kit.agent(
            LONG,
            Reply(calls=calls),
            "end",
            model=SMALL,
            plugins=[with_compactor(compactor)],
            tools=[kit.tool("a", "r")],
        )
        await agent.chat("one")
        await agent.chat("two")
        assert compactor.requests
        for request in agent.scripted.requests:
            kit.check_legal(request.messages)
        kit.check(agent)

    go(main)


@pytest.mark.spec("9.35")
def test_without_progress_compaction_stays_off_until_the_next_input(kit: Any, go: Any) -> None:
    async def main() -> None:
        compactor = Tiny(keep=1, summary=LONG * 3)
        turns = [LONG, Reply(LONG, [Call("a")]), Reply(LONG, [Call("a")]), "end", "end"]
        agent = kit.agent(*turns, model=SMALL, plugins=[with_compactor(compactor)], tools=[kit.tool("a", "r")])
        await agent.chat(LONG)
        await agent.chat("more")
        assert [e.outcome for e in agent.seen.of("compaction_end")] == ["no_progress"]
        assert len(agent.scripted.requests) == 4
        await agent.chat("again")
        assert len(compactor.requests) == 2
        kit.check(agent)

    go(main)


@pytest.mark.spec("9.34")
def test_overflow_is_compacted_away_once_and_a_second_one_fails(kit: Any, go: Any) -> None:
    async def main() -> None:
        overflow = Fail(ErrorKind.overflow, "too long", status=400)
        agent = kit.agent("a" * 400, overflow, "fine", plugins=[with_compactor(Tiny(keep=1))])
        await agent.chat("one")
        assert (await agent.chat("two")).content == "fine"
        assert agent.seen.one("compaction_end").reason == "overflow"
        kit.check(agent)
        agent = kit.agent("a" * 400, overflow, overflow, "never", plugins=[with_compactor(Tiny(keep=1))])
        await agent.chat("one")
        with pytest.raises(AgentError, match="too long"):
            await agent.chat("two")
        assert len(agent.scripted.requests) == 3 and agent.seen.of("agent_end")[-1].outcome == "failed"
        kit.check(agent)

    go(main)


@pytest.mark.spec("9.34")
def test_overflow_in_a_later_turn_of_the_same_input_is_not_compacted_again(kit: Any, go: Any) -> None:
    async def main() -> None:
        overflow = Fail(ErrorKind.overflow, "too long", status=400)
        turns = ["a" * 400, overflow, Reply("b" * 400, [Call("act")]), overflow, overflow, "fine"]
        agent = kit.agent(*turns, tools=[kit.tool("act", "x")], plugins=[with_compactor(Tiny(keep=1))])
        await agent.chat("one")
        with pytest.raises(AgentError, match="too long"):
            await agent.chat("two")
        assert len(agent.seen.of("compaction_end")) == 1 and len(agent.scripted.requests) == 4
        assert (await agent.chat("three")).content == "fine"
        assert len(agent.seen.of("compaction_end")) == 2, "a new input may be compacted for again"
        kit.check(agent)

    go(main)


@pytest.mark.spec("9.34", "9.35")
@pytest.mark.parametrize("reason", ["threshold", "overflow"])
def test_a_steering_message_is_a_new_input_that_may_be_compacted_for_again(kit: Any, go: Any, reason: str) -> None:
    async def main() -> None:
        steers = Reply(LONG, [Call("act")])
        overflow = Fail(ErrorKind.overflow, "too long", status=400)
        if reason == "threshold":  # the first compaction frees nothing, so that only a new input can bring a second one
            turns, compactor, model = [LONG, steers, Reply(LONG, [Call("act")]), "end"], Tiny(summary=LONG * 3), SMALL
        else:
            turns, compactor, model = ["a" * 400, overflow, steers, overflow, "end"], Tiny(keep=1), ROOMY
        agent = kit.agent(
            *turns, model=model, plugins=[with_compactor(compactor)],
            tools=[kit.tool("act", lambda a, c: c.agent.steer("and then?") if steer.pop() else None)],
        )  # fmt: skip
        steer = [False, True]
        await agent.chat(LONG if reason == "threshold" else "one")
        await agent.chat("more")
        assert [e.reason for e in agent.seen.of("compaction_end")] == [reason] * 2
        kit.check(agent)

    go(main)


def test_overflow_without_a_compactor_fails_and_names_the_remedy(kit: Any, go: Any) -> None:
    async def main() -> None:
        agent = kit.agent(Fail(ErrorKind.overflow, "too long"))
        with pytest.raises(AgentError, match="install a compactor"):
            await agent.chat("go")
        kit.check(agent)

    go(main)


def test_without_a_compactor_or_a_window_nothing_is_compacted(kit: Any, go: Any) -> None:
    async def main() -> None:
        agent = kit.agent(LONG, LONG, "end", model=SMALL)
        for text in ("one", "two", "three"):
            await agent.chat(text)
        compactor = Tiny()
        agent = kit.agent(LONG, LONG, "end", plugins=[with_compactor(compactor)])
        for text in ("one", "two", "three"):
            await agent.chat(text)
        assert compactor.requests == [] and agent.seen.of("compaction_start") == []

    go(main)


@pytest.mark.spec("9.37")
def test_a_failing_compactor_keeps_the_context_and_its_cost(kit: Any, go: Any) -> None:
    async def main() -> None:
        fail = Reply("", usage=TokenUsage(9, 0), fail=ProviderError("down", kind=ErrorKind.auth))
        agent = kit.agent(
            LONG, LONG, fail, "end", model=SMALL, plugins=[with_compactor(Tiny(ask=True))], reserve_tokens=100
        )
        for text in ("one", "two", "three"):
            await agent.chat(text)
        assert agent.seen.one("compaction_end").outcome == "failed" and len(agent.messages) == 6
        (entry,) = [e for e in kit.ledger(agent) if e["purpose"] == "compaction"]
        assert entry["input"] == 9 and "down" in entry["error"]
        assert agent.seen.one("handler_error").event == "compaction"
        kit.check(agent)

    go(main)


@pytest.mark.spec("I17")
def test_a_summary_by_the_model_is_accounted_for(kit: Any, go: Any) -> None:
    async def main() -> None:
        agent = kit.agent(
            LONG, LONG, "the summary", "end", model=SMALL, plugins=[with_compactor(Tiny(keep=1, ask=True))]
        )
        for text in ("one", "two", "three"):
            await agent.chat(text)
        assert "the summary" in agent.messages[0].text
        assert [e["purpose"] for e in kit.ledger(agent)] == ["turn", "turn", "compaction", "turn"]
        kit.check(agent)

    go(main)


@pytest.mark.spec("13.8")
@pytest.mark.parametrize("bad", [CompactionResult("", 99), CompactionResult("x", 0), CompactionResult("x", -5), None])
def test_a_compactor_cannot_empty_the_history(kit: Any, go: Any, bad: Any) -> None:
    class Bad(Compactor):
        async def compact(self, request: CompactionRequest) -> CompactionResult | None:
            return bad

    async def main() -> None:
        agent = kit.agent(LONG, LONG, "end", model=SMALL, plugins=[with_compactor(Bad())])
        for text in ("one", "two", "three"):
            await agent.chat(text)
        assert len(agent.messages) == 6 and agent.seen.one("compaction_end").outcome == "no_progress"
        kit.check(agent)

    go(main)


def test_handlers_may_cancel_a_compaction_or_supply_it(kit: Any, go: Any) -> None:
    async def main() -> None:
        compactor = Tiny()
        agent = kit.agent(LONG, LONG, "end", model=SMALL, plugins=[with_compactor(compactor)])
        agent.events.on("before_compact", lambda e: BeforeCompactResult(cancel=True))
        for text in ("one", "two", "three"):
            await agent.chat(text)
        assert compactor.requests == [] and len(agent.messages) == 6
        kit.check(agent)

        agent = kit.agent(LONG, LONG, "end", model=SMALL)
        supplied = CompactionResult("by hand", 4)
        agent.events.on("before_compact", lambda e: BeforeCompactResult(compaction=supplied))
        for text in ("one", "two", "three"):
            await agent.chat(text)
        assert "by hand" in agent.messages[0].text
        kit.check(agent)

    go(main)


@pytest.mark.spec("9.36")
def test_abort_in_a_compaction_leaves_the_old_context_exactly(kit: Any, go: Any) -> None:
    async def main() -> None:
        started = asyncio.Event()
        agent = kit.agent(
            LONG, LONG, Hang(started=started), "end", model=SMALL, plugins=[with_compactor(Tiny(ask=True))]
        )
        await agent.chat("one")
        await agent.chat("two")
        before = agent.messages
        task = asyncio.create_task(agent.chat("three"))
        await started.wait()
        agent.abort()
        with pytest.raises(RunAborted):
            await task
        assert agent.messages[:4] == before and len(agent.messages) == 5
        assert agent.seen.one("compaction_end").outcome == "aborted"
        kit.check(agent)

    go(main)


@pytest.mark.spec("9.16")
def test_a_steer_during_a_compaction_is_delivered_afterwards(kit: Any, go: Any) -> None:
    async def main() -> None:
        agent = kit.agent(LONG, LONG, "end", model=SMALL, plugins=[with_compactor(Tiny(keep=1))])
        agent.events.on("compaction_start", lambda e, ctx: ctx.steer("meanwhile"))
        for text in ("one", "two", "three"):
            await agent.chat(text)
        assert [m.text for m in agent.messages][-3:] == ["three", "meanwhile", "end"]
        kit.check(agent)

    go(main)


@pytest.mark.spec("9.36")
def test_compacting_twice_is_the_same_after_a_reload(kit: Any, go: Any) -> None:
    async def main() -> None:
        agent = kit.agent(LONG, repeat=True, model=SMALL, plugins=[with_compactor(Tiny(keep=2))])
        for i in range(8):
            await agent.chat(f"say {i}")
        assert len(agent.seen.of("compaction_end")) >= 2
        kit.check(agent)

    go(main)


def test_the_estimators_of_plugins_decide_how_full_the_window_is(kit: Any, go: Any) -> None:
    class Words:
        @hookimpl
        def register_token_estimators(self, register: Any) -> None:
            register(TokenEstimator("words", lambda text: 1000 * len(text.split()), ("sm*",)))

    async def main() -> None:
        compactor = Tiny(keep=1)
        model = ModelDefinition("small", "scripted", "scripted", context_window=5_000)
        agent = kit.agent("a b c", "end", model=model, plugins=[with_compactor(compactor), ("words", Words())])
        await agent.chat("x")
        await agent.chat("y")
        assert len(compactor.requests) == 1 and compactor.requests[0].tokens > 5_000
        assert agent.estimate_tokens(agent.messages[-1:]) == 1004

    go(main)


def test_an_estimator_that_is_made_for_a_model_counts_messages_and_tools_in_its_own_way(kit: Any, go: Any) -> None:
    class Counting:
        def __init__(self, model: ModelDefinition) -> None:
            self.model = model

        def text(self, text: str) -> int:
            return len(text)

        def message(self, message: Any) -> int:
            return 1_000

        def prompt(self, system: str, tools: Any) -> int:
            return 20 * len(tools) + (7 if self.model.id == "roomy" else 0)

    class Plugin:
        @hookimpl
        def register_token_estimators(self, register: Any) -> None:
            register(TokenEstimator("any", len, create=lambda model: pytest.fail("a pattern of its own goes first")))
            register(TokenEstimator("roomy", len, ("roomy",), create=Counting))

    async def main() -> None:
        agent = kit.agent("end", model=ROOMY, plugins=[("counting", Plugin())])
        seen: list[int] = []
        agent.events.on("context_transform", lambda event, ctx: seen.append(event.tokens))
        agent.configure(tools=(*agent.config.tools, kit.tool("look")))
        await agent.chat("x")
        assert seen == [1_000 + 20 + 7] and agent.estimate_tokens(agent.messages) == 2_000

    go(main)


def test_the_last_count_of_the_provider_is_where_the_next_estimate_begins(kit: Any, go: Any) -> None:
    counted = TokenUsage(input=100, cache_read=180, cache_write=20, output=2)

    async def main() -> None:
        far_off = Reply("b", usage=TokenUsage(input=10))
        agent = kit.agent(Reply("a", usage=counted), far_off, "c", "d", "e", model=ROOMY)
        seen: list[int] = []
        agent.events.on("context_transform", lambda event, ctx: seen.append(event.tokens))
        await agent.chat(LONG)  # 150 tokens and 4 for the message
        await agent.chat("word")
        assert seen == [154, 300 + 5 + 5]
        await agent.chat("word")
        assert seen[2] == 310 + 5 + 5, "a count that cannot belong to the request changes nothing"
        agent.set_model(replace(ROOMY, id="other"))
        await agent.chat("word")
        assert seen[3] == 154 + 6 * 5, "another model counts in another way"

    go(main)


def test_what_a_compaction_leaves_is_measured_as_the_provider_counts(kit: Any, go: Any) -> None:
    counted = TokenUsage(input=308, output=2)

    async def main() -> None:
        agent = kit.agent(Reply("a", usage=counted), "b", model=ROOMY, plugins=[with_compactor(Tiny(keep=1))])
        await agent.chat(LONG)
        await agent.compact()
        end = agent.seen.one("compaction_end")
        left = agent.estimate_tokens(agent.messages)
        assert (end.before_tokens, end.after_tokens) == (308 + 5, 2 * left), "twice the estimate, as before"
        await agent.chat("go on")
        kit.check(agent)

    go(main)


@pytest.mark.spec("I17")
@pytest.mark.parametrize("by_hand", [True, False])
def test_a_summary_that_is_aborted_is_in_the_books(kit: Any, go: Any, by_hand: bool) -> None:
    async def main() -> None:
        started = asyncio.Event()
        half = Raw([StreamEvent("text_delta", "half", index=0, usage=TokenUsage(7, 1))], hang=True, started=started)
        agent = kit.agent(LONG, LONG, half, model=SMALL, plugins=[with_compactor(Tiny(ask=True))])
        await agent.chat("one")
        await agent.chat("two")
        task = asyncio.create_task(agent.compact() if by_hand else agent.chat("three"))
        await started.wait()
        agent.abort()
        with pytest.raises(RunAborted):
            await task
        last = kit.ledger(agent)[-1]
        assert (last["purpose"], last["input"], last["output"]) == ("compaction", 7, 1) and "aborted" in last["error"]
        assert len(kit.ledger(agent)) == len(agent.scripted.requests) == 3
        kit.check(agent)

    go(main)


@pytest.mark.spec("9.35")
def test_a_window_that_not_even_the_system_prompt_fits_into_fails_with_a_reason_and_no_loop(kit: Any, go: Any) -> None:
    async def main() -> None:
        overflow = Fail(ErrorKind.overflow, "prompt is too long")
        agent = kit.agent(
            overflow, repeat=True, model=SMALL, plugins=[with_compactor(Tiny(keep=1))], system_prompt=LONG * 4
        )
        with pytest.raises(AgentError, match=r"too long.*start a new one, or install a compactor"):
            await agent.chat("one")
        assert len(agent.scripted.requests) == 1
        ends = [(e.reason, e.outcome) for e in agent.seen.of("compaction_end")]
        assert ends == [("threshold", "no_progress"), ("overflow", "no_progress")]
        kit.check(agent)

    go(main)


@pytest.mark.spec("9.36", "I1")
@pytest.mark.parametrize("keep_from", range(10))
def test_wherever_a_compactor_cuts_calls_and_results_stay_together(kit: Any, go: Any, keep_from: int) -> None:
    """One giant turn: a prompt, and two answers with three calls each."""

    async def main() -> None:
        calls = [Call("a", {"n": n}) for n in range(3)]
        agent = kit.agent(Reply(LONG, calls), Reply(LONG, calls), "end", "again", tools=[kit.tool("a", LONG)])
        await agent.chat("one")
        assert len(agent.messages) == 10
        agent.events.on(
            "before_compact", lambda e: BeforeCompactResult(compaction=CompactionResult("short", keep_from))
        )
        await agent.compact()
        messages = list(agent.messages)
        if keep_from:
            assert messages.pop(0).text.endswith("short")
        kit.check_legal(messages)
        assert len(messages) >= 10 - keep_from, "more was left out than the compactor wanted"
        await agent.chat("go on")
        kit.check(agent)

    go(main)


@pytest.mark.spec("9.37")
def test_a_summary_that_fails_where_nothing_else_fits_fails_the_run_and_keeps_the_context(kit: Any, go: Any) -> None:
    async def main() -> None:
        overflow = Fail(ErrorKind.overflow, "prompt is too long")
        broken = ProviderError("refused", kind=ErrorKind.invalid_request)
        summary = Reply("half a summary", usage=TokenUsage(9, 1), fail=broken)
        agent = kit.agent(LONG, overflow, summary, "fine", plugins=[with_compactor(Tiny(keep=1, ask=True))])
        await agent.chat("one")
        before = agent.messages
        with pytest.raises(AgentError, match="too long"):
            await agent.chat("two")
        assert agent.messages[:-1] == before and agent.messages[-1].text == "two"
        assert agent.seen.one("compaction_end").outcome == "failed"
        assert [(e["purpose"], "error" in e) for e in kit.ledger(agent)] == [
            ("turn", False), ("turn", True), ("compaction", True),
        ]  # fmt: skip
        assert kit.ledger(agent)[-1]["input"] == 9
        kit.check(agent)

    go(main)


class Pruning(Compactor):
    """Cuts every result short, or replaces it by what ``swap`` gives."""

    def __init__(self, swap: Any = lambda m: replace(m, content=blocks_of("cut"))) -> None:
        self.swap = swap

    async def compact(self, request: CompactionRequest) -> CompactionResult | None:
        results = {i: self.swap(m) for i, m in enumerate(request.messages) if m.role == "tool_result"}
        return CompactionResult("", 0, results)


def long_result(kit: Any, compactor: Compactor) -> Any:
    tools = [kit.tool("a", "x" * 4_000)]
    plugins = [with_compactor(compactor)]
    return kit.agent(Reply(calls=[Call("a", {})]), "end", "more", tools=tools, plugins=plugins)


def test_results_are_cut_short_and_come_back_when_the_leaf_moves(kit: Any, go: Any) -> None:
    async def main() -> None:
        agent = long_result(kit, Pruning())
        await agent.chat("one")
        before, leaf = agent.messages, agent.session.leaf_id
        assert await agent.compact()
        assert [m.text for m in agent.messages] == ["one", "", "cut", "end"]
        await agent.chat("two")
        sent = agent.scripted.requests[-1].messages
        assert [m.text for m in sent] == ["one", "", "cut", "end", "two"]
        kit.check_legal(sent)
        kit.check(agent)
        await agent.move_to(leaf)
        assert agent.messages == before

    go(main)


@pytest.mark.parametrize(
    "swap",
    [
        lambda m: UserMessage(content=m.content),
        lambda m: replace(m, tool_call_id="other"),
        lambda m: None,
    ],
    ids=["another role", "another call", "nothing"],
)
def test_a_replacement_that_breaks_the_history_fails_the_compaction(kit: Any, go: Any, swap: Any) -> None:
    async def main() -> None:
        agent = long_result(kit, Pruning(swap))
        await agent.chat("one")
        before = agent.messages
        assert not await agent.compact()
        assert agent.messages == before and agent.seen.one("compaction_end").outcome == "failed"
        assert "replacement 2" in agent.seen.one("handler_error").error
        kit.check(agent)

    go(main)


def test_a_pinned_result_outlives_its_call(kit: Any, go: Any) -> None:
    async def main() -> None:
        tool = kit.tool("a", ToolOutput("steps of the skill", pinned=True))
        agent = kit.agent(
            Reply(calls=[Call("a", {})]), LONG, "more", tools=[tool], plugins=[with_compactor(Tiny(keep=0))]
        )
        await agent.chat("one")
        assert await agent.compact()
        await agent.chat("two")
        sent = agent.scripted.requests[-1].messages
        assert [m.text.splitlines()[-1] for m in sent] == ["earlier talk", "steps of the skill", "two"]
        kit.check_legal(sent)
        kit.check(agent)

    go(main)
