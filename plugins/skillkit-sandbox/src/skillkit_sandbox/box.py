"""Sandboxes: a policy with a backend that holds it, and the command line that runs a program inside.

Other plugins find this through the host, without an import::

    if "sandboxes" in host.kinds:
        box = host.registry("sandboxes").get("sandbox").open("project", host.cwd)
        process = await asyncio.create_subprocess_exec(*box.command(argv), cwd=host.cwd)
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from skillkit_core.errors import SkillKitError, UsageError

from .policy import SandboxPolicy, policy_of

if TYPE_CHECKING:
    from skillkit_core import Host

    from .config import Settings

__all__ = ["Backend", "BubblewrapBackend", "LandlockBackend", "Sandbox", "SandboxError", "Sandboxes"]


class SandboxError(SkillKitError):
    """No backend holds a policy here."""


class Backend(ABC):
    """A way to keep programs inside. Registered by ``register_sandbox_backends``, made as ``create(host)``."""

    name: ClassVar[str]

    @abstractmethod
    def problem(self) -> str | None:
        """Return why the backend does not work on this machine, with what to do; ``None``: it works."""

    @abstractmethod
    def lacks(self, policy: SandboxPolicy) -> list[str]:
        """Return what a resolved policy says and the backend does not hold: a reason to refuse, unless the user accepts it."""

    def never(self, policy: SandboxPolicy) -> list[str]:
        """Return what a policy needs and the backend cannot do at all."""
        return []

    def weak(self, policy: SandboxPolicy) -> list[str]:
        """Return what the backend holds less firmly here than the policy says, which is told and refuses nothing."""
        return []

    @abstractmethod
    def command(self, policy: SandboxPolicy, argv: Sequence[str], env: Iterable[str] = ()) -> list[str]:
        """Return the command line that runs ``argv`` inside, in the current folder, with the descriptors 0, 1 and 2.

        Args:
            env: names of variables that are passed on besides those of the policy.
        """


def _launcher(backend: str, policy: SandboxPolicy, argv: Sequence[str], env: Iterable[str]) -> list[str]:
    request = json.dumps({"backend": backend, "policy": policy.data(), "env": sorted(env)}, separators=(",", ":"))
    return [sys.executable, "-I", "-m", "skillkit_sandbox.launcher", request, "--", *argv]


@cache
def _seccomp_problem() -> str | None:
    from .seccomp import SeccompMissing, filter_program

    try:
        filter_program(inet=True, unix=False)
    except SeccompMissing as error:
        return f"libseccomp cannot be used ({error}): install libseccomp2 (Fedora: libseccomp)"
    return None


@cache
def _namespace_problem() -> str | None:
    from .bubblewrap import find_bwrap

    bwrap = find_bwrap()
    if bwrap is None:
        return "bwrap is not installed: install the package bubblewrap"
    spaces = ["--unshare-user", "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts"]
    argv = [
        bwrap,
        *spaces,
        "--ro-bind",
        "/",
        "/",
        "--dev",
        "/dev",
        "--proc",
        "/proc",
        "--as-pid-1",
        "--",
        "/bin/sh",
        "-c",
        ":",
    ]
    done = subprocess.run(argv, capture_output=True, text=True, env={"PATH": os.defpath}, check=False)
    if done.returncode == 0:
        return None
    said = " ".join(done.stderr.split()) or f"exit status {done.returncode}"
    return f"{said}: this user may not make user namespaces; see user.max_user_namespaces, AppArmor, or the container's settings"


class BubblewrapBackend(Backend):
    """Namespaces and mounts of bubblewrap, and a filter of system calls."""

    name = "bubblewrap"

    def __init__(self, host: Host | None = None) -> None:
        pass

    def problem(self) -> str | None:
        """Return what is missing: bubblewrap, libseccomp, or the right to make namespaces."""
        if not sys.platform.startswith("linux"):
            return "it needs Linux"
        return _namespace_problem() or _seccomp_problem()

    def lacks(self, policy: SandboxPolicy) -> list[str]:
        """Return the limit of processes where root runs without control groups."""
        if policy.limits and policy.limits.processes and os.getuid() == 0 and "processes" not in _groups():
            return ["limits.processes: root needs a control group, and none can be made here"]
        return []

    def weak(self, policy: SandboxPolicy) -> list[str]:
        """Return the limit of memory where no control group can be made."""
        if policy.limits and policy.limits.memory_mb and "memory" not in _groups():
            return ["limits.memory_mb holds each process, not all of them together: no control group can be made here"]
        return []

    def command(self, policy: SandboxPolicy, argv: Sequence[str], env: Iterable[str] = ()) -> list[str]:
        """Return the command line of the launcher."""
        return _launcher(self.name, policy, argv, env)


class LandlockBackend(Backend):
    """Landlock and a filter of system calls: less than a policy says, see :meth:`lacks`."""

    name = "landlock"

    def __init__(self, host: Host | None = None) -> None:
        pass

    def problem(self) -> str | None:
        """Return what is missing: Landlock 3 in the kernel, or libseccomp."""
        if not sys.platform.startswith("linux"):
            return "it needs Linux"
        from .landlock import abi

        if abi() < 3:
            return (
                f"the kernel has Landlock {abi()}, and 3 is needed (Linux 6.2)"
                if abi()
                else "the kernel has no Landlock"
            )
        return _seccomp_problem()

    def never(self, policy: SandboxPolicy) -> list[str]:
        """Return the network ``proxy``, which needs a network namespace."""
        from .landlock import never

        return never(policy.data())

    def lacks(self, policy: SandboxPolicy) -> list[str]:
        """Return what Landlock does not hold of the policy."""
        from .landlock import lacks

        return [*lacks(policy.data()), *BubblewrapBackend().lacks(policy)]

    def weak(self, policy: SandboxPolicy) -> list[str]:
        """Return the limit of memory where no control group can be made."""
        return BubblewrapBackend().weak(policy)

    def command(self, policy: SandboxPolicy, argv: Sequence[str], env: Iterable[str] = ()) -> list[str]:
        """Return the command line of the launcher."""
        return _launcher(self.name, policy, argv, env)


@cache
def _groups() -> frozenset[str]:
    """Return which limits a control group can hold here."""
    from .cgroup import ControlGroup

    group = ControlGroup({"processes": 1000, "memory": 1 << 32})
    held = frozenset(group.held)
    group.close()
    return held


@dataclass(frozen=True, slots=True)
class Sandbox:
    """A policy with the backend that holds it.

    Attributes:
        policy: the policy, with absolute paths.
        backend: the backend.
        workspace: the folder at which relative paths of narrower policies start.
        lacks: what the backend does not hold of the policy, and the user accepted, one line each.
        weak: what it holds less firmly than the policy says.
        maker: what opened it.
    """

    policy: SandboxPolicy
    backend: Backend
    workspace: str
    lacks: tuple[str, ...]
    weak: tuple[str, ...]
    maker: Sandboxes

    @property
    def notes(self) -> tuple[str, ...]:
        """Everything that the backend does not hold as the policy says, one line each; empty: it holds all of it."""
        return (*self.lacks, *self.weak)

    def command(self, argv: Sequence[str], env: Iterable[str] = ()) -> list[str]:
        """Return the command line that runs ``argv`` inside.

        Start it like any program: it keeps the current folder, the descriptors 0, 1 and 2 and the exit status (128 + N for a
        signal N; 125: the sandbox could not be made; 126 and 127 as a shell), closes all other descriptors, and passes on the
        variables that the policy names. Everything inside ends with it, and with the program itself. SIGTERM ends it.

        Args:
            env: names of variables that are passed on besides.
        """
        return self.backend.command(self.policy, argv, env)

    def run(
        self, argv: Sequence[str], *, env_names: Iterable[str] = (), **options: Any
    ) -> subprocess.CompletedProcess[Any]:
        """Run ``argv`` inside and wait for it; ``options`` are those of :func:`subprocess.run`."""
        return subprocess.run(self.command(argv, env_names), **{"check": False, **options})

    def narrow(self, policy: SandboxPolicy | Mapping[str, Any]) -> Sandbox:
        """Return the sandbox of what both policies allow.

        Raises:
            SandboxError: no backend holds that.
        """
        return self.maker.open(self.policy.narrow(policy, self.workspace), self.workspace)


class Sandboxes:
    """Opens sandboxes: by the name of a configured policy, by a policy, or by its data.

    Args:
        host: gives the configuration and the backends; ``None``: neither, the built-in ones count.
    """

    def __init__(self, host: Host | None = None) -> None:
        self._host = host

    def policy(
        self, policy: str | SandboxPolicy | Mapping[str, Any], workspace: str | Path | None = None
    ) -> SandboxPolicy:
        """Return a policy with absolute paths.

        Raises:
            UnknownName: no policy has this name.
            ConfigError: the data are no policy.
        """
        base = workspace or (self._host.cwd if self._host is not None else Path.cwd())
        if isinstance(policy, str):
            return self._settings().policy(policy, base)
        return (policy if isinstance(policy, SandboxPolicy) else policy_of(policy)).resolved(base)

    def open(
        self,
        policy: str | SandboxPolicy | Mapping[str, Any],
        workspace: str | Path | None = None,
        *,
        backend: str | None = None,
    ) -> Sandbox:
        """Return the sandbox of a policy.

        Args:
            workspace: the folder at which relative paths start; default: that of the host.
            backend: name of the only backend that may be used; default: the configured one.

        Raises:
            SandboxError: no backend that works here holds the policy. Only the user's configuration accepts less
                (``sandbox.accept_degraded``), and never a lack that changes what the policy means.
        """
        found = self.policy(policy, workspace)
        settings = self._settings()
        name = backend or settings.backend
        candidates = [one for one in self.backends() if name in ("auto", one.name)]
        if not candidates:
            raise UsageError(
                f"unknown sandbox backend {name!r}", hint=f"known: {', '.join(b.name for b in self.backends())}"
            )
        reasons: list[str] = []
        for one in candidates:
            lacks = one.never(found)
            if (problem := one.problem()) is not None:
                reasons.append(f"{one.name}: {problem}")
            elif lacks or ((lacks := one.lacks(found)) and not settings.accept_degraded):
                reasons.append(f"{one.name} does not hold: {'; '.join(lacks)}")
            else:
                base = str(workspace or (self._host.cwd if self._host is not None else Path.cwd()))
                return Sandbox(found, one, base, tuple(lacks), tuple(one.weak(found)), self)
        hint = "'skillkit sandbox check' says what works; 'sandbox.accept_degraded: true' in your own configuration accepts less"
        raise SandboxError(f"no sandbox holds this policy here: {' | '.join(reasons)}", hint=hint)

    def backends(self) -> list[Backend]:
        """Return the backends in the order in which they are tried."""
        if self._host is None:
            return [BubblewrapBackend(), LandlockBackend()]
        registry = self._host.registry("sandbox_backends")
        return [registry.get(entry.address) for entry in registry.entries()]

    def _settings(self) -> Settings:
        from .config import Settings, settings_of
        from .policy import BUILT_IN

        if self._host is not None:
            return settings_of(self._host)
        return Settings({name: (policy,) for name, policy in BUILT_IN.items()}, (), "auto", False)
