"""Plugins of an earlier version over today's core: each works, or one line says which of the two to upgrade."""

import json
import subprocess
import tarfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
EARLIER = "d4c0514f"  # the last commit of series 0.1 whose hooks and names were promised
QUICK = {"skillkit_openai", "skillkit_permissions", "skillkit_skills"}


@pytest.fixture
def earlier(outside, tmp_path):
    """The wheels of all packages as they were at an earlier commit."""
    place = tmp_path / "earlier"
    place.mkdir()
    git = ["git", "-C", str(ROOT)]
    if subprocess.run([*git, "cat-file", "-e", f"{EARLIER}^{{commit}}"], capture_output=True).returncode:
        pytest.skip("the clone is shallow: the earlier commit is not in it")
    subprocess.run([*git, "archive", "-o", str(place / "tree.tar"), EARLIER], check=True)
    with tarfile.open(place / "tree.tar") as tree:
        tree.extractall(place / "tree", filter="data")
    outside.run("uv", "build", "--quiet", "--wheel", "--all-packages", "-o", place / "wheels", cwd=place / "tree").ok()
    return place / "wheels"


@pytest.mark.parametrize("quick", [True, pytest.param(False, marks=pytest.mark.slow)], ids=["three", "all the others"])
def test_an_earlier_plugin_works_over_todays_core_or_one_line_says_what_to_upgrade(earlier, venv, quick):
    environment = venv("skillkit-default")
    wheels = [w for w in sorted(earlier.glob("*.whl")) if "-core-" not in f"-{w.name.replace('_', '-')}"]
    wrong = []
    for wheel in wheels:
        package = wheel.name.partition("-")[0]
        today = next(environment.outside.wheelhouse.glob(f"{package}-*.whl"))
        if (package in QUICK) != quick or not _is_installed(environment, package):
            continue
        _replace(environment, wheel)
        wrong += _unexplained(environment, package.replace("_", "-"))
        _replace(environment, today)
    assert not wrong, "\n".join(wrong)


def _is_installed(environment, package: str) -> bool:
    return bool([*Path(environment.place).glob(f"lib/python*/site-packages/{package}-*.dist-info")])


def _replace(environment, wheel: Path) -> None:
    argv = ["uv", "pip", "install", "--quiet", "--no-deps", "--reinstall", "--python", environment.python, wheel]
    environment.outside.run(*argv, env={"UV_CONSTRAINT": ""}).ok()


def _unexplained(environment, package: str) -> list[str]:
    """Return what went wrong with an earlier package and is not said in one line that names what to upgrade."""
    doctor = environment.run("python", "-m", "skillkit_core", "plugins", "doctor", "--json")
    if doctor.status == 2 and "upgrade" in doctor.stderr:  # nothing runs, and one line says why
        return []
    errors = [problem for problem in json.loads(doctor.stdout)["problems"] if problem["severity"] == "error"]
    unsaid = [f"{package}: {problem['message']}" for problem in errors if "upgrade" not in str(problem.get("remedy"))]
    run = environment.run("python", "-m", "skillkit_core", "run", "--no-session", "what is 15% of 80")
    if "Traceback" in run.stderr or (run.status and not errors):
        unsaid.append(f"{package}: {run}")
    return unsaid
