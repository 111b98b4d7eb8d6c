"""The suite of attacks and of what must work, through the launcher."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from pathlib import Path

import pytest
import skillkit_process
import skillkit_sandbox
from skillkit_sandbox.box import CAPABILITIES, Backend, BubblewrapBackend, LandlockBackend
from skillkit_sandbox.cgroup import ControlGroup
from skillkit_sandbox.policy import SandboxPolicy
from skillkit_sandbox_attacks import ATTACKS, NOBODY, WORK, SandboxConformance, Stage, readable_python
from skillkit_testkit.shared import find_shared

REQUIRED = os.environ.get("CI") == "true" or bool(os.environ.get("SKILLKIT_REQUIRE_SANDBOX"))
PACKAGES = [Path(package.__file__).parent for package in (skillkit_process, skillkit_sandbox)]


@pytest.fixture(scope="session")
def library():
    """The launcher's modules where every user can read them."""
    folder = Path(tempfile.mkdtemp(prefix="skillkit-lib-", dir="/var/tmp"))
    for here in PACKAGES:
        shutil.copytree(here, folder / here.name, ignore=shutil.ignore_patterns("__pycache__"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def works(backend):
    problem = backend.problem()
    if problem is not None and not REQUIRED:
        pytest.skip(problem)
    assert problem is None


def launcher(backend, policy, python, library):
    """The backend's command line, of the modules that every user can read."""
    resolved = SandboxPolicy.model_validate(policy).resolved("/")
    words = backend().command(resolved, [])[1:]
    for here in PACKAGES:
        words = [word.replace(str(here.parent), str(library)) for word in words]
    return [python, *words]


class Launched(SandboxConformance):
    backend: type[Backend]

    @pytest.fixture(autouse=True)
    def _here(self, library):
        works(self.backend())
        self.library = library

    def wrap(self, policy, python):
        return launcher(self.backend, policy, python, self.library)

    def lacks(self, policy, who):
        resolved = SandboxPolicy.model_validate(policy).resolved("/")
        found = {lack.capability for lack in self.backend().lacks(resolved)}
        if policy["limits"] and who == "user" and os.getuid() == 0:
            found.add("limits.memory_mb")  # nobody has no control group, root has
        return found


class TestBubblewrap(Launched):
    backend = BubblewrapBackend


class TestLandlock(Launched):
    backend = LandlockBackend
    # /dev/shm and /tmp cannot be written, and there is no network of its own
    works_not = frozenset({
        "loopback_between_children", "multiprocessing_pool", "multiprocessing_shared_memory", "process_pool_executor",
        "temporary_files",
    })  # fmt: skip


def test_an_attack_proves_every_capability_that_a_backend_may_lack():
    assert set(CAPABILITIES) - {a.lack for a in ATTACKS.values()} == {"network.proxy"}  # which is always refused


def test_an_ordinary_user_who_was_given_a_control_group_has_the_sum_of_memory_limited(library):
    works(BubblewrapBackend())
    group = ControlGroup({"processes": 500, "memory": 1 << 30})
    if os.getuid() != 0 or set(group.held.values()) != {1}:
        group.close()
        pytest.skip("needs root, and control groups of version 1, where a process may move itself")
    python = readable_python(NOBODY)
    stage = Stage("/var/tmp", NOBODY, ATTACKS, python)
    for folder in group.folders:
        for path in (folder, *Path(folder).iterdir()):
            os.chown(path, NOBODY, NOBODY)
    enter = [f"echo $$ > {folder}/cgroup.procs" for folder in group.folders]
    wrap = launcher(BubblewrapBackend, stage.policy(limits=stage.tight), python, library)
    try:
        names = ["memory_flood_children", "fork_flood"]
        wrap = ["sh", "-ec", "; ".join([*enter, 'exec "$@"']), "sh", *wrap]
        claims, errors = stage.run(wrap, "attacks.__main__", names)
    finally:
        stage.close()
        group.close()
    assert claims == dict.fromkeys(names, ""), errors


def test_a_sandbox_that_only_mounts_is_found_out():
    """The attacks are real: without a filter and without policies for paths most of them get through."""
    works(BubblewrapBackend())
    python = readable_python(os.getuid())
    stage = Stage("/var/tmp", os.getuid(), ATTACKS, python)
    plain = ["bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--bind", str(stage.root), str(stage.root),
             "--unshare-pid", "--die-with-parent", "--"]  # fmt: skip
    names = [n for n, a in ATTACKS.items() if not a.limits and n not in ("survivor", "keyctl", "memfd_program")]
    try:
        claims, _ = stage.run(plain, "attacks.__main__", names)
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
    assert attacks - set(ATTACKS) - others == set()
    assert work - set(WORK) - others == set()
