"""Builds every wheel and tests each plugin's in a fresh environment: the core, its dependencies, what its tests need.

The core's own tests run in an environment without any plugin.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

ROOT = Path(__file__).resolve().parent.parent


def project(folder: Path) -> dict[str, Any]:
    """The parsed pyproject.toml of a member."""
    return tomllib.loads((folder / "pyproject.toml").read_text())


def run(*argv: str, cwd: Path = ROOT, env: dict[str, str] | None = None, log: IO[bytes] | None = None) -> int:
    """Run a command, what it prints going to ``log`` (default: here); gives its exit status."""
    output = {} if log is None else {"stdout": log, "stderr": subprocess.STDOUT}
    return subprocess.run(argv, cwd=cwd, env=env, **output).returncode  # type: ignore[call-overload, no-any-return]


@dataclass(frozen=True)
class Member:
    """A wheel, where its pages and tests are, and what the tests need besides."""

    name: str
    folder: Path
    tests: Path
    needs: list[str]


def test_alone(member: Member, wheels: Path, work: Path, log: IO[bytes]) -> int:
    """Install the wheel and what its tests need into a new environment and run them outside the checkout."""
    name, folder, tests, needs = member.name, member.folder, member.tests, member.needs
    venv, copy = work / name, work / f"{name}-tests"
    python = venv / "bin" / "python"
    run("uv", "venv", "--quiet", "--python", sys.executable, str(venv), log=log)
    constraints = work / "constraints.txt"
    found = run(
        "uv", "pip", "install", "--quiet", "--python", str(python), "--find-links", str(wheels),
        "--constraint", str(constraints), name, *needs, log=log,
    )  # fmt: skip
    if found:
        return found
    shutil.copytree(tests, copy / "tests")
    for page in ("README.md", "CHANGELOG.md"):  # pages that a plugin's tests hold to the code
        if (folder / page).is_file():
            shutil.copy(folder / page, copy / page)
    for installed in (venv / "lib").glob("python*/site-packages/skillkit_bundled"):
        if (folder / installed.name).is_dir():  # the skills as the wheel brings them stand beside their tests
            (copy / installed.name).symlink_to(installed)
    support = copy / "tests" / "support"
    if support.is_dir():
        path = os.pathsep.join(p for p in (str(support), os.environ.get("PYTHONPATH")) if p)
        return _pytest(python, copy, {"PYTHONPATH": path}, log)
    return _pytest(python, copy, {}, log)


def _pytest(python: Path, copy: Path, more: dict[str, str], log: IO[bytes]) -> int:
    """Run the copied tests with the environment's own tools first on the path."""
    env = {k: v for k, v in os.environ.items() if k not in ("VIRTUAL_ENV", "PYTHONPATH")}
    env["SKILLKIT_SHARED"] = env.get("SKILLKIT_SHARED") or str(ROOT.parent / "shared")
    env["SKILLKIT_BUNDLED"] = str(ROOT / "skills" / "skillkit_bundled")
    env["SKILLKIT_ALONE"] = "1"
    env["PATH"] = f"{python.parent}{os.pathsep}{env['PATH']}"
    env.update(more)
    shutil.copy(ROOT / ".ci" / "alone.ini", copy / "pytest.ini")
    return run(str(python), "-m", "pytest", "tests", cwd=copy, env=env, log=log)


def members() -> list[Member]:
    """Everything that is tested alone, what takes longest first."""
    found = [Member("skillkit-core", ROOT, ROOT / "tests" / "core", ["pytest", "hypothesis"])]
    whole = ["skillkit-testkit", "pytest"]
    found.append(Member("skillkit-default", ROOT / "plugins" / "skillkit-default", ROOT / "tests" / "e2e", whole))
    for folder in sorted([*ROOT.glob("plugins/*"), ROOT / "skills"]):
        if (folder / "tests").is_dir() and (folder / "pyproject.toml").is_file():
            data = project(folder)
            needs = [n for n in data.get("dependency-groups", {}).get("test", []) if isinstance(n, str)]
            found.append(Member(data["project"]["name"], folder, folder / "tests", needs or ["pytest", "hypothesis"]))
    return found


def tell(member: Member, wheels: Path, work: Path) -> int:
    """Test a member and print a line about it, before it everything that was printed if it failed."""
    started = time.monotonic()
    with (work / f"{member.name}.log").open("w+b") as log:
        status = test_alone(member, wheels, work, log)
        log.seek(0)
        said = log.read().decode(errors="replace").rstrip()
    shutil.rmtree(work / member.name, ignore_errors=True)
    summary = said if status else (said.splitlines() or [""])[-1]
    verdict = f"{'FAIL' if status else 'ok  '} {member.name} alone, {time.monotonic() - started:.0f} s"
    print(f"{summary}\n{verdict}" if status else f"{verdict}: {summary.strip('= ')}", flush=True)
    return status


def main() -> int:
    """Build, then test each member (or those named) alone, as many at once as there are cores; prints a line each."""
    chosen = sys.argv[1:]
    with tempfile.TemporaryDirectory(prefix="skillkit-wheels-") as name:
        work = Path(name)
        wheels = work / "dist"
        if run("uv", "build", "--quiet", "--all-packages", "--wheel", "-o", str(wheels)):
            return 1
        pins = project(ROOT)["tool"]["uv"].get("constraint-dependencies", [])
        (work / "constraints.txt").write_text("\n".join(pins))
        wanted = [member for member in members() if not chosen or member.name in chosen]
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            statuses = list(pool.map(lambda member: tell(member, wheels, work), wanted))
    failed = [member.name for member, status in zip(wanted, statuses, strict=True) if status]
    print(f"failed: {', '.join(failed)}" if failed else "every wheel works alone")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
