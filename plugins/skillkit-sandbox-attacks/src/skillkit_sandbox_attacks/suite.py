"""The sandbox suite: everything that a sandbox must refuse, and everything that must still work inside, with real processes."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Iterable, Set
from pathlib import Path
from typing import Any, ClassVar

import pytest

from .attacks import ATTACKS
from .stage import NOBODY, Stage, readable_python
from .work import WORK

__all__ = ["SandboxConformance"]

_LATE = ("survivor",)  # it must be the last one: it goes on until the command ends
_PROTECTED = ("/.git", "/.mcp.json", "/.hostsettings")


class SandboxConformance:
    """Subclass it and give :meth:`wrap`. Run by root, every test runs as root and as an ordinary user.

    Attributes:
        works_not: what does not work inside, and is said so.
        places: folders in which projects lie.
    """

    works_not: ClassVar[Set[str]] = frozenset()
    places: ClassVar[tuple[str, ...]] = ("/var/tmp", "/tmp")  # noqa: S108

    def wrap(self, policy: dict[str, Any], python: str) -> list[str]:
        """Override: the command line that runs what follows it inside a policy, started by ``python`` if that is needed."""
        raise NotImplementedError("give the method wrap: (policy, python) -> list[str]")

    def lacks(self, policy: dict[str, Any], who: str) -> set[str]:
        """Override: the capabilities that the sandbox says it lacks for a policy and a user (``root``, ``user``).

        An attack gets through if, and only if, its :attr:`~.attacks.Attack.lack` is among them.
        """
        return set()

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
        stage = Stage(place, uid, ATTACKS, python)
        yield stage
        noticed = stage.close()
        assert noticed == [] or "signals" in self.lacks(stage.policy(), who)

    def names(self, who: str, *, limits: bool) -> list[str]:
        """Return the attacks of a user."""
        found = [n for n, a in ATTACKS.items() if a.limits == limits and a.only in (None, who)]
        return sorted(found, key=lambda n: n in _LATE)

    def explained(self, names: Iterable[str], policy: dict[str, Any], who: str) -> set[str]:
        """Return the attacks that get through by what the sandbox says it lacks."""
        lacks = self.lacks(policy, who)
        return {name for name in names if ATTACKS[name].lack in lacks}

    def test_no_attack_gets_through_but_those_that_a_declared_lack_explains(self, who: str, stage: Stage) -> None:
        """Judged outside, where something can be seen; else the attack's own claim counts."""
        policy, names = stage.policy(), self.names(who, limits=False)
        claims, errors = stage.run(self.wrap(policy, stage.python), "attacks.__main__", names)
        size = self._survivor(stage)
        changed = stage.changed()
        through = {n: c for n, c in claims.items() if c and not n.startswith("read_")}
        through |= {n: "the secret" for n, c in claims.items() if stage.secret in c}
        through |= {n: p for p in changed for n in re.findall(r"\w+", p) if n in ATTACKS}
        explained = self.explained(names, policy, who)
        assert {n: c for n, c in through.items() if n not in explained} == {}, errors
        assert explained - set(through) == set(), "the sandbox holds more than it says"
        nameless = [path for path in changed if not set(re.findall(r"\w+", path)) & set(ATTACKS)]
        if "protect" in self.lacks(policy, who):
            nameless = [path for path in nameless if not any(p in path for p in _PROTECTED)]
        assert nameless == [], errors
        assert size == self._survivor(stage), "a process goes on after the end of the command"

    @staticmethod
    def _survivor(stage: Stage) -> int:
        log = stage.projects[0] / "survivor.log"
        signal.sigtimedwait([], 0.1)
        return log.stat().st_size if log.exists() else 0

    @pytest.mark.parametrize("place", ["0"], indirect=True)
    def test_limits_hold_and_everything_that_must_work_works_under_them(self, who: str, stage: Stage) -> None:
        """Python, git, node, databases, pools, terminals, compilers."""
        stage.make_venv()
        wrap = self.wrap(stage.policy(limits=stage.limits), stage.python)
        names = [n for n in WORK if n not in self.works_not]
        broken, errors = stage.run(wrap, "work", names)
        assert {n: said for n, said in broken.items() if said} == {}, errors
        policy, names = stage.policy(limits=stage.tight), self.names(who, limits=True)
        claims, errors = stage.run(self.wrap(policy, stage.python), "attacks.__main__", names)
        through = {n: c for n, c in claims.items() if c}
        assert set(through) == self.explained(names, policy, who), (through, errors)

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
        wrap = self.wrap(stage.policy(), stage.python)
        code = "(setsid timeout 60 sh -c 'echo . > alive; echo up; while :; do echo . >> alive; sleep 0.02; done' &); sleep 60"
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
