"""What a plain run of everything leaves to other commits: some of the dear tests, and none of what a change touches."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

CI = Path(__file__).resolve().parents[2] / ".ci"

pytestmark = pytest.mark.skipif(
    not CI.is_dir(), reason="the plugin is in the checkout, and these tests run outside of it"
)

FIXTURE = "import pytest\n@pytest.fixture\ndef skillkit_cli():\n    pass\n"
STARTS = """
import pytest
@pytest.mark.parametrize("n", range(40))
def test_a_command(skillkit_cli, n): pass
@pytest.mark.spec("1.1")
@pytest.mark.parametrize("n", range(10))
def test_a_number(skillkit_cli, n): pass
@pytest.mark.parametrize("n", range(10))
def test_alone(n): pass
"""


def test_one_in_four_that_start_commands_runs_with_everything_and_all_of_a_folder_that_is_named(tmp_path):
    (tmp_path / "tests").mkdir()
    (tmp_path / "conftest.py").write_text(FIXTURE)
    (tmp_path / "tests" / "test_many.py").write_text(STARTS)
    (tmp_path / "pytest.ini").write_text("[pytest]\ntestpaths = tests\nmarkers =\n    slow\n    smoke\n    spec\n")

    def ran(*argv):
        plugins = ("-p", "xdist", "-p", "by_day", "-p", "no:cacheprovider")
        argv = [sys.executable, "-m", "pytest", *plugins, "-m", "not slow", "-v", *argv]
        below = {
            "TESTS_OF_EVERYTHING": "1",
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        }  # the first, as below a run of everything
        env = {**os.environ, "PYTHONPATH": str(CI), **below}
        done = subprocess.run(argv, cwd=tmp_path, env=env, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        passed = "".join(line for line in done.stdout.splitlines() if "PASSED" in line)
        return {name: passed.count(f"::{name}[") for name in ("test_a_command", "test_a_number", "test_alone")}

    some = ran("-n", "1")
    assert 0 < some["test_a_command"] < 40, some
    assert some["test_a_number"] == some["test_alone"] == 10
    assert ran("tests") == {"test_a_command": 40, "test_a_number": 10, "test_alone": 10}


def test_a_commit_chooses_others_than_the_one_before_and_what_a_change_touches_stays(monkeypatch):
    monkeypatch.syspath_prepend(str(CI))
    import by_day

    acme = [f"plugins/skillkit-acme/tests/test_acme.py::test_it[{n}]" for n in range(40)]
    wide = [f"tests/e2e/test_e2e_wide.py::test_it[{n}]" for n in range(40)]
    names = [*acme, *wide]
    first, second = by_day.left(names, "a", ()), by_day.left(names, "b", ())
    assert first == by_day.left(names, "a", ()) != second and first - second and second - first
    assert all(35 < len(left) < 78 for left in (first, second))
    touched = by_day.left(names, "a", ["plugins/skillkit-acme/src/skillkit_acme/plugin.py"])
    assert touched == first & {*wide}
    assert by_day.left(names, "a", ["tests/e2e/test_e2e_wide.py"]) == first & {*acme}
    assert by_day.left(names, "a", ["skillkit_core/tools.py"]) == first
    core = [f"tests/core/cli/test_cli_wide.py::test_it[{n}]" for n in range(40)]
    assert by_day.left(core, "a", []) and not by_day.left(core, "a", ["skillkit_core/tools.py"])


def test_the_list_of_dear_tests_is_renewed_for_the_files_that_ran(monkeypatch):
    monkeypatch.syspath_prepend(str(CI))
    import cost

    known = ["tests/a.py::test_cheaper_now", "tests/a.py::test_gone", "tests/b.py::test_kept"]
    tests = {"tests/a.py::test_cheaper_now": 0.1, "tests/a.py::test_dear[0]": 0.01, "tests/a.py::test_dear[1]": 0.5}
    assert cost.renewed(known, tests) == ["tests/a.py::test_dear", "tests/b.py::test_kept"]
