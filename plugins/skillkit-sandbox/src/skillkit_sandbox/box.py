"""Sandboxes: a policy with a backend that holds it, and the command line that runs a program inside.

Other plugins find this through the host, without an import::

    if "sandboxes" in host.kinds:
        box = host.registry("sandboxes").get("sandbox").open("project", host.cwd)
        process = await asyncio.create_subprocess_exec(*box.command(argv), cwd=host.cwd)
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from skillkit_core.errors import SkillKitError, UsageError

from .launcher import command_line
from .network import is_off

if TYPE_CHECKING:
    from skillkit_core import AgentRunner, Host

    from .config import Settings
    from .policy import SandboxPolicy

__all__ = [
    "CAPABILITIES",
    "Backend",
    "BubblewrapBackend",
    "Lack",
    "LandlockBackend",
    "Sandbox",
    "SandboxError",
    "Sandboxes",
]


class SandboxError(SkillKitError):
    """No backend holds a policy here."""


@dataclass(frozen=True, slots=True)
class Lack:
    """Something that a policy says and a backend does not hold.

    Attributes:
        capability: what is missing, as :data:`CAPABILITIES` has it.
        text: what that means here, on one line.
        grade: what follows. ``refused``: the policy is not used, unless the user's own configuration accepts the lack. ``never``:
            the policy is not used. ``told``: the policy is used, and the lack is said.
    """

    capability: str
    text: str
    grade: Literal["never", "refused", "told"] = "refused"

    def __str__(self) -> str:
        return self.text

    def data(self) -> dict[str, str]:
        """Return the lack as JSON."""
        return {"capability": self.capability, "grade": self.grade, "text": self.text}


CAPABILITIES: Mapping[str, str] = {
    "metadata": "modes, owners, times and attributes of files outside stay as they are",
    "protect": "protected paths in a folder that can be written stay as they are",
    "hide": "hidden paths in a folder that can be written cannot be read",
    "tmp": "temporary folders are private",
    "processes": "processes of the machine are not in sight",
    "signals": "processes of the machine get no signals",
    "terminals": "other terminals cannot be written",
    "network.proxy": "the domains of the proxy are reached, and nothing else",
    "limits.processes": "the number of processes has a limit",
    "limits.memory_mb": "all processes together have a limit of memory",
    "limits.disk_mb": "temporary folders have a limit as a whole",
}
"""What a backend may lack, and what holds where it does not."""


class Backend(ABC):
    """A way to keep programs inside. Registered by ``register_sandbox_backends``, made as ``create(host)``."""

    name: ClassVar[str]

    @abstractmethod
    def problem(self) -> str | None:
        """Return why the backend does not work on this machine, with what to do; ``None``: it works."""

    @abstractmethod
    def lacks(self, policy: SandboxPolicy) -> list[Lack]:
        """Return what a resolved policy says and the backend does not hold, here and for this user."""

    @abstractmethod
    def command(self, policy: SandboxPolicy, argv: Sequence[str], env: Iterable[str] = ()) -> list[str]:
        """Return the command line that runs ``argv`` inside, in the current folder, with the descriptors 0, 1 and 2.

        Args:
            env: names of variables that are passed on besides those of the policy.
        """


@cache
def _filter(**options: bool) -> bytes:
    from .seccomp import filter_program

    return filter_program(**options)


@cache
def _seccomp_problem() -> str | None:
    from .seccomp import SeccompMissing

    try:
        _filter(inet=True, unix=False, netlink=False)
    except SeccompMissing as error:
        return f"libseccomp cannot be used ({error}): install libseccomp2 (Fedora: libseccomp)"
    return None


def find_bwrap() -> str | None:
    """Return the path of bubblewrap. A folder of the current user counts only for this user, so the system's come first."""
    return shutil.which("bwrap", path="/usr/local/bin:/usr/bin:/bin") or shutil.which("bwrap")


