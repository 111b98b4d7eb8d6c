"""A decision about a call of an agent inside a run is put off: the whole path waits, also over the death of the process."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from core_kit import Recorder, forked
from core_stores import FileStore

from skillkit_core import (
    AgentConfig,
    AgentRunner,
    ApprovalDecision,
    Approver,
    Host,
    ModelDefinition,
    Origin,
    Suspended,
    Tool,
    ToolCallEventResult,
)
from skillkit_core.agent.session import Session
from skillkit_core.contracts.session_store import suspended_at_end
from skillkit_core.testing import Call, Reply, ScriptedModel

MODEL = ModelDefinition("model", "scripted", "scripted", context_window=0)
OBJECT = {"type": "object", "properties": {}, "additionalProperties": True}
PHONE = Origin("phone")
ACT = Reply(calls=[Call("act", {"ask": True}, "A")])


class Says(Approver):
    """Answers alike; ``kill`` ends the process."""

    def __init__(self, decision: str) -> None:
        self.decision, self.asked = decision, []

    async def approve(self, request: Any) -> ApprovalDecision:
        self.asked.append(request)
        if self.decision == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        return ApprovalDecision(self.decision)  # type: ignore[arg-type]


def ask(event: Any) -> ToolCallEventResult | None:
    return ToolCallEventResult(ask=f"run {event.tool_name}?") if event.args.get("ask") else None


class Team:
    """Agents one inside the other, each on a session file, the innermost with the tool ``act``."""

    def __init__(self, folder: Path, decision: str, *, depth: int = 1, suspends: bool = True) -> None:
        self.store, self.log = FileStore(folder), folder / "log"
        self.log.touch()
        self.approver = Says(decision)
        self.depth, self.suspends = depth, suspends
        self.errors: list[Exception] = []

    def _tools(self, depth: int) -> list[Tool]:
        async def act(args: Any, ctx: Any) -> str:
            with self.log.open("a") as file:
                file.write("acted\n")
            return "did it"

        async def delegate(args: Any, ctx: Any) -> str:
            session = (
                await Session.open(self.store, ctx.below[0], lambda: 1.0)
                if ctx.below
                else await Session.create(self.store, lambda: 1.0, parent=ctx.session_id)
            )
            turns = [ACT if depth == 1 else self._delegation(depth - 1), f"answer {depth}"]
            config = AgentConfig(model=MODEL, tools=tuple(self._tools(depth - 1)))
            async with AgentRunner(config, session=session, name=f"level{depth}") as agent:
                agent.set_adapter(ScriptedModel(turns[1:] if ctx.below else turns))
                try:
                    return str(await (agent.resume() if ctx.below else agent.chat("work")))
                except Suspended as waiting:
                    self.errors.append(waiting)
                    raise

        if depth == 0:
            return [Tool("act", "", act, OBJECT)]
        return [Tool("delegate", "", delegate, OBJECT, suspends=self.suspends)]

    def _delegation(self, depth: int) -> Reply:
        return Reply(calls=[Call("delegate", {"ask_once": True}, f"D{depth}")])

    async def agent(self, *, again: bool = False) -> AgentRunner:
        session = (
            await Session.open(self.store, "outer", lambda: 2.0)
            if again
            else await Session.create(self.store, lambda: 1.0, session_id="outer")
        )
        config = AgentConfig(model=MODEL, tools=tuple(self._tools(self.depth)), approver=self.approver)
        agent = AgentRunner(config, host=Host(discover=False), session=session)
        agent.set_adapter(ScriptedModel(["done"] if again else [self._delegation(self.depth), "done"]))
        agent.events.on("before_tool_call", ask, phase="guard")
        agent.seen = Recorder(agent.events)  # type: ignore[attr-defined]
        await agent.open()
        return agent

    @property
    def acted(self) -> int:
        return len(self.log.read_text().split())


@pytest.mark.spec("I22")
@pytest.mark.parametrize("how", ["defer", "kill"])
@pytest.mark.parametrize("depth", [1, 2])
def test_a_question_inside_a_run_is_answered_in_another_process_and_its_call_runs_once(
    tmp_path: Path, go: Callable[..., Any], how: str, depth: int
) -> None:
    async def first() -> None:
        agent = await Team(tmp_path, how, depth=depth).agent()
        assert (await agent.chat("go")).outcome == "suspended"

    assert forked(first) == (how == "kill")

    async def main() -> None:
        team = Team(tmp_path, "deny", depth=depth)
        agent = await team.agent(again=True)
        assert suspended_at_end(reversed(agent.session.entries))
        (outer,) = agent.suspension.calls
        (inner,) = outer.inner
        assert (outer.name, outer.id, len(outer.below)) == ("delegate", f"D{depth}", depth)
        assert (inner.name, inner.args, inner.id) == ("act", {"ask": True}, f"{outer.below[-1]}/A")
        assert [q.text for q in outer.questions] == [q.text for q in inner.questions] == ["run act?"]
        response = await agent.resume({inner.id: "allow"}, origin=PHONE)
        assert response.content == "done" and response.outcome == "completed"
        assert team.acted == 1 and team.approver.asked == [], "nobody is asked twice"
        assert agent.messages[-2].text == f"answer {depth}"
        for name in ("outer", *outer.below):
            session = await Session.open(team.store, name, lambda: 3.0)
            assert session.suspension() is None and not suspended_at_end(reversed(session.entries))
        decided = [e.data for e in session.entries if e.data.get("custom_type") == "suspension_decisions"]
        assert decided[0]["decisions"]["A"]["origin"] == PHONE.to_dict()

    go(main)


def test_the_run_above_waits_and_its_brackets_balance(tmp_path: Path, go: Callable[..., Any], kit: Any) -> None:
    async def main() -> None:
        team = Team(tmp_path, "defer")
        agent = await team.agent()
        assert (await agent.chat("go")).outcome == "suspended"
        (request,) = team.approver.asked
        assert request.deferrable and request.id == agent.suspension.calls[0].inner[0].question
        assert team.errors[0].session_id == agent.suspension.calls[0].below[0]
        ends = [(e.tool_name, str(e.outcome)) for e in agent.seen.of("tool_execution_end")]
        assert ends == [("delegate", "suspended")]
        assert [e.outcome for e in agent.seen.of("agent_end")] == ["suspended", "suspended"]
        kit.check_brackets([e for e in agent.seen.events if e.agent_path == ("main",)])
        await agent.resume({"A": "deny"})
        assert team.acted == 0 and agent.messages[-1].text == "done"
        assert [str(e.outcome) for e in agent.seen.of("tool_execution_end")] == ["suspended", "denied", "ok"]

    go(main)


@pytest.mark.parametrize("name", ["D1", "A", "the whole id"])
def test_a_decision_names_the_call_inside_or_the_call_above(tmp_path: Path, go: Callable[..., Any], name: str) -> None:
    async def main() -> None:
        team = Team(tmp_path, "defer")
        agent = await team.agent()
        await agent.chat("go")
        await agent.resume({agent.suspension.calls[0].inner[0].id if name == "the whole id" else name: "allow"})
        assert team.acted == 1

    go(main)


def test_another_input_denies_the_call_above(tmp_path: Path, go: Callable[..., Any]) -> None:
    async def main() -> None:
        team = Team(tmp_path, "defer")
        agent = await team.agent()
        await agent.chat("go")
        await agent.chat("never mind")
        assert [m.outcome.value for m in agent.messages if m.role == "tool_result"] == ["denied"]
        assert agent.suspension is None and team.acted == 0

    go(main)


@pytest.mark.parametrize("decision", ["defer", "allow"])
def test_where_a_tool_cannot_wait_later_is_not_offered_and_is_a_denial_that_says_so(
    tmp_path: Path, go: Callable[..., Any], decision: str
) -> None:
    async def main() -> None:
        team = Team(tmp_path, decision, suspends=False)
        agent = await team.agent()
        response = await agent.chat("go")
        (request,) = team.approver.asked
        assert response.outcome == "completed" and not request.deferrable
        assert not agent.seen.one("approval_request").deferrable
        (end, _) = agent.seen.of("tool_execution_end")
        assert end.outcome.value == ("denied" if decision == "defer" else "ok")
        if decision == "defer":
            assert "cannot wait for a decision" in end.content[0].text
        assert not any(e.data.get("custom_type") == "approval_asked" for e in agent.session.entries)

    go(main)
