"""The engine suite: one task, done with its own tools, under the host's guards, limits and books, and told as it is."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import fields as dataclass_fields
from typing import Any

import pytest

from skillkit_core import Limits, Skill, Tool
from skillkit_core.frozen import thaw
from skillkit_core.testing import Call, Fail, Hang, Reply

from .engine_case import RULES, SKILL, EngineCase, Person

__all__ = ["EngineConformance"]

ENDS = ("completed", "rejected", "failed", "partial", "waiting")
OWN = {"look", "send", "fail", "packed"}


class EngineConformance(EngineCase):
    """Subclass it, and define the fixtures ``engine_plugins`` and ``engine_name`` in the class or in ``conftest.py``.

    Attributes:
        fields: fields that a skill of the engine needs, beside its tools: ``{"mode": "deep"}``.
        options: options of the agent, for an engine that needs some: ``{"editor": {...}}``.
        rejects: what a model says so that the engine rejects the task; ``None``: it never does. There is a skill ``elsewhere``.
        calls: whether the engine offers the skill's tools to a model.

    Override :meth:`reply` where a model has to answer in a form of the engine's own.
    """

    # --- what it says of itself ----------------------------------------------------------------------------------------

    def test_its_name_is_that_under_which_it_is_offered_and_its_fields_are_those_of_skills(
        self, engine: Any, engine_name: str
    ) -> None:
        """``skills check`` says of every other field that it has no effect."""
        assert engine.name == engine_name, f"the engine says it is {engine.name!r}, its plugin says {engine_name!r}"
        unknown = set(engine.fields) - {field.name for field in dataclass_fields(Skill)}
        assert not unknown, f"fields names {sorted(unknown)}, which no skill has"

    def test_what_is_wrong_with_a_skill_is_told_and_never_raised(self, engine: Any, engine_stage: Any) -> None:
        """It is asked about every skill that names it, as people write them."""
        host = engine_stage.host()
        for skill in (
            Skill(name=SKILL),
            Skill(name=SKILL, engine=engine.name, tools=("\x00", "none such"), subgraphs=("x",)),
        ):
            for problem in engine.problems(skill, host):
                assert problem.code and problem.severity in ("error", "warning", "info"), problem

    # --- what a model gets ---------------------------------------------------------------------------------------------

    def test_a_task_is_done_and_its_answer_is_said_once(self, make_probe: Callable[..., Any]) -> None:
        """Who called the engine says the text of the result: an engine that says it itself says it twice."""
        agent, _, _ = make_probe()
        turn = self.play(agent)
        assert (turn.outcome, turn.task["status"]) == ("completed", "completed"), f"{turn.outcome}: {turn.task}"
        assert turn.text.strip(), "the answer is empty"
        assert turn.said.count(turn.text) == 1, f"it is said {turn.said.count(turn.text)} times"

    def test_no_tool_is_offered_but_those_of_the_skill_and_its_packs(self, make_probe: Callable[..., Any]) -> None:
        """The agent has more of them."""
        agent, plan, _ = make_probe()
        self.play(agent)
        for request in plan.requests:
            more = {tool.name for tool in request.tools} - OWN
            assert not more, f"the model was offered {sorted(more)}"

    def test_a_tool_that_is_not_the_skills_is_not_called_although_the_agent_has_it(
        self, make_probe: Callable[..., Any]
    ) -> None:
        """A model may name any: what it makes up is a result with an error for it."""
        agent, _, work = make_probe(Reply(calls=[Call("stranger"), Call("no_such")]), always=True)
        self.play(agent)
        assert "stranger" not in work.calls, "the tool of somebody else ran"

    def test_a_narrowed_task_has_no_more_tools_than_it_was_left(self, make_probe: Callable[..., Any]) -> None:
        """A handler of ``before_task`` takes tools away."""
        from skillkit_engines import BeforeTaskResult

        agent, plan, work = make_probe(Reply(calls=[Call("send", {"place": "a"})]), always=True)
        agent.events.on("before_task", lambda event: BeforeTaskResult(tools=["look"]))
        self.play(agent)
        assert work.calls == [], "a tool ran that the task was not left"
        offered = {tool.name for request in plan.requests for tool in request.tools} - {"look"}
        assert not offered, f"the model was offered {sorted(offered)}"

    def test_the_prompt_of_the_skill_and_the_rules_of_the_project_are_told(
        self, make_probe: Callable[..., Any], engine: Any
    ) -> None:
        """``Task.rules`` is what of the system prompt holds in every skill."""
        agent, plan, _ = make_probe()
        self.play(agent)
        if not plan.requests:
            pytest.skip("the engine asks no model")
        told = "\n".join(request.system for request in plan.requests)
        assert RULES in told, "the rules of the project are lost"
        if "system_prompt" in engine.fields:
            assert "You probe engines." in told, "fields names system_prompt, and no model reads it"

    def test_what_others_found_is_data_for_a_model_and_no_instruction(self, make_probe: Callable[..., Any]) -> None:
        """``Task.context`` goes among the messages, as it is marked."""
        from skillkit_engines import BeforeTaskResult

        agent, plan, _ = make_probe()
        agent.events.on("before_task", lambda event: BeforeTaskResult(context="Oslo is cold."))
        self.play(agent)
        if not plan.requests:
            pytest.skip("the engine asks no model")
        assert not any("Oslo is cold." in request.system for request in plan.requests), "it is part of a system prompt"
        messages = [message.text for request in plan.requests for message in request.messages]
        assert any("Oslo is cold." in text and "<context" in text for text in messages), "no model was told"

    # --- calls ---------------------------------------------------------------------------------------------------------

    def test_a_tool_that_fails_is_told_to_the_model_and_the_task_goes_on(self, make_probe: Callable[..., Any]) -> None:
        """Type and message."""
        self.needs_calls()
        agent, plan, work = make_probe(Reply(calls=[Call("fail", {"place": "X"})]))
        turn = self.play(agent)
        assert work.calls == ["fail"], f"called: {work.calls}"
        messages = [message.text for request in plan.requests for message in request.messages]
        assert any("there is no such place" in text for text in messages), "the model was not told why"
        assert turn.task["status"] in ("completed", "partial"), f"the task ended {turn.task['status']}"

    def test_what_a_person_refused_is_named_and_no_answer(self, make_probe: Callable[..., Any]) -> None:
        """The words of a model about a refused call must not pass as the answer of a task."""
        self.needs_calls()
        agent, _, work = make_probe(
            Reply(calls=[Call("send", {"place": "a"})]), about={"supports_hitl": True}, approver=Person("deny")
        )
        turn = self.play(agent)
        assert work.calls == [], "it ran although a person refused it"
        assert list(turn.task["denied"]) == ["send"], f"denied is {list(turn.task['denied'])}"
        assert turn.task["status"] in ("failed", "partial"), f"the task ended {turn.task['status']}"

    def test_a_model_that_calls_for_ever_is_stopped_and_the_result_says_so(
        self, make_probe: Callable[..., Any]
    ) -> None:
        """After ``engines.max_tool_rounds``, or a bound of the engine's own."""
        self.needs_calls()
        more = [Reply(calls=[Call("look", {"place": str(n)})]) for n in range(60)]
        agent, _, _ = make_probe(*more, settings={"engines.max_tool_rounds": 3}, limits=Limits(requests=50))
        turn = self.play(agent)
        assert turn.outcome != "limit", "only the limit of the run stopped it, after 50 requests"
        assert turn.task["status"] in ("partial", "failed"), f"the task ended {turn.task['status']}"

    # --- ends ----------------------------------------------------------------------------------------------------------

    def test_a_rejection_is_structured_and_the_request_goes_on_to_another(self, make_probe: Callable[..., Any]) -> None:
        """Status ``rejected`` with a reason, and nothing is said."""
        if self.rejects is None:
            pytest.skip("rejects = None: the engine rejects nothing")
        agent, _, _ = make_probe(self.rejects, always=True)
        turn = self.play(agent)
        assert turn.task["status"] == "rejected", f"the task ended {turn.task['status']}"
        assert turn.task["reason"].strip(), "there is no reason"
        assert turn.routes[-1] != SKILL and self.rejects not in turn.said, "the rejection was said to the person"

    def test_a_result_that_is_not_completed_has_a_reason(self, make_probe: Callable[..., Any]) -> None:
        """A word and what happened: nobody can help a task that just failed."""
        agent, _, _ = make_probe(*[Reply(calls=[Call("fail", {"place": "X"})])] * 3, always=True)
        turn = self.play(agent)
        assert turn.task["status"] in ENDS, f"{turn.task['status']!r} is no status"
        assert turn.task["status"] == "completed" or turn.task["reason"].strip(), "there is no reason"

    def test_a_provider_that_does_not_answer_fails_the_run(self, make_probe: Callable[..., Any]) -> None:
        """An engine that swallows it makes an answer of nothing."""
        agent, plan, _ = make_probe(Fail(), Fail(), Fail(), Fail(), always=True)
        turn = self.play(agent)
        if not plan.requests:
            pytest.skip("the engine asks no model")
        assert turn.outcome == "error" and "scripted failure" in turn.text, f"the run ended {turn.outcome}: {turn.text}"

    def test_a_limit_of_the_run_ends_it_as_a_limit(self, make_probe: Callable[..., Any]) -> None:
        """``LimitReached`` may be caught to say what there is; a task that met it is not completed."""
        self.needs_calls()
        agent, plan, _ = make_probe(Reply(calls=[Call("look", {"place": "a"})]), limits=Limits(requests=1))
        turn = self.play(agent)
        assert len(plan.requests) == 1, f"{len(plan.requests)} requests under a limit of one"
        done = turn.task["status"] == "completed" or (turn.outcome == "completed" and turn.task["status"] == "running")
        assert not done, "the limit is nowhere to be seen"

    def test_an_abort_ends_the_task(self, make_probe: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
        """The engine is cancelled where it waits; what swallows that goes on behind the person's back."""
        started, ended = asyncio.Event(), asyncio.Event()
        agent, plan, _ = make_probe(*[Hang(started=started)] * 9, always=True, abort_grace=0.5)
        kind = type(agent.host.registry("engines").get(self._named(agent)))
        work = kind.run

        async def run(engine: Any, task: Any, run: Any) -> Any:
            try:
                return await work(engine, task, run)
            finally:
                ended.set()

        monkeypatch.setattr(kind, "run", run)

        async def main() -> None:
            async with agent:
                turn = asyncio.create_task(self.turn(agent))
                waits = asyncio.create_task(started.wait())
                await asyncio.wait([turn, waits], return_when=asyncio.FIRST_COMPLETED)
                if not plan.requests:
                    waits.cancel()
                    pytest.skip("the engine asks no model")
                agent.abort()
                found = await turn
                assert found.outcome == "error", f"the run ended {found.outcome}"
                assert ended.is_set(), "the engine goes on after the abort"
                assert len(plan.requests) == 1, "the engine asked again after the abort"

        asyncio.run(main())

    def _named(self, agent: Any) -> str:
        return str(agent.host.skills.get(SKILL).engine)

    # --- what outlives the process ---------------------------------------------------------------------------------------

    def test_a_call_that_waits_is_made_once_and_no_answer_is_asked_for_twice(
        self, make_probe: Callable[..., Any]
    ) -> None:
        """The engine begins anew in the resumed run: what a model answered before is in its notes (``Notebook``)."""
        self.needs_calls()
        agent, plan, work = make_probe(
            Reply(calls=[Call("send", {"place": "a"}, "c1")]),
            about={"supports_hitl": True},
            approver=Person("defer"),
            session="new",
        )

        async def main() -> None:
            async with agent:
                turn = await self.turn(agent)
                assert turn.outcome == "suspended" and work.calls == [], f"the run ended {turn.outcome}: {work.calls}"
                before = len(plan.requests)
                (waiting,) = agent.suspension.calls
                turn = await self.turn(agent, resume={waiting.id: "allow"})
                assert work.calls == ["send"], f"called: {work.calls}"
                assert (turn.outcome, turn.task["status"]) == ("completed", "completed"), f"{turn.outcome}: {turn.task}"
                told = [[m.text for m in request.messages] for request in plan.requests]
                again = [n for n in range(before, len(told)) if told[n] in told[:before]]
                assert not again, "a question was asked a second time when the run was resumed"

        asyncio.run(main())

    def test_a_failed_run_is_resumed_and_no_tool_runs_twice(self, make_probe: Callable[..., Any]) -> None:
        """As after a crash: the call is in the session, its result is used."""
        self.needs_calls()
        agent, _, work = make_probe(Reply(calls=[Call("look", {"place": "a"})]), Fail())

        async def main() -> None:
            async with agent:
                turn = await self.turn(agent)
                assert turn.outcome == "error", f"the run ended {turn.outcome}"
                turn = await self.turn(agent, resume={})
                assert work.calls == ["look"], f"called: {work.calls}"
                assert turn.outcome == "completed", f"the resumed run ended {turn.outcome}: {turn.text}"

        asyncio.run(main())

    def test_each_node_that_begins_ends_and_the_note_has_its_time(self, make_probe: Callable[..., Any]) -> None:
        """Also where the task fails; an engine without nodes tells of none."""
        agent, _, _ = make_probe()
        turn = self.play(agent)
        open_nodes: list[str] = []
        for name, state in turn.nodes:
            if state == "begin":
                open_nodes.append(name)
            else:
                assert name in open_nodes, f"{name} ended before it began"
                open_nodes.remove(name)
        assert not open_nodes, f"{open_nodes} never ended"
        assert set(turn.task["nodes"]) == {name for name, _ in turn.nodes}, f"the note has {sorted(turn.task['nodes'])}"

    # --- more than one -------------------------------------------------------------------------------------------------

    def test_a_step_is_done_in_an_agent_of_its_own_below_the_caller(self, make_probe: Callable[..., Any]) -> None:
        """``run`` is ``None``: :func:`skillkit_engines.run_below`. Planners call engines so."""
        from skillkit_engines import Task, do_task, editor_of, engine_of

        found: list[Any] = []

        async def step(args: Any, ctx: Any) -> str:
            caller = ctx.agent
            skill = caller.host.skills.get(SKILL)
            engine = engine_of(caller.host, skill)
            assert engine is not None
            task = Task("step-1", caller, skill, "Do the step.", editor=editor_of(caller), name="step1")
            found.append(await do_task(engine, task, None))
            return str(found[0].text)

        agent, _, work = make_probe(Reply(calls=[Call("step")]), always=True)
        agent.configure(tools=(*work.tools, Tool("step", "A step.", step, annotations={"mutates": "none"})))

        async def main() -> None:
            async with agent:
                turn = await self.turn(agent, "Plain words.")
                assert found, f"the step was not called; the run ended {turn.outcome}: {turn.text}"

        asyncio.run(main())
        (result,) = found
        assert result.status == "completed" and result.text.strip(), f"the step ended {result.status}: {result.reason}"

    def test_two_agents_at_once_do_not_see_each_others_task(self, make_probe: Callable[..., Any]) -> None:
        """A host has one engine for all: what belongs to a task is in the task, or in the notes of its session."""
        agent, plan, _ = make_probe()
        other = type(agent)(agent.config, host=agent.host)
        other.set_adapter(plan.adapter)

        async def main() -> None:
            async with agent, other:
                await asyncio.gather(
                    self.turn(agent, f"/{SKILL} about apples"), self.turn(other, f"/{SKILL} about pears")
                )

        asyncio.run(main())
        if not plan.requests:
            pytest.skip("the engine asks no model")
        for request in plan.requests:
            text = "\n".join([request.system, *(message.text for message in request.messages)])
            assert not ("about apples" in text and "about pears" in text), "a model read the words of two people"
        told = " ".join(message.text for request in plan.requests for message in request.messages)
        assert "about apples" in told and "about pears" in told, "the words of one person reached no model"

    def test_its_values_are_json_and_what_it_says_is_text(self, make_probe: Callable[..., Any], engine: Any) -> None:
        """Later steps get ``data``, people get ``text``."""
        results: list[Any] = []
        agent, _, _ = make_probe()
        kind, work = type(engine), type(engine).run

        async def run(one: Any, task: Any, run: Any) -> Any:
            results.append(await work(one, task, run))
            return results[-1]

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(kind, "run", run)
            self.play(agent)
        (result,) = results
        assert isinstance(result.text, str) and isinstance(result.reason, str), f"{result!r:.300}"
        try:
            json.dumps(thaw(result.data), allow_nan=False)
        except (TypeError, ValueError) as error:
            pytest.fail(f"data is no JSON: {error}", pytrace=False)
