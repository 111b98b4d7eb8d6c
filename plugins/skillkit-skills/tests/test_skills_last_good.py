"""A loader that reads again keeps the last version of a skill that an edit broke."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
from skillkit_skills import SkillFolderLoader
from skillkit_skills.loader import KEPT

from skillkit_core import SkillSource


def put(folder: Path, description: str, block: dict | None = None) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    metadata = f"metadata: {{skillkit: {json.dumps(block)}}}\n" if block else ""
    (folder / "SKILL.md").write_text(f"---\nname: {folder.name}\ndescription: {description}\n{metadata}---\nBody.\n")
    return folder / "SKILL.md"


BROKEN = {
    "empty": b"",
    "binary": b"---\nname: one\n\0",
    "no description": b"---\nname: one\n---\nBody.\n",
    "action": b'---\nname: one\ndescription: New.\nmetadata: {skillkit: {actions: [{"name": "x"}]}}\n---\nBody.\n',
}


@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_edit_leaves_the_last_good_version(tmp_path, kind):
    file, loader, source = put(tmp_path / "one", "Old."), SkillFolderLoader(), SkillSource("s", "user", tmp_path)
    assert loader.load(source).problems == ()
    file.write_bytes(BROKEN[kind])
    for _ in range(2):
        loaded = loader.load(source)
        assert [s.description for s in loaded.skills] == ["Old."]
        assert any(p.severity == "error" for p in loaded.problems)
        (kept,) = [p for p in loaded.problems if p.code == KEPT]
        assert kept.message.startswith("skill 'one' stays as it was: ") and kept.path == str(file)
    put(tmp_path / "one", "New.")
    loaded = loader.load(source)
    assert [s.description for s in loaded.skills] == ["New."] and loaded.problems == ()


def test_a_skill_that_was_never_good_and_one_that_is_gone_are_not_kept(tmp_path):
    loader, source = SkillFolderLoader(), SkillSource("s", "user", tmp_path)
    put(tmp_path / "one", "Old.")
    (tmp_path / "two").mkdir()
    (tmp_path / "two/SKILL.md").write_text("No frontmatter: for people only.")
    assert [s.status for s in loader.load(source).skills] == ["ok", "unlisted"]
    (tmp_path / "two/SKILL.md").write_text("Changed.")
    shutil.rmtree(tmp_path / "one")
    loaded = loader.load(source)
    assert [(s.name, s.body) for s in loaded.skills] == [("two", "Changed.")]
    (tmp_path / "one").mkdir()
    (tmp_path / "one/SKILL.md").touch()
    assert [s.name for s in loader.load(source).skills] == ["two"], "what was deleted does not come back"


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_file_that_cannot_be_read_any_more_leaves_the_last_good_version(tmp_path):
    file, loader, source = put(tmp_path / "one", "Old."), SkillFolderLoader(), SkillSource("s", "user", tmp_path)
    loader.load(source)
    file.chmod(0)
    assert [s.description for s in loader.load(source).skills] == ["Old."]
    file.chmod(0o644)
