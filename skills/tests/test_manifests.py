"""Every SKILL.md says what the format asks for, and nothing that the scripts do not keep."""

import json
import re
import runpy
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
import yaml

BUNDLED = Path(__file__).parents[1] / "skillkit_bundled"
SKILLS = sorted(path.parent.name for path in BUNDLED.glob("*/SKILL.md"))
ARG_KEYS = {"type", "description", "required", "default", "enum", "minimum", "maximum", "pattern", "position"}
TYPES = {"string", "integer", "number", "boolean", "file", "json", "array"}


@cache
def parts(skill):
    text = (BUNDLED / skill / "SKILL.md").read_text(encoding="utf-8")
    assert text.startswith("---\n")
    _, frontmatter, body = text.split("---\n", 2)
    return yaml.safe_load(frontmatter), body


def actions():
    return [(skill, action) for skill in SKILLS for action in parts(skill)[0]["metadata"]["skillkit"]["actions"]]


def test_there_are_eight_skills_and_each_folder_is_one():
    assert len(SKILLS) == 8
    assert sorted(path.name for path in BUNDLED.iterdir()) == SKILLS


def test_no_folder_is_a_package_and_no_bytecode_lies_about():
    assert list(BUNDLED.parent.rglob("__init__.py")) == []
    assert list(BUNDLED.rglob("__pycache__")) == []


@pytest.mark.parametrize("skill", SKILLS)
def test_the_standard_fields_keep_to_the_standard(skill):
    fields, body = parts(skill)
    assert fields["name"] == skill
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", skill)
    assert 1 <= len(fields["description"]) <= 1024
    assert "<" not in fields["description"] and "Use when" in fields["description"]
    assert fields["license"] == "MIT"
    assert body.strip().startswith("# ")
    assert len(body.splitlines()) < 60


@pytest.mark.parametrize("skill", SKILLS)
def test_the_block_helps_a_router(skill):
    block = parts(skill)[0]["metadata"]["skillkit"]
    assert re.fullmatch(r"\d+\.\d+\.\d+", block["version"])
    assert len(block["keywords"]) == len(set(block["keywords"])) >= 6
    assert block["keywords"] == [word.lower() for word in block["keywords"]]
    assert len(block["examples"]) == len(set(block["examples"]))
    assert 6 <= len(block["examples"]) <= 10
    assert block["tags"] and len(set(block["tags"])) == len(block["tags"])


def test_no_example_belongs_to_two_skills():
    examples = [example for skill in SKILLS for example in parts(skill)[0]["metadata"]["skillkit"]["examples"]]
    assert len(examples) == len(set(examples))


@pytest.mark.parametrize(
    ("skill", "action"), actions(), ids=lambda value: value if isinstance(value, str) else value["name"]
)
def test_an_action_is_complete_and_harmless(skill, action):
    assert re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", action["name"])
    assert action["description"]
    assert (BUNDLED / skill / action["script"]).is_file()
    assert action["output"] == "json"
    assert 0 < action["timeout"] <= 3600
    assert action["idempotent"] is True and action["confirm"] == "never"


@pytest.mark.parametrize(
    ("skill", "action"), actions(), ids=lambda value: value if isinstance(value, str) else value["name"]
)
def test_the_arguments_are_described_and_always_found_by_the_script(skill, action):
    args = action["args"]
    positions = sorted(arg["position"] for arg in args.values() if "position" in arg)
    assert positions == list(range(1, len(positions) + 1))
    for name, arg in args.items():
        assert re.fullmatch(r"[a-z]+", name), "one word, so that --name is the same under every host"
        assert arg["type"] in TYPES
        assert arg["description"]
        assert {key for key in arg if not key.startswith("x-")} <= ARG_KEYS
        assert arg.get("x-fill", "request") in ("request", "rest", "date", "quoted")
        if "position" in arg:
            assert arg.get("required") or "default" in arg, (
                "a positional argument that may be absent would shift the others"
            )
        if "enum" in arg:
            assert arg["default"] in arg["enum"]


def test_the_copies_of_the_command_line_are_generated():
    assert len({(BUNDLED / skill / "scripts" / "command.py").read_bytes() for skill in SKILLS}) == 1
    generator = BUNDLED.parent / "generate.py"
    if not generator.exists():
        pytest.skip("the wheel's tests run beside the skills alone, without their generator")
    copies = runpy.run_path(str(generator))["copies"]()
    stale = [str(path) for path, text in copies.items() if path.read_text(encoding="utf-8") != text]
    assert len(copies) == 8 and not stale, "run 'python skills/generate.py'"


def test_a_copied_folder_works_under_a_python_that_has_nothing_installed(tmp_path):
    folder = shutil.copytree(BUNDLED / "text-stats", tmp_path / "elsewhere")
    (tmp_path / "essay.txt").write_text("one two three\n")
    argv = [sys.executable, "-S", str(folder / "scripts/stats.py"), "essay.txt"]
    done = subprocess.run(argv, cwd=tmp_path, env={}, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["words"] == 3
