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
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent


def project(folder: Path) -> dict[str, Any]:
    """The parsed pyproject.toml of a member."""
    return tomllib.loads((folder / "pyproject.toml").read_text())


def run(*argv: str, cwd: Path = ROOT, env: dict[str, str] | None = None) -> int:
    """Run a command; gives its exit status."""
    return subprocess.run(argv, cwd=cwd, env=env).returncode


def test_alone(name: str, folder: Path, tests: Path, needs: list[str], wheels: Path, work: Path) -> int:
    """Install ``name`` and ``needs`` from wheels into a new environment and run ``tests`` outside the checkout."""
    venv, copy = work / name, work / f"{name}-tests"
    python = venv / "bin" / "python"
    run("uv", "venv", "--quiet", "--python", sys.executable, str(venv))
    constraints = work / "constraints.txt"
    found = run(
        "uv", "pip", "install", "--quiet", "--python", str(python), "--find-links", str(wheels),
        "--constraint", str(constraints), name, *needs,
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
        return _pytest(python, copy, {"PYTHONPATH": path})
    return _pytest(python, copy, {})


def _pytest(python: Path, copy: Path, more: dict[str, str]) -> int:
    """Run the copied tests with the environment's own tools first on the path."""
    env = {k: v for k, v in os.environ.items() if k not in ("VIRTUAL_ENV", "PYTHONPATH")}
    env["SKILLKIT_SHARED"] = env.get("SKILLKIT_SHARED") or str(ROOT.parent / "shared")
    env["SKILLKIT_BUNDLED"] = str(ROOT / "skills" / "skillkit_bundled")
    env["SKILLKIT_ALONE"] = "1"
    env["PATH"] = f"{python.parent}{os.pathsep}{env['PATH']}"
    env.update(more)
    shutil.copy(ROOT / ".ci" / "alone.ini", copy / "pytest.ini")
    return run(str(python), "-m", "pytest", "tests", cwd=copy, env=env)


def main() -> int:
    """Build, then test each member alone; prints a line each."""
    failed: list[str] = []
    with tempfile.TemporaryDirectory(prefix="skillkit-wheels-") as name:
        work = Path(name)
        wheels = work / "dist"
        if run("uv", "build", "--quiet", "--all-packages", "--wheel", "-o", str(wheels)):
            return 1
        pins = project(ROOT)["tool"]["uv"].get("constraint-dependencies", [])
        (work / "constraints.txt").write_text("\n".join(pins))
        members = [("skillkit-core", ROOT, ROOT / "tests" / "core", ["pytest", "hypothesis"])]
        for folder in sorted([*ROOT.glob("plugins/*"), ROOT / "skills"]):
            if (folder / "tests").is_dir() and (folder / "pyproject.toml").is_file():
                data = project(folder)
                needs = [n for n in data.get("dependency-groups", {}).get("test", []) if isinstance(n, str)]
                members.append((data["project"]["name"], folder, folder / "tests", needs or ["pytest", "hypothesis"]))
        whole = ["skillkit-testkit", "pytest"]
        members.append(("skillkit-default", ROOT / "plugins" / "skillkit-default", ROOT / "tests" / "e2e", whole))
        chosen = sys.argv[1:]
        for member, folder, tests, needs in members:
            if chosen and member not in chosen:
                continue
            started = time.monotonic()
            status = test_alone(member, folder, tests, needs, wheels, work)
            print(f"{'ok  ' if status == 0 else 'FAIL'} {member} alone, {time.monotonic() - started:.0f} s", flush=True)
            if status:
                failed.append(member)
            shutil.rmtree(work / member, ignore_errors=True)
    print(f"failed: {', '.join(failed)}" if failed else "every wheel works alone")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
