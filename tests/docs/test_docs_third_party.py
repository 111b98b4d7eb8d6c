"""What somebody gets who read only the documentation: plugins copied from its pages, from wheels alone.

The tool of the tutorial, the provider, the runtime and the compactor are written exactly as printed, built, installed into one
fresh environment beside the wheels of the project, listed, used, and removed again without a trace.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from markdown_blocks import ROOT, blocks, files

PAGES = {
    "reading": ROOT / "docs" / "tutorial" / "first-plugin.md",
    "echo": ROOT / "docs" / "how-to" / "write-a-provider.md",
    "polite": ROOT / "docs" / "how-to" / "write-a-runtime.md",
    "recent": ROOT / "docs" / "how-to" / "write-a-compactor.md",
}
OTHERS = [ROOT / "docs" / "how-to" / name for name in ("compose-a-distribution.md", "write-a-skill.md")]
BROUGHT = {
    "reading": {"tools": ["reading_time"]},
    "echo": {"adapters": ["echo"], "models": ["echo/echo-1"]},
    "polite": {"runtimes": ["polite"]},
    "recent": {"compactors": ["recent"]},
}
OURS = [
    "skillkit-core", "skillkit-bash", "skillkit-bundled", "skillkit-chat", "skillkit-commands", "skillkit-frontend",
    "skillkit-live", "skillkit-markdown", "skillkit-offline", "skillkit-process", "skillkit-sessions", "skillkit-skills",
    "skillkit-skill-packages", "skillkit-skill-tools",    "skillkit-transport",
]  # fmt: skip
SECONDS = 300

# By day the blocks of these pages run in the checkout (test_docs_examples.py), and tests/outside, a step of .ci/run, installs
# plugins, a provider and distributions from wheels.
pytestmark = pytest.mark.slow


class Environment:
    """A fresh virtual environment and an empty home, outside the repository."""

    def __init__(self, folder: Path, uv: str) -> None:
        self.folder = folder
        self.uv = uv
        self.venv = folder / "venv"
        self.python = self.venv / "bin" / "python"
        self.cwd = folder / "project"
        self.cwd.mkdir(parents=True)
        kept = ("SKILLKIT", "ANTHROPIC", "OPENAI", "PYTHONPATH", "VIRTUAL_ENV")
        self.env = {k: v for k, v in os.environ.items() if not k.startswith(kept) and not k.endswith("_API_KEY")}
        self.env["SKILLKIT_HOME"] = str(folder / "home")
        self.command = (
            folder / "bin" / "skillkit"
        )  # what a distribution would bring, beside the few packages that are here
        self.command.parent.mkdir()
        self.command.write_text(f'#!/bin/sh\nexec {self.python} -m skillkit_core "$@"\n')
        self.command.chmod(0o755)
        self.env["PATH"] = os.pathsep.join([str(self.venv / "bin"), str(self.command.parent), self.env["PATH"]])

    def run(self, *argv: str, env: dict[str, str] | None = None, cwd: Path | None = None) -> str:
        done = subprocess.run(
            argv, cwd=cwd or self.cwd, env={**self.env, **(env or {})}, capture_output=True, text=True, timeout=SECONDS,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
        assert done.returncode == 0, f"{' '.join(argv)} ended with {done.returncode}\n{done.stdout}{done.stderr}"
        return done.stdout

    def skillkit(self, *argv: str, **env: str) -> str:
        return self.run(str(self.command), *argv, env=env)

    def json(self, *argv: str, **env: str) -> object:
        return json.loads(self.skillkit(*argv, "--json", **env))

    def plugins(self) -> set[str]:
        return {p["name"] for p in self.json("plugins", "list")["plugins"]}

    def installed(self) -> set[str]:
        listed = self.run(self.uv, "pip", "list", "--quiet", "--format", "json", "--python", str(self.python))
        return {p["name"] for p in json.loads(listed)}

    def files(self) -> set[str]:
        """Every installed file; caches of bytecode are not installed."""
        found = self.venv.rglob("*")
        return {str(p.relative_to(self.venv)) for p in found if "__pycache__" not in p.parts and p.is_file()}


@pytest.fixture(scope="module")
def wheels(tmp_path_factory):
    """Wheels of the project's members and of the plugins on the pages."""
    uv = os.environ.get("UV") or shutil.which("uv")  # the first when `uv run` runs the tests
    if uv is None:
        reason = "uv is not there: it builds and installs the wheels"
        if os.environ.get("CI") == "true":
            pytest.fail(f"{reason} (required where CI=true)", pytrace=False)
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("third-party")
    dist = folder / "dist"
    env = {k: v for k, v in os.environ.items() if k not in ("VIRTUAL_ENV", "PYTHONPATH")}
    sources = folder / "sources"
    for page in [*PAGES.values(), *OTHERS]:
        for name, text in files(page).items():
            path = sources / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    for package in OURS:
        argv = [uv, "build", "--quiet", "--wheel", "-o", str(dist), "--package", package]
        subprocess.run(argv, cwd=ROOT, env=env, check=True, timeout=SECONDS)
    for name in PAGES:
        argv = [uv, "build", "--quiet", "--wheel", "-o", str(dist), str(sources / f"skillkit-{name}")]
        subprocess.run(argv, cwd=folder, env=env, check=True, timeout=SECONDS)
    return uv, folder, dist


