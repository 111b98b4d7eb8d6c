"""Decisions that are put off: suspension as data, ``resume`` also from another process, and ``compact`` by hand."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from skillkit_core import (
    AgentBusy,
    ApprovalDecision,
    Approver,
    BeforeCompactResult,
    MemoryStore,
    ReentrancyError,
    RunAborted,
    Session,
    ToolCallEventResult,
    UsageError,
)
from skillkit_core.contracts.compactor import CompactionResult
from skillkit_core.testing import Call, Hang, Reply


class Says(Approver):
    """Answers everything alike, and keeps what it was asked."""

    def __init__(self, decision: Any = "defer") -> None:
        self.decision, self.asked = decision, []

    async def approve(self, request: Any) -> ApprovalDecision:
        self.asked.append((request.tool_call_id, dict(request.args), [q.text for q in request.questions]))
        return ApprovalDecision(self.decision)


def ask(event: Any) -> ToolCallEventResult | None:
    return ToolCallEventResult(ask=f"run {event.args['n']}?") if event.args.get("ask") else None


CALLS = Reply(
    "I will act.",
    calls=[Call("act", {"n": 1}, "A"), Call("act", {"n": 2, "ask": True}, "B"), Call("act", {"n": 3}, "C")],
)


class Desk:
    """An agent whose guard asks about some calls, and what its tool did."""

    def __init__(self, kit: Any) -> None:
        self.kit, self.ran = kit, []

    def agent(self, *turns: Any, decision: Any = "defer", guard: Any = ask, **config: Any) -> Any:
        def act(args: Any, ctx: Any) -> str:
            self.ran.append(args["n"])
            return f"did {args['n']}"

        config.setdefault("approver", Says(decision) if decision else None)
        agent = self.kit.agent(*turns, tools=[self.kit.tool("act", act)], **config)
        if guard is not None:
            agent.events.on("before_tool_call", guard, phase="guard")
        return agent


@pytest.fixture
def desk(kit: Any) -> Desk:
    return Desk(kit)


def results(agent: Any) -> list[tuple[str, str]]:
    return [(m.tool_call_id, str(m.outcome)) for m in agent.conversation.context.messages() if m.role == "tool_result"]


@pytest.mark.parametrize("parallel", [True, False])
def test_a_deferred_call_suspends_the_run_and_stays_open(desk: Desk, go: Any, parallel: bool) -> None:
    async def main() -> None:
        agent = desk.agent(CALLS, "done", parallel_tools=parallel)
        response = await agent.chat("go")
        assert response.outcome == "suspended" and "act" in response.reason
        assert agent.seen.one("agent_end").outcome == "suspended" and agent.seen.types[-1] == "agent_settled"
        assert agent.seen.one("approval_resolved").decision == "defer"
        waiting = [(c.id, dict(c.args), [q.text for q in c.questions]) for c in agent.suspension.calls]
        if parallel:
            assert waiting == [("B", {"n": 2, "ask": True}, ["run 2?"])]
            assert desk.ran == [1, 3] and results(agent) == [("A", "ok"), ("C", "ok")]
        else:  # what comes after it may build on it
            assert waiting == [("B", {"n": 2, "ask": True}, ["run 2?"]), ("C", {"n": 3}, [])]
            assert desk.ran == [1] and results(agent) == [("A", "ok")]
        kept = agent.session.entries[-1]
        assert kept.type == "suspension" and agent.suspension.entry_id == kept.id
        desk.kit.check_brackets(agent.seen.events)
        again = Session(agent.session.handle, lambda: 0.0)
        assert again.suspension() == agent.suspension

        answer = await agent.resume({"B": "allow"})
        assert answer.content == "done" and answer.outcome == "completed"
        assert sorted(desk.ran) == [1, 2, 3] and results(agent) == [("A", "ok"), ("B", "ok"), ("C", "ok")]
        assert agent.suspension is None and len(agent.config.approver.asked) == 1
        desk.kit.check(agent)

    go(main)


def test_a_denied_call_does_not_run(desk: Desk, go: Any) -> None:
    async def main() -> None:
        agent = desk.agent(CALLS, "done")
        await agent.chat("go")
        await agent.resume({"B": ApprovalDecision("deny", "too risky")})
        assert desk.ran == [1, 3] and results(agent) == [("A", "ok"), ("B", "denied"), ("C", "ok")]
        assert "too risky" in next(m.text for m in agent.messages if getattr(m, "tool_call_id", "") == "B")
        desk.kit.check(agent)

    go(main)


def test_any_other_input_denies_what_waits_first(desk: Desk, go: Any) -> None:
    async def main() -> None:
        agent = desk.agent(CALLS, "fine")
        await agent.chat("go")
        agent.next_run("by the way")
        assert (await agent.chat("never mind")).content == "fine"
        assert desk.ran == [1, 3] and results(agent) == [("A", "ok"), ("B", "denied"), ("C", "ok")]
        assert [m.text for m in agent.messages][-3:] == ["by the way", "never mind", "fine"]
        assert agent.suspension is None
        desk.kit.check(agent)
        with pytest.raises(UsageError, match="nothing to resume"):
            await agent.resume({})

    go(main)


@pytest.mark.spec("I12")
def test_the_guards_see_the_stored_arguments_again_and_have_the_last_word(desk: Desk, go: Any) -> None:
    async def main() -> None:
        agent = desk.agent(CALLS, "done")
        await agent.chat("go")
        seen: list[Any] = []

        def block(event: Any) -> ToolCallEventResult:
            seen.append(dict(event.args))
            return ToolCallEventResult(block=True, reason="the rules changed")

        agent.events.on("before_tool_call", block, phase="guard")
        await agent.resume({"B": "allow"})
        assert seen == [{"n": 2, "ask": True}] and desk.ran == [1, 3]
        assert results(agent)[1] == ("B", "blocked")
        desk.kit.check(agent)

    go(main)


@pytest.mark.spec("I12")
def test_a_decision_covers_these_arguments_and_these_questions_alone(desk: Desk, go: Any) -> None:
    async def main() -> None:
        agent = desk.agent(CALLS, "done", "fine")
        await agent.chat("go")
        agent.events.on("before_tool_call", lambda e: ToolCallEventResult(args={"n": 9}), phase="rewrite")
        again = await agent.resume({"B": "allow"})
        assert again.outcome == "suspended" and desk.ran == [1, 3], "other arguments ran than those that were allowed"
        assert agent.config.approver.asked[-1][:2] == ("B", {"n": 9, "ask": True})
        assert (await agent.resume({"B": "allow"})).outcome == "completed" and desk.ran == [1, 3, 9]
        desk.kit.check(agent)

    go(main)


@pytest.mark.spec("I12")
def test_the_same_question_about_other_arguments_is_another_question(desk: Desk, go: Any) -> None:
    def sure(event: Any) -> ToolCallEventResult | None:
        return ToolCallEventResult(ask="sure?") if event.args.get("ask") else None

    async def main() -> None:
        agent = desk.agent(CALLS, "done", guard=sure)
        await agent.chat("go")
        agent.events.on("before_tool_call", lambda e: ToolCallEventResult(args={"n": 9}), phase="rewrite")
        assert (await agent.resume({"B": "allow"})).outcome == "suspended"
        assert desk.ran == [1, 3], "other arguments ran than those that were allowed"
        assert (await agent.resume({"B": "allow"})).outcome == "completed" and desk.ran == [1, 3, 9]
        desk.kit.check(agent)

    go(main)


def test_what_nobody_decided_is_asked_again_even_if_its_guard_is_gone(desk: Desk, go: Any) -> None:
    async def main() -> None:
        first = desk.agent(CALLS)
        await first.chat("go")
        second = desk.agent("done", session=Session(first.session.handle, lambda: 3.0), guard=None, decision=None)
        await second.resume()
        assert desk.ran == [1, 3] and results(second)[1] == ("B", "denied")
        third = desk.agent(CALLS, "done")
        await third.chat("go")
        third.config.approver.decision = "allow"
        assert (await third.resume()).outcome == "completed" and desk.ran == [1, 3, 1, 3, 2]
        desk.kit.check(third)

    go(main)


def test_a_suspended_turn_ends_and_a_resumed_run_takes_the_calls_up_before_its_first_turn(desk: Desk, go: Any) -> None:
    """I8: brackets balance; I11: the suspension is kept when the turn ends. A turn is a round with the model."""

    async def main() -> None:
        agent = desk.agent(CALLS, "done")
        kept: list[Any] = []
        agent.events.on("turn_end", lambda e: kept.append(agent.suspension))
        await agent.chat("go")
        turn = agent.seen.one("turn_end")
        assert [r.tool_call_id for r in turn.tool_results] == ["A", "C"] and turn.message.text == "I will act."
        assert agent.seen.types[-3:] == ["turn_end", "agent_end", "agent_settled"]
        assert kept == [agent.suspension] and kept[0] is not None
        before = len(agent.seen.events)
        await agent.resume({"B": "allow"})
        types = agent.seen.types[before:]
        assert types.count("turn_start") == types.count("turn_end") == 1
        assert types.index("agent_start") < types.index("tool_execution_end") < types.index("turn_start")
        assert agent.seen.of("turn_end")[-1].tool_results == ()
        desk.kit.check(agent)

    go(main)


def test_an_abort_in_the_end_of_a_suspended_turn_comes_too_late_and_loses_no_decision(desk: Desk, go: Any) -> None:
    """I10: the suspension is kept before the turn ends."""

    async def main() -> None:
        agent = desk.agent(CALLS, "done")

        def enough(event: Any) -> None:
            agent.abort("enough")

        off = agent.events.on("turn_end", enough)
        assert (await agent.chat("go")).outcome == "suspended"
        off()
        assert (await agent.resume({"B": "allow"})).content == "done"
        desk.kit.check(agent)

    go(main)


@pytest.mark.parametrize("parallel", [True, False])
def test_results_are_sent_in_the_order_of_the_calls_whatever_order_they_were_kept_in(
    desk: Desk, go: Any, parallel: bool
) -> None:
    """I2: decided one by one, the last call first."""

    async def main() -> None:
        calls = [Call("act", {"n": n, "ask": n != 2}, name) for n, name in ((1, "A"), (2, "B"), (3, "C"))]
        agent = desk.agent(Reply(calls=calls), "done", parallel_tools=parallel)
        await agent.chat("go")
        assert (await agent.resume({"C": "allow"})).outcome == "suspended"
        (first, *rest) = agent.suspension.calls
        assert (first.id, [q.text for q in first.questions]) == ("A", ["run 1?"])
        assert [(c.id, len(c.questions)) for c in rest] == ([] if parallel else [("B", 0), ("C", 1)])
        everything = {c.id: "allow" for c in agent.suspension.calls}
        while (await agent.resume(everything)).outcome == "suspended":
            everything = {c.id: "allow" for c in agent.suspension.calls}
        kept = [m.tool_call_id for m in agent.messages if m.role == "tool_result"]
        assert kept == (["B", "C", "A"] if parallel else ["A", "B", "C"])
        sent = [m.tool_call_id for m in agent.scripted.requests[-1].messages if m.role == "tool_result"]
        assert sent == ["A", "B", "C"] and sorted(desk.ran) == [1, 2, 3]
        reloaded = desk.agent("x", session=Session(agent.session.handle, lambda: 3.0))
        await reloaded.open()
        assert [i for i, _ in results(reloaded)] == ["A", "B", "C"]
        desk.kit.check(agent)

    go(main)


def test_asked_calls_of_a_sequential_batch_are_decided_together(desk: Desk, go: Any) -> None:
    async def main() -> None:
        calls = [Call("act", {"n": n, "ask": n != 2}, name) for n, name in ((1, "A"), (2, "B"), (3, "C"), (4, "D"))]
        agent = desk.agent(Reply(calls=calls), "done", parallel_tools=False)
        await agent.chat("go")
        assert [a[0] for a in agent.config.approver.asked] == ["A"], "a later call is not decided before its turn"
        asked = [(c.id, [q.text for q in c.questions]) for c in agent.suspension.calls]
        assert asked == [("A", ["run 1?"]), ("B", []), ("C", ["run 3?"]), ("D", ["run 4?"])]
        answer = await agent.resume({"A": "allow", "B": "allow", "C": ApprovalDecision("deny", "no"), "D": "allow"})
        assert answer.outcome == "completed" and desk.ran == [1, 2, 4]
        assert results(agent) == [("A", "ok"), ("B", "ok"), ("C", "denied"), ("D", "ok")]
        assert len(agent.config.approver.asked) == 1
        desk.kit.check(agent)

    go(main)


def test_the_guards_have_not_spoken_on_a_waiting_call_before_its_turn(desk: Desk, go: Any) -> None:
    """What blocks it now may be what the call before it changes, and it is rewritten once."""

    def guard(event: Any) -> ToolCallEventResult | None:
        if event.args["n"] == 2 and desk.ran == []:
            return ToolCallEventResult(block=True, reason="there is no first")
        return ask(event)

    async def main() -> None:
        calls = [Call("act", {"n": 1, "ask": True}, "A"), Call("act", {"n": 2}, "B"), Call("act", {"n": 3}, "C")]
        agent = desk.agent(Reply(calls=calls), "done", parallel_tools=False, guard=guard)

        def rewrite(event: Any) -> Any:
            return ToolCallEventResult(args={"n": event.args["n"] + 10}) if event.tool_call_id == "C" else None

        agent.events.on("before_tool_call", rewrite, phase="rewrite")
        await agent.chat("go")
        assert results(agent) == [] and [len(c.questions) for c in agent.suspension.calls] == [1, 0, 0]
        assert (await agent.resume({"A": "allow"})).outcome == "completed" and desk.ran == [1, 2, 13]
        desk.kit.check(agent)

    go(main)


def test_a_suspension_says_where_its_calls_would_run_and_what_is_asked(desk: Desk, go: Any) -> None:
    async def main() -> None:
        agent = desk.agent(CALLS, "done", parallel_tools=False)
        await agent.chat("go")
        assert agent.suspension.cwd == str(agent.cwd)
        with pytest.raises(UsageError, match="no call 'b' waits for a decision; calls that wait: B, C"):
            await agent.resume({"b": "allow"})
        calls = [Call("act", {"n": 1, "ask": True}, "call_one")]
        other = desk.agent(Reply(calls=calls))
        await other.chat("go")
        with pytest.raises(UsageError, match="did you mean 'call_one'"):
            await other.resume({"call_on": "allow"})

    go(main)


def test_listings_tell_which_sessions_wait(desk: Desk, kit: Any, go: Any) -> None:
    async def main() -> None:
        store = MemoryStore()

        async def waits() -> bool:
            return [row["suspended"] for row in await store.list()] == [True]

        session = await Session.create(store, lambda: 1.0)
        agent = desk.agent(CALLS, "done", "fine", session=session)
        assert not await waits()
        await agent.chat("go")
        suspended = session.leaf_id
        assert await waits()
        await session.append("label", {"entry_id": suspended, "label": "here"})
        await session.append("custom", {"of": "a plugin"})
        assert await waits() and agent.suspension is not None
        await session.move_to(None)
        assert not await waits()
        await session.move_to(suspended)
        assert await waits()
        await agent.resume({"B": "allow"})
        assert not await waits()

    go(main)


def test_decisions_are_checked_before_anything_happens(desk: Desk, go: Any) -> None:
    async def main() -> None:
        agent = desk.agent(CALLS, "done")
        with pytest.raises(UsageError, match="nothing to resume"):
            await agent.resume()
        await agent.chat("go")
        for wrong in ({"X": "allow"}, {"B": "maybe"}, {"B": ApprovalDecision("defer")}):
            with pytest.raises(UsageError):
                await agent.resume(wrong)
        assert agent.suspension is not None and desk.ran == [1, 3]
        assert (await agent.resume({"B": "allow"})).content == "done"

    go(main)


def test_a_steering_message_is_another_input(desk: Desk, go: Any) -> None:
    async def main() -> None:
        class Steers(Says):
            async def approve(self, request: Any) -> ApprovalDecision:
                await agent.steer("stop that")
                return ApprovalDecision("defer")

        agent = desk.agent(CALLS, "stopped", approver=Steers(), steer_policy="after_batch")
        assert (await agent.chat("go")).content == "stopped"
        assert agent.suspension is None and results(agent)[1] == ("B", "denied")
        desk.kit.check(agent)

    go(main)


@pytest.mark.spec("I18")
def test_another_process_decides(desk: Desk, kit: Any, tmp_path: Any) -> None:
    """Suspended in one process, resumed in a second one, ended there."""
    log = tmp_path / "ran"

    def act(args: Any, ctx: Any) -> str:
        with log.open("a") as file:
            file.write(f"{args['n']}\n")
        return "ok"

    async def first() -> None:
        session = await Session.create(kit.FileStore(tmp_path), lambda: 1.0, session_id="s")
        agent = kit.agent(CALLS, tools=[kit.tool("act", act)], session=session, approver=Says())
        agent.events.on("before_tool_call", ask, phase="guard")
        assert (await agent.chat("go")).outcome == "suspended"
        await agent.aclose()

    async def second() -> None:
        session = await Session.open(kit.FileStore(tmp_path), "s", lambda: 2.0)
        agent = kit.agent("done", tools=[kit.tool("act", act)], session=session)
        agent.events.on("before_tool_call", ask, phase="guard")
        await agent.open()
        assert [c.id for c in agent.suspension.calls] == ["B"]
        assert (await agent.resume({"B": "allow"})).content == "done"
        kit.check(agent)
        await agent.aclose()

    assert not kit.forked(first) and not kit.forked(second)
    assert log.read_text().split() == ["1", "3", "2"]


@pytest.mark.spec("I1")
@pytest.mark.parametrize("entry", ["tool_result", "suspension"])
def test_an_abort_before_the_suspension_is_kept_leaves_no_call_open(kit: Any, go: Any, entry: str) -> None:
    async def main() -> None:
        store, writing = kit.RecordingStore(), asyncio.Event()
        session = await Session.create(store, lambda: 1.0)
        agent = kit.agent(CALLS, "fine", tools=[kit.tool("act", "x")], session=session, approver=Says())
        agent.events.on("before_tool_call", ask, phase="guard")

        async def slow(kept: Any) -> None:
            if entry in (kept.type, kept.data.get("message", {}).get("role")) and not writing.is_set():
                writing.set()
                await asyncio.Event().wait()

        store.before = slow
        task = asyncio.create_task(agent.chat("go"))
        await writing.wait()
        agent.abort()
        with pytest.raises(RunAborted):
            await task
        assert agent.suspension is None
        assert {(m.tool_call_id, str(m.outcome)) for m in agent.messages if m.role == "tool_result"} == {
            ("A", "ok"), ("B", "interrupted"), ("C", "ok"),
        }  # fmt: skip
        kit.check(agent)
        assert (await agent.chat("again")).content == "fine"

    go(main)


# --- what a crash left ----------------------------------------------------------------------------------------------


@pytest.mark.spec("9.38")
def test_resume_goes_on_with_what_has_no_answer_yet(kit: Any, go: Any) -> None:
    """What is safe runs again, what is not never does."""

    async def main() -> None:
        ran: list[str] = []
        calls = [Call("once", {}, "o"), Call("safe", {}, "s")]
        dead = kit.agent(Reply(calls=calls))
        await dead.open()
        await dead.session.append_message((await _answer(kit, calls))[0])
        await dead.session.append_message((await _answer(kit, calls))[1])
        tools = [kit.tool(n, lambda a, c: ran.append(c.tool_name) or "ok", replay=r) for n, r in
                 (("once", "never"), ("safe", "safe"))]  # fmt: skip
        agent = kit.agent("done", tools=tools, session=Session(dead.session.handle, lambda: 2.0))
        assert (await agent.resume()).content == "done"
        assert ran == ["safe"] and results(agent) == [("o", "interrupted"), ("s", "ok")]
        kit.check(agent)

    go(main)


async def _answer(kit: Any, calls: Any) -> list[Any]:
    agent = kit.agent(Reply(calls=calls), "x", tools=[kit.tool("once", "x"), kit.tool("safe", "x")])
    await agent.chat("go")
    return list(agent.messages[:2])


# --- compacting by hand ---------------------------------------------------------------------------------------------


def shorter(event: Any) -> BeforeCompactResult:
    return BeforeCompactResult(compaction=CompactionResult("what was said", len(event.preparation.messages)))


def test_compact_shortens_the_conversation_when_told_to(kit: Any, go: Any) -> None:
    async def main() -> None:
        agent = kit.agent("long " * 500, "fine")
        with pytest.raises(UsageError, match="no compactor"):
            await agent.compact()
        await agent.chat("go")
        agent.events.on("before_compact", shorter)
        assert await agent.compact() is True
        end = agent.seen.one("compaction_end")
        assert (end.reason, end.outcome) == ("manual", "completed") and end.after_tokens < end.before_tokens
        assert agent.seen.types[-2:] == ["compaction_end", "agent_settled"] and len(agent.messages) == 1
        assert (await agent.chat("and now?")).content == "fine"
        kit.check(agent)

    go(main)


@pytest.mark.spec("9.32")
def test_compact_and_resume_refuse_while_something_runs_or_waits(desk: Desk, go: Any) -> None:
    async def main() -> None:
        started, errors = asyncio.Event(), []
        agent = desk.agent(Reply("x"), Hang(started=started), CALLS)
        agent.events.on("before_compact", shorter)

        async def reenter(event: Any) -> None:
            for call in (agent.compact, agent.resume):
                try:
                    await call()
                except ReentrancyError as error:
                    errors.append(str(error))

        off = agent.events.on("turn_end", reenter)
        assert (await agent.chat("go")).content == "x"
        assert len(errors) == 2 and "compact" in errors[0] and "resume" in errors[1]
        off()
        task = asyncio.create_task(agent.chat("go"))
        await started.wait()
        for call in (agent.compact, agent.resume):
            with pytest.raises(AgentBusy):
                await call()
        agent.abort()
        with pytest.raises(RunAborted):
            await task
        await agent.chat("go")
        with pytest.raises(UsageError, match="waits for a decision"):
            await agent.compact()

    go(main)


@pytest.mark.spec("9.36")
def test_an_aborted_compaction_leaves_the_context_as_it_was(kit: Any, go: Any) -> None:
    async def main() -> None:
        agent = kit.agent("long " * 500)
        await agent.chat("go")
        before, entered = tuple(agent.messages), asyncio.Event()

        async def slow(event: Any) -> None:
            entered.set()
            await asyncio.Event().wait()

        agent.events.on("before_compact", slow)
        task = asyncio.create_task(agent.compact())
        await entered.wait()
        agent.abort("no")
        with pytest.raises(RunAborted):
            await task
        assert tuple(agent.messages) == before and not task.cancelled()
        kit.check(agent)

    go(main)
