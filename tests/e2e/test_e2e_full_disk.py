"""A disk that takes no more: one line that says where, and nothing half-written is left behind."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.fixture
def on_a_full_disk(skillkit_home):
    """Runs a command whose every write to a file fails; pipes are none."""

    def run(*argv: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "skillkit_core", *argv],
            cwd=skillkit_home.cwd,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0)),
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    return run


def files_below(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_a_request_says_which_file_cannot_be_written(workspace, on_a_full_disk, skillkit_home, skillkit_cli):
    result = on_a_full_disk("run", "2+2")
    assert result.returncode == 1 and result.stdout == ""
    line = result.stderr.strip()
    assert (
        "\n" not in line
        and ".lock: session" in line
        and "cannot be made: File too large" in line
        and "free some disk space" in line
    )
    assert files_below(skillkit_home.path) == []
    assert skillkit_cli("run", "2+2").ok().stdout == "2+2 = 4\n"


def test_trust_that_cannot_be_kept_leaves_no_half_of_it(workspace, on_a_full_disk, skillkit_home):
    result = on_a_full_disk("config", "trust", str(workspace))
    assert result.returncode != 0 and "cannot be written: File too large" in result.stderr
    assert files_below(skillkit_home.path) == []


def test_the_doctor_sees_it(workspace, on_a_full_disk, skillkit_home):
    result = on_a_full_disk("doctor")
    assert result.returncode == 1 and "cannot be written: File too large" in result.stdout
    assert files_below(skillkit_home.path) == []
