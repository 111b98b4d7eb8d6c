"""Tests of root, run once more as an ordinary user: what a sandbox needs and what it holds differ between the two."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

import pytest

from .stage import NOBODY, readable_python

__all__ = ["pass_as_an_ordinary_user"]


def pass_as_an_ordinary_user(file: str, *tests: str) -> None:
    """Run tests as the user ``nobody`` and expect that all pass, none skipped; skip where this user is not root.

    ``nobody`` has to be able to read the tests, what this Python imports, and a Python of this version.

    Args:
        file: the file of the tests.
        tests: their names, with the ids of their parameters.
    """
    if os.getuid() != 0:
        pytest.skip("an ordinary user runs these tests already")
    own = [entry for entry in sys.path if entry and not Path(entry).is_relative_to(sys.base_prefix)]
    with tempfile.TemporaryDirectory(prefix="skillkit-nobody-", dir="/var/tmp") as folder:
        os.chown(folder, NOBODY, NOBODY)
        env = {
            "PATH": f"/usr/local/bin:{os.defpath}", "HOME": folder, "PYTHONPATH": os.pathsep.join(own),
            "PYTHONPYCACHEPREFIX": str(_bytecode()), "SKILLKIT_REQUIRE_SANDBOX": "1",
        }  # fmt: skip
        nobody = partial(
            subprocess.run,
            env=env,
            capture_output=True,
            text=True,
            check=False,
            user=NOBODY,
            group=NOBODY,
            extra_groups=[],
        )
        python = _python()
        if nobody([python, "-c", "import sys, pytest; open(sys.argv[1])", file], cwd=folder).returncode:
            _leave_out(
                "an ordinary user cannot read these tests and what they import: check out where everybody may look"
            )
        argv = [python, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", "--basetemp", f"{folder}/tests"]
        done = nobody([*argv, *(f"{file}::{test}" for test in tests)], cwd=Path(file).parent)
    assert done.returncode == 0 and "SKIPPED" not in done.stdout, done.stdout + done.stderr


def _bytecode() -> Path:
    """Return where ``nobody`` keeps bytecode in the environment: compiling the SDKs is most of what such a run costs."""
    folder = Path(sys.prefix) / "bytecode-of-nobody"
    folder.mkdir(exist_ok=True)
    os.chown(folder, NOBODY, NOBODY)
    return folder


def _python() -> str:
    found = readable_python(NOBODY)
    own = f"{sys.version_info.major}.{sys.version_info.minor}"
    ask = "import sys; print(*sys.version_info[:2], sep='.')"
    if found is None or subprocess.check_output([found, "-I", "-c", ask], text=True).strip() != own:
        _leave_out(f"an ordinary user has no Python {own} here: install one below /usr")
    assert found is not None
    return found


def _leave_out(why: str) -> None:
    if os.environ.get("CI") == "true" or os.environ.get("SKILLKIT_REQUIRE_SANDBOX"):
        pytest.fail(why)
    pytest.skip(why)
