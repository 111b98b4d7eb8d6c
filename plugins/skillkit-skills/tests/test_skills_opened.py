"""What an opened skill does: commands in its text, a run of its own, model, effort and limits, its files, its companions."""

from __future__ import annotations

import asyncio
import dataclasses
import gc
import json
import weakref
from pathlib import Path

import pytest
import skillkit_bash.plugin
import skillkit_shell_hooks.plugin
import skillkit_skills.plugin

from skillkit_core import (
    AgentConfig,
    AgentRunner,
    ApprovalDecision,
    Approver,
    CompactionResult,
    Compactor,
    Factory,
    Limits,
    ToolCallEventResult,
    ToolResultMessage,
    hookimpl,
)
from skillkit_core.testing import Call, Reply, ScriptedModel


def put(root: Path, name: str, extra: str = "", body: str = "Be kind.", block: dict | None = None) -> Path:
    folder = root / name
    folder.mkdir(parents=True)
    metadata = f"metadata: {{skillkit: {json.dumps(block)}}}\n" if block else ""
    (folder / "SKILL.md").write_text(f"---\nname: {name}\ndescription: Use it.\n{extra}{metadata}---\n{body}\n")
    return folder


@pytest.fixture
def real(make_host):
    """A host with this plugin and the runtime, in an empty home; ``bash`` is allowed."""

    def make(config="tools: {allow: [bash]}\n", **options):
        host = make_host(("skills", skillkit_skills.plugin), ("bash", skillkit_bash.plugin), **options)
        (host.config_dir / "config.yaml").write_text(config)
        return make_host(("skills", skillkit_skills.plugin), ("bash", skillkit_bash.plugin), **options)

    return make


class Says(Approver):
    def __init__(self, decision: str) -> None:
        self.decision, self.asked = decision, []

    async def approve(self, request):
        self.asked.append((request.tool_name, request.args.get("command")))
        return ApprovalDecision(self.decision)


async def talk(host, text, *turns, guard=None, **config):
    model = ScriptedModel([Reply(calls=[Call(*turn)]) if isinstance(turn, tuple) else turn for turn in turns])
    async with AgentRunner(AgentConfig(**config), host=host) as agent:
        agent.set_adapter(model)
        if guard is not None:
            agent.events.on("before_tool_call", guard, phase="guard")
        answer = await agent.chat(text)
        results = [m for m in agent.session.messages if isinstance(m, ToolResultMessage)]
    return model, results, answer


# --- commands in the text ---------------------------------------------------------------------------------------------

BODY = "Files: !`ls`.\n\n```!\necho one\necho two\n```\n\nAsk $ARGUMENTS, and run !`echo $ARGUMENTS`."


def test_commands_of_a_trusted_source_run_after_a_question(real):
    host = real()
    (host.cwd / "seen.txt").touch()
    put(host.config_dir / "skills", "look", body=BODY)
    said = Says("allow")
    model, _, _ = asyncio.run(talk(host, "/look me; touch hacked", "ok", approver=said))
    sent = model.requests[0].messages[-1].text
    assert "Files: seen.txt." in sent and "one\ntwo" in sent
    assert "Ask me; touch hacked" in sent and "run !`echo me; touch hacked`" in sent, "an argument is in no command"
    assert said.asked == [("bash", "ls"), ("bash", "echo one\necho two")]
    assert not (host.cwd / "hacked").exists()


def test_a_model_that_activates_a_skill_gets_the_output_too(real):
    host = real()
    put(host.config_dir / "skills", "look", body="It is !`echo $((40 + 2))`.")
    said = Says("allow")
    _, results, _ = asyncio.run(talk(host, "go", ("activate_skill", {"name": "look"}), "ok", approver=said))
    assert "It is 42." in results[0].text and said.asked == [("bash", "echo $((40 + 2))")]


def test_nobody_to_ask_no_permission_or_no_tool_runs_nothing(real):
    host = real()
    put(host.config_dir / "skills", "look", body="!`touch ran`")
    model, _, _ = asyncio.run(talk(host, "/look", "ok"))
    assert "[touch ran failed: " in model.requests[0].messages[-1].text and not (host.cwd / "ran").exists()
    asyncio.run(talk(host, "/look", "ok", approver=Says("deny")))
    asyncio.run(talk(host, "/look", "ok", approver=Says("allow"), only_tools=frozenset()))
    host = real("tools: {allow: []}\n")
    model, _, _ = asyncio.run(talk(host, "/look", "ok", approver=Says("allow")))
    assert "!`touch ran`" in model.requests[0].messages[-1].text
    host = real("tools: {allow: [bash]}\nskills: {shell_injection: deny}\n")
    asyncio.run(talk(host, "/look", "ok", approver=Says("allow")))
    assert not (host.cwd / "ran").exists()


