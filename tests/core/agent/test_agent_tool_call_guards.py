"""``before_tool_call``: who may change a call, who sees what runs, who may stop or replace it (spec, section 6)."""

from __future__ import annotations

import asyncio
import heapq
from typing import Any

import pytest
from call_bench import Bench
from hypothesis import given, settings, strategies as st

from skillkit_core import (
    ApprovalDecision,
    ApprovalRequest,
    Approver,
    EventBus,
    Handled,
    ReplaceArgs,
    TextBlock,
    ToolCallEventResult,
    ToolOutput,
    ToolResultEventResult,
    hookimpl,
)
from skillkit_core.events.tool_call import merge_patch
from skillkit_core.frozen import thaw
from skillkit_core.testing import Call, Reply

Answer = ToolCallEventResult


PROPERTY = settings(max_examples=100, deadline=None, derandomize=True)


def test_a_merge_patch_changes_keeps_and_removes(kit: Any, go: Any) -> None:
    bench = Bench(kit, {"keep": 1, "gone": 2, "deep": {"a": 1, "b": 2}})
    bench.on("tool_call", lambda e: Answer(args={"gone": None, "deep": {"b": None, "c": 3}, "new": [1]}))
    result = go(bench.result())
    assert result.outcome == "ok"
    assert bench.ran == [{"keep": 1, "deep": {"a": 1, "c": 3}, "new": [1]}]


def test_replace_args_replaces_the_whole(kit: Any, go: Any) -> None:
    bench = Bench(kit, {"a": 1})
    bench.on("tool_call", lambda e: Answer(args=ReplaceArgs({"b": None})))
    go(bench.result())
    assert bench.ran == [{"b": None}]


def test_what_the_model_wrote_stays_available_as_raw_args(kit: Any, go: Any) -> None:
    bench, seen = Bench(kit), []
    bench.on("tool_call", lambda e: Answer(args={"x": 2}), phase="rewrite")
    bench.on("tool_call", lambda e: seen.append((dict(e.raw_args), dict(e.args))), phase="guard")
    go(bench.result())
    assert seen == [({"x": 1}, {"x": 2})]
    assert bench.seen.one("after_tool_result").raw_args == {"x": 1}


@pytest.mark.spec("9.23")
def test_later_handlers_see_the_change_and_earlier_ones_are_asked_again_once(kit: Any, go: Any) -> None:
    bench, seen = Bench(kit), []
    bench.on("tool_call", lambda e: seen.append(("first", e.args["x"])), phase="first")
    bench.on("tool_call", lambda e: seen.append(("normal", e.args["x"])) or Answer(args={"x": 2}))
    bench.on("tool_call", lambda e: seen.append(("last", e.args["x"])), phase="last")
    bench.on("tool_call", lambda e: seen.append(("guard", e.args["x"])), phase="guard")
    go(bench.result())
    assert seen == [("first", 1), ("normal", 1), ("last", 2), ("first", 2), ("guard", 2)]
    assert bench.ran == [{"x": 2}]


@pytest.mark.spec("9.23")
def test_a_handler_asked_again_may_repeat_itself_and_may_block(kit: Any, go: Any) -> None:
    bench = Bench(kit)
    bench.on("tool_call", lambda e: Answer(args={"y": 1}), phase="first")
    bench.on("tool_call", lambda e: Answer(block=e.args["x"] == 2, reason="two"), phase="first")
    bench.on("tool_call", lambda e: Answer(args={"x": 2}))
    result = go(bench.result())
    assert result.outcome == "blocked" and result.text == "Blocked: two" and bench.ran == []


@pytest.mark.spec("I12")
def test_handlers_that_keep_changing_the_arguments_are_unstable_and_blocked(kit: Any, go: Any) -> None:
    bench = Bench(kit)
    bench.on("tool_call", lambda e: Answer(args={"x": e.args["x"] + 1}), phase="first")
    bench.on("tool_call", lambda e: Answer(args={"x": e.args["x"] + 1}))
    result = go(bench.result())
    assert result.outcome == "blocked" and "unstable" in result.text and bench.ran == []


