"""Who is asked: the user interface of an agent, the answer of a decision, approver and executor of the host."""

from __future__ import annotations

from typing import Any

import pytest
from core_team import DELEGATE, Team

from skillkit_core import (
    AgentConfig,
    AgentRunner,
    Answers,
    ApprovalDecision,
    Approver,
    ToolCallEventResult,
    ToolExecutor,
    ToolOutput,
    UsageError,
    UserInterface,
    hookimpl,
)
from skillkit_core.testing import Call, Reply, ScriptedModel, ScriptedUser

CALL = Reply(calls=[Call("ask_user")])
ANSWER = {"city": "Oslo", "extras": ["Seat"]}


class Says(Approver):
    """Decides every call alike."""

    def __init__(self, decision: ApprovalDecision) -> None:
        self.decision = decision
        self.asked: list[Any] = []

    async def approve(self, request: Any) -> ApprovalDecision:
        self.asked.append(request)
        return self.decision


class Asks:
    """A plugin with a tool that a person answers, and a guard that asks."""

    def __init__(self) -> None:
        self.resolved: list[Any] = []

    @hookimpl(tools=("ask_user",))
    def before_tool_call(self, event: Any) -> Any:
        return ToolCallEventResult(ask="Where to?", ask_key="city")

    @hookimpl
    def approval_resolved(self, event: Any) -> None:
        self.resolved.append(event)


def answering(kit: Any, *turns: Any, asks: Any = None, **options: Any) -> Any:
    tool = kit.tool("ask_user", lambda args, ctx: f"the answer is {ctx.answer and dict(ctx.answer)}")
    return kit.agent(*turns, tools=[tool], plugins=[("asks", asks or Asks())], **options)


# --- the user interface -----------------------------------------------------------------------------------------------


def test_handlers_and_tools_get_the_user_interface_of_the_agent(kit: Any, go: Any) -> None:
    async def main() -> None:
        person: UserInterface = ScriptedUser()
        seen: list[Any] = []
        agent = kit.agent(
            Reply(calls=[Call("a")]),
            "done",
            tools=[kit.tool("a", lambda args, ctx: seen.append(ctx.ui) or "ok")],
            ui=person,
        )
        agent.events.on("turn_start", lambda e, ctx: seen.append(ctx.ui))
        await agent.chat("go")
        assert seen == [person, person, person] and agent.ui is person
        agent.configure(ui=None)
        assert agent.ui is None and agent.events.context.ui is None

    go(main)


@pytest.mark.parametrize("own", [False, True])
def test_a_nested_agent_asks_the_person_of_the_nearest_run_above(kit: Any, go: Any, own: bool) -> None:
    async def main() -> None:
        above, below = ScriptedUser(), ScriptedUser()
        seen: list[Any] = []
        team = Team(
            kit,
            [DELEGATE, "done"],
            [Reply(calls=[Call("inner")]), "ok"],
            child_tools=[kit.tool("inner", lambda args, ctx: seen.append(ctx.ui) or "ok")],
            child_config={"ui": below} if own else {},
            ui=above,
        )
        await team.parent.chat("go")
        assert seen == [below if own else above]

    go(main)


def test_a_tool_knows_its_agent(kit: Any, go: Any) -> None:
    async def main() -> None:
        seen: list[Any] = []
        tool = kit.tool("a", lambda args, ctx: seen.append((ctx.agent, ctx.agent.state("p"))) or "ok")
        agent = kit.agent(Reply(calls=[Call("a")]), "done", tools=[tool])
        agent.state("p")["x"] = 1
        await agent.chat("go")
        assert seen == [(agent, {"x": 1})]

    go(main)


# --- the answer of a decision -----------------------------------------------------------------------------------------


def test_what_an_approver_answers_reaches_the_tool_and_who_asked(kit: Any, go: Any) -> None:
    async def main() -> None:
        asks = Asks()
        approver = Says(ApprovalDecision("allow", "by hand", remember=True, answer=ANSWER))
        agent = answering(kit, CALL, CALL, "done", asks=asks, approver=approver)
        await agent.chat("go")
        assert [m.text for m in kit.results(agent)] == [f"the answer is {ANSWER}", "the answer is None"]
        (event,) = asks.resolved  # the second call had the remembered answer: nobody was asked
        assert (event.tool_name, dict(event.args), event.questions) == ("ask_user", {}, ("Where to?",))
        assert (event.decision, event.reason, event.remember) == ("allow", "by hand", True)
        assert event.answers == ANSWER

    go(main)