@pytest.mark.parametrize("how", ["/look", "go"])
def test_the_guards_of_the_session_see_the_commands(real, how):
    host = real("tools: {allow: [bash]}\nskills: {shell_injection: allow}\n")
    put(host.config_dir / "skills", "look", body="!`touch ran`")

    def guard(event):
        return ToolCallEventResult(block=True, reason="not here") if event.tool_name == "bash" else None

    turns = ["ok"] if how != "go" else [("activate_skill", {"name": "look"}), "ok"]
    model, results, _ = asyncio.run(talk(host, how, *turns, guard=guard))
    told = results[0].text if results else model.requests[0].messages[-1].text
    assert "not here" in told and not (host.cwd / "ran").exists()


def test_allowed_tools_spare_the_question_and_a_skill_may_be_stricter_than_the_host(real):
    host = real()
    root = host.config_dir / "skills"
    put(root, "quiet", "allowed-tools: Bash(echo:*)\n", "!`echo hi` !`touch ran`")
    said = Says("deny")
    model, _, _ = asyncio.run(talk(host, "/quiet", "ok", approver=said))
    assert "hi [touch ran failed" in model.requests[0].messages[-1].text
    assert said.asked == [("bash", "touch ran")] and not (host.cwd / "ran").exists()
    put(root, "never", "allowed-tools: Bash\n", "!`touch ran`", {"shell_injection": "deny"})
    host.reload_skills()
    asyncio.run(talk(host, "/never", "ok", approver=Says("allow")))
    assert not (host.cwd / "ran").exists()


def test_a_folder_with_an_odd_name_is_part_of_no_command(real):
    host = real("tools: {allow: [bash]}\nskills: {shell_injection: allow}\n")
    put(host.config_dir / "skills/a; touch ran; #", "odd", body="!`echo ${CLAUDE_SKILL_DIR}`")
    put(host.config_dir / "skills", "even", body="!`ls ${CLAUDE_SKILL_DIR}`")
    model, _, _ = asyncio.run(talk(host, "/odd", "ok"))
    assert "!`echo" in model.requests[0].messages[-1].text and not (host.cwd / "ran").exists()
    model, _, _ = asyncio.run(talk(host, "/even", "ok"))
    assert "\nSKILL.md\n" in model.requests[0].messages[-1].text


# --- a run of its own ---------------------------------------------------------------------------------------------------


def test_fork_answers_in_a_run_of_its_own(real):
    host = real()
    put(host.config_dir / "skills", "study", "context: fork\n", "Study $ARGUMENTS.")
    call = ("activate_skill", {"name": "study", "arguments": "bees"})
    model, results, answer = asyncio.run(talk(host, "go", call, "Bees dance.", "I learned: they dance."))
    assert (results[0].text, answer.content) == ("Bees dance.", "I learned: they dance.")
    inner = model.requests[1]
    assert [m.role for m in inner.messages] == ["user"] and "Study bees." in inner.messages[0].text
    assert "Study bees." not in str(model.requests[2].messages), "the text of the skill stays in its run"
    model, _, answer = asyncio.run(talk(host, "/study wasps", "Wasps build."))
    assert answer.content == "Wasps build." and len(model.requests) == 1


def test_limits_and_effort_of_a_skill_hold_for_its_run(real):
    host = real()
    put(host.config_dir / "skills", "short", "context: fork\neffort: high\n", "Go.", {"limits": {"turns": 1}})
    call = ("activate_skill", {"name": "short"})
    model, results, _ = asyncio.run(
        talk(host, "go", call, ("bash", {"command": "true"}), "never", approver=Says("allow"))
    )
    assert model.requests[1].settings.thinking == "high"
    assert results[0].is_error and results[0].text == "[the run of the skill ended early: limit]"


def test_limits_of_a_skill_that_a_person_calls_hold_for_the_run_of_the_call_alone(real):
    host = real()
    put(host.config_dir / "skills", "short", body="Go.", block={"limits": {"turns": 1}})

    async def main():
        model = ScriptedModel(
            [Reply(calls=[Call("bash", {"command": "true"})]), Reply(calls=[Call("bash", {"command": "true"})]), "ok"]
        )
        async with AgentRunner(AgentConfig(approver=Says("allow"), limits=Limits(turns=9)), host=host) as agent:
            agent.set_adapter(model)
            first = await agent.chat("/short")
            return first.outcome, (await agent.chat("on")).outcome

    assert asyncio.run(main()) == ("limit", "completed")