@pytest.fixture(scope="module")
def environment(wheels):
    uv, folder, dist = wheels
    made = Environment(folder, uv)
    made.run(uv, "venv", "--quiet", "--python", sys.executable, str(made.venv))
    pins = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["uv"].get("constraint-dependencies", [])
    (folder / "constraints.txt").write_text("\n".join(pins))
    made.run(
        uv, "pip", "install", "--quiet", "--python", str(made.python), "--find-links", str(dist),
        "--constraint", str(folder / "constraints.txt"), *OURS,
    )  # fmt: skip
    made.skillkit("--help")
    return made


def check_that_every_command_works(env: Environment) -> None:
    env.skillkit("--help")
    env.skillkit("plugins", "doctor")
    assert env.json("skills", "list")
    assert env.json("config", "show")
    assert env.json("doctor")["ok"]
    assert env.json("run", "what is 15% of 80")["answer"] == "15% of 80 = 12"


def test_plugins_of_the_pages_are_installed_listed_used_and_removed_without_a_trace(environment, wheels):
    env, (uv, _, dist) = environment, wheels
    plugins, installed, files_before = env.plugins(), env.installed(), env.files()
    names = [f"skillkit-{name}" for name in PAGES]
    env.run(
        uv, "pip", "install", "--quiet", "--python", str(env.python), "--no-index", "--find-links", str(dist), *names
    )

    # listed
    assert env.plugins() == plugins | set(PAGES)
    for name, items in BROUGHT.items():
        info = env.json("plugins", "info", name)
        assert info["loaded"] and not info["problems"], info
        assert (info["items"], info["distribution"], info["version"]) == (items, f"skillkit-{name}", "0.1.0")
    check_that_every_command_works(env)

    # the provider answers
    said = env.json("run", "--provider", "echo", "hello there")
    assert (said["answer"], said["provider"], said["model"]) == ("hello there", "echo", "echo-1")
    assert (said["usage"]["input"], said["usage"]["output"], said["cost"]) == (2, 2, 0)

    # an action of a skill runs in the runtime
    skill = env.cwd / "skills" / "priority"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text(
        "---\nname: priority\ndescription: Show the priority of a process.\nmetadata:\n  skillkit:\n    actions:\n"
        "      - {name: show, description: Show it, run: nice, confirm: never}\n---\nUse show.\n"
    )
    show = ("run", "--skills-dir", "skills", "--skill", "priority", "show")
    usual = int(env.json(*show)["answer"])
    assert int(env.json(*show, SKILLKIT_RUNTIME="polite")["answer"]) == min(usual + 10, 19)

    # the compactor compacts
    talk = env.folder / "talk.py"
    text = files(PAGES["recent"])["talk.py"]
    discovering = text.replace("Host(plugins=[skillkit_recent], discover=False)", "Host()")
    assert discovering != text
    talk.write_text(discovering)
    only = {"SKILLKIT_PLUGINS": "recent", "SKILLKIT_COMPACTOR": "recent"}  # no list of skills in a window so small
    assert "completed True" in env.run(str(env.python), str(talk), env=only)

    # removed
    env.run(uv, "pip", "uninstall", "--quiet", "--python", str(env.python), *names)
    assert env.plugins() == plugins
    assert env.installed() == installed
    assert env.files() == files_before
    left = [p for p in env.venv.rglob("*") if any(f"skillkit_{name}" in p.name for name in PAGES)]
    left = [p for p in left if p.suffix != ".pyc"]  # uv leaves the bytecode of modules in no package
    assert not left
    check_that_every_command_works(env)


def test_a_provider_that_is_not_installed_is_an_unknown_name(environment):
    done = subprocess.run(
        [str(environment.command), "run", "--provider", "echo", "hello"],
        env=environment.env, cwd=environment.cwd, capture_output=True, text=True, timeout=SECONDS,
    )  # fmt: skip
    assert done.returncode == 2
    assert "unknown provider 'echo'" in done.stderr