def test_a_question_that_the_final_arguments_do_not_raise_is_taken_back(kit: Any, go: Any) -> None:
    bench = Bench(kit, {"path": "/etc/passwd"})
    bench.on("tool_call", lambda e: Answer(ask="sure?") if e.args["path"].startswith("/") else None, phase="first")
    bench.on("tool_call", lambda e: Answer(args={"path": "notes.txt"}))
    assert go(bench.result()).outcome == "ok"
    assert bench.ran == [{"path": "notes.txt"}] and bench.seen.of("approval_request") == []


def test_a_substitute_for_arguments_that_changed_since_does_not_stand(kit: Any, go: Any) -> None:
    bench = Bench(kit)
    bench.on("tool_call", lambda e: Answer(result="cached one") if e.args["x"] == 1 else None, phase="first")
    bench.on("tool_call", lambda e: Answer(args={"x": 2}))
    assert go(bench.result()).text == "done"
    assert bench.ran == [{"x": 2}]


def test_true_is_not_one_when_arguments_are_compared(kit: Any, go: Any) -> None:
    bench, seen = Bench(kit, {"x": 1}), []
    bench.on("tool_call", lambda e: seen.append(e.args["x"]), phase="first")
    bench.on("tool_call", lambda e: Answer(args={"x": True}))
    go(bench.result())
    assert [type(x) for x in seen] == [int, bool] and bench.ran == [{"x": True}]


@pytest.mark.spec("9.22")
def test_invalid_rewritten_arguments_are_the_plugins_fault_not_the_models(kit: Any, go: Any) -> None:
    class Rewriter:
        @hookimpl(phase="rewrite")
        def before_tool_call(self, event: Any) -> Any:
            return Answer(args={"x": "many"})

    schema = {"type": "object", "properties": {"x": {"type": "integer"}}}
    bench = Bench(kit, tool={"parameters": schema}, plugins=[("rewriter", Rewriter())])
    result = go(bench.result())
    assert result.outcome == "error" and bench.ran == []
    assert "plugin 'rewriter'" in result.text and "x: must be an integer" in result.text


def test_a_guard_may_not_change_arguments(kit: Any, go: Any) -> None:
    bench = Bench(kit)
    bench.on("tool_call", lambda e: Answer(args={"x": 1}), phase="guard")
    result = go(bench.result())
    assert result.outcome == "blocked" and "guard" in result.text and bench.ran == []
    assert bench.seen.one("handler_error").event == "before_tool_call"


@pytest.mark.spec("I12")
@PROPERTY
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["rewrite", "first", "normal", "last"]),
            st.dictionaries(st.sampled_from("abc"), st.none() | st.integers(0, 2), max_size=2),
            st.booleans(),
        ),
        max_size=5,
    ),
    st.integers(1, 3),
)
def test_whatever_is_rewritten_the_last_guard_sees_what_runs(
    rewriters: list[tuple[str, dict[str, Any], bool]], guards: int
) -> None:
    """And every handler has seen the final arguments."""
    bus = EventBus()
    views: dict[int, list[Any]] = {}
    for i, (phase, patch, once) in enumerate(rewriters):

        def rewriter(event: Any, i: int = i, patch: Any = patch, once: bool = once) -> Any:
            views.setdefault(i, []).append(event.args)
            return None if once and len(views[i]) > 1 else Answer(args=patch)

        bus.on("before_tool_call", rewriter, phase=phase)  # type: ignore[call-overload]
    for i in range(guards):
        bus.on("before_tool_call", lambda e, i=i: views.setdefault(100 + i, []).append(e.args), phase="guard")  # type: ignore[misc]
    decision = asyncio.run(bus.emit("before_tool_call", {"args": {"a": 0}, "tool_name": "t"}))
    if decision.block:
        assert "unstable" in decision.reason
        return
    for i, seen in views.items():
        assert len(seen) <= 2
        if i >= 100:
            assert seen == [decision.args]
        else:
            final = merge_patch(seen[-1], rewriters[i][1])
            assert seen[-1] == decision.args or (len(seen) == 1 and final == decision.args)


ORIGINAL = {"l": [3, 1, 2], "deep": {"k": "v"}}


