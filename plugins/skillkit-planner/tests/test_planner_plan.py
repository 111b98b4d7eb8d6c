"""Plans before they run: models, validation, repair, fallback, and what the planner leaves alone. By the ids of phase 7."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from planner_stage import Answers, choice, last_plan, states, step
from pydantic import ValidationError
from skillkit_engines import Fragment
from skillkit_planner import ExecutionPlan, FragmentNeeds, Known, PlanStep, reasons

from skillkit_core import Tool, hookimpl
from skillkit_core.frozen import thaw
from skillkit_core.testing import ScriptedUser

RESEARCH = "Research X, capture key points to my inbox, and update chapter 12"
THREE = choice(
    step("deep-research", "Research X"),
    step("org-capture", "Capture the key points to my inbox", 1),
    step("fiction-editing", "Update chapter 12", 1),
)
SAID = {"Research X": "X is cold.", "Capture the key points": "Captured.", "Update chapter 12": "Updated."}
KNOWN = Known(
    ("weather", "deep-research", "hidden"),
    {"hidden": "veto"},
    {"chart": FragmentNeeds(("data", "kind"), ("data",))},
    ("capture",),
    {"deep-research": ("response_text", "sources")},
)


def run(agent: Any, text: str) -> Any:
    async def main() -> Any:
        async with agent:
            response = await agent.chat(text)
            return response, list(agent.session.notes())

    return asyncio.run(main())


@pytest.fixture
def three(skill):
    """The skills of the request of the documents."""
    for name in ("deep-research", "org-capture", "fiction-editing"):
        skill(name)


def test_s7_1_a_step_has_exactly_one_target_and_plans_come_back_equal_from_json():
    PlanStep(step_id=1, skill_name="weather", sub_query="x")
    for wrong in (
        {},
        {"skill_name": "a", "subgraph_name": "b"},
        {"skill_name": "a", "collaboration": {"participants": []}},
    ):
        with pytest.raises(ValidationError, match="exactly one of"):
            PlanStep(step_id=1, sub_query="x", **wrong)
    for number in (0, -1, 1.5, "1", True):
        with pytest.raises(ValidationError):
            PlanStep(step_id=number, skill_name="a", sub_query="x")
    plan = ExecutionPlan.of(
        [
            {"step_id": 1, "skill_name": "a", "sub_query": "x", "tool_packs": ["capture"], "retries": 2},
            {
                "step_id": 2,
                "subgraph_name": "b",
                "sub_query": "y",
                "depends_on": [1],
                "input_mapping": {"sub_query": "q"},
            },
        ],
        reasoning="two parts",
    )
    again = json.loads(json.dumps(plan.to_dict()))
    assert ExecutionPlan(**again) == plan
    assert set(PlanStep.model_fields) >= {
        "step_id",
        "skill_name",
        "sub_query",
        "depends_on",
        "context_keys",
        "tool_packs",
    }


@pytest.mark.smoke
def test_s7_2_the_request_of_the_documents_becomes_three_steps_with_one_selection_call(stage, three):
    agent, model = stage(Answers(THREE, SAID))
    response, notes = run(agent, RESEARCH)
    (plan,) = [note.data for note in notes if note.type == "planner.plan"]
    assert [(s["step_id"], s["skill_name"], list(s["depends_on"])) for s in plan["steps"]] == [
        (1, "deep-research", []), (2, "org-capture", [1]), (3, "fiction-editing", [1])
    ]  # fmt: skip
    assert len(model.requests) == 4
    assert [part in response.content for part in ("X is cold.", "Captured.", "Updated.")] == [True] * 3


def test_s7_2_a_request_of_one_part_makes_no_plan_and_no_further_call(stage, three):
    single = {"skill": "fiction-editing", "confidence": 0.9, "reason": "one intent", "steps": []}
    agent, model = stage(Answers(single, {"How is chapter 7": "It is redundant."}))
    response, notes = run(agent, "How is chapter 7? Any redundancy?")
    assert response.content == "It is redundant." and len(model.requests) == 2
    assert not [note for note in notes if note.type.startswith("planner.")]


def wrong(*steps: dict[str, Any], compound: Any = True) -> list[tuple[str, str]]:
    return [(r.code, r.text) for r in reasons({"is_compound": compound, "steps": list(steps)}, KNOWN)]


def one(number: Any, *after: Any, **more: Any) -> dict[str, Any]:
    given = {"step_id": number, "skill_name": "weather", "sub_query": "do it", "depends_on": list(after), **more}
    return {name: value for name, value in given.items() if value is not None}


@pytest.mark.parametrize(
    ("steps", "codes"),
    [
        ((one(1),), ["too_few_steps"]),
        ((), ["too_few_steps"]),
        (tuple(one(n) for n in range(1, 6)), ["too_many_steps"]),
        ((one(1), one(0)), ["bad_step_id"]),
        ((one(1), one(True)), ["bad_step_id"]),
        ((one(1), one(1)), ["duplicate_step_id"]),
        ((one(1), one(2, skill_name=None)), ["no_target"]),
        ((one(1), one(2, subgraph_name="chart")), ["several_targets"]),
        ((one(1, skill_name="Deep_Research "), one(2)), []),
        ((one(1, skill_name="ghost"), one(2)), ["unknown_skill"]),
        ((one(1, skill_name=["weather"]), one(2)), ["unknown_skill"]),
        ((one(1, skill_name="hidden"), one(2)), ["ineligible_skill"]),
        ((one(1, skill_name=None, subgraph_name="nothing"), one(2)), ["unknown_fragment"]),
        ((one(1, skill_name=None, subgraph_name="chart"), one(2)), ["unmapped_input"]),
        ((one(1, skill_name=None, subgraph_name="chart", input_mapping={"sub_query": "kind"}), one(2)), []),
        ((one(1, tool_packs=["capture", "Capture"]), one(2)), ["unknown_pack"]),
        ((one(1), one(2, 7)), ["unknown_dependency"]),
        ((one(1), one(2, "1")), ["unknown_dependency"]),
        ((one(1), one(2, 2)), ["self_dependency"]),
        ((one(1, sub_query=" "), one(2)), ["empty_sub_query"]),
        ((one(1, skill_name="deep-research"), one(2, 1, context_keys=["sources"])), []),
        ((one(1, skill_name="deep-research"), one(2, 1, context_keys=["points"])), ["context_key_not_produced"]),
        ((one(1, 2), one(2, 1), one(3, skill_name="ghost")), ["unknown_skill", "cycle"]),
    ],
)  # fmt: skip
def test_s7_3_everything_that_is_wrong_with_a_plan_is_named_at_once(steps, codes):
    assert [code for code, _ in wrong(*steps)] == codes


def test_s7_3_a_plan_that_is_not_marked_compound_is_none_and_reasons_say_which_step(caplog):
    assert wrong(one(1), one(2), compound=False) == [("too_few_steps", "the plan is not marked is_compound")]
    assert wrong(one(1, skill_name="ghost"), one(2, 9)) == [
        ("unknown_skill", "step 1: there is no skill 'ghost'"),
        ("unknown_dependency", "step 2 waits for step 9, which does not exist"),
    ]


@pytest.mark.parametrize(
    ("steps", "path"),
    [
        ((one(1, 3), one(2), one(3, 1)), "1→3→1"),
        ((one(1, 3), one(2, 1), one(3, 2)), "1→3→2→1"),
        ((one(1), one(2, 4), one(3, 2), one(4, 3)), "2→4→3→2"),
    ],
)
def test_s7_3_a_cycle_is_shown_as_a_path(steps, path):
    assert wrong(*steps) == [("cycle", f"steps wait for each other: {path}")]


GHOST = choice(step("deep-research", "Research X"), step("ghost", "Capture it", 1))
_WHOLE = (("deep-research", "Research X", []), ("org-capture", "Capture the key points", [1]))
REPAIRED = json.dumps(
    {
        "steps": [
            {"step_id": n, "skill_name": name, "subgraph_name": None, "sub_query": words, "depends_on": after}
            for n, (name, words, after) in enumerate(_WHOLE, 1)
        ]
    }
)


def test_s7_4_a_wrong_plan_is_repaired_once_with_the_reasons(stage, three):
    answers = Answers(GHOST, {**SAID, "repair": f"Here:\n```json\n{REPAIRED}\n```"})
    agent, model = stage(answers)
    events: list[Any] = []
    agent.events.observe(events.append, ["plan_rejected", "plan_fallback", "plan_created"])
    response, notes = run(agent, RESEARCH)
    assert "Captured." in response.content and answers.asked.count("repair") == 1
    asked = next(r for r in model.requests if "You repair a plan" in r.system).messages[-1].text
    assert "there is no skill 'ghost'" in asked and "- org-capture: Does org-capture." in asked
    assert [event.type for event in events] == ["plan_rejected", "plan_created"]
    assert (events[0].codes, events[1].by) == (("unknown_skill",), "repair")
    assert [note.data["round"] for note in notes if note.type == "planner.rejected"] == [1]


@pytest.mark.parametrize("repair", [json.dumps({"steps": []}), "I cannot.", "{broken", json.dumps(GHOST)])
def test_s7_4_a_plan_that_stays_wrong_falls_back_to_the_best_skill_of_the_same_ranking(stage, three, repair):
    answers = Answers(GHOST, {RESEARCH: "One skill did it all.", "repair": repair})
    agent, _ = stage(answers)
    events: list[str] = []
    agent.events.observe(lambda event: events.append(event.type), ["plan_rejected", "plan_fallback", "plan_end"])
    response, notes = run(agent, RESEARCH)
    assert response.content == "One skill did it all." and response.outcome == "completed"
    assert answers.asked == ["repair", RESEARCH], "one selection, one repair, one skill"
    assert events[-1] == "plan_fallback" and "plan_rejected" in events and "plan_end" not in events
    assert [note.data["skill"] for note in notes if note.type == "planner.fallback"] == ["deep-research"]


def test_s7_4_without_repair_the_skill_does_it_at_once(stage, three):
    answers = Answers(GHOST, {RESEARCH: "Done."})
    agent, _ = stage(answers, settings={"planner.repair": 0})
    response, _ = run(agent, RESEARCH)
    assert (response.content, answers.asked) == ("Done.", [RESEARCH])


@pytest.mark.parametrize("off", [{"settings": {"planner.enabled": False}}, {"without": ("planner",)}])
def test_s7_14_without_the_planner_one_skill_does_every_request_and_nothing_else_changes(stage, three, off):
    found = []
    for given in (off, {"without": ("planner", "toolpacks")}):
        agent, model = stage(Answers(THREE, {RESEARCH: "One answer."}), session=None, **given)
        response, notes = run(agent, RESEARCH)
        requests = [(r.system, [m.text for m in r.messages], [t.name for t in r.tools]) for r in model.requests]
        found.append((response.content, requests, [note.type for note in notes]))
    assert found[0] == found[1] and found[0][0] == "One answer."


def test_s7_14_a_single_request_is_the_same_with_and_without_the_planner(stage, three):
    single = {"skill": "org-capture", "confidence": 0.9, "reason": "one", "steps": []}
    found = []
    for given in ({}, {"without": ("planner",)}):
        agent, model = stage(Answers(single, {"Note it": "Noted."}), session=None, **given)
        response, notes = run(agent, "Note it")
        found.append((response.content, [(r.system, [t.name for t in r.tools]) for r in model.requests], len(notes)))
    assert found[0] == found[1]


def test_a_plan_of_a_plugin_is_carried_out_before_any_router_is_asked(stage, three):
    class Plans:
        @hookimpl(optionalhook=True)
        async def make_plan(self, request, candidates):
            if "morning" in request.query:
                steps = [
                    step("deep-research", "Research X", step_id=1),
                    step("org-capture", "Capture the key points", 1, step_id=2),
                ]
                return ExecutionPlan.of(steps)
            return None

    answers = Answers("no router is asked", SAID)
    agent, model = stage(answers, plugins=[("plans", Plans())])
    response, _ = run(agent, "my morning")
    assert "Captured." in response.content and len(model.requests) == 2


# --- steps that are no skill ------------------------------------------------------------------------------------------

SAFE = {"mutates": "none"}


class Brings:
    """Two fragments, one of which needs a tool that is not there."""

    @hookimpl(optionalhook=True)
    def register_fragments(self, register: Any) -> None:
        async def tidy(values: Any, task: Any) -> Any:
            return {"response_text": f"Tidy: {values['text']}"}

        text = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
        mapping = {"sub_query": "text", "prior_response": "text"}
        register(Fragment("tidy", "Tidies a text.", tidy, inputs=text, input_mapping=mapping))
        register(Fragment("fly", "Flies.", tidy, inputs=text, input_mapping=mapping, tools=("wings",)))


async def add(args: Any, ctx: Any) -> str:
    return "captured"


INBOX = Tool("add_org_inbox_item_tool", "Capture to the inbox.", add, annotations=SAFE)
MIXED = choice(
    step("deep-research", "Research X", tool_packs=["capture"], subgraph_name=None, collaboration=None, step_id=1),
    {"step_id": 2, "skill_name": None, "subgraph_name": "tidy", "sub_query": "Tidy it", "depends_on": [1], "tool_packs": []},
)  # fmt: skip


def test_s8_8_a_model_that_chooses_may_name_a_fragment_and_s8_2_a_pack_for_a_step_of_its_plan(stage, three):
    agent, model = stage(Answers(MIXED, SAID), plugins=[("brings", Brings())], tools=[INBOX])
    response, notes = run(agent, "Research X and capture key points, then tidy it")
    chosen, research = model.requests
    assert "- tidy: Tidies a text." in chosen.system and "- capture: " in chosen.system
    assert "fly" not in chosen.system and "- plan:" not in chosen.system and "collaboration" not in chosen.system
    assert "subgraph_name" in json.dumps(thaw(chosen.settings.response_schema))
    assert [tool.name for tool in research.tools] == ["add_org_inbox_item_tool"]
    assert "Tidy: X is cold." in response.content
    (plan,) = [note.data for note in notes if note.type == "planner.plan"]
    assert plan["steps"][1]["subgraph_name"] == "tidy" and "collaboration" not in plan["steps"][1]


def test_s8_3_an_unknown_pack_of_a_step_or_of_a_collaboration_is_an_error_before_anything_runs():
    both = {"participants": ["weather", "deep-research"], "tool_packs": ["capture", "nothing"]}
    assert wrong(one(1, skill_name=None, collaboration=both), one(2, tool_packs=["none"])) == [
        ("unknown_pack", "step 1: there is no pack of tools 'nothing'"),
        ("unknown_pack", "step 2: there is no pack of tools 'none'"),
    ]


# --- a person, before it runs -----------------------------------------------------------------------------------------


def test_with_confirm_a_person_drops_a_step_changes_words_and_approves(stage, three):
    person = ScriptedUser({"run": True, "drop": ["3"], "step_2": "Capture the key points of X shortly"})
    answers = Answers(THREE, SAID)
    agent, _ = stage(answers, ui=person, settings={"planner.confirm": True})
    response, notes = run(agent, RESEARCH)
    assert "Captured." in response.content and "Updated." not in response.content
    (survey,) = person.surveys
    assert "2 org-capture: Capture the key points to my inbox (after 1) (cost not known yet)" in survey.text
    plan = [note.data for note in notes if note.type == "planner.plan"][-1]
    assert [s["sub_query"] for s in plan["steps"]] == ["Research X", "Capture the key points of X shortly"]
    assert (plan["by"], plan["confirmed"]) == ("person", True)


def test_with_confirm_a_person_may_not_want_the_plan_and_nothing_of_it_runs(stage, three):
    person = ScriptedUser({"run": False})
    answers = Answers(THREE, SAID)
    agent, _ = stage(answers, ui=person, settings={"planner.confirm": True})
    response, _ = run(agent, RESEARCH)
    assert answers.asked == [] and "did not want" in response.content


def test_an_estimate_is_known_from_the_steps_before(stage, three):
    person = ScriptedUser({"run": True}, {"run": True})
    agent, _ = stage(Answers(THREE, SAID), ui=person, settings={"planner.confirm": True})

    async def main() -> None:
        async with agent:
            await agent.chat(RESEARCH)
            await agent.chat(RESEARCH)
            assert states(agent) == dict.fromkeys((1, 2, 3), "completed") and last_plan(agent).plan.id == "p2"

    asyncio.run(main())
    assert "1 deep-research: Research X (about 15 tokens)" in person.surveys[1].text


def test_a_collaboration_names_the_strategies_and_the_kinds_of_participants_that_plugins_bring():
    given = {"participants": ["research", "agent:reviewer"], "supervisor_strategy": "loudest"}
    steps = [
        {"step_id": 1, "collaboration": given, "sub_query": "x"},
        {"step_id": 2, "skill_name": "research", "sub_query": "y", "depends_on": [1]},
    ]
    plan = {"is_compound": True, "steps": steps}
    codes = {reason.code for reason in reasons(plan, Known(["research"]))}
    assert codes == {"unknown_participant", "unknown_strategy"}
    assert reasons(plan, Known(["research"], strategies=("loudest",), kinds=("skill", "agent"))) == []