@pytest.mark.parametrize(
    "given", [ANSWER, Answers({"city": "Oslo", "extras": ("Seat",), "pin": "1234"}, frozenset({"pin"}))]
)
def test_a_question_suspends_a_run_and_is_answered_later(kit: Any, go: Any, tmp_path: Any, given: Any) -> None:
    async def main() -> None:
        def agent(*turns: Any, asks: Any = None, **options: Any) -> Any:
            made = answering(kit, *turns, asks=asks, **options)
            made.host.session_stores.register("files", kit.FileStore(tmp_path))
            return made

        first = agent(CALL, session="new", approver=Says(ApprovalDecision("defer")))
        assert (await first.chat("go")).outcome == "suspended"
        session, waiting = first.session_id, first.suspension.calls[0].id
        await first.aclose()
        asks = Asks()
        second = agent("done", session=session, asks=asks)
        await second.resume({waiting: ApprovalDecision("allow", answer=given)})
        assert [m.text for m in kit.results(second)] == [f"the answer is {dict(given)}"]
        (kept,) = [e.data["decisions"][waiting] for e in second.session.entries if "decisions" in e.data]
        assert kept == {"decision": "allow", "reason": "", "answer": ANSWER}
        assert [event.answers for event in asks.resolved] == [ANSWER]

    go(main)


def test_a_denial_has_its_answer_in_the_event_alone(kit: Any, go: Any) -> None:
    async def main() -> None:
        asks = Asks()
        agent = answering(
            kit, CALL, "done", asks=asks, approver=Says(ApprovalDecision("deny", "no", answer={"why": "later"}))
        )
        await agent.chat("go")
        assert asks.resolved[0].answers == {"why": "later"}
        assert [m.text for m in kit.results(agent)] == ["Denied: no"]

    go(main)


def test_an_answer_that_no_session_can_keep_is_refused_before_anything_happens(kit: Any, go: Any) -> None:
    async def main() -> None:
        agent = answering(kit, CALL, approver=Says(ApprovalDecision("defer")))
        await agent.chat("go")
        waiting = agent.suspension.calls[0].id
        with pytest.raises(UsageError, match="is no JSON"):
            await agent.resume({waiting: ApprovalDecision("allow", answer={"at": object()})})
        assert agent.suspension is not None

    go(main)


# --- approver and executor of the host --------------------------------------------------------------------------------


class Desk:
    """A plugin that has an approver and an executor for agents without one."""

    def __init__(self) -> None:
        self.approver = Says(ApprovalDecision("allow"))
        self.executor = Elsewhere()

    @hookimpl
    async def resolve_approver(self, config: Any) -> Any:
        return self.approver

    @hookimpl
    def resolve_executor(self, name: Any) -> Any:
        return self.executor


class Elsewhere(ToolExecutor):
    async def execute(self, tool: Any, args: Any, ctx: Any) -> ToolOutput:
        return ToolOutput(f"{tool.name} ran elsewhere")


@pytest.mark.parametrize("own", [None, "deny"])
def test_the_approver_of_a_plugin_is_asked_where_the_agent_has_none(kit: Any, go: Any, own: Any) -> None:
    async def main() -> None:
        desk = Desk()
        approver = None if own is None else Says(ApprovalDecision(own))
        agent = kit.agent(
            CALL, "done", tools=[kit.tool("ask_user", "ran")], plugins=[("desk", desk)], approver=approver
        )
        agent.events.on("before_tool_call", lambda e: ToolCallEventResult(ask="Sure?"))
        await agent.chat("go")
        assert [m.outcome.value for m in kit.results(agent)] == ["ok" if own is None else "denied"]
        assert len(desk.approver.asked) == (own is None)

    go(main)


def test_the_executor_of_a_plugin_runs_tools_also_of_nested_agents(kit: Any, go: Any) -> None:
    async def main() -> None:
        said: list[str] = []

        class Mixed(Elsewhere):
            async def execute(self, tool: Any, args: Any, ctx: Any) -> ToolOutput:
                if tool.name != "delegate":
                    return await super().execute(tool, args, ctx)
                agent = AgentRunner(AgentConfig(tools=(kit.tool("inner", "ran here"),)))
                agent.set_adapter(ScriptedModel([Reply(calls=[Call("inner")]), "ok"]))
                await agent.chat("go")
                said.extend(m.text for m in agent.messages if m.role == "tool_result")
                return ToolOutput("delegated")

        desk = Desk()
        desk.executor = Mixed()
        agent = kit.agent(DELEGATE, "done", tools=[kit.tool("delegate", "ran here")], plugins=[("desk", desk)])
        await agent.chat("go")
        assert said == ["inner ran elsewhere"] and [m.text for m in kit.results(agent)] == ["delegated"]

    go(main)
