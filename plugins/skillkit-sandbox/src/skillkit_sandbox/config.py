"""What counts of the configuration section ``sandbox``: a project only narrows."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from skillkit_core.errors import UnknownName

from .policy import BUILT_IN, SandboxPolicy, covers, policy_of

if TYPE_CHECKING:
    from skillkit_core import Host, Layer

__all__ = ["Settings", "commands_of", "settings_of"]


@dataclass(frozen=True, slots=True)
class Settings:
    """What counts.

    Attributes:
        policies: policies by name. One that the project also defines is what both allow; one that only the project defines
            allows no more than the policy ``project``.
        commands: names of the policies that hold for commands, all of them together.
        backend: name of the backend, or ``auto``.
        accept_degraded: whether a backend may be used that lacks something.
        bash: ``auto``: a sandbox of the rules of the moment is around the tool ``bash``, where one holds them; ``off``: none is.
        ignored: settings that do not count, and why.
        own: folders of SkillKit, which nothing inside changes although a folder around them can be written.
    """

    policies: Mapping[str, tuple[SandboxPolicy, ...]]
    commands: tuple[str, ...]
    backend: str
    accept_degraded: bool
    bash: str
    ignored: tuple[str, ...] = ()
    own: tuple[str, ...] = ()

    def policy(self, name: str, workspace: Any) -> SandboxPolicy:
        """Return a policy by name, with absolute paths.

        Raises:
            UnknownName: there is no such policy.
        """
        if name not in self.policies:
            raise UnknownName("sandbox policy", name, self.policies, elsewhere="define it in sandbox.policies")
        first, *more = self.policies[name]
        found = first.resolved(workspace)
        for other in more:
            found = found.narrow(other, workspace)
        there = (path for path in self.own if os.path.exists(path))
        own = [path for path in there if path not in found.write and covers(found.write, path)]
        return found.model_copy(update={"protect": (*found.protect, *own)})


def settings_of(host: Host) -> Settings:
    """Return what the configuration of a host says about sandboxes.

    Raises:
        ConfigError: a setting is wrong.
        UnknownName: ``sandbox.commands`` names no policy.
    """
    wanted = commands_of(host)
    own = (str(host.config_dir / "config.yaml"), str(host.data_dir))  # keys, logins, sessions
    kept = tuple(os.path.realpath(folder) for folder in (host.config_dir, host.data_dir))
    policies = {name: (policy.model_copy(update={"hide": (*policy.hide, *own)}),) for name, policy in BUILT_IN.items()}
    project: Mapping[str, Any] = {}
    backend, accepted, bash = "auto", False, "auto"
    for layer, given in _sections(host):
        for name, data in (given.get("policies") or {}).items():
            policy = policy_of(data, layer.where(f"sandbox.policies.{name}"))
            outer = policies.get(name, policies["project"]) if layer.name == "project" else ()
            policies[name] = (*outer, policy)
        if layer.name == "project":
            project = given
            continue
        backend = str(given.get("backend") or backend)
        bash = _on_off(given.get("bash"), bash)
        if "accept_degraded" in given and layer.name != "distribution":
            accepted = str(given["accept_degraded"]).lower() in ("true", "1", "yes", "on")
    for name, where in wanted.items():
        if name not in policies:
            error = UnknownName("sandbox policy", name, policies, elsewhere="define it in sandbox.policies")
            error.where = where
            raise error
    loose = [f"sandbox.{key}" for key in ("backend", "accept_degraded", "bash") if key in project]
    ignored = tuple(f"{key}: a project does not choose it" for key in loose)
    return Settings(policies, tuple(wanted), backend, accepted, bash, ignored, kept)


def _on_off(given: Any, otherwise: str) -> str:
    """Return what ``sandbox.bash`` says; YAML reads ``off`` as false."""
    return otherwise if given is None else "off" if given is False or str(given).lower() in ("off", "false") else "auto"


def commands_of(host: Host) -> dict[str, str]:
    """Return the names of the policies that commands run in, each with its place. A project adds one, and takes none away.

    Raises:
        ConfigError: the section is wrong.
    """
    host.config.section("sandbox")  # says what is wrong, and where
    found: dict[str, str] = {}
    for layer, given in _sections(host):
        if "commands" in given and layer.name != "project":
            found = {}
        if given.get("commands"):
            found.setdefault(str(given["commands"]), layer.where("sandbox.commands"))
    return found


def _sections(host: Host) -> list[tuple[Layer, Mapping[str, Any]]]:
    """Return the section of each layer that has one, the project's last."""
    found = [(layer, layer.data.get("sandbox")) for layer in host.config.layers]
    sections = [(layer, given) for layer, given in found if isinstance(given, Mapping)]
    return sorted(sections, key=lambda section: section[0].name == "project")
