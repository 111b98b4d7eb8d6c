"""The choice by the ids of phase 4: greetings, gates, one call, and whatever a model answers."""

from __future__ import annotations

import asyncio
import itertools
import json
from dataclasses import replace
from typing import Any

import pytest
from skillkit_engines import ROUTE, EditorContext, RouteRequest, choose, discover, filter_eligible, gate_request
from skillkit_routing import is_greeting
from skillkit_routing.answer import read
from skillkit_routing.prompt import system_prompt
from skillkit_skills import listing

from skillkit_core import AgentConfig, AgentRunner, ErrorKind, ImageBlock, Skill, hookimpl
from skillkit_core.testing import Fail, Hang


def choice(skill: Any, confidence: Any = 0.9, **more: Any) -> str:
    return json.dumps({"skill": skill, "confidence": confidence, "reason": "it fits", **more})


def talk(agent: Any, *texts: str, **options: Any) -> list[Any]:
    """Say the texts one after the other; return the notes of their routes."""

    async def main() -> list[Any]:
        async with agent:
            for text in texts:
                await agent.chat(text, **options)
            return [note.data for note in agent.session.notes(ROUTE)]

    return asyncio.run(main())


@pytest.fixture
def some(engine_skill):
    engine_skill("weather", "Forecasts and current weather for any place.")
    engine_skill("mail", "Reads, writes and sends mail.", override_continuity=True)
    engine_skill("recipes", "Finds recipes.", not_for=["restaurants"], keywords=["cook"])
    return engine_skill


@pytest.mark.parametrize("text", ["hi", "Hello!", "hey there!", "Good  morning.", "HOWDY again", " hiya "])
def test_s4_1_a_greeting_goes_to_chat_without_a_call(engine_stage, some, text):
    agent, model = engine_stage("Hello.")
    (route,) = talk(agent, text)
    assert (route["skill"], route["why"], route["calls"]) == ("chat", "greeting", 0) and len(model.requests) == 1


@pytest.mark.parametrize(
    "text", ["hey summarize this", "hi, rain?", "hi-fi?", "good", "hello world in Finnish", "there", ""]
)
def test_s4_1_what_only_begins_as_a_greeting_is_none(text):
    assert not is_greeting(text)


def test_s4_2_every_dropped_skill_has_its_reason_before_any_call(engine_stage, engine_skill):
    engine_skill("fine")
    engine_skill("inner", internal_only=True)
    engine_skill("edits", requires_editor=True)
    engine_skill("sees", requires_image_context=True)
    engine_skill("says", requires_explicit_keywords=True, keywords=["abracadabra"])
    engine_skill("lost", engine="research")
    engine_skill("poor", tools=["nosuch"])
    engine_skill("locked", requires={"env": ["NO_SUCH_KEY"]})
    engine_skill("vetoed")

    class Veto:
        @hookimpl(optionalhook=True)
        def filter_skill(self, skill):
            return "not today" if skill.name == "vetoed" else None

    agent, _ = engine_stage(choice("chat"), "Hello.", plugins=[("veto", Veto())])
    (route,) = talk(agent, "Do something")
    dropped = dict(route["dropped"])
    assert dropped == {
        "inner": "internal_only",
        "edits": "requires_editor",
        "sees": "requires_image_context",
        "says": "requires_explicit_keywords",
        "lost": "engine_missing:research (pip install skillkit-engine-research)",
        "poor": "tool_missing:nosuch",
        "locked": "ineligible:missing-env:NO_SUCH_KEY",
        "vetoed": "veto:not today (plugin veto)",
    }
    assert [one["name"] for one in route["candidates"]] == ["fine"]


