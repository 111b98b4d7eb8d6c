"""Run the actions as the host does: arguments by name, a clean environment, the workspace as working directory."""

import functools
import importlib
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

BUNDLED = Path(__file__).parents[1] / "skillkit_bundled"
SKILLS = sorted(path.parent.name for path in BUNDLED.glob("*/SKILL.md"))


def manifest(skill):
    """Return the frontmatter of a skill and its body."""
    _, frontmatter, body = (BUNDLED / skill / "SKILL.md").read_text(encoding="utf-8").split("---\n", 2)
    return yaml.safe_load(frontmatter), body


def argv(skill, action, given):
    """Return the argument list that ACT-1 makes of named arguments."""
    [declared] = [one for one in manifest(skill)[0]["metadata"]["skillkit"]["actions"] if one["name"] == action]
    args = declared["args"]
    assert set(given) <= set(args), f"{action} has no argument {set(given) - set(args)}"
    values = {name: given.get(name, args[name].get("default")) for name in args}
    assert not [name for name, arg in args.items() if arg.get("required") and values[name] is None]
    words = [sys.executable, str(BUNDLED / skill / declared["script"])]
    words += [
        str(values[name])
        for name in sorted(args, key=lambda name: args[name].get("position", 0))
        if "position" in args[name]
    ]
    for name, arg in args.items():
        if "position" in arg or values[name] is None or values[name] is False:
            continue
        words += [f"--{name}"] if arg["type"] == "boolean" else [f"--{name}", str(values[name])]
    return words


@dataclass
class Workspace:
    """A folder in which actions run."""

    path: Path

    def run(self, skill, action, **given):
        """Run an action and return the finished process."""
        environment = {name: os.environ[name] for name in ("PATH",) if name in os.environ}
        environment |= {
            "HOME": str(self.path),
            "LANG": "C.UTF-8",
            "SKILL_DIR": str(BUNDLED / skill),
            "SKILLKIT_ACTION": action,
        }
        return subprocess.run(
            argv(skill, action, given),
            cwd=self.path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )

    def result(self, skill, action, **given):
        """Run an action that must succeed and return its JSON."""
        done = self.run(skill, action, **given)
        assert (done.returncode, done.stderr) == (0, "")
        result = json.loads(done.stdout)
        assert isinstance(result["answer"], str) and result["answer"]
        assert len(done.stdout) < 256 * 1024
        return result

    def problem(self, skill, action, **given):
        """Run an action that must fail and return its one line."""
        done = self.run(skill, action, **given)
        assert done.returncode == 2, done.stdout
        assert done.stdout == ""
        assert "Traceback" not in done.stderr and "mistake in the skill" not in done.stderr
        assert len(done.stderr.splitlines()) == 1, done.stderr
        return done.stderr.strip()

    def write(self, name, content):
        """Write a file of the workspace."""
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path


@pytest.fixture
def workspace(tmp_path):
    return Workspace(tmp_path)


@pytest.fixture(scope="session")
def load():
    """Import a module of a skill's scripts without leaving it, its siblings or bytecode behind."""

    @functools.cache
    def import_script(skill, module):
        folder = BUNDLED / skill / "scripts"
        siblings = {path.stem for path in folder.glob("*.py")}
        before, sys.dont_write_bytecode = sys.dont_write_bytecode, True
        sys.path.insert(0, str(folder))
        try:
            return importlib.import_module(module)
        finally:
            sys.path.remove(str(folder))
            sys.dont_write_bytecode = before
            for name in siblings:
                sys.modules.pop(name, None)

    return import_script
