"""The suite of attacks and of what must work, through the launcher."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from pathlib import Path

import pytest
import skillkit_sandbox
from skillkit_sandbox.box import BubblewrapBackend
from skillkit_sandbox.policy import SandboxPolicy
from skillkit_testkit.conformance import SandboxConformance, sandbox_attacks, sandbox_work
from skillkit_testkit.conformance.sandbox_stage import Stage, readable_python
from skillkit_testkit.shared import find_shared

REQUIRED = os.environ.get("CI") == "true" or bool(os.environ.get("SKILLKIT_REQUIRE_SANDBOX"))


@pytest.fixture(scope="session")
def library():
    """The launcher's modules where every user can read them."""
    folder = Path(tempfile.mkdtemp(prefix="skillkit-lib-", dir="/var/tmp"))
    import pyseccomp

    shutil.copytree(
        Path(skillkit_sandbox.__file__).parent,
        folder / "skillkit_sandbox",
        ignore=shutil.ignore_patterns("__pycache__"),
    )
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
        code = (
            f"import sys; sys.path.insert(0, {str(self.library)!r}); from skillkit_sandbox.launcher import main; main()"
        )
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


def test_a_sandbox_that_only_mounts_is_found_out():
    """The attacks are real: without a filter and without policies for paths most of them get through."""
    works(BubblewrapBackend())
    python = readable_python(os.getuid())
    stage = Stage("/var/tmp", os.getuid(), sandbox_attacks.ATTACKS, python)
    plain = ["bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--bind", str(stage.root), str(stage.root),
             "--unshare-pid", "--die-with-parent", "--"]  # fmt: skip
    names = [
        n
        for n in sandbox_attacks.ATTACKS
        if n not in sandbox_attacks.NEEDS_LIMITS | {"survivor", "keyctl", "memfd_program"}
    ]
    try:
        claims, _ = stage.run(plain, "sandbox_attacks", names)
        changed = " ".join(stage.changed())
        through = {
            n for n in names if stage.secret in claims[n] or n in changed or (claims[n] and not n.startswith("read_"))
        }
    finally:
        stage.close()
    assert len(through) >= 30, sorted(through)
    assert {
        "write_direct",
        "read_hidden",
        "read_other_env",
        "tcp_connect",
        "unix_connect",
        "unshare_user",
        "io_uring",
    } <= through


def test_the_suite_has_every_class_of_the_list():
    """The list lies outside of the repository."""
    shared = find_shared(Path(__file__), os.environ.get("SKILLKIT_SHARED"))
    lists = shared / "sandbox" if shared else None
    if lists is None or not lists.is_dir():
        if REQUIRED:
            pytest.fail("the folder shared/sandbox is missing")
        pytest.skip("the folder shared/sandbox is not here")
    attacks = {a["name"] for a in json.loads((lists / "attacks.json").read_text())}
    work = {w["name"] for w in json.loads((lists / "must-work.json").read_text()) if not w["optional"]}
    others = {"killed_launcher", "exit_status", "stdin_stdout_bytes", "stderr_apart"}  # tests of their own in the suite
    assert attacks - set(sandbox_attacks.ATTACKS) - others == set()
    assert work - set(sandbox_work.WORK) - others == set()
