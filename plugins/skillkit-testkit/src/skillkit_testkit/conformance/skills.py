"""The suite of skills: what a package of skills brings is found, read, named and tried as its author says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import pytest

from skillkit_core import Host
from skillkit_core.contracts.skill_loader import LoadedSkills, SkillSource
from skillkit_core.skills import Skill

__all__ = ["SkillsConformance"]

LONGEST = 1024  # characters of a description, by the format of SKILL.md


class SkillsConformance:
    """Subclass it and name the ``package``. It needs ``skillkit-skills`` and ``skillkit-skill-tools`` beside it.

    Attributes:
        package: import name of the package, as ``[skillkit.skills]`` has it.
    """

    package: ClassVar[str] = ""

    @pytest.fixture
    def loaded(self, make_host: Callable[..., Host]) -> LoadedSkills:
        """What the installed loaders find in the package."""
        if not self.package:
            raise NotImplementedError("give package = the import name of the package")
        host = make_host(discover=True)
        source = SkillSource("conformance", "plugin", package=self.package, trusted=True)
        loaders = [host.skill_loaders.get(name) for name in host.skill_loaders.list()]
        taken = next((loader for loader in loaders if loader.accepts(source)), None)
        assert taken is not None, "no installed plugin reads skills: install skillkit-skills"
        return taken.load(source)

    @pytest.fixture
    def skills(self, loaded: LoadedSkills) -> Sequence[Skill]:
        """The skills of the package, at least one."""
        assert loaded.skills, f"there is no SKILL.md in {self.package}: did the build leave it out?"
        return loaded.skills

    def test_each_skill_is_read_without_an_error(self, loaded: LoadedSkills) -> None:
        """A skill with an error does not run."""
        found = [*loaded.problems, *(problem for skill in loaded.skills for problem in skill.problems)]
        wrong = [f"{one.path}: {one.message}" for one in found if one.severity == "error"]
        assert not wrong, "; ".join(wrong)

    def test_a_name_is_that_of_its_folder_and_means_one_skill(self, skills: Sequence[Skill]) -> None:
        """Two skills of one name could not both be meant, and other hosts look for the folder."""
        names = [skill.name for skill in skills]
        twice = [name for name, n in Counter(names).items() if n > 1]
        assert not twice, f"there are several skills called {', '.join(twice)}"
        astray = [
            f"{s.name} is in the folder {s.path.name}" for s in skills if s.path is not None and s.path.name != s.name
        ]
        assert not astray, "; ".join(astray)

    def test_an_alias_means_no_other_skill(self, skills: Sequence[Skill]) -> None:
        """What a person types must lead to one skill."""
        names = {skill.name for skill in skills}
        given = Counter(alias for skill in skills for alias in skill.aliases)
        taken = [alias for alias, n in given.items() if n > 1 or alias in names]
        assert not taken, f"these aliases mean several skills: {', '.join(taken)}"

    def test_a_description_says_what_a_skill_is_for(self, skills: Sequence[Skill]) -> None:
        """A model chooses by it, and it is in every prompt."""
        for skill in skills:
            assert skill.description.strip(), f"{skill.name}: the description is empty"
            assert len(skill.description) <= LONGEST, (
                f"{skill.name}: the description has {len(skill.description)} characters"
            )

    def test_each_action_says_what_it_does(self, skills: Sequence[Skill]) -> None:
        """Its description is that of the tool that the model sees."""
        for skill in skills:
            for action in skill.actions:
                assert action.description.strip(), f"{skill.name}: the action {action.name} has no description"

    def test_its_own_cases_pass(self, skills: Sequence[Skill], skillkit_cli: Any) -> None:
        """The cases in ``evals/tests.yaml`` of each skill: what actions answer, and which request means the skill."""
        tried = [s for s in skills if s.path is not None and (s.path / "evals" / "tests.yaml").is_file()]
        if not tried:
            pytest.skip("no skill has cases: write evals/tests.yaml, as 'skillkit skills new' does")
        for skill in tried:
            done = skillkit_cli("skills", "test", str(skill.path))
            assert done.exit_code == 0, f"{skill.name}: {done.stdout}{done.stderr}"
