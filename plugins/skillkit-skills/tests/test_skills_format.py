"""The format: every example with its normalised record, the order of the carriers, and what is refused."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest
import yaml
from hypothesis import example, given, settings, strategies as st
from skillkit_skills.catalogue import render_catalogue
from skillkit_skills.content import substitute
from skillkit_skills.loader import SkillFolderLoader
from skillkit_skills.skill_md.action_definition import ActionError
from skillkit_skills.skill_md.build import build_skill
from skillkit_skills.skill_md.reader import read

from skillkit_core.contracts.skill_loader import SkillSource
from skillkit_core.skills import Skill


def load(folder: Path, kind="user", trusted=False) -> Skill:
    found = SkillFolderLoader().load(SkillSource("here", kind, folder, trusted=trusted))
    assert [p for p in found.problems if p.severity == "error"] == []
    assert len(found.skills) == 1
    return found.skills[0]


def subset(want, got) -> bool:
    """Whether ``got`` says everything that ``want`` says."""
    if dataclasses.is_dataclass(got):
        got = {f.name: getattr(got, f.name) for f in dataclasses.fields(got)}
    if isinstance(want, dict):
        if isinstance(got, tuple):
            got = {item.name: item for item in got}
        return all(subset(v, got.get(k)) for k, v in want.items())
    if isinstance(want, list):
        return len(want) == len(got or ()) and all(map(subset, want, got or ()))
    return want == got


def test_every_example_gives_its_normalised_record(shared):
    seen = 0
    for file in sorted((shared / "format/examples").glob("*/expected.yaml")):
        skill = load(file.parent)
        want = yaml.safe_load(file.read_text())["normalized"]
        seen += 1
        codes = {p.code for p in skill.problems}
        for key, value in want.items():
            if key == "diagnostics":
                assert set(value) <= codes
            elif key == "tool_names":
                assert [f"{skill.name}__{a.name}" for a in skill.actions] == value
            elif key == "in_catalogue":
                assert ("<name>" in render_catalogue([skill]).text) == value
            elif key == "homepage":
                assert skill.metadata["homepage"] == value
            elif key == "system_prompt_source":
                assert value == "body" and skill.system_prompt is None and skill.body
            elif key == "arguments":
                assert [a.name for a in skill.arguments] == value
            elif key == "rendered":
                names = [a.name for a in skill.arguments]
                assert substitute(skill.body, value["args"], declared=names).startswith(value["body_starts"])
            else:
                assert subset(value, getattr(skill, key)), (skill.name, key, getattr(skill, key))
    assert seen >= 8


def build(text: str, sidecar: str | None = None, codex: str | None = None, **kwargs) -> Skill:
    return build_skill(
        read(text.encode(), "demo"),
        None,
        dir_name="demo",
        sidecar=sidecar.encode() if sidecar is not None else None,
        codex=codex.encode() if codex is not None else None,
        **kwargs,
    )


FULL = """---
name: demo
description: d
model: top
version: '3'
metadata:
  version: '2'
  internal: "true"
  skillkit:
    version: '1'
    priority: 70
    model: block
  openclaw:
    primaryEnv: FROM_CLAW
    requires: {bins: [a], env: [B]}
