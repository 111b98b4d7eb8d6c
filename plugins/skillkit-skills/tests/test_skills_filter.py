"""Eligibility: the hook filter_skill, engines of plugins, skills for internal use, blank settings, and why."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from pathlib import Path

import pytest
import skillkit_bash.plugin
import skillkit_skills.plugin
from skillkit_skills import Request, gate
from skillkit_skills.listed import listing

from skillkit_core import AgentConfig, AgentRunner, hookimpl, hookspec
from skillkit_core.skills import Skill
from skillkit_core.testing import ScriptedModel


def put(root: Path, name: str, block: dict | None = None, body: str = "Be kind.") -> Path:
    folder = root / name
    folder.mkdir(parents=True)
    metadata = f"metadata: {{skillkit: {json.dumps(block)}}}\n" if block else ""
    (folder / "SKILL.md").write_text(f"---\nname: {name}\ndescription: Use it.\n{metadata}---\n{body}\n")
    return folder


@pytest.fixture
def real(make_host):
    def make(*more, **options):
        return make_host(("skills", skillkit_skills.plugin), ("bash", skillkit_bash.plugin), *more, **options)

    return make


async def ask(host, text="please", **config):
    model = ScriptedModel(["ok"] * 3)
    async with AgentRunner(AgentConfig(model="scripted", **config), host=host) as agent:
        agent.set_adapter(model)
        answer = await agent.chat(text)
    return model, answer.content


def offered(model) -> list[str]:
    (tool,) = [t for t in model.requests[0].tools if t.name == "activate_skill"]
    return tool.parameters["properties"]["name"]["enum"]


class Office:
    """A plugin that keeps skills about money for requests that say so."""

    def __init__(self):
        self.callers = []

    @hookimpl(optionalhook=True)
    def filter_skill(self, skill, context):
        self.callers.append(context.caller)
        return "money is not the topic" if skill.name == "invoices" and "money" not in context.query else None


def test_a_plugin_filters_skills_for_each_request(real):
    office = Office()
    host = real(("office", office))
    put(host.config_dir / "skills", "invoices")
    put(host.config_dir / "skills", "notes")
    model, _ = asyncio.run(ask(host))
    assert offered(model) == ["notes"] and "invoices" not in model.requests[0].system
    model, _ = asyncio.run(ask(host, "about money"))
    assert offered(model) == ["invoices", "notes"]
    model, said = asyncio.run(ask(host, "/invoices now"))
    assert (
        said == "Skill invoices cannot be called here: money is not the topic (plugin office)." and not model.requests
    )
    assert set(office.callers) == {"model", "user"}


def test_a_filter_that_fails_keeps_every_skill_away_and_is_reported(real):
    class Broken:
        @hookimpl(optionalhook=True)
        def filter_skill(self, skill):
            raise ValueError("no")

    host = real(("broken", Broken()))
    put(host.config_dir / "skills", "notes")
    model, _ = asyncio.run(ask(host))
    assert "notes" not in (model.requests[0].system or "")
    assert any(d.plugin == "broken" and d.stage == "filter_skill" for d in host.problems)


@dataclass(frozen=True)
class Engine:
    name: str


class Engines:
    @hookspec
    def register_engines(self, register, host, config):
        """Offer engines."""


class Family:
    @hookimpl
    def register_hookspecs(self, add):
        add(Engines, kinds={"engines": Engine})


class Steam:
    @hookimpl(optionalhook=True)
    def register_engines(self, register):
        register(Engine("steam"))


def test_engines_that_plugins_add_are_known(real):
    for plugins, reasons in (((), ("unknown-engine:steam",)), ((("family", Family()), ("steam", Steam())), ())):
        host = real(*plugins)
        folder = host.config_dir / "skills"
        if not (folder / "loco").exists():
            put(folder, "loco", {"engine": "steam"})
        (row,) = [r for r in listing(host) if r.name == "loco"]
        assert row.reasons == reasons


def test_internal_skills_serve_code_and_other_skills_never_a_model_or_a_person(real):
    for caller in ("model", "user"):
        assert gate(Skill(name="x", internal_only=True), Request(caller=caller)) == "internal_only"
    for caller in ("engine", "planner", "skill"):
        assert gate(Skill(name="x", internal_only=True), Request(caller=caller)) is None
    host = real()
    root = host.config_dir / "skills"
    put(
        root,
        "inner",
        {"internal_only": True, "actions": [{"name": "tick", "run": "echo tick", "confirm": "never"}]},
        "Tick.",
    )
    put(root, "outer", {"requires": {"skills": ["inner"]}}, "Use the tick.")
    model, said = asyncio.run(ask(host, "/inner"))
    assert "internal_only" in said and not model.requests
    model, _ = asyncio.run(ask(host))
    assert "inner" not in model.requests[0].system and "inner__tick" not in {t.name for t in model.requests[0].tools}
    model, _ = asyncio.run(ask(host, "/outer"))
    said = model.requests[0].messages[-1].text
    assert '<skill_content name="inner">\nTick.' in said and said.startswith('<skill_content name="outer">')
    assert "inner__tick" in {t.name for t in model.requests[0].tools}
    model, _ = asyncio.run(ask(host, skills=("inner",)))  # an application is code, too
    assert "Tick." in model.requests[0].system


def test_a_blank_setting_closes_a_gate(skillkit_cli, skillkit_home):
    put(
        skillkit_home.config_dir / "skills", "blank", {"requires": {"config": ["skills.runtime"], "env": ["BLANK_ENV"]}}
    )
    skillkit_home.write_config('skills: {runtime: "  "}\n')
    why = skillkit_cli("skills", "why", "blank", "--json", env={"BLANK_ENV": " "}).ok().json
    assert why["reasons"] == ["missing-env:BLANK_ENV", "missing-config:skills.runtime"] == why["model"] == why["user"]
    skillkit_home.write_config("skills: {runtime: bash, entries: {blank: {env: {BLANK_ENV: x}}}}\n")
    assert skillkit_cli("skills", "why", "blank", "--json").ok().json["reasons"] == []


def test_why_and_list_all_give_every_reason(skillkit_cli, skillkit_home):
    root = skillkit_home.config_dir / "skills"
    put(root, "hidden", {"internal_only": True})
    put(root, "keyed", {"requires_explicit_keywords": True, "keywords": ["tax"], "user_invocable": False})
    told = {r["name"]: r for r in skillkit_cli("skills", "list", "--all", "--json").ok().json["skills"]}
    assert (told["hidden"]["model"], told["hidden"]["user"]) == (["internal_only"], ["internal_only"])
    assert (told["keyed"]["model"], told["keyed"]["user"]) == (["requires_explicit_keywords"], ["user_invocable"])
    said = skillkit_cli("skills", "why", "keyed", "--query", "my tax").ok().stdout.splitlines()
    assert said[2].split() == ["for", "models", "yes"] and said[3].split() == ["for", "people", "user_invocable"]
    assert "hidden" in skillkit_cli("skills", "list", "--all").ok().stdout
