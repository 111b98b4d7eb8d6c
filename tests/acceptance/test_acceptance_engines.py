"""The recorded cases of engines, by the checker that came with them."""

import subprocess
import sys
from pathlib import Path

import pytest

KINDS = ("gates", "routing", "compound", "editor", "tools", "plans", "protocol")


@pytest.mark.parametrize("kind", KINDS)
def test_all_recorded_cases_hold_strictly(shared_data, kind):
    checker = shared_data / "engines" / "check.py"
    argv = [sys.executable, str(checker), kind, "engines", "--strict"]
    done = subprocess.run(argv, cwd=Path(__file__).parent, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
