"""The skills that people already have: folders of other hosts, Claude Code's plugins, nothing dropped in silence, repairs."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
import yaml
from skillkit_skill_tools.repairs import repair_of
from skillkit_skills.loader import SkillFolderLoader
from skillkit_skills.settings import HOSTS
from skillkit_skills.skill_md.reader import read

from skillkit_core.contracts.skill_loader import SkillSource


def put(root: Path, name: str, description: str = "Use it.", extra: str = "", body: str = "Be kind.") -> Path:
    folder = root / name
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(f"---\nname: {name}\ndescription: {description}\n{extra}---\n{body}\n")
    return folder


def sources_of(listed) -> dict[str, str]:
    return {row["name"]: row["source"] for row in listed.json if row["kind"] in ("project", "user")}


def test_the_folders_of_other_hosts_are_read_and_those_of_a_project_once_it_is_trusted(skillkit_cli, skillkit_home):
    for name, (project, user) in HOSTS.items():
        for n, place in enumerate(project):
            put(skillkit_home.cwd / place, f"{name}-project-{n}")
        for n, place in enumerate(user):
            put(skillkit_home.path / place, f"{name}-user-{n}")
    listed = skillkit_cli("skills", "list", "--json").ok()
    found = sources_of(listed)
    assert set(found) == {f"{name}-user-{n}" for name, (_, user) in HOSTS.items() for n in range(len(user))}
    assert (found["claude-user-0"], found["openclaw-user-1"]) == ("user:claude", "user:openclaw-2")
    assert f"The skills in {skillkit_home.cwd / '.claude/skills'} are not used" in skillkit_cli("skills", "list").stderr
    said = skillkit_cli("config", "trust").ok().stdout
    for project, _ in HOSTS.values():
        assert all(place in said for place in project)
    trusted = sources_of(skillkit_cli("skills", "list", "--json").ok())
    assert (trusted["copilot-project-0"], trusted["opencode-project-1"]) == ("project:copilot", "project:opencode-2")
    skillkit_home.write_config("skills: {hosts: [agents]}\n")
    left = sources_of(skillkit_cli("skills", "list", "--json").ok())
    assert set(left) == {"agents-project-0", "agents-user-0"}


def test_the_skills_of_an_openclaw_workspace_are_read(skillkit_cli, skillkit_home):
    put(skillkit_home.cwd / "skills", "weather")
    skillkit_cli("config", "trust")
    assert "weather" not in sources_of(skillkit_cli("skills", "list", "--json"))
    (skillkit_home.cwd / ".clawhub").mkdir()
    assert "skills\n  skill weather" in skillkit_cli("config", "trust").ok().stdout
    assert sources_of(skillkit_cli("skills", "list", "--json"))["weather"] == "project:clawhub"


def test_installed_plugins_of_claude_code_bring_their_skills(skillkit_cli, skillkit_home):
    plugins = skillkit_home.path / ".claude/plugins"
    for name in ("acme", "off", "elsewhere"):
        folder = plugins / "cache/market" / name / "1.0"
        put(folder / "skills", f"{name}-review")
        (folder / ".claude-plugin").mkdir()
        (folder / ".claude-plugin/plugin.json").write_text(json.dumps({"name": name}))
    entries = {
        f"{name}@market": [{"scope": "user", "installPath": str(plugins / "cache/market" / name / "1.0")}]
        for name in ("acme", "off", "elsewhere")
    }
    entries["elsewhere@market"][0] |= {"scope": "project", "projectPath": str(skillkit_home.path / "other")}
    (plugins / "installed_plugins.json").write_text(json.dumps({"version": 2, "plugins": entries}))
    (skillkit_home.path / ".claude/settings.json").write_text('{"enabledPlugins": {"off@market": false}}')
    rows = {r["name"]: r for r in skillkit_cli("skills", "list", "--json").ok().json}
    assert (rows["acme-review"]["source"], rows["acme-review"]["kind"]) == ("acme", "plugin")
    assert not {"off-review", "elsewhere-review"} & set(rows)
    assert skillkit_cli("skills", "show", "acme:acme-review", "--json").ok().json["name"] == "acme-review"


@pytest.mark.parametrize("name", ["claude-plugin", "claude-plugin-traversal", "claude-marketplace"])
def test_trees_of_claude_code(shared, skillkit_cli, skillkit_home, name):
    source = shared / "skills_quirky" / f"tree-{name}"
    want = yaml.safe_load((source / "expected.yaml").read_text())["expect"]
    shutil.copytree(source, skillkit_home.cwd / "tree")
    root = skillkit_home.cwd / "tree" / (want.get("plugin") or want["marketplace"])
    skillkit_home.write_config(f"skills: {{claude_dirs: [{root}], hosts: []}}\n")
    for expected in want["skills"]:
        shown = skillkit_cli("skills", "show", expected["name"], "--json").ok().json
        assert Path(shown["path"]) == skillkit_home.cwd / "tree" / expected["path"]
    told = skillkit_cli("skills", "list", "--all", "--json").ok().json
    mine = [r for r in told["skills"] if r["source"].startswith("extra")]
    assert len(mine) == len(want["skills"])
    codes = [p["code"] for p in told["places"]]
    for one in want.get("diagnostics", ()):
        assert codes.count(one["code"]) == one["count"]
    assert codes.count("plugin-remote") == len(want.get("remote", ()))


def test_a_manifest_that_is_a_pipe_or_no_json_is_said_and_holds_nothing_up(tmp_path):
    (tmp_path / ".claude-plugin").mkdir()
    (tmp_path / ".claude-plugin/plugin.json").write_text("[" * 100_000)
    put(tmp_path / "skills", "fine")
    found = SkillFolderLoader().load(SkillSource("x", "user", tmp_path))
    assert [s.name for s in found.skills] == ["fine"] and [p.code for p in found.problems] == ["plugin-manifest"]


def test_two_skills_of_one_name_in_one_source_can_both_be_called(skillkit_cli, skillkit_home):
    root = skillkit_home.config_dir / "skills"
    for folder, body in (("a", "First."), ("b", "Second."), ("c", "Third.")):
        put(root / folder, "x").rename(root / folder / folder)
        (root / folder / folder / "SKILL.md").write_text(f"---\nname: notes\ndescription: {body}\n---\n{body}\n")
    rows = [r["name"] for r in skillkit_cli("skills", "list", "--json").json if r["source"] == "user"]
    assert rows == ["notes", "user:b/notes", "user:c/notes"]
    why = skillkit_cli("skills", "why", "user:b/notes").ok().stdout
    assert f"the name means {root / 'a/a'}" in why and "for people  yes" in why
    assert "user:c/notes" in skillkit_cli("skills", "check").stdout


def test_every_place_that_gives_no_skill_is_listed_with_its_reason(skillkit_cli, skillkit_home):
    root = skillkit_home.config_dir / "skills"
    (root / "folder/SKILL.md").mkdir(parents=True)
    put(root / "1/2/3/4/5/6", "deep")
    (root / "empty").mkdir()
    (root / "empty/SKILL.md").touch()
    (root / "away").symlink_to(skillkit_home.path)
    said = skillkit_cli("skills", "list", "--all").ok().stdout
    for code in ("no-file", "too-deep", "file-empty", "symlink-escape"):
        assert code in said
    for command in (["list"], ["list", "--json"]):
        assert "4 places gave no skill; see 'skillkit skills list --all'." in skillkit_cli("skills", *command).stderr


def test_working_copies_that_a_person_linked_are_skills_and_those_of_a_project_stay_inside(
    skillkit_cli, skillkit_home, tmp_path
):
    put(tmp_path / "work", "linked")
    put(tmp_path / "team", "shared")
    put(tmp_path / "theirs", "lured")
    mine, theirs = skillkit_home.config_dir / "skills", skillkit_home.cwd / ".skillkit/skills"
    for place in (mine, theirs):
        place.mkdir(parents=True)
    (mine / "linked").symlink_to(tmp_path / "work/linked")
    (mine / "team").symlink_to(tmp_path / "team")
    (mine / "again").symlink_to(tmp_path / "work/linked")
    (mine / "gone").symlink_to(tmp_path / "nowhere")
    (theirs / "lured").symlink_to(tmp_path / "theirs/lured")
    skillkit_cli("config", "trust", "--yes")
    names = {r["name"] for r in skillkit_cli("skills", "list", "--json").json if r["source"] in ("user", "project")}
    assert names == {"linked", "shared"}
    said = skillkit_cli("skills", "list", "--all").stdout
    assert "symlink-escape" in said and "duplicate-realpath" in said
    assert skillkit_cli("skills", "show", "linked").ok()


# --- repairs ----------------------------------------------------------------------------------------------------------

BROKEN = {
    "quotes": b"---\nname: quotes\ndescription: Use this: when needed\n---\nBody\n",
    "bom": b"\xef\xbb\xbf---\r\nname: bom\r\ndescription: Fine.\r\n---\r\nBody\r\n",
    "open": b"---\nname: open\ndescription: Fine.\n# Title\n\nBody\n",
    "json": b'---\nname: json\ndescription: Fine.\nmetadata: {"openclaw": {"always": true}\n---\nBody\n',
}
LEFT = {
    "conflict": b"---\nname: conflict\n<<<<<<< ours\ndescription: A\n=======\ndescription: B\n>>>>>>> theirs\n---\nBody\n",
    "latin": "---\nname: latin\ndescription: Caf\xe9: open\n---\nBody\n".encode("latin-1"),
    "fine": b"---\nname: fine\ndescription: Fine.\n---\nBody\n",
}


def test_fix_shows_what_it_changes_keeps_a_copy_and_changes_no_meaning(skillkit_cli, tmp_path):
    root = tmp_path / "s"
    for name, data in {**BROKEN, **LEFT}.items():
        (root / name).mkdir(parents=True)
        (root / name / "SKILL.md").write_bytes(data)
    (root / "small").mkdir()
    (root / "small/skill.md").write_bytes(b"---\nname: small\ndescription: Fine.\n---\nBody\n")
    dry = skillkit_cli("skills", "check", "--fix", "--dry-run", root)
    assert '+description: "Use this: when needed"' in dry.stderr
    assert (root / "quotes/SKILL.md").read_bytes() == BROKEN["quotes"] and not list(root.glob("*/*.orig"))
    skillkit_cli("skills", "check", "--fix", root, "--json")
    for name, data in BROKEN.items():
        old, new = read(data, name), read((root / name / "SKILL.md").read_bytes(), name)
        assert new.diagnostics == [] and (new.values, new.body) == (old.values, old.body), name
        assert (root / name / "SKILL.md.orig").read_bytes() == data
    for name, data in LEFT.items():
        assert (root / name / "SKILL.md").read_bytes() == data, name
    assert os.listdir(root / "small") == ["SKILL.md", "skill.md.orig"] or (root / "small/SKILL.md").exists()
    again = skillkit_cli("skills", "check", "--fix", root)
    assert "mended" not in again.stderr
    refused = skillkit_cli("skills", "check", "--fix")
    assert refused.exit_code == 2 and "--fix needs a PATH" in refused.stderr


def test_no_repair_of_the_conformance_files_changes_what_is_read(shared, tmp_path):
    repaired = 0
    for n, file in enumerate(sorted((shared / "skills_quirky").glob("*/*/SKILL.md"))):
        folder = tmp_path / str(n) / file.parent.name
        folder.mkdir(parents=True)
        shutil.copy(file, folder)
        for skill in SkillFolderLoader().load(SkillSource("x", "user", folder)).skills:
            if (repair := repair_of(skill)) is not None:
                old, new = read(file.read_bytes(), folder.name), read(repair.text.encode(), folder.name)
                assert (new.values, new.body) == (old.values, old.body), file
                repaired += 1
    assert repaired >= 5
