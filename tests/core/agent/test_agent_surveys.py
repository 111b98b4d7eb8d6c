"""Surveys of tools (``ctx.ask``): kept before a person is asked, answered now, later, and in another process."""

from __future__ import annotations

import asyncio
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
    Deferred,
    Host,
    ModelDefinition,
    Origin,
    Survey,
    SurveyQuestion,
    Tool,
    UsageError,
    UserInterface,
)
from skillkit_core.agent.session import Session
from skillkit_core.contracts.session_store import suspended_at_end
from skillkit_core.testing import Call, Reply, ScriptedModel, ScriptedUser

MODEL = ModelDefinition("model", "scripted", "scripted", context_window=0)
WHERE = Survey("Journey", "", (SurveyQuestion("city", "Where to?"),))
WHEN = Survey("Journey", "", (SurveyQuestion("day", "When?"),))
LOGIN = Survey("Login", "", (SurveyQuestion("name", "Who?"), SurveyQuestion("pin", "PIN?", "secret")))
PHONE = Origin("phone", "ana")
BOOK = Reply(calls=[Call("book", {}, "A")])
OBJECT = {"type": "object", "properties": {}, "additionalProperties": True}


class Person(ScriptedUser):
    """Answers by script; dies at a survey without an answer."""

    async def ask(self, survey: Survey) -> Any:
        if len(self.surveys) == len(self._answers):
            os.kill(os.getpid(), signal.SIGKILL)
        return await super().ask(survey)


class Away(UserInterface):
    async def ask(self, survey: Survey) -> Any:
        raise Deferred("nobody is there")

    async def notify(self, text: str, level: Any = "info") -> None:
        pass


class Desk:
    """Agents on one session file, a tool that asks first and acts afterwards, and a log of what it did."""

    def __init__(self, folder: Path) -> None:
        self.store, self.log = FileStore(folder), folder / "log"
        self.log.touch()
        self.surveys: tuple[Survey, ...] = (WHERE,)
        self.events: list[Any] = []

    async def book(self, args: Any, ctx: Any) -> str:
        given = []
        for survey in self.surveys:
            answers = await ctx.ask(survey)
            if answers is None:
                return "nobody said"
            given += [str(answer) for answer in answers.values()]
        with self.log.open("a") as file:
            file.write(f"{args.get('n', '')}{' '.join(given)};")
        return f"booked {' '.join(given)}"

    def agent(self, session: Any, *turns: Any, asks: bool = True, **config: Any) -> AgentRunner:
        tool = Tool("book", "", self.book, OBJECT, annotations={"asks": True} if asks else {})
        host = Host(discover=False)
        host.session_stores.register("files", self.store)
        config = {"model": MODEL, "tools": (tool,), **config}
        agent = AgentRunner(AgentConfig(**config), host=host, session=session)
        agent.set_adapter(ScriptedModel(turns))
        agent.events.on("question_asked", self.events.append)
        agent.events.on("question_answered", self.events.append)
        return agent

    async def begin(self, *turns: Any, **options: Any) -> AgentRunner:
        session = await Session.create(self.store, lambda: 1000.0, session_id="s1")
        return self.agent(session, *(turns or (BOOK, "done")), **options)

    async def killed(self, *turns: Any, **options: Any) -> None:
        await (await self.begin(*turns, **options)).chat("go")

    @property
    def did(self) -> list[str]:
        return self.log.read_text().split(";")[:-1]


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def results(agent: AgentRunner) -> list[tuple[str, str]]:
    return [(m.outcome.value, m.text) for m in agent.messages if m.role == "tool_result"]


def told(agent: AgentRunner) -> str:
    return str([entry.data for entry in agent.session.entries])


def test_a_survey_is_in_the_session_before_a_person_is_asked(desk: Desk, go: Callable[..., Any]) -> None:
    async def main() -> None:
        seen: list[Any] = []

        def answer(survey: Survey) -> Any:
            seen.append([e.data["survey"]["title"] for e in agent.session.entries if "survey" in e.data])
            seen.append([event.type for event in desk.events])
            return {"city": "Oslo"}

        agent = await desk.begin(ui=ScriptedUser(answer))
        assert (await agent.chat("go")).outcome == "completed"
        assert seen == [["Journey"], ["question_asked"]] and desk.did == ["Oslo"]
        asked, answered = desk.events
        assert (asked.id.partition("#")[0], asked.survey["questions"][0]["text"]) == ("A", "Where to?")
        assert (answered.type, answered.id, dict(answered.answers)) == ("question_answered", asked.id, {"city": "Oslo"})
        assert agent.suspension is None and not suspended_at_end(reversed(agent.session.entries))

    go(main())


