"""The suite of skills: green on a package that ``skillkit skills new`` filled, and red on each promise that is broken."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from skillkit_testkit.conformance import SkillsConformance

from skillkit_core.contracts.skill_loader import LoadedSkills
from skillkit_core.skills import Skill, SkillAction, SkillProblem

pytest.importorskip("skillkit_skills")
tools = pytest.importorskip("skillkit_skill_tools")


class TestSkills(SkillsConformance):
    package = "acme_suite_skills"

    @pytest.fixture(autouse=True)
    def made(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        tools.make_skill(tmp_path / "site" / self.package / "words-of-acme")
        monkeypatch.syspath_prepend(str(tmp_path / "site"))


GOOD = Skill(name="a", description="Says a.", path=Path("x/a"))


@pytest.mark.parametrize(
    ("check", "skills", "said"),
    [
        ("a_name_is_that_of_its_folder_and_means_one_skill", [GOOD, GOOD], "several skills called a"),
        (
            "a_name_is_that_of_its_folder_and_means_one_skill",
            [Skill(name="b", path=Path("x/a"))],
            "b is in the folder a",
        ),
        ("an_alias_means_no_other_skill", [GOOD, Skill(name="b", aliases=("a",))], "several skills: a"),
        ("a_description_says_what_a_skill_is_for", [Skill(name="b")], "b: the description is empty"),
        ("a_description_says_what_a_skill_is_for", [Skill(name="b", description="x" * 1025)], "has 1025 characters"),
        (
            "each_action_says_what_it_does",
            [Skill(name="b", actions=(SkillAction(name="go", run="x"),))],
            "the action go has no description",
        ),
    ],
)
def test_a_promise_that_is_broken_is_said(check: str, skills: list[Any], said: str) -> None:
    with pytest.raises(AssertionError, match=said):
        getattr(SkillsConformance(), f"test_{check}")(skills)


def test_a_skill_that_is_not_read_is_said() -> None:
    broken = LoadedSkills(problems=(SkillProblem("bad", "no front matter", "error"),))
    with pytest.raises(AssertionError, match="no front matter"):
        SkillsConformance().test_each_skill_is_read_without_an_error(broken)