---
"""


def test_the_sidecar_beats_the_block_beats_the_top_level_beats_openclaw_beats_plain_metadata():
    skill = build(FULL, sidecar="priority: 90\nrequires: {bins: [c]}\n")
    assert (skill.priority, skill.model, skill.version) == (90, "block", "1")
    assert skill.primary_env == "FROM_CLAW"
    assert skill.internal_only
    assert (skill.requires.bins, skill.requires.env) == (("c",), ("B",))
    assert build(FULL).priority == 70


def test_a_value_that_cannot_be_used_falls_to_the_next_place_and_is_reported():
    skill = build(FULL, sidecar="priority: high\nmodel: [x]\n")
    assert (skill.priority, skill.model) == (70, "block")
    assert {"invalid-value:priority", "invalid-value:model"} <= {p.code for p in skill.problems}


def test_unknown_keys_warn_and_private_ones_do_not():
    skill = build(FULL, sidecar="colour: red\nx-colour: red\n")
    codes = [p.code for p in skill.problems]
    assert "unknown-key:colour" in codes and not any("x-colour" in c for c in codes)


def test_the_mode_of_an_engine_is_kept_for_the_engine_and_no_unknown_key():
    skill = build("---\nname: s\ndescription: d\nmetadata: {skillkit: {mode: {like: deep}}}\n---\n")
    assert skill.metadata["mode"] == {"like": "deep"}
    assert not any("mode" in problem.code.partition(":")[2] for problem in skill.problems)
    assert build(FULL, sidecar="mode: quick\n").metadata["mode"] == "quick" and "mode" not in build(FULL).metadata


def test_a_block_of_a_newer_schema_is_ignored_with_a_warning():
    skill = build(FULL, sidecar="schema: 2\npriority: 90\n")
    assert skill.priority == 70 and "schema-newer:2" in [p.code for p in skill.problems]


def test_codex_files_are_understood():
    skill = build(
        "---\nname: demo\ndescription: d\n---\n",
        codex="interface: {display_name: Demo}\npolicy: {allow_implicit_invocation: false}\n"
        "dependencies: {tools: [{type: mcp, value: github}]}\n",
    )
    assert skill.display_name == "Demo" and skill.disable_model_invocation and skill.requires.mcp == ("github",)


def test_hooks_and_dotted_paths_count_only_where_they_may():
    text = "---\nname: demo\ndescription: d\n---\n"
    sidecar = "hooks: {PreToolUse: [{matcher: Bash}]}\ncontext_loader: os.system\nsubgraphs: [a, b.c]\n"
    stranger = build(text, sidecar=sidecar)
    assert (dict(stranger.hooks), stranger.context_loader, stranger.subgraphs) == ({}, None, ("a",))
    assert {"hooks-untrusted", "code-path-refused:context_loader"} <= {p.code for p in stranger.problems}
    bundled = build(text, sidecar=sidecar, kind="bundled", trusted=True)
    assert bundled.hooks and bundled.context_loader == "os.system"


def test_hostile_installers_are_refused(shared):
    skill = load(shared / "skills_quirky" / "sec-install-url")
    assert skill.install == ()
    assert {p.code for p in skill.problems} >= {f"install-refused:{k}" for k in ("download", "shell", "node")}


def test_a_name_never_looks_like_an_address(shared):
    for case in ("name-colon", "name-traversal"):
        skill = load(shared / "skills_invalid" / case)
        assert not set(skill.name) & set(":@/") and "name-reserved-character" in [p.code for p in skill.problems]


def test_claude_codes_keys_are_understood(shared):
    skill = load(shared / "skills_invalid" / "unknown-claude-code")
    assert (skill.user_invocable, skill.disable_model_invocation, skill.argument_hint) == (False, True, "[file]")
    assert (skill.model, skill.context, skill.agent, skill.effort) == ("sonnet", "fork", "Explore", "high")
    assert load(shared / "skills_quirky" / "yaml-argument-hint-one-bracket").argument_hint == "[issue-number]"


def test_an_action_that_breaks_a_rule_is_left_out_and_named():
    skill = build(
        "---\nname: demo\ndescription: d\n---\n", sidecar="actions: [{name: a, run: echo}, {name: b, run: 'a | b'}]"
    )
    assert [a.name for a in skill.actions] == ["a"]
    problem = next(p for p in skill.problems if p.code == "action-shell-operator")
    assert "'b'" in problem.message and problem.severity == "error"


@pytest.mark.spec("13.11")
def test_an_argument_can_never_become_a_program_or_shell_text():
    from skillkit_skills.skill_md.action_definition import read_action

    for run in ("{x} a", "sh -c {x}", "bash -ec 'echo {x}'", "echo $HOME", "echo `id`", "echo {y}"):
        with pytest.raises(ActionError):
            read_action({"name": "a", "run": run, "args": {"x": "string"}}, None, [])


def test_typed_defaults_and_private_keys_of_arguments_survive():
    skill = build(
        "---\nname: demo\ndescription: d\n---\n",
        sidecar="actions: [{name: a, run: echo, args: {n: {type: integer, default: 5, enum: [5, 7], x-fill: request}}}]",
    )
    arg = skill.actions[0].args[0]
    assert (arg.default, arg.enum, arg.extra["x-fill"]) == (5, (5, 7), "request")
    assert skill.actions[0].confirm == "first"


keys = st.sampled_from(
    ["actions", "requires", "priority", "engine", "arguments", "install", "hooks", "limits", "schema", "paths", "confirm",
     "user_invocable", "version", "tools", "name", "script", "run", "args", "type", "position", "timeout", "default", "enum",
     "pattern", "minimum", "bins", "os", "python", "x-y", "kind", "url", "a"]
)  # fmt: skip
words = st.sampled_from(
    ["", "1", "-1", "nan", "1e999", "true", "a b", "{a}", "a|b", "[", "integer", "../x", "scripts/f.py"]
)
values = st.recursive(
    words | st.none(), lambda v: st.lists(v, max_size=3) | st.dictionaries(keys, v, max_size=5), max_leaves=25
)
blocks = st.dictionaries(keys, values, max_size=8)


@given(block=blocks, sidecar=blocks, top=blocks, codex=values)
@example(
    block={"actions": [{"name": "a", "run": "a", "args": {"a": {"pattern": "[[]]"}}}]}, sidecar={}, top={}, codex=None
)
@settings(deadline=None)
def test_no_block_makes_the_format_raise(block, sidecar, top, codex):
    front = {**top, "name": "demo", "description": "d", "metadata": {"skillkit": block, "openclaw": sidecar}}
    skill = build(f"---\n{json.dumps(front)}\n---\n", sidecar=json.dumps(sidecar), codex=json.dumps(codex))
    assert skill.name == "demo"
    for action in skill.actions:
        assert action.name and (action.script is None) != (action.run is None)