def test_a_survey_outlives_a_process_that_is_killed_while_a_person_thinks(desk: Desk, go: Callable[..., Any]) -> None:
    assert forked(lambda: desk.killed(ui=Person()))

    async def main() -> None:
        agent = desk.agent("s1", "done")
        await agent.open()
        (call,) = agent.suspension.calls
        assert call.id == "A" and call.survey == WHERE and suspended_at_end(reversed(agent.session.entries))
        with pytest.raises(UsageError, match="no question 'town'"):
            await agent.resume({"A": ApprovalDecision("allow", answer={"city": "Oslo", "town": "x"})})
        answer = ApprovalDecision("allow", answer={"city": "Oslo"})
        assert (await agent.resume({"A": answer}, origin=PHONE)).content == "done"
        assert desk.did == ["Oslo"] and results(agent) == [("ok", "booked Oslo")]
        assert [(e.type, e.by) for e in desk.events] == [("question_answered", PHONE)]

    go(main())


@pytest.mark.parametrize("ui", [None, Away()])
def test_where_nobody_is_there_the_run_waits_and_another_process_answers(
    desk: Desk, go: Callable[..., Any], ui: Any
) -> None:
    async def main() -> None:
        first = await desk.begin(ui=ui)
        assert (await first.chat("go")).outcome == "suspended"
        await first.aclose()
        agent = desk.agent("s1", "done")
        await agent.open()
        assert agent.suspension.calls[0].survey == WHERE
        assert (await agent.resume()).outcome == "suspended", "nobody is there still"
        assert (await agent.resume({"A": ApprovalDecision("allow", answer={"city": "Rome"})})).content == "done"
        assert desk.did == ["Rome"]

    go(main())


@pytest.mark.parametrize("ui", [None, Away()])
def test_a_tool_without_the_annotation_gets_no_answer_where_nobody_is_there(
    desk: Desk, go: Callable[..., Any], ui: Any
) -> None:
    async def main() -> None:
        agent = await desk.begin(ui=ui, asks=False)
        assert (await agent.chat("go")).outcome == "completed"
        assert results(agent) == [("ok", "nobody said")] and "survey" not in told(agent)

    go(main())


def test_a_person_who_declines_and_one_who_denies_later(desk: Desk, go: Callable[..., Any]) -> None:
    async def main() -> None:
        agent = await desk.begin(BOOK, "done", Reply(calls=[Call("book", {}, "B")]), "fine", ui=ScriptedUser(None))
        await agent.chat("go")
        agent.configure(ui=None)
        await agent.chat("again")
        await agent.resume({"B": ApprovalDecision("deny", "not now")})
        assert results(agent) == [("ok", "nobody said"), ("denied", "Denied: not now")] and desk.did == []

    go(main())


def test_a_user_interface_that_fails_is_an_error_of_the_tool(desk: Desk, go: Callable[..., Any]) -> None:
    def fail(survey: Survey) -> Any:
        raise RuntimeError("no terminal")

    async def main() -> None:
        agent = await desk.begin(ui=ScriptedUser(fail))
        assert (await agent.chat("go")).outcome == "completed"
        assert [outcome for outcome, _ in results(agent)] == ["error"] and agent.suspension is None

    go(main())


def test_a_tool_that_asks_twice_keeps_the_first_answer_over_a_kill(desk: Desk, go: Callable[..., Any]) -> None:
    desk.surveys = (WHERE, WHEN)
    assert forked(lambda: desk.killed(ui=Person({"city": "Oslo"})))

    async def main() -> None:
        agent = desk.agent("s1", "done")
        await agent.open()
        assert agent.suspension.calls[0].survey == WHEN
        await agent.resume({"A": ApprovalDecision("allow", answer={"day": "Monday"})})
        assert desk.did == ["Oslo Monday"]

    go(main())


def test_a_tool_that_asks_twice_is_answered_one_survey_after_the_other(desk: Desk, go: Callable[..., Any]) -> None:
    desk.surveys = (WHERE, WHEN)

    async def main() -> None:
        agent = await desk.begin()
        await agent.chat("go")
        assert (await agent.resume({"A": ApprovalDecision("allow", answer={"city": "Oslo"})})).outcome == "suspended"
        assert agent.suspension.calls[0].survey == WHEN
        await agent.resume({"A": ApprovalDecision("allow", answer={"day": "Monday"})})
        assert desk.did == ["Oslo Monday"]

    go(main())


