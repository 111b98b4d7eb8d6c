"""The guard of .ci/run: a package whose tests take more CPU than they may is named, also where several processes run them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

CI = Path(__file__).resolve().parents[2] / ".ci"

pytestmark = pytest.mark.skipif(
    not CI.is_dir(), reason="the guard is in the checkout, and these tests run outside of it"
)


def test_a_package_that_is_over_its_limit_fails_the_run_and_is_named(tmp_path):
    for name, work in (("dear", "sum(range(3_000_000))"), ("cheap", "pass")):
        (folder := tmp_path / "plugins" / name / "tests").mkdir(parents=True)
        (folder / f"test_{name}.py").write_text(f"def test_it():\n    {work}\n")
    (tmp_path / "pytest.ini").touch()

    def run(times, *processes):
        argv = [
            sys.executable,
            "-m",
            "pytest",
            "-p",
            "xdist",
            "-p",
            "cost",
            "-p",
            "no:cacheprovider",
            *processes,
            "plugins",
        ]
        env = {**os.environ, "PYTHONPATH": str(CI), "TEST_CPU_LIMITS": times, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        return subprocess.run(argv, cwd=tmp_path, env=env, capture_output=True, text=True)

    over, below = run("0.0005", "-n", "1"), run("50")
    assert below.returncode == 0 and "plugins/dear/tests/test_dear.py::test_it" in below.stdout, below.stdout
    assert over.returncode == 1 and "plugins/dear: its tests took 0 s of CPU, and may take 20" in over.stdout