def follow(page: Path, env: Environment) -> None:
    """Run the blocks of a page in an empty directory, with what was installed from wheels, and compare what they print."""
    folder = env.folder / f"follow-{page.stem}"
    folder.mkdir()
    printed = ""
    for block in blocks(page):
        if block.no_run is not None:
            continue
        if block.file:
            path = folder / block.file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text, encoding="utf-8")
        elif block.output:
            said = "\n".join(line.rstrip() for line in printed.splitlines())
            pattern = "\n".join(".*" if line == "..." else "[^\n]*".join(map(re.escape, line.rstrip().split("...")))
                                for line in block.text.splitlines())  # fmt: skip
            assert re.fullmatch(pattern, said, re.S), f"{block.where}: the block before printed\n{said}"
        elif block.language == "sh":
            printed = env.run("bash", "-eu", "-o", "pipefail", "-c", block.text, cwd=folder)
        elif block.language == "python":
            printed = env.run(str(env.python), "-c", block.text, cwd=folder)


def test_the_tests_of_the_tutorial_pass_and_its_report_card_lacks_what_is_for_publishing(wheels):
    _, folder, _ = wheels
    package, home = folder / "sources" / "skillkit-reading", folder / "card"
    home.mkdir()
    argv = [sys.executable, "-m", "skillkit_core", "plugins", "check", "--json", str(package)]
    env = {**os.environ, "SKILLKIT_HOME": str(home)}
    done = subprocess.run(argv, cwd=home, env=env, capture_output=True, text=True, timeout=SECONDS)
    checks = {check["name"]: check for check in json.loads(done.stdout)["checks"]}
    assert [name for name, check in checks.items() if check["state"] == "failed"] == ["metadata"], done.stdout
    assert checks["contracts"]["line"].startswith("guard ")


@pytest.mark.parametrize("page", ["tutorial/first-plugin", "how-to/write-a-skill", "how-to/write-a-runtime"])
def test_a_page_is_followed_from_wheels_in_an_empty_directory(environment, page):
    follow(ROOT / "docs" / f"{page}.md", environment)


def test_the_composed_distribution_answers_from_its_wheel(environment, wheels):
    env, (uv, folder, dist) = environment, wheels
    source = folder / "sources"
    argv = [uv, "build", "--quiet", "--wheel", "-o", str(dist), str(source / "skillkit-acme")]
    subprocess.run(argv, cwd=folder, check=True, timeout=SECONDS)
    offline = ("--no-index", "--find-links", str(dist))
    env.run(uv, "pip", "install", "--quiet", "--python", str(env.python), *offline, "skillkit-acme")
    assert env.json("doctor")["ok"]
    assert "acme" in env.skillkit("plugins", "list")
    assert env.json("run", "what is 15% of 80")["answer"] == "15% of 80 = 12"
    env.run(uv, "pip", "uninstall", "--quiet", "--python", str(env.python), "skillkit-acme")


def test_a_package_of_skills_that_setuptools_builds_has_its_skills_and_an_empty_one_is_said(environment, wheels):
    env, (uv, folder, _) = environment, wheels
    source = folder / "sources" / "acme-skills"
    install = (uv, "pip", "install", "--quiet", "--python", str(env.python), "--reinstall")
    env.run(*install, str(source))
    assert "greet" in {skill["name"] for skill in env.json("skills", "list")}
    assert env.json("run", "greet 'Ada'")["answer"] == "hello Ada"
    assert not env.json("plugins", "doctor")["problems"]
    project = source / "pyproject.toml"
    project.write_text(project.read_text().split("[tool.setuptools.package-data]")[0])
    env.run("rm", "-rf", "build", "src/acme_skills.egg-info", cwd=source)  # which remember what was packed
    env.run(*install, str(source))
    (problem,) = env.json("plugins", "doctor")["problems"]
    assert problem["message"] == "the package 'acme_skills' of acme-skills has no SKILL.md in it"
    env.run(uv, "pip", "uninstall", "--quiet", "--python", str(env.python), "acme-skills")


def test_the_tutorial_installs_with_the_pip_of_the_readmes_environment(wheels):
    """An environment as the README makes it with ``pip`` alone; its packages come from wheels."""
    _, folder, dist = wheels
    env = Environment(folder / "with-pip-alone", "")
    env.run(sys.executable, "-m", "venv", str(env.venv))
    env.run(str(env.venv / "bin" / "pip"), "install", "--quiet", "--find-links", str(dist), *OURS)
    (commands,) = [b for b in blocks(PAGES["reading"]) if "pip install ./skillkit-reading" in b.text]
    env.run("cp", "-r", str(folder / "sources" / "skillkit-reading"), ".")
    shown = env.run("bash", "-eu", "-c", commands.text)
    assert "reading" in shown and "reading_time" in shown
