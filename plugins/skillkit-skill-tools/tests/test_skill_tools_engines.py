"""What plugins with engines say of skills: fields that they use, packages that bring an engine; and keys at the wrong place."""

from __future__ import annotations

import pytest
import skillkit_skills.plugin
from skillkit_skill_tools import without_effect
from skillkit_skills import SkillFolderLoader, listing, located

from skillkit_core import SkillSource, hookimpl

HEAD = "---\nname: weather\ndescription: The weather. Use for weather.\n"
PACKS = (
    HEAD + "metadata:\n  skillkit:\n    engine: acme\n    tool_packs: [capture]\n    domains: [weather]\n---\nBody.\n"
)


class Engines:
    def __init__(self, used, packages):
        self.used, self.packages = used, packages

    @hookimpl(optionalhook=True)
    def used_fields(self):
        return self.used()

    @hookimpl(optionalhook=True)
    def engine_packages(self):
        return self.packages


@pytest.fixture
def skill(tmp_path):
    def make(text):
        folder = tmp_path / "skills" / "weather"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "SKILL.md").write_text(text)
        return SkillFolderLoader().load(SkillSource("s", "user", folder.parent)).skills[0]

    return make


def test_a_plugin_says_which_fields_it_uses_and_which_package_brings_an_engine(make_host, skill, tmp_path):
    found = skill(PACKS)
    brings = Engines(lambda: {"tool_packs"}, {"acme": "skillkit-engine-acme"})
    options = {"settings": {"skills.dirs": [str(tmp_path / "skills")]}}
    host = make_host(("skills", skillkit_skills.plugin), ("acme", brings), **options)
    assert [p.code for p in without_effect(found, host)] == ["no-effect:domains"]
    (row,) = [r for r in listing(host) if r.name == "weather"]
    assert row.reasons == ("missing_engine:acme (pip install skillkit-engine-acme)",)
    alone = make_host(("skills", skillkit_skills.plugin), **options)
    assert {p.code for p in without_effect(found, alone)} == {"no-effect:domains", "no-effect:tool_packs"}
    assert [r.reasons for r in listing(alone) if r.name == "weather"] == [("unknown-engine:acme",)]


def test_a_plugin_that_fails_says_nothing_and_is_named(make_host, skill):
    host = make_host(("skills", skillkit_skills.plugin), ("bad", Engines(lambda: 1 / 0, None)))
    assert {p.code for p in without_effect(skill(PACKS), host)} == {"no-effect:domains", "no-effect:tool_packs"}
    assert any("ZeroDivisionError" in problem.message for problem in host.problems)


def test_a_key_of_the_format_at_the_top_level_is_a_warning_with_the_line_that_fixes_it(skill):
    found = skill(HEAD + "engine: automation\ntools: [read, grep]\nmodel: inherit\n---\nBody.\n")
    said = {p.code: p for p in located(found.problems)}
    assert said["key-not-read:engine"].severity == "warning" and said["key-not-read:engine"].line == 4
    assert said["key-not-read:engine"].message.endswith("write metadata: {skillkit: {engine: automation}}")
    assert said["key-not-read:tools"].message.endswith('write metadata: {skillkit: {tools: ["read", "grep"]}}')
    assert "key-not-read:model" not in said and found.engine == "conversational"
    fixed = skill(HEAD + "metadata: {skillkit: {engine: automation}}\n---\nBody.\n")
    assert fixed.engine == "automation" and fixed.problems == ()


def test_what_plugins_say_of_a_skill_is_part_of_the_check_and_one_that_fails_is_named(make_host, skill):
    from skillkit_skill_tools.checking import problems_of_plugins

    from skillkit_core import SkillProblem

    class Says:
        @hookimpl(optionalhook=True)
        def check_skill(self, skill):
            return [SkillProblem("unknown-subgraph", f"nobody brings what {skill.name} needs", "error")]

    class Breaks:
        @hookimpl(optionalhook=True)
        def check_skill(self, skill):
            raise ValueError("no answer")

    host = make_host(("skills", skillkit_skills.plugin), ("says", Says()), ("breaks", Breaks()))
    assert [(p.code, p.severity) for p in problems_of_plugins(skill(PACKS), host)] == [("unknown-subgraph", "error")]
    assert "ValueError: no answer" in str(host.problems)


def test_no_skill_is_made_of_a_name_that_has_a_meaning_of_its_own_for_a_plugin(make_host, tmp_path):
    from skillkit_skill_tools.new import check_reserved

    from skillkit_core import SkillProblem, UsageError, hookimpl

    class Reserves:
        @hookimpl(optionalhook=True)
        def check_skill(self, skill):
            return [SkillProblem("reserved-name", "chat is taken", "warning", None)] if skill.name == "chat" else ()

    host = make_host(("skills", skillkit_skills.plugin), ("reserves", Reserves()))
    check_reserved("chatty", host)
    with pytest.raises(UsageError, match="'chat' is no name for a skill here"):
        check_reserved("chat", host)
