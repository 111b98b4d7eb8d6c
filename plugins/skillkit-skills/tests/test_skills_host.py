"""The plugin in a real host, with a real agent, and as a real process."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from importlib.metadata import distributions
from pathlib import Path

import pytest
import skillkit_bash.plugin
import skillkit_skills.plugin

from skillkit_core import (
    AgentConfig,
    AgentRunner,
    ApprovalDecision,
    Approver,
    Factory,
    SkillRuntime,
    ToolResultMessage,
    hookimpl,
)
from skillkit_core.testing import Call, Reply, ScriptedModel


def put(root: Path, name: str, description: str = "Use it.", block: dict | None = None, body: str = "Be kind.") -> Path:
    folder = root / name
    folder.mkdir(parents=True)
    metadata = f"metadata: {{skillkit: {json.dumps(block)}}}\n" if block else ""
    (folder / "SKILL.md").write_text(f"---\nname: {name}\ndescription: {description}\n{metadata}---\n{body}\n")
    return folder


@pytest.fixture
def real(make_host):
    """A host with this plugin and the runtime, in an empty home."""

    def make(**options):
        return make_host(("skills", skillkit_skills.plugin), ("bash", skillkit_bash.plugin), **options)

    return make


class Says(Approver):
    """Answers every question alike and keeps what was asked."""

    def __init__(self, decision: str) -> None:
        self.decision, self.asked = decision, []

    async def approve(self, request):
        self.asked += [q.text for q in request.questions]
        return ApprovalDecision(self.decision, remember=True)


async def talk(host, *turns, **config):
    model = ScriptedModel([Reply(calls=[Call(*turn)]) if isinstance(turn, tuple) else turn for turn in turns])
    async with AgentRunner(AgentConfig(model="scripted", **config), host=host) as agent:
        agent.set_adapter(model)
        await agent.chat("please")
        results = [m for m in agent.session.messages if isinstance(m, ToolResultMessage)]
    return model, results


def test_a_model_reads_a_skill_and_runs_its_action(real):
    host = real()
    action = {"name": "greet", "run": "echo hello {name}", "args": {"name": "string"}, "confirm": "never"}
    put(host.config_dir / "skills", "greeter", "Greet people.", {"actions": [action]})
    script = (("activate_skill", {"name": "greeter"}), ("greeter__greet", {"name": "Ana; rm -rf /"}), "done")
    model, results = asyncio.run(talk(host, *script))
    assert "<name>greeter</name>" in model.requests[0].system
    assert '<skill_content name="greeter">\nBe kind.' in results[0].text
    assert (results[1].text, results[1].outcome) == ("hello Ana; rm -rf /", "ok")


@pytest.mark.parametrize("kind", [StopIteration])
def test_a_runtime_that_raises_no_exception_fails_the_action_and_nothing_else(make_host, kind):
    class Bad(SkillRuntime):
        async def execute(self, command, cwd=None, env=None, timeout=None, on_output=None, **options):
            raise kind

    class Brings:
        @hookimpl
        def register_runtimes(self, register):
            register(Factory("bad", lambda host: Bad()))

    host = make_host(("skills", skillkit_skills.plugin), ("bad", Brings()))
    action = {"name": "go", "run": "echo ran", "confirm": "never"}
    put(host.config_dir / "skills", "s", block={"actions": [action]})
    model, results = asyncio.run(talk(host, ("s__go", {}), "done"))
    assert [r.outcome for r in results] == ["error"] and len(model.requests) == 2
    assert kind.__name__ in results[0].text


def test_an_action_gets_a_secret_that_must_be_awaited(real):
    class Vault:
        @hookimpl
        async def resolve_secret(self, name):
            await asyncio.sleep(0)
            return "from-the-vault" if name == "TOKEN" else None

    host = real()
    host.add_plugin(Vault())
    action = {"name": "go", "run": "sh -c 'echo ${#TOKEN}'", "env": ["TOKEN"], "confirm": "never"}
    put(host.config_dir / "skills", "s", block={"actions": [action]})
    _, results = asyncio.run(talk(host, ("s__go", {}), "done"))
    assert results[0].text == "14" and not host.problems


def test_an_action_that_needs_a_terminal_says_so(real):
    host = real()
    action = {"name": "go", "run": "stty -echo", "confirm": "never"}
    put(host.config_dir / "skills", "s", block={"actions": [action]})
    _, results = asyncio.run(talk(host, ("s__go", {}), "done"))
    assert results[0].text.startswith("Action go needs a terminal or somebody who types, and there is neither.\n")
    assert results[0].details["error"] == "needs-terminal" and results[0].details["exit"] == 1


def test_an_action_that_asks_is_denied_where_nobody_can_be_asked(real):
    host = real()
    put(host.config_dir / "skills", "s", block={"actions": [{"name": "go", "run": "echo ran"}]})
    _, results = asyncio.run(talk(host, ("s__go", {}), "done"))
    assert results[0].outcome == "denied" and "ran" not in results[0].text


def test_first_asks_once_and_always_each_time(real):
    host = real()
    actions = [{"name": n, "run": "echo ran", "confirm": n} for n in ("first", "always")]
    put(host.config_dir / "skills", "s", block={"actions": actions})
    approver = Says("allow")
    script = [("s__first", {}), ("s__first", {}), ("s__always", {}), ("s__always", {}), "done"]
    _, results = asyncio.run(talk(host, *script, approver=approver))
    assert [r.text for r in results] == ["ran"] * 4
    assert approver.asked == ["Run action first of skill s?"] + ["Run action always of skill s?"] * 2


def test_precedence_and_losers(real, skillkit_home, tmp_path):
    host = real(settings={"skills.dirs": [str(tmp_path / "more")]})
    put(tmp_path / "more", "same", "Extra.")
    put(host.cwd / ".skillkit/skills", "same", "Project.")
    put(host.config_dir / "skills", "same", "User.")
    assert host.skills.get("same").description == "User."
    assert host.skills.get("extra:more:same").description == "Extra."
    from skillkit_core.settings.trust import Trust

    Trust(host.data_dir).add(host.cwd)
    trusting = real(cwd=host.cwd)
    assert trusting.skills.get("same").description == "Project."
    assert trusting.skills.get("user:same").description == "User."


def test_a_copy_of_a_users_skill_is_left_out(real, skillkit_home):
    host = real()
    for root in (host.config_dir / "skills", Path(host.environ["HOME"]) / ".agents/skills"):
        put(root, "copied")
    assert host.skills.list() == ["copied"] and host.skill_problems == []
    host.reload_skills()
    assert host.skills.list() == ["copied"]


def test_the_folders_name_is_an_alias_where_it_is_free(real):
    host = real()
    put(host.config_dir / "skills", "proper").rename(host.config_dir / "skills/folder")
    assert host.skills.get("folder") is host.skills.get("proper")


def test_the_command_works_as_a_process(skillkit_cli, skillkit_home):
    put(skillkit_home.config_dir / "skills", "mine")
    done = skillkit_cli("skills", "list", "--json")
    assert done.exit_code == 0
    row = next(r for r in done.json if r["name"] == "mine")
    assert (row["status"], row["source"], row["kind"]) == ("ready", "user", "user")
    wrong = skillkit_cli("skills", "show", "mime")
    assert wrong.exit_code == 2 and "did you mean 'mine'?" in wrong.stderr and "Traceback" not in wrong.stderr


def test_listing_stays_within_the_budget_of_imported_modules(skillkit_home):
    for i in range(10):
        put(skillkit_home.config_dir / "skills", f"s{i}")
    standard = any(one.name == "skillkit-default" for one in distributions())  # else the plugin is alone here
    argv = ["skillkit", *(["--only-default-plugins"] if standard else []), "skills", "list"]
    code = (
        f"import sys\nfrom skillkit_core.cli.main import entry\nsys.argv = {argv}\n"
        "try:\n    entry()\nexcept SystemExit:\n    pass\n"
        "print(len(sys.modules), [m for m in ('asyncio', 'pydantic', 'jsonschema') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    *rows, counts = done.stdout.splitlines()
    assert sum(row.startswith("s") for row in rows) >= 10, done.stdout
    count, heavy = counts.split(" ", 1)
    assert heavy == "[]" and int(count) <= 280, counts


def test_a_person_calls_a_skill_by_its_name(real):
    host = real()
    folder = host.config_dir / "skills/notes"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text("Summarise $ARGUMENTS in {baseDir}.")  # no description: a model never sees it
    put(host.config_dir / "skills", "absent", block={"requires": {"bins": ["no-such-program-xyz"]}})

    async def say(text):
        model = ScriptedModel(["done"])
        async with AgentRunner(AgentConfig(model="scripted"), host=host) as agent:
            agent.set_adapter(model)
            response = await agent.chat(text)
        return response.content, [m.text for r in model.requests for m in r.messages]

    answer, sent = asyncio.run(say("/notes the minutes"))
    assert answer == "done" and sent[0].startswith(f'<skill_content name="notes">\nSummarise the minutes in {folder}.')
    assert asyncio.run(say("$skill:notes"))[1][0].startswith("<skill_content")
    assert asyncio.run(say("/absent"))[0] == "Skill absent cannot be called here: missing-bin:no-such-program-xyz."
    assert asyncio.run(say("/etc/passwd is a file"))[1] == ["/etc/passwd is a file"]
    assert asyncio.run(say("$5 is cheap"))[1] == ["$5 is cheap"]


@pytest.mark.spec("13.11")
def test_what_looks_like_a_command_in_a_skill_or_its_arguments_is_text_and_never_run(real):
    host = real()
    folder = host.config_dir / "skills/notes"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text("Before !`touch body` after: $ARGUMENTS, then $1.")

    async def say(text):
        model = ScriptedModel(["done"])
        async with AgentRunner(AgentConfig(model="scripted"), host=host) as agent:
            agent.set_adapter(model)
            await agent.chat(text)
        return model.requests[0].messages[0].text

    told = "!`touch arguments` $(touch dollar) `touch ticks`; touch plain"
    sent = asyncio.run(say(f"/notes {told}"))
    assert f"Before !`touch body` after: {told}, then" in sent
    made = {path.name for where in (folder, host.cwd, Path.cwd()) for path in where.iterdir()}
    assert not made & {"body", "arguments", "dollar", "ticks", "plain"}
