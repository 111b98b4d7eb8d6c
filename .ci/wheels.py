"""Builds every wheel and tries each in a fresh environment: the core, its declared dependencies, what its tests need.

    wheels.py [--base REV | --all] [--into FOLDER] [NAME ...]

Alone with the core and its declared dependencies, each wheel must bring plugins that ``python -m skillkit_core plugins doctor``
finds healthy. With what its tests need besides, it must pass those marked ``smoke``; collecting them imports every test module.
All tests run for members that changed since REV (default: where this branch left ``origin/main`` or ``main``, else the commit
before), with ``--all`` for every member, and for members that are named. The core and the standard distribution are always tried;
nearly every change touches them, and their tests have just run in the checkout, so that of theirs those in changed files run
besides. Of members that did not change six more are tried, first those that depend on what changed, others with each commit;
declared.py reads the imports of all. The core's own tests run in an environment without any plugin.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import IO, Any
from zlib import crc32

from changes import changed_paths, git

ROOT = Path(__file__).resolve().parent.parent
NO_TESTS = 5  # pytest's exit status when nothing was selected
ALWAYS = {"skillkit-core", "skillkit-default"}
MORE = 6  # members that are tried although nothing of them changed


def project(folder: Path) -> dict[str, Any]:
    """Return the parsed pyproject.toml of a member."""
    return tomllib.loads((folder / "pyproject.toml").read_text())


@dataclass(frozen=True)
class Member:
    """A wheel.

    Attributes:
        name: the distribution.
        folder: what it is built from, with its pages.
        tests: its tests.
        needs: what the tests need besides.
        plugins: the names of the plugins that it brings.
    """

    name: str
    folder: Path
    tests: Path
    needs: list[str]
    plugins: list[str]

    def changed_tests(self, paths: list[str]) -> list[str]:
        """Return the changed files of its tests that are still there, as they are named beside the copied tests."""
        files = [ROOT / path for path in paths if Path(path).name.startswith("test_") and path.endswith(".py")]
        return [f"tests/{f.relative_to(self.tests)}" for f in files if f.is_relative_to(self.tests) and f.is_file()]

    def changed(self, paths: list[str]) -> bool:
        """Return whether one of the changed paths is of this member."""
        sources = [self.folder if self.folder != ROOT else ROOT / "skillkit_core", self.tests]
        prefixes = tuple(f"{source.relative_to(ROOT)}/" for source in sources)
        return any(path.startswith(prefixes) for path in paths)


def members() -> list[Member]:
    """Return everything that is tried alone, what takes longest first."""
    default = ROOT / "plugins" / "skillkit-default"
    found = [
        Member("skillkit-core", ROOT, ROOT / "tests" / "core", ["pytest", "hypothesis"], []),
        Member(
            "skillkit-default",
            default,
            ROOT / "tests" / "e2e",
            ["mcp-server-time", "pyte", "pytest", "skillkit-sandbox-attacks", "skillkit-testkit"],
            [],
        ),
    ]
    for folder in sorted([*ROOT.glob("plugins/*"), ROOT / "skills"]):
        if (folder / "tests").is_dir() and (folder / "pyproject.toml").is_file():
            data = project(folder)
            needs = [n for n in data.get("dependency-groups", {}).get("test", []) if isinstance(n, str)]
            plugins = list(data["project"].get("entry-points", {}).get("skillkit.plugins", {}))
            name = data["project"]["name"]
            found.append(Member(name, folder, folder / "tests", needs or ["pytest", "hypothesis"], plugins))
    return found


def requires(member: Member) -> set[str]:
    """Return the names that a member's dependencies begin with."""
    return {re.split(r"[^\w-]", line)[0] for line in project(member.folder)["project"].get("dependencies", ())}