@pytest.mark.parametrize("parallel", [True, False])
def test_two_tools_that_ask_at_once_wait_both(desk: Desk, go: Callable[..., Any], parallel: bool) -> None:
    async def main() -> None:
        both = Reply(calls=[Call("book", {"n": 1}, "A"), Call("book", {"n": 2}, "B")])
        agent = await desk.begin(both, "done", parallel_tools=parallel)
        assert (await agent.chat("go")).outcome == "suspended"
        waiting = [call.id for call in agent.suspension.calls if call.survey is not None]
        assert waiting == (["A", "B"] if parallel else ["A"])
        given = {name: ApprovalDecision("allow", answer={"city": f"-{name}"}) for name in waiting}
        response = await agent.resume(given)
        if not parallel:
            assert response.outcome == "suspended" and agent.suspension.calls[0].survey == WHERE
            await agent.resume({"B": ApprovalDecision("allow", answer={"city": "-B"})})
        assert sorted(desk.did) == ["1-A", "2-B"]
        assert [outcome for outcome, _ in results(agent)] == ["ok", "ok"]

    go(main())


def test_answers_to_secret_questions_are_nowhere_but_in_the_tool(desk: Desk, go: Callable[..., Any]) -> None:
    desk.surveys = (LOGIN,)

    async def main() -> None:
        given = {"name": "Ana", "pin": "sesame-77"}
        tool = Tool("book", "", self_quiet(desk), OBJECT, annotations={"asks": True})
        agent = await desk.begin(BOOK, "done", Reply(calls=[Call("book", {}, "B")]), "fine", tools=(tool,))
        await agent.chat("go")
        await agent.resume({"A": ApprovalDecision("allow", answer=given)})
        agent.configure(ui=ScriptedUser(given))
        await agent.chat("again")
        assert desk.did == ["Ana sesame-77"] * 2
        assert "sesame-77" not in told(agent) and "sesame-77" not in str(desk.events) and "Ana" in told(agent)

    go(main())


def self_quiet(desk: Desk) -> Any:
    async def quiet(args: Any, ctx: Any) -> str:
        await desk.book(args, ctx)
        return "in"

    return quiet


def test_a_survey_of_a_nested_agent_suspends_the_path_above_it(desk: Desk, go: Callable[..., Any]) -> None:
    async def delegate(args: Any, ctx: Any) -> str:
        below = ctx.below[0] if ctx.below else None
        child = desk.agent(below or "new", *(["fine"] if below else [BOOK, "fine"]))
        async with child:
            return (await (child.resume() if below else child.chat("go"))).content

    outer = Tool("delegate", "", delegate, suspends=True)

    async def main() -> None:
        agent = await desk.begin(Reply(calls=[Call("delegate", {}, "D")]), tools=(outer,))
        assert (await agent.chat("go")).outcome == "suspended"
        await agent.aclose()
        again = desk.agent("s1", "done", tools=(outer,))
        await again.open()
        (inner,) = again.suspension.calls[0].inner
        assert inner.survey == WHERE and inner.id.endswith("/A")
        with pytest.raises(UsageError, match="no question"):
            await again.resume({inner.id: ApprovalDecision("allow", answer={"town": "x", "city": "y"})})
        await again.resume({inner.id: ApprovalDecision("allow", answer={"city": "Oslo"})})
        assert desk.did == ["Oslo"] and results(again) == [("ok", "fine")]

    go(main())


class Two(UserInterface):
    """Dies when two surveys are open."""

    def __init__(self) -> None:
        self.open = 0

    async def ask(self, survey: Survey) -> Any:
        self.open += 1
        if self.open == 2:
            os.kill(os.getpid(), signal.SIGKILL)
        await asyncio.Event().wait()

    async def notify(self, text: str, level: Any = "info") -> None:
        pass


BOTH = Reply(calls=[Call("book", {"n": 1}, "A"), Call("book", {"n": 2}, "B")])


def test_two_surveys_that_are_open_at_a_kill_wait_both(desk: Desk, go: Callable[..., Any]) -> None:
    assert forked(lambda: desk.killed(BOTH, ui=Two()))

    async def main() -> None:
        agent = desk.agent("s1", "done")
        await agent.open()
        assert [(call.id, call.survey) for call in agent.suspension.calls] == [("A", WHERE), ("B", WHERE)]
        given = {call.question: ApprovalDecision("allow", answer={"city": call.id}) for call in agent.suspension.calls}
        assert (await agent.resume(given)).content == "done"
        assert sorted(desk.did) == ["1A", "2B"]

    go(main())


def test_a_kill_in_sequence_leaves_the_later_calls_unstarted(desk: Desk, go: Callable[..., Any]) -> None:
    assert forked(lambda: desk.killed(BOTH, ui=Person(), parallel_tools=False))

    async def main() -> None:
        agent = desk.agent("s1", "done", ui=ScriptedUser({"city": "Rome"}), parallel_tools=False)
        await agent.open()
        assert [(call.id, call.survey is None) for call in agent.suspension.calls] == [("A", False), ("B", True)]
        await agent.resume({"A": ApprovalDecision("allow", answer={"city": "Oslo"})})
        assert desk.did == ["1Oslo", "2Rome"] and [outcome for outcome, _ in results(agent)] == ["ok", "ok"]

    go(main())