@cache
def _namespace_problem() -> str | None:
    bwrap = find_bwrap()
    if bwrap is None:
        return "bwrap is not installed: install the package bubblewrap"
    argv = [
        bwrap, "--unshare-user", "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--ro-bind", "/", "/",
        "--dev", "/dev", "--proc", "/proc", "--as-pid-1", "--", "/bin/sh", "-c", ":",
    ]  # fmt: skip
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

    def lacks(self, policy: SandboxPolicy) -> list[Lack]:
        """Return the limits that need a control group, where none can be made."""
        return _limits_lacked(policy)

    def command(self, policy: SandboxPolicy, argv: Sequence[str], env: Iterable[str] = ()) -> list[str]:
        """Return the command line of the launcher."""
        program = _filter(inet=True, unix=policy.unix_sockets, netlink=policy.network == "on")
        return command_line(_holdable(policy), argv, env, program, backend=self.name, bwrap=find_bwrap() or "bwrap")


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

    def lacks(self, policy: SandboxPolicy) -> list[Lack]:
        """Return what Landlock does not hold of the policy."""
        from .landlock import abi
        from .policy import covers

        found = [
            Lack(
                "metadata",
                "modes, owners, times and attributes of files outside can be changed, as far as the user may",
            ),
            Lack("tmp", "/tmp is that of the machine (read, not written), /dev/shm is out of reach, TMPDIR is private"),  # noqa: S108
            Lack("processes", "processes of the machine can be seen"),
            Lack("terminals", "other terminals can be written, as far as the user may"),
        ]
        if any(os.path.lexists(p.removesuffix("?")) or not p.endswith("?") for p in policy.protect) and policy.write:
            found.append(Lack("protect", "protect: a path in a folder that can be written cannot be kept from changes"))
        if any(os.path.exists(path) and covers(policy.write, os.path.realpath(path)) for path in policy.hide):
            found.append(Lack("hide", "hide: a path in a folder that can be written cannot be hidden"))
        if abi() < 6:
            found.append(Lack("signals", "signals reach processes of the machine (needs Landlock 6)"))
        if policy.network == "proxy":
            found.append(Lack("network.proxy", "network: proxy (there is no network of its own)", "never"))
        if policy.limits and policy.limits.disk_mb:
            found.append(Lack("limits.disk_mb", "limits.disk_mb holds each file, not the temporary folder"))
        return [*found, *_limits_lacked(policy)]

    def command(self, policy: SandboxPolicy, argv: Sequence[str], env: Iterable[str] = ()) -> list[str]:
        """Return the command line of the launcher."""
        network = policy.network == "on"
        program = _filter(inet=network, unix=policy.unix_sockets, netlink=network, others=False)
        return command_line(_holdable(policy), argv, env, program, backend=self.name)


def _limits_lacked(policy: SandboxPolicy) -> list[Lack]:
    """Return the limits of a policy that need a control group, where none can be made."""
    limits, found = policy.limits, []
    if limits and limits.processes and os.getuid() == 0 and "processes" not in _groups():
        text = "limits.processes: root needs a control group, and none can be made here"
        found.append(Lack("limits.processes", text))
    if limits and limits.memory_mb and "memory" not in _groups():
        text = "limits.memory_mb holds each process, not all of them together: no control group can be made here"
        found.append(Lack("limits.memory_mb", text, "told"))
    return found


def _holdable(policy: SandboxPolicy) -> dict[str, Any]:
    """Return the data of a policy without the limit that was refused here, or that the user accepted as missing."""
    data = policy.data()
    if any(lack.capability == "limits.processes" for lack in _limits_lacked(policy)):
        data["limits"]["processes"] = None
    return data


def holders() -> dict[str, str]:
    """Return what holds each limit on this machine, for this user."""
    group = {what: f"control group, version {version}" for what, version in _groups().items()}
    process = "setrlimit: each process"
    alone = "nothing" if os.getuid() == 0 else "setrlimit: all processes of this user"
    return {
        "processes": group.get("processes", alone),
        "memory_mb": f"{group['memory']}: all together; {process}" if "memory" in group else process,
        "disk_mb": "setrlimit: each file; bubblewrap: each temporary folder",
        "open_files": process,
        "cpu_seconds": process,
        "seconds": "the launcher: all together",
    }


@cache
def _groups() -> Mapping[str, int]:
    """Return which limits a control group can hold here, each with the version."""
    from .cgroup import ControlGroup

    group = ControlGroup({"processes": 1000, "memory": 1 << 32})
    group.close()
    return group.held


