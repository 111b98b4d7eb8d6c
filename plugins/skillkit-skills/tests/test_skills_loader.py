"""SCAN-1 and the loader: where skills are found, what is refused, and that nothing is silent."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from skillkit_skills.catalogue import render_catalogue
from skillkit_skills.loader import SkillFolderLoader
from skillkit_skills.scanner import MAX_FOLDERS, scan
from skillkit_skills.sources import package_folders, sources

from skillkit_core.contracts.skill_loader import SkillSource

pytestmark = pytest.mark.smoke

TREES = ("case-variants", "grouped", "identical-duplicate", "many-skills", "priority", "reserved-names", "skip-dirs",
         "stop-at-skill", "symlinks")  # fmt: skip


def set_up(root: Path, steps) -> None:
    for step in steps or ():
        if "symlink" in step:
            link = root / step["symlink"]
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(step["target"])
        elif "rename" in step:
            (root / step["rename"]).rename(root / step["to"])
        elif "write" in step:
            (root / step["write"]).write_text(step["content"])


@pytest.mark.parametrize("name", TREES)
def test_trees(shared, tmp_path, name):
    source = shared / "skills_quirky" / f"tree-{name}"
    case = yaml.safe_load((source / "expected.yaml").read_text())
    root = tmp_path / "tree"
    shutil.copytree(source, root)
    set_up(root, case.get("setup"))
    want = case["expect"]
    loader = SkillFolderLoader()
    skills, problems = [], []
    places = want.get("sources") or [{"root": r, "source": "user"} for r in want["roots"]]
    for place in places:
        found = loader.load(SkillSource(f"{place['source']}:{place['root']}", place["source"], root / place["root"]))
        skills += found.skills
        problems += found.problems
    codes = [(p.code.partition(":")[0], p.path) for s in (*skills,) for p in s.problems] + [
        (p.code, p.path) for p in problems
    ]
    if "skills" in want:
        got = [{"name": s.name, "path": str(s.path.relative_to(root)), "description": s.description} for s in skills]
        assert sorted(x["name"] for x in got) == sorted(x["name"] for x in want["skills"])
        for expected in want["skills"]:
            assert any(expected.items() <= x.items() for x in got), expected
    for expected in want.get("diagnostics", ()):
        if "path" in expected:
            assert (expected["code"], str(root / expected["path"])) in codes
        else:
            assert sum(code == expected["code"] for code, _ in codes) == expected["count"]
    if name == "symlinks":
        assert len(problems) == len(want["diagnostics"])
    if want.get("diagnostics") == []:
        assert [p for p in problems if p.severity != "info"] == []
    if "count" in want:
        assert len(skills) == want["count"]
        shown = render_catalogue(skills, want["catalogue_budget_chars"])
        assert len(shown.text) <= want["catalogue_budget_chars"] and shown.truncated
        assert all(f"<name>{s.name}</name>" in shown.text for s in skills)
    if "catalogue_order" in want:
        text = render_catalogue(skills).text
        places = [text.index(f"<name>{n}</name>") for n in want["catalogue_order"]]
        assert places == sorted(places)


def skill(folder: Path, name: str, text: str = "Do it. Use for it.") -> Path:
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(f"---\nname: {name}\ndescription: {text}\n---\nBody\n")
    return folder


def load(folder: Path):
    return SkillFolderLoader().load(SkillSource("here", "user", folder))


def test_a_folder_whose_skill_is_rejected_is_a_problem_with_its_reason(tmp_path):
    skill(tmp_path / "good", "good")
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty/SKILL.md").write_text("")
    (tmp_path / "binary").mkdir()
    (tmp_path / "binary/SKILL.md").write_bytes(b"---\nname: \0\n---\n")
    found = load(tmp_path)
    assert [s.name for s in found.skills] == ["good"]
    assert [(p.code, Path(p.path).parent.name, p.severity) for p in found.problems] == [
        ("binary-content", "binary", "error"),
        ("file-empty", "empty", "error"),
    ]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_an_unreadable_file_is_a_problem(tmp_path):
    (skill(tmp_path / "a", "a") / "SKILL.md").chmod(0)
    found = load(tmp_path)
    assert not found.skills and found.problems[0].code == "unreadable"


def test_two_folders_with_one_name_in_a_source_are_both_kept_and_reported(tmp_path):
    skill(tmp_path / "a", "same", "One.")
    skill(tmp_path / "b", "same", "Two.")
    found = load(tmp_path)
    assert [s.description for s in found.skills] == ["One.", "Two."]
    (said,) = [p for p in found.skills[1].problems if p.code == "duplicate-skill"]
    assert str(tmp_path / "a") in said.message and "here:b/same" in said.message


def test_a_directory_with_a_skill_is_a_source_of_one(tmp_path):
    skill(tmp_path / "only", "only")
    assert [s.name for s in load(tmp_path / "only").skills] == ["only"]


def test_the_number_of_folders_is_limited_and_said(tmp_path):
    for i in range(MAX_FOLDERS + 5):
        (tmp_path / f"d{i:05}").mkdir()
    assert [code for code, _ in scan(str(tmp_path)).refused] == ["scan-limit"]
    late = [skill(tmp_path / f"z{i}", f"z{i}") for i in range(2)]
    refused = scan(str(tmp_path)).refused[1:]
    assert refused == [("scan-limit", str(path)) for path in late], "each skill that is left out is named"


def test_a_skill_that_lies_too_deep_is_named(tmp_path):
    deep = skill(tmp_path / "1/2/3/4/5/6/7", "deep")
    fine = skill(tmp_path / "a/2/3/4/5/6", "fine")
    found = load(tmp_path)
    assert [s.path for s in found.skills] == [fine]
    assert [(p.code, p.path, p.severity) for p in found.problems] == [("too-deep", str(deep), "error")]


def test_a_skill_md_that_is_a_folder_or_a_pipe_is_named(tmp_path):
    (tmp_path / "a/SKILL.md").mkdir(parents=True)
    (tmp_path / "b").mkdir()
    os.mkfifo(tmp_path / "b/SKILL.md")
    (tmp_path / "c").mkdir()
    (tmp_path / "c/SKILL.md").symlink_to("gone.md")
    found = load(tmp_path)
    assert not found.skills
    assert [(p.code, p.path) for p in found.problems] == [("no-file", str(tmp_path / n / "SKILL.md")) for n in "abc"]


def test_a_missing_source_is_a_problem(tmp_path):
    assert [p.code for p in load(tmp_path / "none").problems] == ["source-missing"]
    asked = SkillFolderLoader().load(SkillSource("x", "extra", tmp_path / "none"))
    assert [(p.code, p.severity) for p in asked.problems] == [("source-missing", "error")]
    found = SkillFolderLoader().load(SkillSource("x", "plugin", package="no_such_package_xyz"))
    assert [p.code for p in found.problems] == ["source-missing"]


def test_a_sidecar_that_leaves_the_folder_is_not_read(tmp_path):
    folder = skill(tmp_path / "s/a", "a")
    (folder / "agents").mkdir()
    (tmp_path / "out.yaml").write_text("priority: 90")
    (folder / "agents/skillkit.yaml").symlink_to(tmp_path / "out.yaml")
    found = load(tmp_path / "s")
    assert found.skills[0].priority == 50 and found.problems[0].code == "symlink-escape"


def test_an_edited_copy_of_a_loaded_skill_is_read_again(tmp_path):
    skill(tmp_path / "u/a", "a")
    loader = SkillFolderLoader()
    source = SkillSource("user", "user", tmp_path / "u")
    assert len(loader.load(source).skills) == len(loader.load(source).skills) == 1


def test_a_package_is_found_without_being_imported(tmp_path):
    package = tmp_path / "lib/acme_skills_pkg"
    skill(package / "skills/a", "a")
    (package / "__init__.py").write_text("raise SystemExit('imported')")
    code = (
        "from skillkit_core.contracts.skill_loader import SkillSource; from skillkit_skills.loader import SkillFolderLoader\n"
        "found = SkillFolderLoader().load(SkillSource('acme', 'plugin', package='acme_skills_pkg.skills'))\n"
        "print([s.name for s in found.skills], found.problems)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={"PYTHONPATH": str(tmp_path / "lib")}
    )
    assert done.stdout.strip() == "['a'] ()", done.stderr
    assert package_folders("no.such.package") == []


# --- sources ----------------------------------------------------------------------------------------------------------


def test_a_projects_skills_count_only_when_it_is_trusted(host):
    (host.cwd / ".skillkit/skills").mkdir(parents=True)
    (host.cwd / ".agents/skills").mkdir(parents=True)
    (host.config_dir / "skills").mkdir()
    (Path(host.environ["HOME"]) / ".agents/skills").mkdir(parents=True)
    assert [s.name for s in sources(host)] == ["user", "user:agents"]
    host.withheld = []
    assert [(s.name, s.kind) for s in sources(host)] == [
        ("project", "project"),
        ("project:agents", "project"),
        ("user", "user"),
        ("user:agents", "user"),
    ]


def test_packages_and_configured_directories_are_sources(host):
    def entry(name, value, distribution, group="skillkit.skills"):
        return SimpleNamespace(group=group, name=name, value=value, distribution=distribution)

    host.entries = (
        entry("bundled", "skillkit_bundled", "skillkit-bundled"),
        entry("acme", "acme.skills", "acme"),
        entry("acme", "other.skills", "other"),
        entry("x", "y", "z", group="skillkit.plugins"),
    )
    host.config.data["skills"] = {"dirs": ["docs", "/tmp/docs"]}
    found = list(sources(host))
    assert [(s.name, s.kind, s.package) for s in found[:3]] == [
        ("bundled", "bundled", "skillkit_bundled"),
        ("acme", "plugin", "acme.skills"),
        ("acme:other", "plugin", "other.skills"),
    ]
    assert [(s.name, s.path) for s in found[3:]] == [
        ("extra:docs", host.cwd / "docs"),
        ("extra:docs-2", Path("/tmp/docs")),
    ]