def test_a_skill_names_a_model_by_an_alias_and_an_unknown_one_is_said(real):
    from skillkit_core import ModelDefinition

    host = real("tools: {allow: [bash]}\nskills: {model_aliases: {sonnet: scripted/big}}\n")
    host.models.register(ModelDefinition("big", provider="scripted", api="scripted"))
    put(host.config_dir / "skills", "clever", "model: sonnet\n", "Think.")
    put(host.config_dir / "skills", "unknown", "model: nobody\n", "Think.")
    host.reload_skills()
    from skillkit_skills.activation import overrides_of

    assert overrides_of(host, host.skills.get("clever")).model == "scripted/big"
    told = overrides_of(host, host.skills.get("unknown"))
    assert told.model is None and "'nobody' is not known here" in told.problems[0]


# --- files, hooks of skills, and keys without effect -------------------------------------------------------------------


def test_a_model_reads_the_files_of_an_active_skill_and_no_others(real, tmp_path):
    host = real()
    folder = put(host.config_dir / "skills", "study", body="See references/more.md.")
    (folder / "references").mkdir()
    (folder / "references/more.md").write_text("one\ntwo\n")
    (tmp_path / "secret").write_text("no")
    (folder / "out").symlink_to(tmp_path / "secret")
    (folder / "zero").symlink_to("/dev/zero")
    wanted = ["references/more.md", "../../../secret", "out", "zero", "gone", "/etc/passwd"]
    calls = [("skill_file", {"skill": "study", "path": path}) for path in wanted]
    before = ("skill_file", {"skill": "study", "path": wanted[0]})
    turns = [before, ("activate_skill", {"name": "study"}), *calls, "ok"]
    model, results, _ = asyncio.run(talk(host, "go", *turns))
    assert "skill_file" not in {t.name for t in model.requests[0].tools}
    assert results[0].is_error and results[2].text == "one\ntwo\n"
    assert all(r.is_error for r in results[3:]), [r.text for r in results]
    model, results, _ = asyncio.run(talk(host, "/study", calls[0], "ok"))
    assert results[0].text == "one\ntwo\n"


def test_the_tool_read_of_the_plugin_files_reads_them_too(make_host):
    files = pytest.importorskip("skillkit_files.plugin", reason="the plugin files is not installed beside this one")
    host = make_host(("skills", skillkit_skills.plugin), ("bash", skillkit_bash.plugin), ("files", files))
    folder = put(host.config_dir / "skills", "study")
    (folder / "more.md").write_text("two\n")
    call = ("read", {"path": str(folder / "more.md")})
    model, results, _ = asyncio.run(talk(host, "/study", call, "ok"))
    assert "two" in results[0].text and not results[0].is_error
    assert "skill_file" not in {t.name for t in model.requests[0].tools}
    _, results, _ = asyncio.run(talk(host, "no", call, "ok"))
    assert results[0].is_error


HOOKS = """hooks:
  PreToolUse:
    - matcher: Bash
      hooks:
        - type: command
          command: 'grep -q forbidden && { echo "not that" >&2; exit 2; }; exit 0'
"""


def test_a_hook_of_an_active_skill_of_a_trusted_source_blocks_calls(real):
    host = real()
    host.add_plugin(skillkit_shell_hooks.plugin, name="shell-hooks")
    put(host.config_dir / "skills", "careful", HOOKS)
    calls = [("bash", {"command": c}) for c in ("touch forbidden", "touch fine")]
    _, results, _ = asyncio.run(talk(host, "/careful", *calls, "ok"))
    assert results[0].outcome == "blocked" and "not that" in results[0].text
    assert not (host.cwd / "forbidden").exists() and (host.cwd / "fine").exists()
    _, results, _ = asyncio.run(talk(host, "without", calls[0], "ok"))
    assert (host.cwd / "forbidden").exists(), "a skill that is not active has no say"


def test_a_skill_that_guards_by_hooks_lets_nothing_run_where_nobody_runs_hooks(real):
    host = real()
    put(host.config_dir / "skills", "careful", HOOKS)
    _, results, _ = asyncio.run(talk(host, "/careful", ("bash", {"command": "touch fine"}), "ok"))
    assert results[0].outcome == "blocked" and "pip install skillkit-shell-hooks" in results[0].text


def test_a_hook_of_an_untrusted_source_never_runs(skillkit_cli, skillkit_home):
    put(skillkit_home.cwd / ".claude/skills", "evil", HOOKS.replace("grep -q", "touch ran; grep -q"), "!`touch ran`")
    skillkit_cli("run", "--skills-dir", skillkit_home.cwd / "nothing", "/evil")
    assert "evil" not in [r["name"] for r in skillkit_cli("skills", "list", "--json").json]
    assert not (skillkit_home.cwd / "ran").exists()


