"""The sandbox suite: everything that a sandbox must refuse, and everything that must still work inside, with real processes."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path
from typing import Any, ClassVar

import pytest

from . import sandbox_attacks, sandbox_work
from .sandbox_stage import NOBODY, Stage, readable_python

__all__ = ["SandboxConformance"]

_LATE = ("survivor",)  # it must be the last one: it goes on until the command ends


class SandboxConformance:
    """Subclass it and give :meth:`wrap`. Run by root, every test runs as root and as an ordinary user.

    Attributes:
        excused: attacks that the sandbox names as what it cannot hold, by user (``root``, ``user``).
        works_not: what does not work inside, and is said so.
        places: folders in which projects lie.
    """

    excused: ClassVar[dict[str, set[str]]] = {}
    works_not: ClassVar[set[str]] = set()
    places: ClassVar[tuple[str, ...]] = ("/var/tmp", "/tmp")  # noqa: S108

    def wrap(self, policy: dict[str, Any], python: str) -> list[str]:
        """Override: the command line that runs what follows it inside a policy, started by ``python`` if that is needed."""
        raise NotImplementedError("give the method wrap: (policy, python) -> list[str]")

    @pytest.fixture(params=["root", "user"])
    def who(self, request: pytest.FixtureRequest) -> str:
        """The user: root, or an ordinary one."""
        user: str = request.param
        if user == "root" and os.getuid() != 0:
            pytest.skip("only root can run this as root")
        return user

    @pytest.fixture(params=["0", "1"])
    def place(self, request: pytest.FixtureRequest) -> str:
        """The folder that projects lie in."""
        return self.places[int(request.param) % len(self.places)]

    @pytest.fixture
    def stage(self, who: str, place: str) -> Any:
        """What the attacks find."""
        yield from self.stages(who, place)

    def stages(self, who: str, place: str) -> Any:
        """Make a stage, and take it away."""
        uid = NOBODY if who == "user" and os.getuid() == 0 else os.getuid()
        python = readable_python(uid)
        assert python is not None, "an ordinary user has no Python here: install one below /usr"
        stage = Stage(place, uid, sandbox_attacks.ATTACKS, python)
        yield stage
        assert stage.close() == []

    def names(self, who: str, *, limits: bool) -> list[str]:
        """Return the attacks of a user."""
        found = [n for n in sandbox_attacks.ATTACKS if (n in sandbox_attacks.NEEDS_LIMITS) == limits]
        other = sandbox_attacks.USER_ONLY if who == "root" else sandbox_attacks.ROOT_ONLY
        excused = self.excused.get(who, set())
        return sorted((n for n in found if n not in other and n not in excused), key=lambda n: n in _LATE)

    def test_no_attack_gets_through(self, who: str, stage: Stage) -> None:
        """Judged outside, where something can be seen; else the attack's own claim counts."""
        wrap = self.wrap(stage.policy(), stage.python)
        claims, errors = stage.run(wrap, "sandbox_attacks", self.names(who, limits=False))
        through = {n: c for n, c in claims.items() if c and not n.startswith("read_")}
        through |= {n: "the secret" for n, c in claims.items() if stage.secret in c}
        assert through == {}, errors
        assert [path for path in stage.changed() if not self._excused(path, who)] == []
        size = self._survivor(stage)
        assert size == self._survivor(stage), "a process goes on after the end of the command"

    def _excused(self, path: str, who: str) -> bool:
        return any(name in path for name in self.excused.get(who, ()))

    @staticmethod
    def _survivor(stage: Stage) -> int:
        log = stage.projects[0] / "survivor.log"
        signal.sigtimedwait([], 0.1)
        return log.stat().st_size if log.exists() else 0

    @pytest.mark.parametrize("place", ["0"], indirect=True)
    def test_limits_hold_and_everything_that_must_work_works_under_them(self, who: str, stage: Stage) -> None:
        """Python, git, node, databases, pools, terminals, compilers."""
        wrap = self.wrap(stage.policy(limits=stage.limits), stage.python)
        names = [n for n in sandbox_work.WORK if n not in self.works_not]
        broken, errors = stage.run(wrap, "sandbox_work", names)
        assert {n: said for n, said in broken.items() if said} == {}, errors
        claims, errors = stage.run(wrap, "sandbox_attacks", self.names(who, limits=True))
        assert {n: c for n, c in claims.items() if c} == {}, errors

    @pytest.mark.parametrize("place", ["1"], indirect=True)
    def test_streams_status_and_folder_are_those_of_the_command(self, who: str, stage: Stage) -> None:
        """Every byte value passes, and errors stay apart."""
        wrap = self.wrap(stage.policy(), stage.python)
        every = bytes(range(256)) * 400
        cwd = stage.projects[0]
        user: dict[str, Any] = {"cwd": cwd, "capture_output": True, "check": False, **stage.as_user()}
        done = subprocess.run([*wrap, "sh", "-c", "cat; echo apart >&2; pwd >&2; exit 7"], input=every, **user)
        assert (done.returncode, done.stdout) == (7, every)
        assert done.stderr.decode() == f"apart\n{cwd}\n"
        done = subprocess.run([*wrap, "sh", "-c", "kill -9 $$"], **user)
        assert done.returncode in (128 + 9, -9)

    @pytest.mark.parametrize("place", ["1"], indirect=True)
    def test_nothing_outlives_a_launcher_that_is_killed(self, who: str, stage: Stage) -> None:
        """SIGKILL, which the launcher cannot handle."""
        if "killed_launcher" in self.excused.get(who, ()):
            pytest.skip("the sandbox names this as what it cannot hold")
        wrap = self.wrap(stage.policy(), stage.python)
        code = "echo . > alive; echo up; while :; do echo . >> alive; sleep 0.02; done"
        with subprocess.Popen(
            [*wrap, "sh", "-c", code], cwd=stage.projects[0], stdout=subprocess.PIPE, **stage.as_user()
        ) as child:
            assert child.stdout is not None
            assert child.stdout.readline() == b"up\n"
            child.kill()
            assert child.stdout.read() == b"", "the pipe ends when its last holder does"
        size = (stage.projects[0] / "alive").stat().st_size
        signal.sigtimedwait([], 0.1)
        assert (stage.projects[0] / "alive").stat().st_size == size

    @pytest.mark.parametrize("place", ["1"], indirect=True)
    def test_the_host_is_as_it_was_afterwards(self, stage: Stage) -> None:
        """Placeholders of missing paths are gone when the command has ended."""
        wrap = self.wrap(stage.policy(), stage.python)
        subprocess.run([*wrap, "true"], cwd=stage.projects[0], check=True, **stage.as_user())
        for path in (stage.projects[0] / ".hostsettings", stage.projects[1] / ".git", stage.projects[2] / ".git"):
            assert not os.path.lexists(path), path
        assert Path(stage.projects[0], ".mcp.json").read_text() == "{}"