def test_s4_3_the_gates_over_all_contexts_keep_what_their_rules_say(hosts):
    host = hosts()
    fields = {"requires_editor": bool, "editor_types": list, "requires_image_context": bool, "internal_only": bool}
    for mask in range(16):
        on = {
            name: ["fiction"] if kind is list else True
            for n, (name, kind) in enumerate(fields.items())
            if mask >> n & 1
        }
        named = {"requires_explicit_keywords": True, "keywords": ["magic"]} if mask % 3 == 0 else {}
        host.skills.register(f"s{mask}", Skill(name=f"s{mask}", description="d", **on, **named), "t")
    for editor, images, spoken in itertools.product((None, "fiction", "outline"), (0, 1), (False, True)):
        query = "some magic please" if spoken else "some magical thing"
        request = RouteRequest(query, images, EditorContext(editor) if editor else None)
        found = filter_eligible(host, listing(host), gate_request(host, request))
        expected = [
            f"s{mask}"
            for mask in range(16)
            if not (mask & 1 and editor is None)
            and not (mask & 2 and editor not in (None, "fiction"))
            and not (mask & 4 and images == 0)
            and not mask & 8
            and (spoken or mask % 3 != 0)
        ]
        assert [s.name for s in found.eligible if s.source == "extra" and s.name[0] == "s"] == sorted(expected), request
        assert all(found.dropped.values())


def test_s4_4_the_question_holds_names_and_descriptions_first_then_the_request_and_no_more(engine_stage, some):
    agent, model = engine_stage(
        choice("weather"), "Warm.", choice("mail"), "Sent.", options={"editor": {"type": "article"}}
    )
    talk(agent, "How warm is it?", "Send that.")
    first, _, second, _ = model.requests
    assert first.system == second.system, "what stays comes first, so that a provider can cache it"
    assert "- mail: Reads, writes and sends mail.\n- recipes: Finds recipes." in first.system
    assert "cook" not in first.system and "Body of" not in first.system and first.tools == ()
    (message,) = second.messages
    assert message.text.splitlines() == [
        "Open in the editor: a document of type article",
        "The request before was taken by: weather",
        "Said before: How warm is it?",
        "Request:",
        "Send that.",
    ]


def test_s4_4_the_order_of_skills_is_that_of_their_names_whatever_the_candidates(some):
    skills = [Skill(name=name, description=name) for name in ("b", "a", "c")]
    assert system_prompt(skills) == system_prompt(skills[::-1])


def outcome(engine_stage: Any, answer: Any) -> tuple[str, str, int]:
    agent, _ = engine_stage(answer, "An answer.")
    (route,) = talk(agent, "How warm is it?")
    return route["skill"], route["why"], route["calls"]


ANSWERS = [
    (choice("weather"), "weather", "selected"),
    ("```json\n" + choice("WEATHER") + "\n```", "weather", "selected"),
    ("Sure: " + choice(" weather ") + " Bye.", "weather", "selected"),
    (choice("weather_forecaster"), "chat", "unknown_skill"),
    (choice("inner"), "chat", "ineligible_skill"),
    (choice(None), "chat", "invalid_json"),
    ("weather", "chat", "invalid_json"),
    ("[1, 2]", "chat", "invalid_json"),
    ('{"skill": "weather"', "chat", "invalid_json"),
    (choice("weather", 0.3), "weather", "selected"),
    (choice("weather", 0.2999), "chat", "low_confidence"),
    (choice("weather", "high"), "chat", "low_confidence"),
    (choice("weather", True), "chat", "low_confidence"),
    (choice("weather", float("nan")), "chat", "low_confidence"),
    (choice("weather", 1e400), "weather", "selected"),
    (choice("weather", -3), "chat", "low_confidence"),
    ('{"skill": "weather"}', "chat", "low_confidence"),
    (Fail(ErrorKind.server), "chat", "provider_error"),
    (Fail(ErrorKind.auth, "no key", status=401), "chat", "provider_error"),
]


@pytest.mark.parametrize(("answer", "name", "why"), ANSWERS, ids=[f"{n}" for n in range(len(ANSWERS))])
def test_s4_5_s4_6_whatever_a_model_answers_the_turn_succeeds(engine_stage, some, answer, name, why):
    some("inner", internal_only=True)
    assert outcome(engine_stage, answer) == (name, why, 1)


def test_s4_5_a_model_that_takes_too_long_leaves_the_turn_to_the_agent(engine_stage, some):
    agent, model = engine_stage(Hang(), "An answer.", settings={"routing.timeout": 0.05})
    (route,) = talk(agent, "How warm is it?")
    assert (route["skill"], route["why"]) == ("chat", "timeout") and len(model.requests) == 2