def sorts(event: Any) -> None:
    heapq.heapify(event.args["l"])


def adds(event: Any) -> None:
    dict.update(event.args["deep"], {"k": "evil"})
    dict.update(event.args, {"more": 1})


def exchanges(event: Any) -> None:
    object.__setattr__(event, "args", {"l": [0]})


class Approves(Approver):
    def __init__(self, change: Any) -> None:
        self.change, self.saw = change, []

    async def approve(self, request: ApprovalRequest) -> ApprovalDecision:
        self.saw.append(thaw(request.args))
        self.change(request)
        return ApprovalDecision("allow")


@pytest.mark.spec("I12")
@pytest.mark.parametrize("change", [sorts, adds, exchanges])
@pytest.mark.parametrize("args", [ORIGINAL, {"l": [5, 4], "deep": {}}])
def test_nobody_who_looks_changes_what_runs_or_what_others_are_shown(
    kit: Any, go: Any, change: Any, args: dict[str, Any]
) -> None:
    class Wraps:
        @hookimpl
        async def wrap_tool_call(self, call: Any, call_next: Any) -> Any:
            seen.append(thaw(call.args))
            change(call)
            return await call_next()

    def hostile(event: Any) -> None:
        seen.append(thaw(event.args))
        change(event)

    approver, seen = Approves(change), list[Any]()
    bench = Bench(kit, args, approver=approver, plugins=[("wraps", Wraps())])
    for phase in ("rewrite", "normal", "guard", "guard"):
        bench.on("before_tool_call", hostile, phase=phase)
    bench.on("before_tool_call", lambda e: Answer(ask="sure?"), phase="guard")
    for name in ("approval_request", "tool_execution_start", "after_tool_result", "tool_execution_end"):
        bench.on(name, hostile)
    bench.agent.events.observe(hostile, ["before_tool_call", "approval_resolved"])
    assert go(bench.result()).outcome == "ok"
    assert bench.ran == approver.saw == [args] and seen == [args] * 11


@pytest.mark.spec("I12")
def test_arguments_that_a_handler_gave_are_out_of_its_reach(kit: Any, go: Any) -> None:
    given = ReplaceArgs({"l": [3, 1, 2]})
    bench, guarded = Bench(kit), []
    bench.on("before_tool_call", lambda e: Answer(args=given), phase="rewrite")
    bench.on("before_tool_call", lambda e: guarded.append(thaw(e.args)), phase="guard")
    bench.on("tool_execution_start", lambda e: heapq.heapify(given.args["l"]))
    go(bench.result())
    assert bench.ran == guarded == [{"l": [3, 1, 2]}]


def test_merge_patches_follow_rfc_7386() -> None:
    """The examples of the RFC's appendix that have an object as target and patch."""
    cases: list[tuple[Any, Any, Any]] = [
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
    ]
    for target, patch, wanted in cases:
        assert merge_patch(target, patch) == wanted


@pytest.mark.spec("9.27")
def test_two_handlers_block_and_give_one_result_with_both_reasons(kit: Any, go: Any) -> None:
    bench = Bench(kit)
    bench.on("tool_call", lambda e: Answer(block=True, reason="too early"))
    bench.on("tool_call", lambda e: Answer(block=True, reason="too loud"))
    result = go(bench.result())
    assert result.outcome == "blocked" and result.is_error
    assert result.text == "Blocked: too early; too loud" and bench.ran == []
    assert len(bench.seen.of("tool_execution_start")) == len(bench.seen.of("tool_execution_end")) == 1
    assert bench.seen.of("after_tool_result") == []


@pytest.mark.parametrize("phase", ["rewrite", "first", "normal", "last"])
def test_a_block_in_any_phase_ends_it_before_the_guards(kit: Any, go: Any, phase: str) -> None:
    bench, later = Bench(kit), []
    bench.on("tool_call", lambda e: Answer(block=True, reason="no"), phase=phase)
    bench.on("tool_call", later.append, phase="guard")
    assert go(bench.result()).outcome == "blocked"
    assert later == [] and len(bench.seen.of("before_tool_call")) == 1


