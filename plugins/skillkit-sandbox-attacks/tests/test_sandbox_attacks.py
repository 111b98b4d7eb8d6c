"""The suite itself: what runs inside needs nothing but Python, attacks are real, and work is possible without a sandbox."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import skillkit_sandbox_attacks
from skillkit_sandbox_attacks import ATTACKS, WORK, SandboxConformance, Stage

pytestmark = [
    pytest.mark.smoke, pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the attacks are those of Linux"),
]  # fmt: skip


@pytest.fixture
def stage():
    made = Stage("/var/tmp", os.getuid(), ATTACKS, sys.executable)
    yield made
    made.close()


def test_what_runs_inside_imports_the_standard_library_alone():
    folder = Path(skillkit_sandbox_attacks.__file__).parent
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); import attacks.__main__, work\n"
        "own = {'attacks', 'work', '__main__'}\n"
        "print(sorted({m.partition('.')[0] for m in sys.modules} - set(sys.stdlib_module_names) - own))"
    )
    said = subprocess.check_output([sys.executable, "-I", "-S", "-c", code, str(folder)], text=True)
    assert said.strip() == "[]"


def test_without_a_sandbox_attacks_get_through_and_are_seen(stage):
    claims, errors = stage.run([], "attacks.__main__", ["write_direct", "read_hidden"])
    assert stage.secret in claims["read_hidden"], errors
    assert any("write_direct" in path for path in stage.changed())


def test_without_a_sandbox_work_works(stage):
    names = ["python_runs", "git_add_commit"]
    broken, errors = stage.run([], "work", names)
    assert set(names) <= set(WORK) and not any(broken.values()), (broken, errors)


def test_every_attack_says_which_capability_stops_it_or_has_none():
    assert {a.only for a in ATTACKS.values()} <= {None, "root", "user"}
    assert all(isinstance(a.lack, str | None) and callable(a.run) for a in ATTACKS.values())


def test_a_suite_without_a_sandbox_says_what_to_give():
    with pytest.raises(NotImplementedError, match="give the method wrap"):
        SandboxConformance().wrap({}, sys.executable)