def test_s4_5_without_a_model_nobody_is_asked(hosts, some):
    host = hosts()
    gated = filter_eligible(host, listing(host), gate_request(host, RouteRequest("x")))

    async def main() -> Any:
        async with AgentRunner(AgentConfig(), host=host) as agent:
            return await choose(host, RouteRequest("How warm?"), gated, agent)

    route = asyncio.run(main())
    assert (route.skill, route.why, route.calls) == ("chat", "no_key", 0)


def test_s4_6_a_confidence_out_of_bounds_is_clamped_and_told(engine_stage, some):
    agent, _ = engine_stage(choice("weather", 1.7), "Warm.")
    (route,) = talk(agent, "How warm is it?")
    assert route["confidence"] == 1.0 and "1.7 counts as 1" in route["reason"]
    assert read('{"skill": "x", "confidence": -1e999}').confidence == 0.0


def test_s4_7_without_an_eligible_skill_or_with_one_that_is_pinned_nobody_is_asked(engine_stage, engine_skill, hosts):
    engine_skill("inner", internal_only=True)
    agent, model = engine_stage("Hello.")
    (route,) = talk(agent, "Do something")
    assert (route["skill"], route["why"], route["calls"]) == ("chat", "no_eligible", 0)
    engine_skill("weather")
    agent, model = engine_stage("Warm.", settings={"routing.pin_single": True})
    (route,) = talk(agent, "Do something")
    assert (route["skill"], route["why"], len(model.requests)) == ("weather", "pinned", 1)


def test_s4_8_a_request_costs_one_call_compounds_included_and_the_books_say_so(engine_stage, some):
    steps = [{"skill_name": name, "sub_query": "a", "depends_on": []} for name in ("weather", "MAIL")]
    agent, model = engine_stage(choice("weather", steps=steps), "Warm.")

    async def main() -> tuple[Any, list[str]]:
        async with agent:
            await agent.chat("Look up the weather and mail it")
            (note,) = agent.session.notes(ROUTE)
            return note.data, [e.data["purpose"] for e in agent.session.entries if e.type == "usage"]

    route, purposes = asyncio.run(main())
    assert (route["skill"], route["why"], route["calls"]) == ("weather", "compound", 1)
    assert purposes == ["routing.select", "engine-automation.answer"] and len(model.requests) == 2


@pytest.mark.parametrize(
    ("second", "stays"),
    [
        (choice("recipes", 0.5), True),
        (choice("recipes", 0.6), False),
        (choice("mail", 0.5), False),
        (choice("weather", 0.4), True),
    ],
)
def test_s4_9_a_follow_up_stays_with_its_skill_unless_the_other_one_is_sure_or_overrides(
    engine_stage, some, second, stays
):
    agent, _ = engine_stage(choice("weather"), "Warm.", second, "An answer.")
    _, route = talk(agent, "How warm is it?", "And tomorrow?")
    assert (route["skill"] == "weather") == stays
    assert route["why"] == ("continuity" if stays and "recipes" in second else "selected")


def test_s4_10_advice_travels_with_the_skill_and_not_with_the_instructions(some, hosts):
    skills = [one.skill for one in discover(hosts(), "x")]
    assert "- recipes: Finds recipes. Not for: restaurants." in system_prompt(skills)
    assert "restaurants" not in system_prompt([skill for skill in skills if skill.name != "recipes"])


def test_s1_6_discover_ranks_and_never_raises(some, hosts):
    host = hosts()
    assert [one.skill.name for one in discover(host, "")] == ["mail", "recipes", "weather"]
    assert host.skills.get_skill("mail").name == "mail"
    assert {skill.name for skill in host.skills.get_skills_for_engine("automation")} == {"mail", "recipes", "weather"}


def test_s1_8_priority_and_the_preference_of_an_editor_order_the_candidates(engine_skill, engine_stage):
    engine_skill("low", priority=10)
    engine_skill("high", priority=90)
    engine_skill("writes", priority=1, editor_preference="prefer")
    for options, order in (({}, ["high", "low", "writes"]), ({"editor": {"type": "x"}}, ["writes", "high", "low"])):
        agent, _ = engine_stage(choice("chat"), "Hello.", options=options)
        (route,) = talk(agent, "What now?")
        assert [one["name"] for one in route["candidates"]] == order


