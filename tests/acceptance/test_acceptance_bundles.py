"""The recorded cases of bundles, by the checker that came with them: folders, marketplaces, hooks, commands and agents."""

import subprocess
import sys
from pathlib import Path

import pytest

FILES = ("expected.jsonl", "marketplaces.jsonl", "commands-behaviour.jsonl", "hooks-behaviour.jsonl")


@pytest.fixture(scope="session")
def unpacked(tmp_path_factory):
    return tmp_path_factory.mktemp("bundles")


@pytest.mark.parametrize("file", FILES)
def test_all_recorded_cases_hold(shared_data, unpacked, file):
    place = shared_data / "bundles"
    if not any(unpacked.iterdir()):
        subprocess.run(["tar", "xf", str(place / "bundles.tar.xz"), "-C", str(unpacked)], check=True)
    adapter = f"{sys.executable} {Path(__file__).with_name('bundles.py')}"
    argv = [
        sys.executable,
        str(place / "check.py"),
        adapter,
        str(place / file),
        "--advice",
        "--bundles",
        str(unpacked),
        "-v",
    ]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
