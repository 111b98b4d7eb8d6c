"""Skills and their fields by the ids of phase 1: they load, are refused, and every field is seen to do something."""

from __future__ import annotations

import asyncio
import json
from dataclasses import fields
from typing import Any

import pytest
from engine_tooling import WEATHER, Brings
from skillkit_engines import (
    ROUTE,
    EditorContext,
    Fragment,
    RouteRequest,
    ToolPack,
    compose,
    discover,
    gated_for,
    tool_names,
)
from skillkit_engines.types import Task
from skillkit_engines.work import load_context, run_fragments
from skillkit_skills import SkillFolderLoader, listing
from skillkit_testkit.engines import write_engine_skill as write_skill

from skillkit_core import Skill, SkillSource, Tool, hookimpl
from skillkit_core.descriptors import Factory

DOCUMENT = {
    "engine": "tooling", "domains": ["weather"], "intents": ["query"], "keywords": ["rain"], "priority": 90,
    "editor_types": ["fiction"], "requires_editor": True, "editor_preference": "require", "tools": ["weather_now"],
    "subgraphs": ["tidy"], "system_prompt": "You tell the weather.", "context_loader": "places",
    "override_continuity": True, "requires_explicit_keywords": True, "supports_hitl": True,
}  # fmt: skip


def loaded(folder: Any) -> dict[str, Skill]:
    found = SkillFolderLoader().load(SkillSource("s", "user", folder))
    return {skill.name: skill for skill in found.skills}


def test_s1_1_the_fields_of_the_document_load_from_a_file_and_from_code_and_are_equal(folder):
    write_skill(folder, "weather", **DOCUMENT)
    found = loaded(folder)["weather"]
    by_code = Skill(name="weather", description="Does weather.", **DOCUMENT)
    for name in DOCUMENT:
        assert getattr(found, name) == getattr(by_code, name), name
    assert Skill(name="x", actions=["query", "observation"]).intents == ("query", "observation")


def test_s1_2_defaults_are_those_of_the_document_and_what_is_wrong_is_told_with_file_and_field(folder):
    plain = Skill(name="x", description="d")
    assert (plain.priority, plain.editor_preference, plain.tools, plain.requires_editor) == (50, "none", (), False)
    write_skill(folder, "fine", engine="tooling")
    write_skill(folder, "odd", engine="tooling", editor_preference="sometimes", priority=900)
    found = loaded(folder)
    assert "fine" in found
    told = " ".join(f"{p.code} {p.message}" for p in found["odd"].problems)
    assert "editor_preference" in told and "priority" in told and found["odd"].editor_preference == "none"


def test_s1_5_two_plugins_with_one_name_both_stay_visible_and_the_order_decides(stage, folder, tmp_path):
    write_skill(folder, "weather", engine="tooling", description="The first.")
    write_skill(tmp_path / "more", "weather", engine="tooling", description="The second.")
    agent, _, host = stage(
        "x", plugins=[("brings", Brings("chat"))], settings={"skills.dirs": [str(folder), str(tmp_path / "more")]}
    )
    rows = [row for row in listing(host) if row.skill.name == "weather"]
    assert len(rows) == 2 and [row.wins for row in rows].count(True) == 1
    winner = host.skills.get("weather").description

    async def main() -> Any:
        async with agent:
            await agent.chat("How warm?")
            return agent.session.notes(ROUTE)[-1].data

    route = asyncio.run(main())
    assert [one["name"] for one in route["candidates"]] == ["weather"] and "shadowed" in dict(route["dropped"]).values()
    assert discover(host, "x")[0].skill.description == winner


@pytest.mark.parametrize(
    ("name", "tool"), [("weather", "weather_now"), ("dictionary", "define_word"), ("help", "help_topics")]
)
def test_s1_7_a_simple_skill_needs_no_more_than_its_definition_and_tools(stage, folder, name, tool):
    from skillkit_core.testing import Call, Reply

    write_skill(folder, name, engine="tooling", tools=[tool], system_prompt=f"You are the {name}.")
    real = Tool(tool, "Look up.", lambda args, ctx: f"found by {tool}", annotations={"mutates": "none"})
    agent, model, _ = stage(Reply(calls=[Call(tool)]), "Here it is.", plugins=[("brings", Brings(name))], tools=(real,))

    async def main() -> str:
        async with agent:
            return str((await agent.chat("Please look it up")).content)

    assert asyncio.run(main()) == "Here it is."
    assert model.requests[1].messages[-1].text == f"found by {tool}"


# --- every field does something -----------------------------------------------------------------------------------


def skill_of(**about: Any) -> Skill:
    return Skill(name="s", description="d", **{"engine": "tooling", **about})


def dropped(host: Any, skill: Skill, request: RouteRequest) -> str:
    host.skills.register("s", skill, "t")
    try:
        return gated_for(host, request, tools={"weather_now"}).dropped.get("s", "")
    finally:
        host.skills.unregister("s")