def test_a_block_ends_it_after_its_own_phase_so_that_all_reasons_of_that_phase_are_told(kit: Any, go: Any) -> None:
    bench, asked = Bench(kit), []
    bench.on("tool_call", lambda e: Answer(block=True, reason="one"), phase="first")
    bench.on("tool_call", lambda e: Answer(block=True, reason="two"), phase="first")
    for phase in ("normal", "last", "guard"):
        bench.on("tool_call", asked.append, phase=phase)
    assert go(bench.result()).text == "Blocked: one; two" and asked == []


def test_a_block_without_a_reason_names_the_handler(kit: Any, go: Any) -> None:
    class Quiet:
        @hookimpl
        def before_tool_call(self, event: Any) -> Any:
            return Answer(block=True)

    result = go(Bench(kit, plugins=[("quiet", Quiet())]).result())
    assert "plugin 'quiet'" in result.text


@pytest.mark.spec("9.24")
@pytest.mark.parametrize("phase", ["rewrite", "first", "normal", "last", "guard"])
@pytest.mark.parametrize("failure", ["raises", "hangs", "nonsense", "wrong result", "bad field", "bad args", "truthy"])
def test_every_handler_fails_closed_and_the_reason_names_the_plugin(
    kit: Any, go: Any, phase: str, failure: str
) -> None:
    async def hangs(event: Any) -> Any:
        await asyncio.Event().wait()

    def raises(event: Any) -> Any:
        raise RuntimeError("broken")

    bodies: dict[str, Any] = {
        "raises": raises,
        "hangs": hangs,
        "nonsense": lambda e: "allow",
        "wrong result": lambda e: Handled(),
        "bad field": lambda e: Answer(result=5),
        "bad args": lambda e: Answer(args=[1]),  # type: ignore[arg-type]
        "truthy": lambda e: Answer(block=1),  # type: ignore[arg-type]
    }
    body = bodies[failure]

    class Broken:
        @hookimpl(phase=phase, timeout=0.02)  # type: ignore[arg-type]
        def before_tool_call(self, event: Any) -> Any:
            return body(event)

    bench = Bench(kit, plugins=[("broken", Broken())])
    result = go(bench.result())
    assert result.outcome == "blocked" and bench.ran == []
    assert "plugin 'broken'" in result.text
    assert bench.seen.one("handler_error").plugin == "broken"


def test_handlers_of_other_tools_do_not_matter(kit: Any, go: Any) -> None:
    bench = Bench(kit)
    bench.on("tool_call", lambda e: Answer(block=True), tools=["other"])
    assert go(bench.result()).outcome == "ok"


def test_an_observer_of_calls_cannot_block(kit: Any, go: Any) -> None:
    bench = Bench(kit)
    bench.agent.events.observe(lambda e: Answer(block=True), ["before_tool_call"])
    bench.agent.events.observe(lambda e: 1 / 0, ["before_tool_call"])
    assert go(bench.result()).outcome == "ok"


@pytest.mark.spec("9.19")
def test_no_handler_sees_a_call_that_is_unknown_or_does_not_fit(kit: Any, go: Any) -> None:
    """Section 6, rule 5."""

    async def main() -> None:
        schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
        calls = [
            Call("nope"),
            Call("act", {"n": "x"}),
            Call("act", raw='{"n": NaN}'),
            Call("act", raw="[1]"),
            Call("act", {"n": 1}),
        ]
        agent = kit.agent(Reply(calls=calls), "end", tools=[kit.tool("act", "ok", parameters=schema)])
        seen: list[Any] = []
        agent.events.on("tool_call", lambda e: seen.append(dict(e.args)))
        await agent.chat("go")
        results = [m for m in agent.messages if m.role == "tool_result"]
        assert [r.outcome for r in results] == ["error"] * 4 + ["ok"]
        assert "no tool 'nope'" in results[0].text and "n: must be an integer" in results[1].text
        assert seen == [{"n": 1}]
        assert len(agent.seen.of("tool_execution_start")) == len(agent.seen.of("tool_execution_end")) == 5

    go(main)


