"""What a sandbox allows, as data: :class:`SandboxPolicy`, its limits, and the intersection of two policies."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, field_validator
from skillkit_process import PROTECTED

from skillkit_core.errors import ConfigError

__all__ = ["BUILT_IN", "AutoOrOff", "Limits", "Policies", "SandboxPolicy", "load_policy"]

Network = Literal["off", "proxy", "on"]
_ORDER: tuple[Network, ...] = ("off", "proxy", "on")
ENV = ("HOME", "LANG", "LANGUAGE", "LC_*", "LOGNAME", "PATH", "SHELL", "TERM", "TZ", "USER")
# a place for each of git's cannot come into being either; a placeholder of every other would be in the way
PROTECT = tuple(path if path.startswith(".git/") else f"{path}?" for path in PROTECTED)
_SECRETS = (
    "~/.ssh", "~/.gnupg", "~/.aws", "~/.azure", "~/.kube", "~/.docker", "~/.netrc", "~/.git-credentials", "~/.npmrc", "~/.pypirc",
    "~/.password-store", "~/.config/gcloud", "~/.config/gh", "~/.config/skillkit/config.yaml", "~/.local/share/skillkit",
    "~/.local/share/keyrings", "~/.mozilla", "~/.config/google-chrome", "~/.config/chromium", "~/.bash_history",
)  # fmt: skip


class Limits(BaseModel):
    """What the processes inside may use.

    Attributes:
        processes: processes and threads at once.
        memory_mb: megabytes of memory: of each process, and of all together where there is a control group.
        disk_mb: megabytes of each file that is written, and of each temporary folder.
        open_files: open files of each process.
        cpu_seconds: seconds of processor time of each process.
        seconds: seconds until everything inside ends, whatever it does.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    processes: int | None = Field(default=None, ge=1)
    memory_mb: int | None = Field(default=None, ge=1)
    disk_mb: int | None = Field(default=None, ge=1)
    open_files: int | None = Field(default=None, ge=8)
    cpu_seconds: int | None = Field(default=None, ge=1)
    seconds: int | None = Field(default=None, ge=1)

    def narrow(self, other: Limits) -> Limits:
        """Return the lower one of each limit."""
        return Limits(**{name: _lower(getattr(self, name), getattr(other, name)) for name in type(self).model_fields})


def _lower(one: int | None, two: int | None) -> int | None:
    return two if one is None else one if two is None else min(one, two)