class Everything(Brings):
    @hookimpl(optionalhook=True)
    def register_packs(self, register):
        register(ToolPack("more", "More.", ("weather_now",)))

    @hookimpl(optionalhook=True)
    def register_fragments(self, register):
        async def tidy(values: Any, task: Any) -> Any:
            return {"text": values["text"].strip()}

        register(Fragment("tidy", "Tidies.", tidy))

    @hookimpl(optionalhook=True)
    def register_context_loaders(self, register):
        class Places:
            async def load(self, task: Any) -> str:
                return "Places."

        register(Factory("places", lambda host: Places()))


GATES = {
    "requires_editor": (True, RouteRequest("x"), "requires_editor"),
    "editor_preference": ("require", RouteRequest("x"), "requires_editor"),
    "editor_types": (["fiction"], RouteRequest("x", editor=EditorContext("outline")), "editor_types"),
    "requires_image_context": (True, RouteRequest("x"), "requires_image_context"),
    "requires_explicit_keywords": (True, RouteRequest("x"), "requires_explicit_keywords"),
    "internal_only": (True, RouteRequest("x"), "internal_only"),
    "disable_model_invocation": (True, RouteRequest("x"), "disable_model_invocation"),
    "engine": ("quantum", RouteRequest("x"), "engine_missing:quantum"),
    "tools": (["nosuch"], RouteRequest("x"), "tool_missing:nosuch"),
    "tool_packs": (["nosuch"], RouteRequest("x"), "pack_missing:nosuch"),
    "subgraphs": (["nosuch"], RouteRequest("x"), "skill_problem:unknown-subgraph"),
    "context_loader": ("nosuch", RouteRequest("x"), "skill_problem:unknown-context-loader"),
}


@pytest.mark.parametrize("field", GATES)
def test_s1_8_a_field_that_keeps_a_skill_away_is_seen_to_do_so(stage, field):
    value, request, code = GATES[field]
    _, _, host = stage(plugins=[("brings", Everything())])
    assert dropped(host, skill_of(), request) == ""
    assert dropped(host, skill_of(**{field: value}), request).startswith(code)


def test_s1_8_keywords_open_the_gate_that_asks_for_them(stage):
    _, _, host = stage()
    asks = {"requires_explicit_keywords": True}
    assert dropped(host, skill_of(keywords=["rain"], **asks), RouteRequest("Rain tomorrow?")) == ""
    assert dropped(host, skill_of(keywords=["rain"], **asks), RouteRequest("Trains?")) == "requires_explicit_keywords"


def test_s1_8_what_a_task_is_made_of_comes_from_the_skill(stage):
    more = Tool("more", "More.", lambda args, ctx: "x")
    agent, _, _ = stage("x", plugins=[("brings", Everything())], tools=(WEATHER, more))

    def task(**about: Any) -> Task:
        return Task("t", agent, skill_of(**about), "q")

    async def main() -> None:
        async with agent:
            await agent.open()
            assert tool_names(task()) == () and tool_names(task(tools=["more"])) == ("more",)
            assert tool_names(task(tool_packs=["more"])) == ("weather_now",)
            assert tool_names(task(optional_tools=["more"])) == ("more",)
            assert compose("Base.", task(system_prompt="Own.", body="Body.")) == "Base.\n\nOwn."
            assert compose("Base.", task(body="Body.")) == "Base.\n\nBody."
            assert "Places." in await load_context(task(context_loader="places")) and await load_context(task()) == ""
            assert await run_fragments(task(), ("tidy",), {"text": " a "}) == ({"text": "a"}, ())

    asyncio.run(main())


ELSEWHERE = {
    "priority": "test_routing_select.py",
    "domains": "test_routing_many.py",
    "intents": "test_routing_many.py",
    "override_continuity": "test_routing_select.py",
    "not_for": "test_routing_select.py",
    "supports_hitl": "test_engine_automation.py",
}


def test_s1_8_every_field_of_the_document_has_a_test_that_sees_its_effect():
    here = {*GATES, "keywords", "system_prompt", "name", "description"}
    assert set(DOCUMENT) <= here | set(ELSEWHERE)
    assert set(ELSEWHERE) <= {field.name for field in fields(Skill)}


def test_s1_9_what_is_installed_or_removed_changes_what_there_is(stage, folder):
    agent, _, host = stage("x")
    assert discover(host, "x") == []
    write_skill(folder, "weather", engine="tooling")
    host.reload_skills()
    assert [one.skill.name for one in discover(host, "x")] == ["weather"]
    host.remove_plugin("brings")
    assert gated_for(host, RouteRequest("x")).dropped["weather"].startswith("engine_missing:tooling")
    assert agent is not None and json.dumps(sorted(host.registry("engines").list())) == "[]"


def test_s1_4_the_check_of_skills_names_what_nobody_brings(stage, folder):
    write_skill(folder, "odd", engine="tooling", subgraphs=["nosuch"], context_loader="nowhere")
    _, _, host = stage("x")
    (check,) = [impl.function for impl in host.impls("check_skill")]
    told = {(problem.code, problem.severity) for problem in check(host.skills.get("odd"), host)}
    assert told == {("unknown-subgraph", "error"), ("unknown-context-loader", "error")}