def test_the_same_survey_asked_twice_has_an_answer_each(desk: Desk, go: Callable[..., Any]) -> None:
    desk.surveys = (WHERE, WHERE, WHERE)
    assert forked(lambda: desk.killed(ui=Person({"city": "Oslo"})))

    async def main() -> None:
        agent = desk.agent("s1", "done", ui=ScriptedUser({"city": "Bonn"}))
        await agent.open()
        await agent.resume({"A": ApprovalDecision("allow", answer={"city": "Rome"})})
        assert desk.did == ["Oslo Rome Bonn"]

    go(main())


def test_a_late_answer_to_an_older_asking_of_a_call_counts_for_no_newer_one(desk: Desk, go: Callable[..., Any]) -> None:
    desk.surveys = (WHERE, WHERE)

    async def main() -> None:
        agent = await desk.begin(ui=Away())
        await agent.chat("go")
        older = agent.suspension.calls[0].question
        assert (await agent.resume()).outcome == "suspended", "asked again"
        newer = agent.suspension.calls[0].question
        assert older != newer == desk.events[-1].id
        with pytest.raises(UsageError, match="no call"):
            await agent.resume({older: ApprovalDecision("allow", answer={"city": "Oslo"})})
        await agent.resume({newer: ApprovalDecision("allow", answer={"city": "Oslo"})})
        assert desk.events[-2].id == newer, "the answer names the question that it answers"
        with pytest.raises(UsageError, match="no call"):
            await agent.resume({newer: ApprovalDecision("allow", answer={"city": "Oslo"})})
        assert agent.suspension.calls[0].survey == WHERE and desk.did == []

    go(main())


@pytest.mark.parametrize(("decision", "did"), [("allow", ["Oslo"]), ("deny", [])])
def test_a_front_end_says_who_answered_and_under_which_name(
    desk: Desk, go: Callable[..., Any], decision: Any, did: list[str]
) -> None:
    asked: list[str] = []

    class Desks(Away):
        async def decide(self, question: str, survey: Survey) -> ApprovalDecision:
            asked.append(question)
            return ApprovalDecision(decision, answer={"city": "Oslo"}, origin=PHONE)

    async def main() -> None:
        agent = await desk.begin(ui=Desks())
        await agent.chat("go")
        assert [(e.type, e.id) for e in desk.events] == [("question_asked", asked[0]), ("question_answered", asked[0])]
        assert desk.events[-1].by == PHONE and desk.did == did
        kept = [e.data for e in agent.session.entries if e.data.get("custom_type") == "approval_resolved"]
        assert [data["origin"] for data in kept] == [PHONE.to_dict()]

    go(main())


@pytest.mark.parametrize("dies_after", [1, 2])
def test_a_kill_between_two_entries_of_a_question_leaves_nobody_waiting_alone_below(
    desk: Desk, go: Callable[..., Any], dies_after: int
) -> None:
    """A question of a nested agent is kept in two sessions; where the lower one waits, the upper one does."""

    async def delegate(args: Any, ctx: Any) -> str:
        below = ctx.below[0] if ctx.below else None
        async with desk.agent(below or "new", *(["fine"] if below else [BOOK, "fine"])) as child:
            return (await (child.resume() if below else child.chat("go"))).content

    outer = Tool("delegate", "", delegate, suspends=True)

    async def killed() -> None:
        left = dies_after
        append = Session.append

        async def dying(self: Session, kind: str, data: Any, **how: Any) -> str:
            nonlocal left
            written = await append(self, kind, data, **how)
            if data.get("custom_type") == "approval_asked":
                left -= 1
                if not left:
                    os.kill(os.getpid(), signal.SIGKILL)
            return written

        Session.append = dying  # type: ignore[method-assign]
        await (await desk.begin(Reply(calls=[Call("delegate", {}, "D")]), tools=(outer,), ui=Away())).chat("go")

    assert forked(killed)

    async def main() -> None:
        agent = desk.agent("s1", "done", tools=(outer,))
        await agent.open()
        (call,) = agent.suspension.calls
        assert call.inner[0].survey == WHERE
        await agent.resume({call.inner[0].id: ApprovalDecision("allow", answer={"city": "Oslo"})})
        assert results(agent)[0][0] == "ok" and desk.did == (["Oslo"] if dies_after == 2 else [])
        assert [row["id"] for row in await desk.store.list() if row["suspended"]] == []

    go(main())
