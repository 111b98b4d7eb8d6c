"""The scan: skills that do what attackers do are named, honest ones that look like it are not."""

from __future__ import annotations

from pathlib import Path

import pytest
from skillkit_skill_packages import FINDINGS, scan_skill
from skillkit_skill_packages.contents import Files
from skillkit_skills import SkillFolderLoader
from skills_of_others import HONEST, HOSTILE, Made

from skillkit_core.contracts.skill_loader import SkillSource
from skillkit_core.skills import Skill, SkillProblem


def written(root: Path, key: str, made: Made) -> Skill:
    """Write a skill as its author would, and read it."""
    name = made.name or key
    folder = root / name
    folder.mkdir(parents=True)
    text = f"---\nname: {name}\ndescription: Use it for {key}.\n{made.extra}---\n\n# {key}\n\n{made.body}\n"
    (folder / "SKILL.md").write_text(text, encoding="utf-8")
    for path, data in made.files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data.encode() if isinstance(data, str) else data)
    (skill,) = SkillFolderLoader().load(SkillSource("x", "user", root, trusted=True)).skills
    return skill


def found(skill: Skill, files: Files | None = None) -> list[SkillProblem]:
    return [p for p in scan_skill(skill, files) if p.code.startswith("scan-")]


@pytest.mark.parametrize("key", HOSTILE)
def test_a_hostile_skill_is_named_with_file_line_and_reason(tmp_path, key):
    said = found(written(tmp_path, key, HOSTILE[key]))
    assert said
    for one in said:
        assert one.path and Path(one.path).exists() and FINDINGS[one.code.removeprefix("scan-")] in one.message
    assert any(one.line for one in said) or said[0].code in (
        "scan-settings-file", "scan-binary-program", "scan-lookalike-name", "scan-runs-when-read",
    )  # fmt: skip


@pytest.mark.parametrize("key", HONEST)
def test_an_honest_skill_has_no_finding(tmp_path, key):
    assert [
        f"{one.code} {one.path}:{one.line} {one.message}" for one in found(written(tmp_path, key, HONEST[key]))
    ] == []
