"""Which session an agent talks in: switch, fork, go back, reload, and the handlers who may object (spec, sections 3 and 5)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from skillkit_core import (
    AgentBusy,
    AgentError,
    AgentRunner,
    CustomMessage,
    ReentrancyError,
    Session,
    SessionBeforeResult,
    SessionBeforeTreeResult,
    SessionError,
    SessionStartResult,
    UsageError,
)
from skillkit_core.testing import Call, Hang, Reply


def texts(agent: AgentRunner) -> list[str]:
    return [f"{m.role}:{m.text}" for m in agent.messages]


def sent(agent: Any, n: int) -> list[str]:
    return [m.text for m in agent.scripted.requests[n].messages]


@pytest.fixture
def stored(kit: Any) -> Any:
    """Makes agents whose sessions are in one store."""
    store = kit.RecordingStore()

    def make(*turns: Any, **options: Any) -> Any:
        host = kit.host()
        host.session_stores.register("s", store)
        return kit.agent(*turns, host=host, session=options.pop("session", "new"), **options)

    make.store = store  # type: ignore[attr-defined]
    return make


def starts(agent: Any) -> list[tuple[Any, ...]]:
    return [(e.reason, e.previous, e.session_id) for e in agent.seen.of("session_start")]


def test_switch_to_a_new_session_and_back(stored: Any, go: Any) -> None:
    async def main() -> None:
        agent = stored("one", "two", "three")
        await agent.chat("a")
        first = agent.session_id
        second = (await agent.switch("new")).id
        await agent.chat("b")
        assert sent(agent, 1) == ["b"]
        await agent.switch(first)
        await agent.chat("c")
        assert sent(agent, 2) == ["a", "one", "c"]
        assert starts(agent) == [("new", None, first), ("new", first, second), ("resume", second, first)]
        again = await Session.open(stored.store, second, lambda: 0.0)  # its lock was given back
        assert [m.text for m in again.messages] == ["b", "two"]
        await agent.aclose()
        assert len(agent.seen.of("session_shutdown")) == 1

    go(main)


@pytest.mark.spec("9.41")
def test_fork_keeps_the_way_to_an_entry_and_leaves_the_old_session_alone(stored: Any, go: Any) -> None:
    async def main() -> None:
        agent = stored("one", "two", "three", "four")
        await agent.chat("a")
        at = agent.session.leaf_id
        await agent.chat("b")
        first = agent.session_id
        await agent.fork(at)
        assert texts(agent) == ["user:a", "assistant:one"] and agent.session_id != first
        assert agent.session.handle.header.parent_session == first
        await agent.chat("c")
        assert sent(agent, 2) == ["a", "one", "c"]
        assert (starts(agent)[1][0], starts(agent)[1][1]) == ("fork", first)
        await agent.fork()  # here
        assert texts(agent) == ["user:a", "assistant:one", "user:c", "assistant:three"]
        await agent.fork(None)
        assert texts(agent) == []
        old = await Session.open(stored.store, first, lambda: 0.0)
        assert [m.text for m in old.messages] == ["a", "one", "b", "two"]

    go(main)


@pytest.mark.parametrize("given", ["memory", "own"])
def test_fork_works_without_a_store(kit: Any, go: Any, given: str) -> None:
    async def main() -> None:
        session = await Session.create(None, lambda: 0.0) if given == "own" else None
        agent = kit.agent("one", "two", session=session)
        await agent.chat("a")
        first = agent.session_id
        await agent.fork()
        assert agent.session_id != first and texts(agent) == ["user:a", "assistant:one"]
        await agent.chat("b")
        assert sent(agent, 1) == ["a", "one", "b"]

    go(main)


@pytest.mark.spec("9.41")
def test_go_back_with_a_summary_and_a_label_and_find_both_after_a_reload(stored: Any, go: Any) -> None:
    async def main() -> None:
        agent = stored("one", "two", "three")
        await agent.chat("a")
        at = agent.session.leaf_id
        await agent.chat("b")
        await agent.move_to(at, summary="tried b", label="fork in the road")
        assert texts(agent)[-1] == "custom:tried b"
        await agent.reload()
        assert texts(agent) == ["user:a", "assistant:one", "custom:tried b"]
        labels = [dict(e.data) for e in agent.session.entries if e.type == "label"]
        assert labels == [{"entry_id": agent.session.leaf_id, "label": "fork in the road"}]
        await agent.chat("c")
        assert sent(agent, 2) == ["a", "one", "tried b", "c"]
        assert starts(agent)[-1] == ("reload", None, agent.session_id)
        await agent.move_to(None)
        assert texts(agent) == []

    go(main)


def test_a_move_is_told_when_leaf_summary_and_label_are_in_the_session(stored: Any, go: Any) -> None:
    async def main() -> None:
        agent = stored("one", "two")
        await agent.chat("a")
        at = agent.session.leaf_id
        await agent.chat("b")
        left = agent.session.leaf_id
        seen: list[Any] = []
        agent.events.on("session_tree", lambda e, ctx: seen.append((e, ctx.session.leaf_id, texts(agent))))
        await agent.move_to(at, summary="tried b", label="here")
        event, leaf, said = seen[0]
        assert (event.target, event.previous, event.label) == (at, left, "here")
        assert event.summary_id == leaf and said == ["user:a", "assistant:one", "custom:tried b"]
        await agent.move_to(None, label="nowhere")
        event, leaf, said = seen[1]
        assert (event.target, event.previous, event.summary_id, event.label) == (None, seen[0][1], None, None)
        assert leaf is None and said == []

    go(main)


def test_a_move_that_was_cancelled_is_not_told(stored: Any, go: Any) -> None:
    async def main() -> None:
        agent = stored("one")
        await agent.chat("a")
        agent.events.on("session_before_tree", lambda e: SessionBeforeTreeResult(cancel=True))
        with pytest.raises(AgentError):
            await agent.move_to(None)
        assert not agent.seen.of("session_tree")

    go(main)


def test_handlers_may_cancel_and_the_first_one_ends_the_matter(stored: Any, go: Any) -> None:
    async def main() -> None:
        agent = stored("one")
        await agent.chat("a")
        asked: list[str] = []
        agent.events.on("session_before_switch", lambda e: SessionBeforeResult(reason="an opinion"))

        @agent.events.on("session_before_switch")
        def no(event: Any) -> SessionBeforeResult:
            asked.append(f"{event.target} {event.reason}")
            return SessionBeforeResult(cancel=True, reason="not saved")

        agent.events.on("session_before_switch", lambda e: asked.append("too late"))
        agent.events.on("session_before_fork", lambda e: SessionBeforeResult(cancel=True))
        agent.events.on("session_before_tree", lambda e: SessionBeforeTreeResult(cancel=True, reason="stay"))
        before = agent.session_id
        for work, words in (
            (agent.switch("new"), "the switch was cancelled by a handler: not saved"),
            (agent.switch("other"), "not saved"),
            (agent.fork(), "the fork was cancelled by a handler"),
            (agent.move_to(None), "the move was cancelled by a handler: stay"),
        ):
            with pytest.raises(AgentError, match=words):
                await work
        assert asked == ["None new", "other resume"]
        assert agent.session_id == before and texts(agent) == ["user:a", "assistant:one"]

    go(main)


def test_the_last_summary_and_label_of_the_handlers_count(stored: Any, go: Any) -> None:
    async def main() -> None:
        agent = stored("one")
        await agent.chat("a")
        root = agent.session.path()[0].id
        agent.events.on("session_before_tree", lambda e: SessionBeforeTreeResult(summary="x", label="l"))
        agent.events.on("session_before_tree", lambda e: SessionBeforeTreeResult(summary="y"))
        await agent.move_to(root, summary="mine")
        assert texts(agent) == ["user:a", "custom:y"]
        assert [e.data["label"] for e in agent.session.entries if e.type == "label"] == ["l"]

    go(main)


def test_a_wrong_answer_is_reported_and_does_not_count(stored: Any, go: Any) -> None:
    async def main() -> None:
        agent = stored("one")
        agent.events.on("session_before_switch", lambda e: SessionBeforeResult(cancel="yes"))  # type: ignore[arg-type]
        agent.events.on("session_before_switch", lambda e: SessionBeforeTreeResult(cancel=False))
        agent.events.on("session_before_switch", lambda e: SessionBeforeResult(reason=3))  # type: ignore[arg-type]
        await agent.switch("new")
        assert len(agent.seen.of("handler_error")) == 2

    go(main)


def test_what_does_not_work_leaves_the_agent_where_it_was(stored: Any, go: Any) -> None:
    async def main() -> None:
        agent = stored("one", "two")
        await agent.chat("a")
        here = agent.session_id
        with pytest.raises(SessionError):
            await agent.switch("no-such-session")
        with pytest.raises(UsageError, match="already"):
            await agent.switch(here)
        with pytest.raises(SessionError, match="no entry 'e99'"):
            await agent.fork("e99")
        with pytest.raises(SessionError, match="no entry 'e99'"):
            await agent.move_to("e99")
        assert agent.seen.of("session_before_tree") == agent.seen.of("session_before_fork") == []
        await agent.chat("b")
        assert agent.session_id == here and sent(agent, 1) == ["a", "one", "b"]

    go(main)


def test_not_during_a_run_and_not_from_its_handlers(stored: Any, go: Any) -> None:
    async def main() -> None:
        started = asyncio.Event()
        agent = stored(Reply(calls=[Call("tool")]), Hang(started=started), tools=[])
        refused: list[str] = []

        @agent.events.on("turn_start")
        async def handler(event: Any, ctx: Any) -> None:
            for work in (agent.switch("new"), agent.fork(), agent.move_to(None), agent.reload(), agent.compact()):
                with pytest.raises(ReentrancyError):
                    await work
                refused.append("refused")

        task = asyncio.create_task(agent.chat("go"))
        await started.wait()
        for work in (agent.switch("new"), agent.fork(), agent.move_to(None), agent.reload()):
            with pytest.raises(AgentBusy):
                await work
        agent.abort()
        with pytest.raises(AgentError):
            await task
        assert len(refused) == 10

    go(main)


def test_what_belongs_to_a_session_does_not_reach_the_next_one(stored: Any, go: Any) -> None:
    async def main() -> None:
        agent = stored("one", "two")
        agent.events.on(
            "session_start",
            lambda e: SessionStartResult(
                context=[CustomMessage(custom_type="note", content=f"note {e.reason}", in_context=True)]
            ),
        )
        await agent.chat("a")
        agent.state("kept")["kept"] = True
        agent.conversation.sticky_approvals.add(("tool", None, "key"))
        agent.next_run("left over")
        await agent.switch("new")
        assert agent.state("kept") == {} and agent.conversation.sticky_approvals == set()
        await agent.chat("b")
        assert sent(agent, 1) == ["note new", "left over", "b"]  # what the user queued is not lost

    go(main)