@pytest.mark.parametrize(
    ("value", "text", "outcome"),
    [
        ("cached", "cached", "ok"),
        ([TextBlock("block")], "block", "ok"),
        (ToolOutput("whole", details={"k": 1}), "whole", "ok"),
        (ToolOutput("bad", is_error=True), "bad", "error"),
    ],
)
def test_a_substitute_stands_for_the_execution_and_is_still_patched(
    kit: Any, go: Any, value: Any, text: str, outcome: str
) -> None:
    bench, patched = Bench(kit), []
    bench.on("tool_call", lambda e: Answer(result=value))
    bench.on("tool_result", lambda e: patched.append(e.outcome) or ToolResultEventResult(details="seen"))
    result = go(bench.result())
    assert bench.ran == [] and patched == [outcome]
    assert (result.text, result.outcome, result.details) == (text, outcome, "seen")


def test_a_substituted_call_still_goes_through_the_guards(kit: Any, go: Any) -> None:
    bench = Bench(kit)
    bench.on("tool_call", lambda e: Answer(result="cached"), phase="rewrite")
    bench.on("tool_call", lambda e: Answer(block=True, reason="never"), phase="guard")
    assert go(bench.result()).text == "Blocked: never"


def test_the_first_substitute_counts(kit: Any, go: Any) -> None:
    bench = Bench(kit)
    bench.on("tool_call", lambda e: Answer(result="one"))
    bench.on("tool_call", lambda e: Answer(result="two"))
    assert go(bench.result()).text == "one"


def test_a_batch_ends_the_run_only_if_every_result_says_so(kit: Any, go: Any) -> None:
    async def outcome(*terminates: bool) -> int:
        agent = kit.agent(
            Reply(calls=[Call("act", {"t": t}) for t in terminates]), "end", tools=[kit.tool("act", "done")]
        )
        agent.events.on("tool_call", lambda e: Answer(terminate=e.args["t"]))
        await agent.chat("go")
        return len(agent.scripted.requests)

    async def main() -> None:
        assert await outcome(True, True) == 1
        assert await outcome(True, False) == 2

    go(main)


def test_a_plugin_may_implement_one_hook_several_times_and_none_is_lost(kit: Any, go: Any) -> None:
    """A guard beside a rewriter of the same event must never be dropped in silence."""
    order: list[str] = []

    class Several:
        @hookimpl(specname="before_tool_call", phase="guard")
        def zz_guard(self, event: Any) -> Any:
            order.append("guard")
            return ToolCallEventResult(block=True, reason="no") if event.args.get("a") == 1 else None

        @hookimpl(specname="before_tool_call")
        def second(self, event: Any) -> None:
            order.append("second")

        @hookimpl
        def before_tool_call(self, event: Any) -> None:
            order.append("third")

        @hookimpl
        def register_tools(self, register: Any) -> None:
            register(kit.tool("one", "1"))

        @hookimpl(specname="register_tools")
        def more_tools(self, register: Any) -> None:
            register(kit.tool("two", "2"))

    async def main() -> None:
        host = kit.host(("several", Several()))
        assert sorted(host.tools.list()) == ["one", "two"]
        agent = kit.agent(Reply(calls=[Call("one", {"a": 1})]), "end", host=host)
        await agent.chat("go")
        assert order == ["second", "third", "guard"]
        result = next(m for m in agent.messages if m.role == "tool_result")
        assert result.outcome == "blocked"

    go(main)


def test_a_plain_guard_that_overruns_its_time_blocks_the_call(kit: Any, go: Any) -> None:
    """Nothing can interrupt it, but what it answers comes too late to count."""
    import time

    async def main() -> None:
        ran: list[Any] = []
        tool = kit.tool("act", lambda args, ctx: ran.append(args) or "done")
        agent = kit.agent(Reply(calls=[Call("act")]), "end", tools=[tool])

        def slow(event: Any) -> None:
            end = time.perf_counter() + 0.01
            while time.perf_counter() < end:
                pass

        agent.events.on("before_tool_call", slow, phase="guard", timeout=0.001)
        await agent.chat("go")
        result = next(m for m in agent.messages if m.role == "tool_result")
        assert result.outcome == "blocked" and "did not finish" in result.text
        assert ran == []

    go(main)
