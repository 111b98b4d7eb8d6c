"""The configuration section ``sandbox``, and what of it counts: a project only narrows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, Field

from skillkit_core.errors import UnknownName

from .policy import BUILT_IN, SandboxPolicy, policy_of

if TYPE_CHECKING:
    from skillkit_core import Host

__all__ = ["SandboxConfig", "Settings", "settings_of"]


class SandboxConfig(BaseModel):
    """Which policies there are, and what runs inside them."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    commands: str | None = Field(
        default=None, description="policy that every command of a runtime runs in: bash, skill actions"
    )
    policies: dict[str, SandboxPolicy] = Field(
        default={}, description="policies by name; project and read-only are always there"
    )
    backend: str = Field(default="auto", description="backend that is used; auto: the first that holds the policy")
    accept_degraded: bool = Field(
        default=False,
        description="use a backend that does not hold all of a policy; only your own configuration can say so",
    )


@dataclass(frozen=True, slots=True)
class Settings:
    """What counts.

    Attributes:
        policies: policies by name. One that the project also defines is what both allow; one that only the project defines
            allows no more than the policy ``project``.
        commands: names of the policies that hold for commands, all of them together.
        backend: name of the backend, or ``auto``.
        accept_degraded: whether a backend may be used that lacks something.
        ignored: settings that do not count, and why.
    """

    policies: Mapping[str, tuple[SandboxPolicy, ...]]
    commands: tuple[str, ...]
    backend: str
    accept_degraded: bool
    ignored: tuple[str, ...] = ()

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
        return found


def settings_of(host: Host) -> Settings:
    """Return what the configuration of a host says about sandboxes.

    Raises:
        ConfigError: a setting is wrong.
    """
    host.config.section("sandbox")  # says what is wrong, and where
    own: dict[str, Any] = {}
    project: dict[str, Any] = {}
    accepted = False
    for layer in host.config.layers:
        given = layer.data.get("sandbox")
        if not isinstance(given, Mapping):
            continue
        into = project if layer.name == "project" else own
        into.update({k: v for k, v in given.items() if k != "policies"})
        into.setdefault("policies", {}).update(given.get("policies") or {})
        if "accept_degraded" in given and layer.name not in ("project", "distribution"):
            accepted = str(given["accept_degraded"]).lower() in ("true", "1", "yes", "on")
    policies: dict[str, tuple[SandboxPolicy, ...]] = {name: (policy,) for name, policy in BUILT_IN.items()}
    policies |= {name: (policy_of(data, f"sandbox.policies.{name}"),) for name, data in own.get("policies", {}).items()}
    for name, data in project.get("policies", {}).items():
        policies[name] = (*policies.get(name, policies["project"]), policy_of(data, f"sandbox.policies.{name}"))
    wanted = [layer["commands"] for layer in (own, project) if layer.get("commands")]
    loose = [f"sandbox.{key}" for key in ("backend", "accept_degraded") if key in project]
    return Settings(
        policies,
        tuple(dict.fromkeys(wanted)),
        str(own.get("backend") or "auto"),
        accepted,
        tuple(f"{key}: a project does not choose it" for key in loose),
    )
