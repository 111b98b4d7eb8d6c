"""The suite of attacks and of what must work, through the launcher."""

from __future__ import annotations

import json
import os
import shutil
import sys
import sysconfig
import tempfile
from pathlib import Path

import pytest
from skillkit_sandbox.policy import SandboxPolicy
from skillkit_testkit.conformance import SandboxConformance

import skillkit_sandbox
from skillkit_sandbox.box import BubblewrapBackend, LandlockBackend

REQUIRED = os.environ.get("CI") == "true"


@pytest.fixture(scope="session")
def library():
    """The launcher's modules where every user can read them."""
    folder = Path(tempfile.mkdtemp(prefix="skillkit-lib-", dir="/var/tmp"))
    import pyseccomp

    shutil.copytree(Path(skillkit_sandbox.__file__).parent, folder / "skillkit_sandbox", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(pyseccomp.__file__, folder)
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def works(backend):
    problem = backend.problem()
    if problem is not None and not REQUIRED:
        pytest.skip(problem)
    assert problem is None


class Launched(SandboxConformance):
    backend: str

    @pytest.fixture(autouse=True)
    def _library(self, library):
        self.library = library

    def wrap(self, policy, python):
        resolved = SandboxPolicy.model_validate(policy).resolved("/")
        request = json.dumps({"backend": self.backend, "policy": resolved.data()})
        code = f"import sys; sys.path.insert(0, {str(self.library)!r}); from skillkit_sandbox.launcher import main; main()"
        return [python, "-I", "-c", code, request, "--"]


class TestBubblewrap(Launched):
    backend = "bubblewrap"

    @property
    def excused(self):
        from skillkit_sandbox.cgroup import ControlGroup

        group = ControlGroup({"memory": 1 << 32})
        group.close()
        told = {"memory_flood_children"}
        return {"user": told, "root": set() if "memory" in group.held else told}

    @pytest.fixture(autouse=True)
    def _works(self):
        works(BubblewrapBackend())
