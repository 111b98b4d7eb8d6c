"""The tests that a skill brings: on the command line, as items of pytest, and from Python."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from skillkit_skill_tools.case_runs import SkillTester
from skillkit_skill_tools.cases import SkillCases, read_cases
from skillkit_skills import SkillFolderLoader

from skillkit_core import AgentConfig, SkillSource, UsageError

SCRIPT = """\
import json, sys
from pathlib import Path

if not sys.argv[1].strip():
    sys.exit("nobody to greet")
Path("log.txt").write_text(sys.argv[1])
known = Path("known.txt").read_text().split() if Path("known.txt").exists() else []
print(json.dumps({"answer": f"Hello, {sys.argv[1]}!", "known": sys.argv[1] in known, "more": {"n": 1}}))
"""


@pytest.fixture
def skill(skillkit_home) -> Path:
    """A skill with an action and without tests."""
    folder = skillkit_home.cwd / "mine/greet"
    (folder / "scripts").mkdir(parents=True)
    (folder / "evals").mkdir()
    args = {"name": {"type": "string", "required": True, "position": 1}}
    action = {
        "name": "hello",
        "description": "Greet a person",
        "script": "scripts/hello.py",
        "args": args,
        "output": "json",
    }
    head = {
        "name": "greet",
        "description": "Greet a person by name.",
        "metadata": {"skillkit": {"keywords": ["greet"], "examples": ["greet 'Ana'"], "actions": [action]}},
    }
    (folder / "SKILL.md").write_text(f"---\n{yaml.safe_dump(head)}---\nUse hello.\n")
    (folder / "scripts/hello.py").write_text(SCRIPT)
    (folder / "evals/friends.txt").write_text("Ana Bo")
    return folder


def write(folder: Path, **cases) -> Path:
    file = folder / "evals/tests.yaml"
    file.write_text(yaml.safe_dump(cases))
    return file


def hello(**expected):
    return {"action": "hello", "args": {"name": "Ana"}, "expect": expected}


GOOD = [
    hello(data={"answer": "Hello, Ana!", "more": {"n": 1}}, exit=0, contains="Ana", files={"log.txt": "Ana"}),
    hello(data={"known": True}) | {"name": "a friend", "files": {"known.txt": "Ana Bo"}},
    {"action": "hello", "args": {"name": " "}, "expect": {"error": "exit-code:1", "contains": ["nobody"]}},
    {"action": "hello", "expect": {"error": "name"}},
]


@pytest.mark.smoke
def test_action_cases_run_for_real_each_in_a_workspace_of_its_own(skillkit_cli, skill, skillkit_home):
    write(skill, actions=GOOD)
    done = skillkit_cli("skills", "test", "mine")
    assert done.exit_code == 0, done
    assert done.stdout.splitlines()[-1] == "4 cases, 0 failed."
    assert "passed greet action: a friend" in done.stdout
    assert not (skillkit_home.cwd / "log.txt").exists()


@pytest.mark.parametrize(
    ("case", "said"),
    [
        (hello(data={"answer": "Bye"}), "data.answer is 'Hello, Ana!', not 'Bye'"),
        (hello(data={"more": {"n": 2}}), "data.more.n is 1, not 2"),
        (hello(contains=["Ana", "Bo"]), "the output does not contain 'Bo'"),
        (hello(ok=False), "worked, but should fail"),
        (hello(error="timeout"), "worked, but should fail (timeout)"),
        (hello(files={"log.txt": "Bo"}), "the file log.txt holds 'Ana', not 'Bo'"),
        (hello(files={"out.txt": ""}), "the file out.txt is not there"),
        ({"action": "hello", "args": {"name": " "}}, "failed: exit-code:1 nobody to greet"),
        ({"action": "hullo"}, "skill 'greet' has no action 'hullo'; its actions: hello"),
        (hello() | {"files": {"../out.txt": ""}}, "../out.txt is outside of the workspace"),
        (hello() | {"copy": ["../../secret"]}, "../../secret is outside of the skill's folder"),
    ],
)
def test_what_is_not_as_expected_is_said(skill, case, said):
    (found,) = SkillFolderLoader().load(SkillSource("mine", "extra", skill)).skills
    cases = read_cases(write(skill, actions=[case]))

    async def run():
        return [outcome async for outcome in SkillTester(found).run(cases)]

    (outcome,) = asyncio.run(run())
    assert said in "\n".join(outcome.failures)


def test_files_of_the_skill_are_copied_into_the_workspace(skillkit_cli, skill):
    write(
        skill,
        actions=[
            {
                "action": "hello",
                "args": {"name": "Ana"},
                "copy": ["evals/friends.txt"],
                "expect": {"files": {"evals/friends.txt": "Ana Bo"}},
            }
        ],
    )
    skillkit_cli("skills", "test", "mine/greet").ok()


def test_trigger_cases_say_which_skill_a_request_leads_to(skillkit_cli, skill, skillkit_home):
    pytest.importorskip("skillkit_offline")
    chosen = {"query": "greet 'Ana'", "action": "hello", "args": {"name": "Ana"}}
    other = {"query": "how many words does a.txt have", "should_trigger": False, "files": {"a.txt": "one two"}}
    write(skill, triggers=[chosen, other])
    done = skillkit_cli("skills", "test", "mine")
    assert done.exit_code == 0 and "passed greet trigger: greet 'Ana'" in done.stdout, done
    write(
        skill,
        triggers=[
            chosen | {"args": {"name": "Bo"}},
            {"query": "sing a song"},
            {"query": "greet 'Bo'", "should_trigger": False},
        ],
    )
    done = skillkit_cli("skills", "test", "mine", "--json")
    assert done.exit_code == 1 and not done.json["ok"]
    failures = [case["failures"] for case in done.json["cases"]]
    assert failures[0] == ["name is 'Ana', not 'Bo'"]
    assert failures[1][0].startswith("did not choose the skill: No skill fits this request")
    assert failures[2] == ["chose greet hello"]
    assert not list(skillkit_home.cwd.glob("log.txt")), "nothing ran"


def test_a_model_can_be_asked_for_trigger_cases(skillkit_cli, skill, llm_server, monkeypatch):
    pytest.importorskip("skillkit_openai")
    from skillkit_testkit import Call, Reply

    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    monkeypatch.setenv("OPENAI_BASE_URL", llm_server.url + "/v1")
    llm_server.script(
        Reply(tool_calls=[Call("activate_skill", {"name": "greet"})]),
        Reply(text="I would rather not."),
        Reply(tool_calls=[Call("greet__hello", {"name": "Bo"})]),
    )
    queries = [
        {"query": "say hello"},
        {"query": "say bye"},
        {"query": "greet Bo", "action": "hello", "args": {"name": "Bo"}},
    ]
    write(skill, triggers=queries)
    done = skillkit_cli("skills", "test", "mine", "--provider", "openai", "--model", "gpt-5", "--json")
    outcomes = [case["failures"] for case in done.json["cases"]]
    assert outcomes == [[], ["did not choose the skill: I would rather not."], []], done


def test_a_skill_of_the_same_name_that_is_installed_does_not_hide_the_tested_one(skillkit_cli, skill, skillkit_home):
    installed = skillkit_home.config_dir / "skills/greet"
    installed.mkdir(parents=True)
    (installed / "SKILL.md").write_text("---\nname: greet\ndescription: Another one.\n---\nHi.\n")
    write(skill, actions=[hello(data={"answer": "Hello, Ana!"})])
    skillkit_cli("skills", "test", "mine").ok()


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("actions:\n  - action: hello\n    agrs: {}\n", "tests.yaml:3: actions.0.agrs: Extra inputs are not permitted"),
        ("triggers:\n  - should_trigger: false\n", "tests.yaml:2: triggers.0.query: Field required"),
        ("actions: [\n", "tests.yaml:2: is not YAML"),
    ],
)
def test_a_wrong_file_names_its_line(skillkit_cli, skill, text, said):
    (skill / "evals/tests.yaml").write_text(text)
    done = skillkit_cli("skills", "test", "mine")
    assert done.exit_code == 2 and said in done.stderr, done


def test_the_name_of_a_found_skill_stands_for_its_folder_and_a_path_wins(skillkit_cli, skill, skillkit_home):
    write(skill, actions=GOOD)
    shutil.copytree(skill, skillkit_home.config_dir / "skills" / "greet")
    assert "4 cases, 0 failed." in skillkit_cli("skills", "test", "greet").ok().stdout
    write(skill, actions=GOOD[:2])
    (skillkit_home.cwd / "greet").symlink_to(skill)
    assert "2 cases, 0 failed." in skillkit_cli("skills", "test", "greet").ok().stdout
    wrong = skillkit_cli("skills", "test", "greeet")
    said = "Error: 'greeet' is neither a path nor the name of a skill; did you mean 'greet'?\n"
    assert (wrong.exit_code, wrong.stdout, wrong.stderr) == (2, "", said)


def test_no_tests_is_no_success(skillkit_cli, skill, tmp_path):
    done = skillkit_cli("skills", "test", "mine")
    assert done.exit_code == 1 and "write evals/tests.yaml beside a SKILL.md" in done.stderr
    (tmp_path / "empty").mkdir()
    done = skillkit_cli("skills", "test", tmp_path / "empty")
    assert done.exit_code == 2 and "there is no skill here" in done.stderr


def test_a_skill_without_a_folder_has_no_tests():
    from skillkit_core.skills import Skill

    with pytest.raises(UsageError, match="has no folder"):
        SkillTester(Skill(name="made"), AgentConfig(provider="offline"))
    assert len(SkillCases()) == 0


def test_cases_are_items_of_pytest_by_the_name_of_their_file(skill, skillkit_home):
    write(skill, actions=[GOOD[0], hello(data={"answer": "Bye"}) | {"name": "wrong"}])
    (skill.parent / "evals").mkdir()  # no skill beside it: somebody else's file
    (skill.parent / "evals/tests.yaml").write_text("anything")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-rA", "mine"]
    done = subprocess.run(command, cwd=skillkit_home.cwd, capture_output=True, text=True)
    assert "1 failed, 1 passed" in done.stdout, done.stdout + done.stderr
    assert "tests.yaml::action: wrong" in done.stdout and "data.answer is 'Hello, Ana!', not 'Bye'" in done.stdout
    assert "Traceback" not in done.stdout
    done = subprocess.run([*command, "-k", "wrong"], cwd=skillkit_home.cwd, capture_output=True, text=True)
    assert "1 failed, 1 deselected" in done.stdout
