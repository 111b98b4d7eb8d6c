"""``skills check`` reads what other plugins make of a skill's keys."""

import json

import pytest

FORKED = "---\nname: study\ndescription: Studies. Use it to study.\ncontext: fork\nagent: explorer\n---\nStudy.\n"


@pytest.fixture
def study(skillkit_home):
    folder = skillkit_home.config_dir / "skills" / "study"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(FORKED)
    return folder


@pytest.mark.sample(1)
@pytest.mark.parametrize("named", ["all", "name", "path"])
def test_the_agent_of_a_forked_skill_that_is_defined_nowhere_is_named_with_its_line_and_those_that_exist(
    skillkit_cli, skillkit_home, study, named
):
    agents = skillkit_home.config_dir / "agents"
    agents.mkdir()
    (agents / "looker.md").write_text("---\nname: looker\ndescription: Looks.\n---\nLook.\n")
    where = {"all": [], "name": ["study"], "path": [study]}[named]
    told = " ".join(skillkit_cli("skills", "check", *where).ok().stdout.split())
    assert "warning no-effect:agent: agent 'explorer' is defined nowhere" in told
    assert "agents here: looker (SKILL.md:5)" in told
    assert "the key 'agent' is read here" in told
    (agents / "explorer.md").write_text("---\nname: explorer\ndescription: Explores.\n---\nExplore.\n")
    found = json.loads(skillkit_cli("skills", "check", "--json", *where).ok().stdout)
    assert "no-effect:agent" not in [p["code"] for skill in found["skills"] for p in skill["problems"]]