def test_s6_5_a_former_name_means_its_successor_and_is_said_once(engine_stage, some, engine_skill, hosts):
    agent, _ = engine_stage(choice("forecasts"), "A.", choice("forecasts"), "B.")
    host = agent.host
    new = host.skills.get("weather")
    host.skills.unregister("weather")
    host.skills.register("weather", replace(new, aliases=("forecasts",)), new.source)
    routes = talk(agent, "How warm?", "And now?")
    assert [route["skill"] for route in routes] == ["weather", "weather"]
    told = [p.message for p in host.problems if "forecasts" in p.message]
    assert told == ["the skill 'forecasts' is called 'weather' now"]


def test_s6_5_doctor_lists_who_calls_a_skill_by_its_former_name(skillkit_cli, skillkit_home):
    folder = skillkit_home.config_dir / "skills"
    for place, name, body in (
        ("forecasts", "weather", "Tell it."), ("trip", "trip", "First call /forecasts, then pack."),
        ("talk", "talk", "Of forecasts in general."), ("new", "new", "Call /weather."),
    ):  # fmt: skip
        (folder / place).mkdir(parents=True)
        (folder / place / "SKILL.md").write_text(f"---\nname: {name}\ndescription: Does {name}.\n---\n{body}\n")
    done = skillkit_cli("doctor", "--json")
    (row,) = [row for row in done.json["checks"] if row["check"] == "configuration"]
    assert not row["ok"] and row["message"].count("calls 'forecasts', which is 'weather' now") == 1
    assert "trip (" in row["message"]
    (folder / "trip" / "SKILL.md").write_text("---\nname: trip\ndescription: Does.\n---\nFirst call /weather.\n")
    assert all("forecasts" not in row["message"] for row in skillkit_cli("doctor", "--json").json["checks"])


def test_s6_5_a_name_with_its_namespace_is_no_former_one(engine_stage, some):
    agent, _ = engine_stage(choice("acme:weather"), "A.")
    skill = agent.host.skills.get("weather")
    agent.host.skills.unregister("weather")
    agent.host.skills.register("weather", replace(skill, aliases=("acme:weather",)), skill.source)
    (route,) = talk(agent, "How warm?")
    assert route["skill"] == "weather" and not [p for p in agent.host.problems if "acme:weather" in p.message]


def test_images_and_editor_open_the_gates_of_a_routed_turn(engine_stage, engine_skill):
    engine_skill("sees", requires_image_context=True)
    agent, model = engine_stage(choice("sees"), "A cat.")
    (route,) = talk(agent, "What is this?", images=[ImageBlock(data="aGk=")])
    assert route["skill"] == "sees" and "Attached images: 1" in model.requests[0].messages[0].text


def test_of_a_long_request_the_model_that_chooses_sees_begin_and_end_and_the_skill_all(engine_stage, some):
    pasted = "Is this a forecast?\n" + "x" * 50_000 + "\nSay yes or no."
    agent, model = engine_stage(choice("weather"), "Yes.")
    (route,) = talk(agent, pasted)
    question = model.requests[0].messages[0].text
    assert route["skill"] == "weather" and len(question) < 5_000
    assert "Is this a forecast?" in question and "Say yes or no." in question and "are left out here" in question
    assert model.requests[1].messages[-1].text == pasted


@pytest.mark.parametrize(
    "editor",
    [
        "a text",
        {},
        {"type": 5},
        {"type": "x", "content": None},
        {"type": "x", "selection": [1]},
        {"type": "x", "odd": 1},
    ],
    ids=str,
)
def test_what_is_no_document_of_an_editor_is_told_and_costs_only_the_editor(engine_stage, some, engine_skill, editor):
    engine_skill("edits", requires_editor=True)
    agent, _ = engine_stage(choice("weather"), "Warm.", options={"editor": editor})
    (route,) = talk(agent, "How warm is it?")
    assert route["skill"] == "weather" and route["dropped"]["edits"] == "requires_editor"
    assert len([p for p in agent.host.problems if "is no document of an editor" in p.message]) == 1


def test_s1_2_a_preference_that_is_none_is_told_and_its_skill_takes_no_request(engine_stage, some, engine_skill):
    engine_skill("odd", editor_preference="must")
    agent, _ = engine_stage(choice("odd"), "I answer.")
    (route,) = talk(agent, "Do the odd thing")
    assert route["skill"] == "chat" and route["dropped"]["odd"].startswith("skill_problem:editor-preference")