@dataclass(frozen=True, slots=True)
class Sandbox:
    """A policy with the backend that holds it.

    Attributes:
        policy: the policy, with absolute paths.
        backend: the backend.
        workspace: the folder at which relative paths of narrower policies start.
        lacks: what the backend does not hold of the policy: what the user accepted, and what refuses nothing.
        maker: what opened it.
    """

    policy: SandboxPolicy
    backend: Backend
    workspace: str
    lacks: tuple[Lack, ...]
    maker: Sandboxes

    @property
    def notes(self) -> tuple[str, ...]:
        """Everything that the backend does not hold as the policy says, one line each; empty: it holds all of it."""
        return tuple(lack.text for lack in self.lacks)

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
        self._kept: tuple[Any, Settings] | None = None

    def names(self) -> tuple[str, ...]:
        """Return the names of the policies."""
        return tuple(sorted(self._settings().policies))

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
        from .policy import policy_of  # pydantic is imported where there is a policy

        return (policy_of(policy) if isinstance(policy, Mapping) else policy).resolved(base)

    def commands(self, workspace: str | Path) -> SandboxPolicy | None:
        """Return what ``sandbox.commands`` allows commands; ``None``: nothing is said of them."""
        first, *more = self._settings().commands or (None,)
        if first is None:
            return None
        found = self.policy(first, workspace)
        for name in more:
            found = found.narrow(self.policy(name, workspace), workspace)
        return found

    def rules(self, agent: AgentRunner) -> list[tuple[str, str | SandboxPolicy | Mapping[str, Any]]]:
        """Return what holds for an agent at this moment (``register_sandbox_rules``), each rule with its name.

        The data of a policy hold where they can. A policy, or the name of a configured one, must hold.
        """
        if self._host is None:
            return []
        registry = self._host.registry("sandbox_rules")
        found: list[tuple[str, str | SandboxPolicy | Mapping[str, Any]]] = []
        for entry in registry.entries():
            said = registry.get(entry.address)(agent)
            if isinstance(said, Mapping) or hasattr(said, "resolved"):
                found.append((registry.name_of(entry), said))
            else:
                found += ((name, name) for name in said or ())
        return found

    def bash(self, agent: AgentRunner) -> Sandbox | None:
        """Return the sandbox of the rules of the moment in which the tool ``bash`` runs commands of an agent.

        ``None``: no rule says anything, ``sandbox.bash`` is off, or no backend holds them without lacks. Commands then run as
        without the rules. With ``sandbox.commands`` the sandbox is that of both. ``SandboxRuntime.inside`` runs them.

        Raises:
            SandboxError: a policy that must hold does not hold here.
        """
        settings = self._settings()
        rules = self.rules(agent) if settings.bash == "auto" else []
        if not rules:
            return None
        cwd = str(agent.cwd)
        commands = self.commands(cwd)
        policies = [*([commands] if commands is not None else []), *(self.policy(rule, cwd) for _, rule in rules)]
        found = policies[0]
        for policy in policies[1:]:
            found = found.narrow(policy, cwd)
        must = commands is not None or any(not isinstance(rule, Mapping) for _, rule in rules)
        try:
            box = self.open(found, cwd)
        except SandboxError:
            if must:
                raise
            return None
        return box if must or not box.lacks else None

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
            if (problem := one.problem()) is not None:
                reasons.append(f"{one.name}: {problem}")
                continue
            lacks = one.lacks(found)
            grades = ("never",) if settings.accept_degraded else ("never", "refused")
            if refused := [lack.text for lack in lacks if lack.grade in grades]:
                reasons.append(f"{one.name} does not hold: {'; '.join(refused)}")
            else:
                base = str(workspace or (self._host.cwd if self._host is not None else Path.cwd()))
                return Sandbox(found, one, base, tuple(lacks), self)
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

        if self._host is None:
            return Settings({name: (policy,) for name, policy in BUILT_IN.items()}, (), "auto", False, "auto")
        if self._kept is None or self._kept[0] is not self._host.config:
            self._kept = (self._host.config, settings_of(self._host))
        return self._kept[1]


def network_of(host: Host) -> Callable[[AgentRunner], str]:
    """Make the indicator of the network that tools of an agent have: ``NET off``, ``NET proxy`` or ``NET on``."""
    maker = Sandboxes(host)
    known: list[Any] = [None, "on"]

    def read(agent: AgentRunner) -> str:
        if is_off(agent):
            return "NET off"
        from .policy import lowest

        elsewhere = bool(host.config.get("tools.executor"))
        if known[0] is not host.config:
            wanted = [host.config.get("executor.sandbox")] if elsewhere else []
            policies = [maker.policy(name, host.cwd) for name in wanted if name]
            commands = maker.commands(host.cwd)
            known[:] = host.config, lowest(p.network for p in (*policies, *([commands] if commands else [])))
        rules = maker.rules(agent) if elsewhere else ()
        return f"NET {lowest((known[1], *(maker.policy(rule, host.cwd).network for _, rule in rules)))}"

    return read
