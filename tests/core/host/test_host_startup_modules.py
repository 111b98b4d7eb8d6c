"""What starting imports: counts, not times (``tests/benchmarks/startup.py`` measures these)."""

from __future__ import annotations

import json
import os
import subprocess
from typing import Any

import pytest

pytestmark = pytest.mark.smoke

# counts the modules at the end of a command, and tells which of the heavy ones are among them
COUNT = """
import json, sys
from skillkit_core.cli.main import run
code = run(sys.argv[1:])
print(json.dumps({"code": code, "modules": sorted(sys.modules)}), file=sys.stderr)
"""
PLUGINS = 10
BUDGET = 135
NEVER = {
    "pydantic",
    "asyncio",
    "yaml",
    "importlib.metadata",
    "pathlib",
    "dataclasses",
    "urllib",
    "tempfile",
    "ssl",
    "http",
}


@pytest.fixture
def default(site: Any) -> Any:
    """As many plugins as the standard distribution has, each with a package of its own."""
    for i in range(PLUGINS):
        package = site.path / f"skillkit_p{i}"
        package.mkdir()
        (package / "__init__.py").write_text("")
        (package / "plugin.py").write_text(
            "from skillkit_core import hookimpl\n"
            "from skillkit_core.descriptors import Command, Factory, Provider\n"
            "@hookimpl\n"
            f"def register_commands(register): register(Command('command{i}', 'os:path', 'Do it.'))\n"
        )
        site.metadata(f"skillkit-p{i}", "1.0", f"[skillkit.plugins]\np{i} = skillkit_p{i}.plugin\n")
    listed = "".join(f"  - p{i}\n" for i in range(PLUGINS))
    file = site.distribution("default", f"plugins:\n{listed}")
    os.utime(file, (1e9, 1e9))  # not written a moment ago
    for source in site.path.rglob("*.py"):
        os.utime(source, (1e9, 1e9))
    site.run("plugins", "list")  # fills the cache of parsed documents
    return site


def modules(site: Any, *arguments: str) -> set[str]:
    python = site.argv()[:2]
    done = subprocess.run(
        [*python, "-c", COUNT, *arguments], cwd=site.cwd, env=site.env(), capture_output=True, text=True, check=True
    )
    found = json.loads(done.stderr)
    assert found["code"] == 0
    return set(found["modules"])


@pytest.mark.parametrize("command", [["--help"], ["plugins", "list"], ["--version"]])
def test_the_number_of_modules_is_within_its_budget(default: Any, command: list[str]) -> None:
    modules(default, *command)  # fills the index of commands
    found = modules(default, *command)
    assert len(found) <= BUDGET, f"{len(found)} modules: {sorted(found)}"


def test_help_imports_plugins_once_and_nothing_heavy(default: Any) -> None:
    first = modules(default, "--help")
    assert {f"skillkit_p{i}.plugin" for i in range(PLUGINS)} <= first
    second = modules(default, "--help")
    assert not [m for m in second if m.startswith(("skillkit_p", "pluggy", "skillkit_core.hookspecs"))]
    assert first & NEVER <= {"dataclasses"}  # whose methods are remembered before plugins are imported
    assert not second & NEVER


def test_listing_plugins_imports_none_of_them_and_no_pluggy(default: Any) -> None:
    found = modules(default, "plugins", "list")
    assert not [m for m in found if m.startswith("skillkit_p")]
    assert not [m for m in found if m.partition(".")[0] == "pluggy" or m.startswith("skillkit_core.hookspecs")]
    assert not found & NEVER


def test_the_version_needs_no_host(default: Any) -> None:
    found = modules(default, "--version")
    assert not [m for m in found if m.startswith("skillkit_core.host")]


def test_importing_the_package_imports_next_to_nothing(default: Any) -> None:
    python = default.argv()[:2]
    code = "import sys; before = set(sys.modules); import skillkit_core; print(len(set(sys.modules) - before))"
    done = subprocess.run([*python, "-c", code], env=default.env(), capture_output=True, text=True, check=True)
    assert int(done.stdout) <= 45, "typing, what it needs, and one module of ours"
