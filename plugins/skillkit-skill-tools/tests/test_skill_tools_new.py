"""A new skill: check and test are green at once, its example runs without a model, and nothing is overwritten."""

from __future__ import annotations

import json

import pytest
from skillkit_skill_tools import make_skill

from skillkit_core import UsageError


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    "name",
    [pytest.param("word-count", marks=pytest.mark.smoke), "count", "a", "web3", "top-10", "the-words-of-a-text"],
)
def test_a_new_skill_is_green_and_its_example_runs(skillkit_cli, skillkit_home, name):
    made = skillkit_cli("skills", "new", name).ok()
    assert made.stdout.splitlines()[0] == f"✓ {name}: a skill with one action and four tests."
    assert skillkit_cli("skills", "check", "--strict", ".").ok().stdout == "1 skill, 1 without a remark.\n"
    assert skillkit_cli("skills", "test", name).ok().stdout.endswith("4 cases, 0 failed.\n")
    (command,) = [line for line in made.stdout.splitlines() if " run " in line]
    request = command.partition('"')[2].rstrip('"')
    answer = skillkit_cli("run", "--skills-dir", ".", "--json", request).ok().json
    assert (answer["answer"], answer["provider"]) == ("3 words", "offline")


def test_a_skill_that_is_there_stays_as_it_is(skillkit_cli, skillkit_home):
    (skillkit_home.cwd / "mine" / "notes").mkdir(parents=True)
    (skillkit_home.cwd / "mine" / "notes" / "SKILL.md").write_text("mine")
    done = skillkit_cli("skills", "new", "mine/notes")
    assert done.exit_code == 2
    assert done.stderr == "Error: mine/notes is there already; choose another name\n"
    assert (skillkit_home.cwd / "mine" / "notes" / "SKILL.md").read_text() == "mine"


@pytest.mark.parametrize("name", ["Words", "two words", "-a", "a--b", "a" * 65, "a_b", "3d-print"])
def test_a_name_that_no_skill_has_is_refused(tmp_path, name):
    with pytest.raises(UsageError):
        make_skill(tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_the_action_fails_in_words(skillkit_cli, skillkit_home):
    skillkit_cli("skills", "new", "words").ok()
    done = skillkit_cli("run", "--skills-dir", ".", "--json", "--skill", "words", "count", " ")
    assert done.exit_code == 1
    assert "the text has no words" in json.dumps(done.json)
