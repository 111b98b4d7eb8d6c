"""Questions that are kept before they are asked: killed while a person thinks, answered in another process, run once."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from core_kit import forked
from core_stores import FileStore

from skillkit_core import (
    AgentConfig,
    AgentRunner,
    ApprovalDecision,
    Approver,
    Host,
    ModelDefinition,
    Origin,
    Question,
    Tool,
    ToolCallEventResult,
)
from skillkit_core.agent.session import Session
from skillkit_core.contracts.session_store import suspended_at_end
from skillkit_core.testing import Call, Reply, ScriptedModel

MODEL = ModelDefinition("model", "scripted", "scripted", context_window=0)
PHONE = Origin("phone", "ana")
OBJECT = {"type": "object", "properties": {}, "additionalProperties": True}
CALLS = Reply("", calls=[Call("act", {"n": n, "ask": n == 2}, name) for n, name in ((1, "A"), (2, "B"), (3, "C"))])


class Answers(Approver):
    """Answers one question after the other, and dies at a question without an answer."""

    def __init__(self, *decisions: Any) -> None:
        self.decisions = list(decisions)
        self.asked: list[Any] = []

    async def approve(self, request: Any) -> ApprovalDecision:
        self.asked.append(request)
        if not self.decisions:
            os.kill(os.getpid(), signal.SIGKILL)
        given = self.decisions.pop(0)
        return ApprovalDecision(given) if isinstance(given, str) else given


def ask(event: Any) -> ToolCallEventResult | None:
    return ToolCallEventResult(ask=f"run {event.args['n']}?", ask_key="acting") if event.args.get("ask") else None


class Desk:
    """An agent on a session file, and a log of what its tool did that survives a kill."""

    def __init__(self, folder: Path) -> None:
        self.store, self.log = FileStore(folder), folder / "log"
        self.log.touch()

    def agent(self, session: Session, *turns: Any, approver: Any = None, **config: Any) -> AgentRunner:
        async def act(args: Any, ctx: Any) -> str:
            with self.log.open("a") as file:
                file.write(f"{args['n']} ")
            return f"did {args['n']}"

        tool = Tool("act", "", act, OBJECT)
        agent = AgentRunner(
            AgentConfig(model=MODEL, tools=(tool,), approver=approver, **config),
            host=Host(discover=False),
            session=session,
        )
        agent.set_adapter(ScriptedModel(turns))
        agent.events.on("before_tool_call", ask, phase="guard")
        return agent

    async def killed(self, *decisions: Any, turns: Any = (CALLS,), **config: Any) -> None:
        session = await Session.create(self.store, lambda: 1000.0, session_id="s1")
        await self.agent(session, *turns, approver=Answers(*decisions), **config).chat("go")

    async def opened(self) -> Session:
        return await Session.open(self.store, "s1", lambda: 2000.0)

    @property
    def did(self) -> list[int]:
        return [int(n) for n in self.log.read_text().split()]


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def kinds(session: Session) -> list[str]:
    return [e.data.get("custom_type") for e in session.entries if e.type == "custom"]


@pytest.mark.parametrize("parallel", [True, False])
def test_a_question_outlives_its_process_and_its_call_runs_once(
    desk: Desk, go: Callable[..., Any], parallel: bool
) -> None:
    assert forked(lambda: desk.killed(parallel_tools=parallel)), "killed while a person thinks"

    async def main() -> None:
        session = await desk.opened()
        assert suspended_at_end(reversed(session.entries))
        agent = desk.agent(session, "done", parallel_tools=parallel)
        await agent.open()
        waiting = {call.id: [q.text for q in call.questions] for call in agent.suspension.calls}
        # in sequence the first call has run, and its result was lost with the process
        assert waiting == ({"A": [], "B": ["run 2?"], "C": []} if parallel else {"B": ["run 2?"], "C": []})
        before = desk.did
        assert before == ([] if parallel else [1])
        response = await agent.resume({"B": "allow"}, origin=PHONE)
        assert response.content == "done"
        assert sorted(desk.did) == [1, 2, 3]
        results = {m.tool_call_id: m.outcome.value for m in agent.messages if m.role == "tool_result"}
        assert results == {"A": "ok" if parallel else "interrupted", "B": "ok", "C": "ok"}
        assert not suspended_at_end(reversed(session.entries)) and agent.suspension is None

    go(main())


def test_another_input_denies_the_question_that_outlived_its_process(desk: Desk, go: Callable[..., Any]) -> None:
    assert forked(lambda: desk.killed(parallel_tools=False))

    async def main() -> None:
        agent = desk.agent(await desk.opened(), "fine")
        await agent.chat("never mind")
        results = {m.tool_call_id: m.outcome.value for m in agent.messages if m.role == "tool_result"}
        assert results == {"A": "interrupted", "B": "denied", "C": "denied"}, "nobody denies what may have run"
        assert desk.did == [1]

    go(main())


def test_an_answer_that_was_given_holds_when_the_next_question_outlives_the_process(
    desk: Desk, go: Callable[..., Any]
) -> None:
    both = Reply("", calls=[Call("act", {"n": 1, "ask": True}, "A"), Call("act", {"n": 2, "ask": True}, "B")])
    assert forked(lambda: desk.killed("allow", turns=(both,)))

    async def main() -> None:
        agent = desk.agent(await desk.opened(), "done", approver=(asked := Answers("deny")))
        await agent.open()
        assert [(c.id, len(c.questions), len(c.allowed)) for c in agent.suspension.calls] == [("A", 0, 1), ("B", 1, 0)]
        await agent.resume({"B": "allow"})
        assert sorted(desk.did) == [1, 2] and asked.asked == []

    go(main())


def test_a_question_that_was_put_off_does_not_say_that_the_others_have_not_run(
    desk: Desk, go: Callable[..., Any]
) -> None:
    both = Reply("", calls=[Call("act", {"n": 1, "ask": True}, "A"), Call("die", {}, "B")])

    async def killed() -> None:
        session = await Session.create(desk.store, lambda: 1000.0, session_id="s1")
        agent = desk.agent(session, both, approver=Answers("defer"))
        agent.configure(
            tools=(*agent.config.tools, Tool("die", "", lambda args, ctx: os.kill(os.getpid(), signal.SIGKILL), OBJECT))
        )
        await agent.chat("go")

    assert forked(killed)

    async def main() -> None:
        agent = desk.agent(await desk.opened(), "done")
        await agent.open()
        assert [c.id for c in agent.suspension.calls] == ["A"]
        await agent.resume({"A": "allow"})
        results = {m.tool_call_id: m.outcome.value for m in agent.messages if m.role == "tool_result"}
        assert results == {"A": "ok", "B": "interrupted"}

    go(main())


@pytest.mark.parametrize("decision", ["allow", "deny", "defer"])
def test_the_question_is_kept_before_anybody_is_asked_and_the_answer_beside_it(
    kit: Any, go: Callable[..., Any], decision: Any
) -> None:
    async def main() -> None:
        seen: list[Any] = []

        class Looks(Approver):
            async def approve(self, request: Any) -> ApprovalDecision:
                seen.append((request, agent.suspension, kinds(agent.session)))
                return ApprovalDecision(decision, "because", origin=PHONE)

        agent = kit.agent(
            Reply(calls=[Call("act", {"n": 2, "ask": True}, "B")]),
            "done",
            tools=[kit.tool("act", lambda args, ctx: "did")],
        )
        agent.configure(approver=Looks())
        agent.events.on("before_tool_call", ask, phase="guard")
        await agent.chat("go")
        ((request, waiting, before),) = seen
        assert before == ["approval_asked"] and [c.id for c in waiting.calls] == ["B"]
        asked, resolved = (e.data for e in agent.session.entries if e.type == "custom")
        assert (asked["call"], asked["args"]) == ("B", {"n": 2, "ask": True})
        entry = next(e for e in agent.session.entries if e.type == "custom")
        assert asked["id"] == f"B#{entry.id}", "each asking has a name of its own"
        assert asked["questions"][0]["text"] == "run 2?"
        assert (resolved["id"], resolved["decision"], resolved["reason"]) == (asked["id"], decision, "because")
        assert resolved["origin"] == PHONE.to_dict()
        event = agent.seen.one("approval_request")
        assert event.id == request.id == agent.seen.one("approval_resolved").id == asked["id"]
        assert event.asked == (Question("run 2?", None, "acting"),)
        assert event.rememberable and event.deferrable and request.rememberable and request.deferrable
        assert (agent.suspension is not None) == (decision == "defer")

    go(main())


def test_nothing_is_kept_where_nobody_is_asked(kit: Any, go: Callable[..., Any]) -> None:
    async def main() -> None:
        for guard, wanted in ((None, "ok"), (ask, "denied")):
            agent = kit.agent(
                Reply(calls=[Call("act", {"n": 2, "ask": True})]),
                "done",
                tools=[kit.tool("act", lambda args, ctx: "did")],
            )
            if guard is not None:
                agent.events.on("before_tool_call", guard, phase="guard")
            await agent.chat("go")
            assert [m.outcome.value for m in agent.messages if m.role == "tool_result"] == [wanted]
            assert kinds(agent.session) == []

    go(main())


def test_a_remembered_answer_is_neither_asked_nor_kept_again(kit: Any, go: Callable[..., Any]) -> None:
    async def main() -> None:
        calls = [Reply(calls=[Call("act", {"n": 2, "ask": True})]) for _ in range(2)]
        agent = kit.agent(
            *calls,
            "done",
            tools=[kit.tool("act", lambda args, ctx: "did")],
            approver=Answers(ApprovalDecision("allow", remember=True)),
        )
        agent.events.on("before_tool_call", ask, phase="guard")
        await agent.chat("go")
        assert kinds(agent.session) == ["approval_asked", "approval_resolved"]

    go(main())


def test_an_abort_while_somebody_is_asked_withdraws_the_question(kit: Any, go: Callable[..., Any]) -> None:
    async def main() -> None:
        class Aborts(Approver):
            async def approve(self, request: Any) -> ApprovalDecision:
                agent.abort()
                raise AssertionError("not asked any more")

        agent = kit.agent(
            Reply(calls=[Call("act", {"n": 2, "ask": True})]),
            tools=[kit.tool("act", lambda args, ctx: "did")],
            approver=Aborts(),
        )
        agent.events.on("before_tool_call", ask, phase="guard")
        with pytest.raises(Exception, match="abort"):
            await agent.chat("go")
        assert agent.suspension is None and not suspended_at_end(reversed(agent.session.entries))

    go(main())
