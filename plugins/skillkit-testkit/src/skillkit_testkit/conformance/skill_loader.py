"""The skill loader suite: a source becomes skills, a bad skill becomes a problem, and nothing is ever run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from skillkit_core.contracts.skill_loader import SkillLoader, SkillSource

__all__ = ["SkillLoaderConformance"]


def _skill(name: str, description: str, body: str = "Do the thing.\n") -> str:
    return f"---\nname: {name}\ndescription: {description}\n---\n{body}"


class SkillLoaderConformance:
    """Subclass it and give the fixture ``loader``. A loader of something else than folders overrides :meth:`source`."""

    @pytest.fixture
    def loader(self) -> SkillLoader:
        """Override: the loader."""
        raise NotImplementedError("give the fixture loader: -> SkillLoader")

    def source(self, tmp_path: Path, skills: Mapping[str, str]) -> SkillSource:
        """A source with these skills: name of the folder to the text of its ``SKILL.md``."""
        root = tmp_path / "skills"
        root.mkdir(exist_ok=True)
        for name, text in skills.items():
            (root / name).mkdir()
            (root / name / "SKILL.md").write_text(text, encoding="utf-8")
        return SkillSource("conformance", path=root)

    def test_it_accepts_its_own_kind_of_source(self, loader: SkillLoader, tmp_path: Path) -> None:
        """Else it would never be asked."""
        assert loader.accepts(self.source(tmp_path, {"one": _skill("one", "First.")})) is True

    def test_name_description_and_body_are_read(self, loader: SkillLoader, tmp_path: Path) -> None:
        """The required fields of the format."""
        source = self.source(tmp_path, {"greet": _skill("greet", "Greets people 🌨.", "# Greet\n\nSay hello.\n")})
        (skill,) = loader.load(source).skills
        assert (skill.name, skill.description, skill.status) == ("greet", "Greets people 🌨.", "ok")
        assert skill.body.strip() == "# Greet\n\nSay hello."

    def test_the_order_is_stable(self, loader: SkillLoader, tmp_path: Path) -> None:
        """Never file-system order."""
        names = ["zeta", "alpha", "mid", "beta"]
        source = self.source(tmp_path, {n: _skill(n, f"About {n}.") for n in names})
        first, second = ([s.name for s in loader.load(source).skills] for _ in range(2))
        assert first == second == sorted(names)

    def test_a_broken_skill_is_a_problem_and_the_others_load(self, loader: SkillLoader, tmp_path: Path) -> None:
        """``load`` never raises for a bad skill."""
        source = self.source(
            tmp_path,
            {
                "good": _skill("good", "Good."),
                "empty": "",
                "broken": "---\nname: [unclosed\n---\nbody\n",
                "nameless": "---\ndescription: no front matter end\n",
            },
        )
        loaded = loader.load(source)
        assert "good" in [s.name for s in loaded.skills if s.status == "ok"]
        bad = [*loaded.problems, *(p for s in loaded.skills for p in s.problems)]
        assert bad
        assert all(p.code and p.severity in ("error", "warning", "info") for p in bad)

    def test_nothing_is_run(self, loader: SkillLoader, tmp_path: Path) -> None:
        """Reading is not running: no script, no command in the text, no YAML tag."""
        trap = tmp_path / "sprung"
        body = f"!`touch {trap}`\n```!\ntouch {trap}\n```\n"
        tag = f"---\nname: tag\ndescription: !!python/object/apply:os.system ['touch {trap}']\n---\n"
        source = self.source(tmp_path, {"trap": _skill("trap", "A trap.", body), "tag": tag})
        if source.path is not None:
            scripts = source.path / "trap" / "scripts"
            scripts.mkdir()
            (scripts / "__init__.py").write_text(f"open({str(trap)!r}, 'w')")
        loader.load(source)
        assert not trap.exists()

    def test_an_empty_source_has_no_skills(self, loader: SkillLoader, tmp_path: Path) -> None:
        """And no error."""
        assert list(loader.load(self.source(tmp_path, {})).skills) == []

    def test_a_source_that_is_not_there_is_no_exception(self, loader: SkillLoader, tmp_path: Path) -> None:
        """A folder may vanish between two loads."""
        source = SkillSource("gone", path=tmp_path / "not-there")
        if loader.accepts(source):
            assert list(loader.load(source).skills) == []