def worth_trying(found: list[Member], paths: list[str]) -> list[Member]:
    """Return the members that a change touches, those that are always tried, and some more."""
    touched = {m.name for m in found if m.changed(paths)}
    reached = touched - ALWAYS
    while more := {m.name for m in found if m.name not in reached and requires(m) & reached}:
        reached |= more
    head = git("rev-parse", "HEAD") or ""
    rest = sorted(
        (m for m in found if m.name not in touched | ALWAYS),
        key=lambda m: (m.name not in reached, crc32(f"{head} {m.name}".encode())),
    )
    chosen = touched | ALWAYS | {m.name for m in rest[:MORE]}
    return [m for m in found if m.name in chosen]


class Trial:
    """A member's wheel in an environment of its own, made at ``place``; whatever is printed goes to ``log``."""

    def __init__(self, member: Member, work: Path, place: Path, log: IO[bytes]) -> None:
        self.member, self.work, self.place, self.log = member, work, place, log
        self.python = place / "bin" / "python"
        self.copy = work / f"{member.name}-tests"
        env = {k: v for k, v in os.environ.items() if k not in ("VIRTUAL_ENV", "PYTHONPATH", "PYTHONDONTWRITEBYTECODE")}
        env["SKILLKIT_SHARED"] = env.get("SKILLKIT_SHARED") or str(ROOT.parent / "shared")
        env["SKILLKIT_BUNDLED"] = str(ROOT / "skills" / "skillkit_bundled")
        env["PATH"] = f"{self.python.parent}{os.pathsep}{env['PATH']}"
        env["PYTHONPYCACHEPREFIX"] = str(work / "bytecode")  # what an environment at this place before has compiled
        self.env = env

    def run(self, *argv: str, **env: str) -> int:
        """Run a command beside the copied tests and return its exit status."""
        cwd = self.copy if self.copy.is_dir() else self.work
        return subprocess.run(
            argv, cwd=cwd, env={**self.env, **env}, stdout=self.log, stderr=subprocess.STDOUT
        ).returncode

    def __call__(self, everything: bool, files: list[str]) -> int:
        """Install the wheel, look at its plugins, and run its tests; return the first exit status that is not 0."""
        return (
            self.run("uv", "venv", "--quiet", "--python", sys.executable, str(self.place))
            or self.install(self.member.name)
            or self.doctor()
            or self.install(*self.member.needs)
            or self.test(everything, files)
        )

    def install(self, *what: str) -> int:
        """Install distributions, the project's own from the wheels."""
        source = ["--find-links", str(self.work / "dist"), "--constraint", str(self.work / "constraints.txt")]
        return self.run("uv", "pip", "install", "--quiet", "--python", str(self.python), *source, *what)

    def doctor(self) -> int:
        """Let the host load the plugins of the wheel, where the core is among its dependencies."""
        if not any((self.place / "lib").glob("python*/site-packages/skillkit_core")):
            return 0
        env = {**self.env, "SKILLKIT_HOME": str(self.work / "home")}
        argv = [str(self.python), "-m", "skillkit_core", "plugins", "doctor", "--json"]
        done = subprocess.run(argv, cwd=self.work, env=env, stdout=subprocess.PIPE, stderr=self.log)
        self.log.write(done.stdout)
        return done.returncode or int(not set(self.member.plugins) <= set(json.loads(done.stdout)["loaded"]))

    def test(self, everything: bool, files: list[str]) -> int:
        """Run the tests outside of the checkout: those marked smoke and ``files``; all, where none is marked or all are asked."""
        folder, name = self.member.folder, "skillkit_bundled"
        shutil.copytree(self.member.tests, self.copy / "tests", ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(ROOT / ".ci" / "alone.ini", self.copy / "pytest.ini")
        for page in ("README.md", "CHANGELOG.md"):  # pages that a plugin's tests hold to the code
            if (folder / page).is_file():
                shutil.copy(folder / page, self.copy / page)
        for installed in (self.place / "lib").glob(f"python*/site-packages/{name}"):
            if (folder / name).is_dir():  # the skills as the wheel brings them stand beside their tests
                (self.copy / name).symlink_to(installed)
        support = self.copy / "tests" / "support"
        env = {"PYTHONPATH": str(support)} if support.is_dir() else {}
        pytest = [str(self.python), "-m", "pytest"]
        status = NO_TESTS if everything else self.run(*pytest, "tests", "-m", "smoke and not slow", **env)
        if status == NO_TESTS:
            return self.run(*pytest, "tests", **env)
        if files and not status and (status := self.run(*pytest, *files, **env)) == NO_TESTS:  # what is in them is slow
            return 0
        return status


def tests_of(member: Member, paths: list[str] | None) -> tuple[bool, list[str]]:
    """Return whether all tests of a member run, and else the files that run besides those marked smoke."""
    if paths is None or member.name not in ALWAYS:
        return paths is None or member.changed(paths), []
    return False, member.changed_tests(paths)


def tell(member: Member, work: Path, places: SimpleQueue[Path], everything: bool, files: list[str]) -> int:
    """Try a member at a free place and print a line about it, before it everything that was printed if it failed."""
    started, place = time.monotonic(), places.get()
    with (work / f"{member.name}.log").open("w+b", buffering=0) as log:
        status = Trial(member, work, place, log)(everything, files)
        log.seek(0)
        said = log.read().decode(errors="replace").rstrip()
    shutil.rmtree(place, ignore_errors=True)
    places.put(place)
    summary = said if status else (said.splitlines() or [""])[-1].strip("= ")
    which = "all tests" if everything else "smoke and changed files" if files else "smoke"
    verdict = f"{'FAIL' if status else 'ok  '} {member.name} alone, {which}, {time.monotonic() - started:.0f} s"
    print(f"{summary}\n{verdict}" if status else f"{verdict}: {summary}", flush=True)
    return status


def main() -> int:
    """Build, then try each member, as many at once as there are cores; return 0 when every wheel works."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="try only these, with all of their tests")
    parser.add_argument("--all", action="store_true", help="all tests of every member")
    parser.add_argument("--base", metavar="REV", help="all tests of the members that changed since")
    parser.add_argument("--into", metavar="FOLDER", type=Path, help="leave the wheels there")
    asked = parser.parse_args()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # in the background it is ignored, and tests send it
    found = members()
    if unknown := sorted({*asked.names} - {m.name for m in found}):
        parser.error(f"no such member: {', '.join(unknown)}; there are {', '.join(m.name for m in found)}")
    wanted = [m for m in found if not asked.names or m.name in asked.names]
    paths = None if asked.all or asked.names else changed_paths(asked.base)
    if paths is not None:
        wanted = worth_trying(found, paths)
    with tempfile.TemporaryDirectory(prefix="skillkit-wheels-") as name:
        work = Path(name)
        work.chmod(0o755)  # tests of the sandbox run as an ordinary user, too
        if subprocess.run(
            ["uv", "build", "--quiet", "--all-packages", "--wheel", "-o", str(work / "dist")], cwd=ROOT
        ).returncode:
            return 1
        pins = project(ROOT)["tool"]["uv"].get("constraint-dependencies", [])
        (work / "constraints.txt").write_text("\n".join(pins))
        if asked.into:
            shutil.rmtree(asked.into, ignore_errors=True)
            shutil.copytree(work / "dist", asked.into)
        places: SimpleQueue[Path] = SimpleQueue()
        for number in range(os.cpu_count() or 1):
            places.put(work / f"environment-{number}")
        with ThreadPoolExecutor(places.qsize()) as pool:
            statuses = list(pool.map(lambda m: tell(m, work, places, *tests_of(m, paths)), wanted))
    failed = [member.name for member, status in zip(wanted, statuses, strict=True) if status]
    every = (
        "every wheel works alone" if len(wanted) == len(found) else f"{len(wanted)} of {len(found)} wheels work alone"
    )
    print(f"failed: {', '.join(failed)}" if failed else every)
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