def test_keys_without_effect_are_said(skillkit_cli, skillkit_home):
    block = {"permissions": {"read": True}}
    put(skillkit_home.config_dir / "skills", "many", "agent: Explore\neffort: high\nmodel: nobody\n", "!`ls`", block)
    (skillkit_home.config_dir / "config.yaml").write_text("skills: {shell_injection: deny}\n")
    told = skillkit_cli("skills", "check", "--json").ok().json
    (many,) = [s for s in told["skills"] if s["name"] == "many"]
    said = {p["code"]: p["line"] for p in many["problems"] if p["code"].startswith("no-effect")}
    keys = ("permissions", "agent", "effort", "model", "!`command`")
    assert set(said) == {f"no-effect:{key}" for key in keys}
    assert (said["no-effect:agent"], said["no-effect:effort"], said["no-effect:model"]) == (4, 5, 6)


def test_every_key_of_a_skill_is_read_or_said_to_have_no_effect():
    import ast

    import skillkit_skills
    from skillkit_skill_tools.no_effect import INFORMATION, NO_EFFECT

    from skillkit_core.skills import Skill

    writes = {"format.py", "keys.py", "effects.py"}  # they fill the fields
    read = set()
    for file in Path(skillkit_skills.__file__).parent.rglob("*.py"):
        if file.name not in writes:
            tree = ast.parse(file.read_text())
            read |= {n.attr for n in ast.walk(tree) if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Load)}
    names = {field.name for field in dataclasses.fields(Skill)}
    assert names - read - INFORMATION - set(NO_EFFECT) == set()
    assert set(NO_EFFECT) <= names and names >= INFORMATION


def test_a_skill_without_the_name_is_opened_by_its_address(real):
    host = real()
    root = host.config_dir / "skills"
    block = {"actions": [{"name": "go", "run": "echo went", "confirm": "never"}]}
    for folder in ("a", "b"):
        put(root / folder, "notes", body=f"From {folder}.", block=block if folder == "b" else None)
    (root / "a/notes").rename(root / "a/first")
    (root / "b/notes").rename(root / "b/second")
    host.reload_skills()
    model, _, _ = asyncio.run(talk(host, "/user:second/notes", "ok"))
    assert '<skill_content name="user:second/notes">\nFrom b.' in model.requests[0].messages[-1].text
    assert "notes__go" in {t.name for t in model.requests[0].tools}
    model, _, _ = asyncio.run(talk(host, "/notes", "ok"))
    assert "From a." in model.requests[0].messages[-1].text
    assert "notes__go" not in {t.name for t in model.requests[0].tools}


# --- a compaction -----------------------------------------------------------------------------------------------------


class KeepsNothing(Compactor):
    async def compact(self, request):
        return CompactionResult("Earlier talk.", len(request.messages))


class Compacts:
    @hookimpl
    def register_compactors(self, register):
        register(Factory("nothing", lambda host: KeepsNothing()))


@pytest.mark.parametrize("called", [True, False], ids=["by a person", "by the model"])
def test_the_instructions_of_an_open_skill_outlive_a_compaction(make_host, tmp_path, called):
    folder = tmp_path / "skills"
    put(folder, "polite", body="Never say no.")
    host = make_host(
        ("skills", skillkit_skills.plugin), ("bash", skillkit_bash.plugin), ("compacts", Compacts()),
        settings={"skills.dirs": [str(folder)]},
    )  # fmt: skip
    call = [] if called else [Reply(calls=[Call("activate_skill", {"name": "polite"})])]

    async def main():
        model = ScriptedModel([*call, "word " * 900, "again"])
        async with AgentRunner(AgentConfig(), host=host) as agent:
            agent.set_adapter(model)
            await agent.chat("/polite now" if called else "be polite")
            assert await agent.compact()
            await agent.chat("go on")
            assert len(agent.messages) == 4
        return [m.text for m in model.requests[-1].messages]

    summary, skill, request = asyncio.run(main())
    assert "Earlier talk." in summary and "Never say no." in skill and request == "go on"


async def test_an_agent_is_gone_once_it_is_closed_whatever_listens_to_it(real):
    host = real()
    put(host.config_dir / "skills", "polite")

    async def used():
        async with AgentRunner(AgentConfig(), host=host) as agent:
            agent.events.on("turn_start", lambda event: heard.append(agent.running))
            agent.set_adapter(ScriptedModel([Reply(calls=[Call("activate_skill", {"name": "polite"})]), "ok"]))
            assert (await agent.chat("be polite")).content == "ok"
        return weakref.ref(agent)

    heard: list[bool] = []
    closed = await used()
    gc.collect()
    assert heard == [True, True] and closed() is None