class SandboxPolicy(BaseModel):
    """What programs inside may do. Whatever is not named here is refused.

    Paths are absolute, start with ``~``, or are relative: those of ``write``, ``write_files`` and ``read`` to the workspace,
    those of ``protect`` and ``hide`` to every folder of ``write``.

    Attributes:
        write: folders that may be changed.
        write_files: single files that may be changed in place, not replaced or removed. One that is missing is made, empty.
        read: folders that may be read. ``/tmp``, ``/var/tmp`` and ``/dev/shm`` are empty and private unless they are named.
        protect: paths that cannot be changed although a folder of ``write`` holds them. A missing one cannot be made, unless it
            ends in ``?``, which means: only if it is there.
        hide: paths whose content cannot be read.
        network: ``off``: no host is reached; ``proxy``: the ``domains`` by HTTP and CONNECT; ``on``: everything.
        domains: hosts that the proxy connects to: ``example.org``, ``*.example.org``, ``example.org:8443`` (else ports 80, 443).
        unix_sockets: sockets of the family unix may be made. They reach every daemon of this machine whose socket is in sight.
        env: names of variables that are passed on; may hold stars.
        limits: what the processes may use; ``None``: no limits.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    write: tuple[str, ...] = ()
    write_files: tuple[str, ...] = ()
    read: tuple[str, ...] = ("/",)
    protect: tuple[str, ...] = PROTECT
    hide: tuple[str, ...] = ()
    network: Network = "off"
    domains: tuple[str, ...] = ()
    unix_sockets: bool = False
    env: tuple[str, ...] = ENV
    limits: Limits | None = None

    @field_validator("network", mode="before")
    @classmethod
    def _yaml_words(cls, value: Any) -> Any:
        return (
            {True: "on", False: "off"}.get(value, value) if isinstance(value, bool) else value
        )  # YAML reads on as true

    @field_validator("write", "write_files", "read", "protect", "hide", "domains", "env", mode="before")
    @classmethod
    def _one_is_a_list(cls, value: Any) -> Any:
        return (value,) if isinstance(value, str) else value

    @field_validator("write", "write_files", "read", "protect", "hide")
    @classmethod
    def _paths(cls, paths: tuple[str, ...]) -> tuple[str, ...]:
        for path in paths:
            if not path or "\0" in path:
                raise ValueError(f"{path!r} is no path")
        return paths

    @field_validator("domains")
    @classmethod
    def _hosts(cls, domains: tuple[str, ...]) -> tuple[str, ...]:
        for domain in domains:
            if "/" in domain or not domain.strip("*."):
                raise ValueError(f"{domain!r} is no domain; write example.org, *.example.org or example.org:8443")
        return domains

    def resolved(self, workspace: str | Path) -> SandboxPolicy:
        """Return the policy with absolute paths, links of its folders followed. Nothing has to exist."""
        base = os.path.abspath(workspace)

        def real(path: str) -> str:
            return os.path.realpath(os.path.join(base, os.path.expanduser(path)))

        write = _unique(map(real, self.write))

        def below(paths: Iterable[str]) -> tuple[str, ...]:
            given = (os.path.join(root, os.path.expanduser(path)) for path in paths for root in write or (base,))
            return _unique(map(os.path.normpath, given))

        return self.model_copy(
            update={
                "write": write,
                "write_files": _unique(map(real, self.write_files)),
                "read": _unique(os.path.normpath(os.path.join(base, os.path.expanduser(p))) for p in self.read),
                "protect": below(self.protect),
                "hide": below(self.hide),
            }
        )

    def narrow(self, other: SandboxPolicy | Mapping[str, Any], workspace: str | Path) -> SandboxPolicy:
        """Return what both policies allow, with absolute paths.

        Args:
            other: a policy, or its data.
            workspace: the folder at which relative paths start.
        """
        one = self.resolved(workspace)
        two = (other if isinstance(other, SandboxPolicy) else policy_of(other)).resolved(workspace)
        network = lowest((one.network, two.network))
        files = (
            *(f for f in one.write_files if f in two.write_files or covers(two.write, f)),
            *(f for f in two.write_files if covers(one.write, f)),
        )
        return SandboxPolicy(
            write=_shared(one.write, two.write),
            write_files=_unique(files),
            read=_shared(one.read, two.read),
            protect=_unique((*one.protect, *two.protect)),
            hide=_unique((*one.hide, *two.hide)),
            network=network,
            domains=_domains(one, two) if network == "proxy" else (),
            unix_sockets=one.unix_sockets and two.unix_sockets,
            env=_shared_names(one.env, two.env),
            limits=two.limits if one.limits is None else one.limits if two.limits is None else one.limits.narrow(two.limits),
        )  # fmt: skip

    def data(self) -> dict[str, Any]:
        """Return the policy as JSON has it."""
        return self.model_dump(mode="json")


Policies: TypeAlias = dict[str, SandboxPolicy]
# YAML reads off as false
AutoOrOff: TypeAlias = Annotated[
    Literal["auto", "off"], BeforeValidator(lambda given: "off" if given is False else given)
]


def lowest(networks: Iterable[Network]) -> Network:
    """Return what all of the networks allow; ``on`` without any."""
    return min(networks, key=_ORDER.index, default="on")


def _unique(paths: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(paths))


def covers(folders: Iterable[str], path: str) -> bool:
    """Return whether one of the folders is or holds a path."""
    return any(path == folder or path.startswith(folder.rstrip("/") + "/") for folder in folders)


def _shared(one: tuple[str, ...], two: tuple[str, ...]) -> tuple[str, ...]:
    return _unique([*(p for p in one if covers(two, p)), *(p for p in two if covers(one, p))])


def _domains(one: SandboxPolicy, two: SandboxPolicy) -> tuple[str, ...]:
    if one.network != two.network:
        return (one if one.network == "proxy" else two).domains
    return _shared_names(one.domains, two.domains)


def _shared_names(one: tuple[str, ...], two: tuple[str, ...]) -> tuple[str, ...]:
    def covered(name: str, names: Iterable[str]) -> bool:
        return any(name == n or fnmatchcase(name, n) for n in names)

    return _unique([*(n for n in one if covered(n, two)), *(n for n in two if covered(n, one))])


def policy_of(data: Mapping[str, Any], where: str | None = None) -> SandboxPolicy:
    """Return the policy of its data.

    Raises:
        ConfigError: a key is unknown, or a value does not fit. The error names the key.
    """
    try:
        return SandboxPolicy.model_validate(dict(data))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        key = ".".join(map(str, first["loc"]))
        hint = f"keys: {', '.join(SandboxPolicy.model_fields)}" if first["type"] == "extra_forbidden" else None
        message = "unknown key" if first["type"] == "extra_forbidden" else first["msg"].removeprefix("Value error, ")
        raise ConfigError(f"{key}: {message}", where=where, hint=hint) from None


def load_policy(path: str | Path) -> SandboxPolicy:
    """Return the policy of a YAML or JSON file.

    Raises:
        ConfigError: the file cannot be read, or is no policy.
    """
    import yaml

    try:
        data = yaml.safe_load(Path(path).read_text(encoding="utf-8-sig"))
    except (OSError, ValueError, yaml.YAMLError) as error:
        said = getattr(error, "strerror", None) or getattr(error, "problem", None) or error
        mark = getattr(error, "problem_mark", None)
        where = str(path) if mark is None else f"{path}:{mark.line + 1}"
        raise ConfigError(f"cannot be read: {said}", where=where, hint="a policy is YAML or JSON") from None
    if not isinstance(data, Mapping):
        raise ConfigError("holds no policy", where=str(path), hint="write keys such as write: [.]")
    return policy_of(data, str(path))


BUILT_IN: Mapping[str, SandboxPolicy] = {
    "project": SandboxPolicy(write=(".",), hide=_SECRETS),
    "read-only": SandboxPolicy(hide=_SECRETS),
}
"""Policies that are always there: the workspace can be written, or nothing; network off, keys in the home hidden."""
