"""The plan that a skill brings: carried out in its place, or told of, and then the skill does the request alone."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from planner_stage import Answers, choice, last_plan, states
from skillkit_engines import TaskResult, run_below
from skillkit_skills import SkillFolderLoader

from skillkit_core import Tool, hookimpl
from skillkit_core.contracts.skill_loader import SkillSource
from skillkit_core.descriptors import Factory
from skillkit_core.messages import ToolCall
from skillkit_core.testing import ScriptedUser

PLAN = [
    {"step_id": 1, "skill_name": "deep-research", "sub_query": "Look for {query}"},
    {"step_id": 2, "skill_name": "report", "sub_query": "Write of {query}", "depends_on": [1]},
]
CHOSEN = {"skill": "report", "confidence": 0.9, "reason": "it fits", "steps": []}
SAID = {"Look for bees": "Bees dance.", "Write of bees": "It is written.", "bees": "All at once."}


def run(agent: Any, *inputs: str) -> Any:
    async def main() -> Any:
        told: list[Any] = []
        async with agent:
            await agent.open()
            if "planner" in agent.host.plugins:
                agent.events.observe(told.append, ["plan_rejected"])
            said = [(await agent.chat(text)).content for text in inputs]
            return said, told, list(agent.session.notes())

    return asyncio.run(main())


@pytest.mark.smoke
@pytest.mark.parametrize("words", ["bees", "/report bees"])
def test_the_plan_of_a_skill_is_carried_out_where_the_skill_is_chosen_or_named_and_a_step_may_name_the_skill(
    stage, skill, words
):
    skill("deep-research")
    skill("report", plan=PLAN)
    agent, model = stage(Answers(CHOSEN, SAID))
    (said,), told, _ = run(agent, words)
    assert "**1. deep-research**\n\nBees dance." in said and "**2. report**\n\nIt is written." in said and told == []
    assert states(agent) == {1: "completed", 2: "completed"}
    assert [step.step.sub_query for step in last_plan(agent).steps.values()] == ["Look for bees", "Write of bees"]
    assert len(model.requests) == (3 if words == "bees" else 2)
    assert "Bees dance." in "".join(m.text for m in model.requests[-1].messages)


@pytest.mark.parametrize(
    ("plan", "why"),
    [
        (PLAN, "step 1: there is no skill 'deep-research'"),
        ([{**PLAN[1], "depends_on": [2]}, {**PLAN[1], "step_id": 3}], "step 2 waits for itself"),
        ([{**PLAN[1], "depends_on": [], "colour": "red"}, {**PLAN[1], "step_id": 3}], "colour"),
        ("first research, then write", "this one has 0"),
    ],
)
def test_a_plan_that_cannot_be_here_is_told_with_its_reasons_and_the_skill_does_the_request_alone(
    stage, skill, folder, plan, why
):
    skill("report", plan=plan)
    agent, model = stage(Answers(CHOSEN, SAID))
    (said,), (rejected,), notes = run(agent, "bees")
    assert said == "All at once." and why in "; ".join(rejected.reasons) and len(model.requests) == 2
    assert not [note for note in notes if note.type.startswith("planner.")]
    (one,) = SkillFolderLoader(agent.host).load(SkillSource("x", "extra", path=folder)).skills
    about = {"skill": one, "host": agent.host}
    hooks = [impl for impl in agent.host.impls("check_skill") if impl.plugin_name == "planner"]
    (problem,) = [p for impl in hooks for p in impl.function(*(about[name] for name in impl.argnames))]
    assert problem.severity == "warning" and why in problem.message


def test_steps_of_the_request_count_more_than_the_plan_of_the_skill_and_without_the_planner_the_skill_is_alone(
    stage, skill
):
    skill("deep-research")
    skill("report", plan=PLAN)
    two = choice(
        {"skill_name": "deep-research", "sub_query": "Look for bees"}, {"skill_name": "report", "sub_query": "bees"}
    )
    agent, _ = stage(Answers(two, SAID))
    (said,), _, _ = run(agent, "two things")
    assert "**2. report**\n\nAll at once." in said
    for given in ({"without": ["planner"]}, {"settings": {"planner.enabled": False}}):
        agent, model = stage(Answers(CHOSEN, SAID), **given)
        assert run(agent, "bees")[0] == ["All at once."] and len(model.requests) == 2


def test_a_plugin_gives_a_skill_its_steps_and_one_that_fails_is_told_of(stage, skill):
    skill("deep-research")
    skill("report")

    class Gives:
        @hookimpl(optionalhook=True)
        async def skill_plan(self, skill, request):
            return [{**step, "sub_query": step["sub_query"].replace("{query}", request.query)} for step in PLAN]

    class Fails:
        @hookimpl(optionalhook=True)
        async def skill_plan(self):
            raise RuntimeError("no paper")

    agent, _ = stage(Answers(CHOSEN, SAID), plugins=[("fails", Fails()), ("gives", Gives())])
    (said,), _, _ = run(agent, "bees")
    assert "**2. report**\n\nIt is written." in said
    assert "skill_plan failed: RuntimeError: no paper" in str(agent.host.problems)


class Press:
    """An engine that calls a tool of its own, which no model is offered."""

    name, fields, own_tools = "press", frozenset[str](), frozenset(("press_it",))

    def problems(self, skill: Any, host: Any) -> Any:
        return ()

    def tools(self, task: Any) -> Any:
        return ()

    def prompt(self, task: Any) -> str:
        return "press"

    async def run(self, task: Any, run: Any) -> Any:
        if run is None:
            return await run_below(self, task)
        (result,) = await run.call(ToolCall("", "press_it", {}))
        return TaskResult("completed", text=result.text)


@pytest.mark.parametrize("again", [True, False])
def test_an_engine_has_its_own_tool_in_a_step_which_is_not_done_again_after_a_crash_without_a_question(
    stage, skill, again
):
    """The session of a crash is that of the run up to the note that the step begins."""
    skill("deep-research")
    skill("report", plan=[PLAN[0], {**PLAN[1], "skill_name": "press"}])
    skill("press", engine="press")
    pressed: list[int] = []

    async def press_it(args: Any, ctx: Any) -> str:
        pressed.append(1)
        return "Pressed."

    class Brings:
        @hookimpl(optionalhook=True)
        def register_engines(self, register):
            register(Factory("press", lambda host: Press()))

    tool = Tool("press_it", "Press.", press_it, annotations={"mutates": "files"})
    given = {"tools": [tool], "plugins": [("press", Brings())]}

    async def crashed() -> str:
        agent, _ = stage(Answers(CHOSEN, SAID), **given)
        async with agent:
            assert "Pressed." in (await agent.chat("bees")).content and pressed == [1]
            file = Path(agent.session.location)
        lines = file.read_text().splitlines(keepends=True)
        begun = [n for n, line in enumerate(lines) if '"planner.step"' in line and '"running"' in line]
        file.write_text("".join(lines[: begun[-1] + 1]))
        return str(agent.session_id)

    async def resumed(session: str) -> Any:
        user = ScriptedUser({"again": again})
        agent, _ = stage(Answers(CHOSEN, SAID), session=session, ui=user, **given)
        async with agent:
            await agent.resume()
            return [survey.title for survey in user.surveys], states(agent)[2]

    asked, state = asyncio.run(resumed(asyncio.run(crashed())))
    assert asked == ["Step p1.2 was interrupted"] and state == ("completed" if again else "failed")
    assert len(pressed) == (2 if again else 1)
