"""The sandbox of the process that runs tools: what the configuration and the moment say together, and who may be asked for more.

Sandboxes come from another plugin, found through the host (``skillkit_sandbox.Sandboxes``).
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, Any, NamedTuple

from skillkit_core import SkillKitError, UsageError
from skillkit_core.errors import UnknownName

from .config import ExecutorConfig

if TYPE_CHECKING:
    from skillkit_core import AgentRunner, Host, Layer

    # data of a policy hold where they can; a name or a policy must hold
    Rules = Sequence[tuple[str, Any]]

__all__ = ["Held", "Sandboxed", "users"]

_PRIVATE = ("/tmp", "/var/tmp", "/dev/shm")  # noqa: S108 - empty in a sandbox, unless a policy names what lies there


def users(host: Host, key: str) -> Any:
    """Return a setting as the user, the application or the distribution says: no project changes it."""
    layer = _users_layer(host, key)
    if layer is None:
        return getattr(ExecutorConfig(), key)
    return layer.data["executor"][key]


def _users_layer(host: Host, key: str) -> Layer | None:
    def says(layer: Layer) -> bool:
        section = layer.data.get("executor")
        return layer.name != "project" and isinstance(section, Mapping) and key in section

    return next(filter(says, reversed(host.config.layers)), None)


class Held(NamedTuple):
    """A sandbox that holds a process.

    Attributes:
        name: what it is called: a policy of the configuration, and rules of the moment.
        policy: data of the policy, with absolute paths.
        text: the policy as one text.
        box: the ``skillkit_sandbox.Sandbox``.
    """

    name: str
    policy: Mapping[str, Any]
    text: str
    box: Any

    @property
    def key(self) -> tuple[str, ...]:
        """What tells processes apart. A file that was replaced outside is another file than the one in sight inside."""
        files = (path for path in self.policy["write_files"] if Path(path).exists())
        return (self.text, *(f"{Path(path).stat().st_ino} {path}" for path in files))

    def command(self, argv: list[str], names: Sequence[str]) -> list[str]:
        """Return the command line that runs ``argv`` inside, with these variables besides those of the policy."""
        found: list[str] = self.box.command(argv, [name for name in names if name != "TMPDIR"])
        return found

    def said(self) -> str:
        """Return in one line what it allows."""
        write = [*self.policy["write"], *self.policy["write_files"]]
        network = {"off": "off", "proxy": f"{', '.join(self.policy['domains']) or 'nothing'} alone", "on": "on"}
        return f"{self.name}: it writes {', '.join(write) or 'nothing'}, network {network[self.policy['network']]}"


class Sandboxed:
    """Finds the sandbox for a call.

    Args:
        host: whose configuration.
        transport: of the executor.
    """

    def __init__(self, host: Host, transport: str) -> None:
        self._host = host
        self._transport = transport
        self._config: Any = None
        self._found: dict[str, Held | None] = {}

    def now(self, agent: AgentRunner | None = None) -> Held | None:
        """Return the sandbox in which tools of an agent run now; ``None``: none is asked for.

        ``executor.sandbox``, ``sandbox.commands`` and the rules of the moment hold together. Where only data of rules ask and no
        sandbox holds them here, there is none: the plugins that bring the rules do without.

        Raises:
            UsageError: no sandbox is installed, or the transport does not go with it.
            SkillKitError: no sandbox holds the policy here.
        """
        maker = self.maker()
        rules: Rules = maker.rules(agent) if maker is not None and agent is not None else ()
        if self._config is not self._host.config:
            self._config, self._found = self._host.config, {}
        key = json.dumps(rules, sort_keys=True, default=str) if rules else ""
        if key not in self._found:
            self._found[key] = self._together(maker, rules)
        return self._found[key]

    def named(self, name: str, agent: AgentRunner) -> Held:
        """Return the sandbox of a policy of the configuration, and of the rules of the moment.

        Raises:
            SkillKitError: there is no such policy, or no sandbox holds it here.
        """
        maker = self.maker()
        if maker is None:
            raise self.missing(name, "escalate")
        policy = self.policy(maker, name, "escalate")
        for _, rule in maker.rules(agent):
            policy = policy.narrow(maker.policy(rule, self._host.cwd), self._host.cwd)
        return self._open(maker, name, policy)

    @property
    def wider(self) -> str | None:
        """The policy that a person may be asked for; ``None``: nobody is asked for more than there is."""
        name: str | None = users(self._host, "escalate")
        return name if name is not None and self._transport != "local" else None

    def maker(self) -> Any:
        """Return what opens sandboxes; ``None``: no plugin brings it."""
        return self._host.registry("sandboxes").get("sandbox") if "sandboxes" in self._host.kinds else None

    def policy(self, maker: Any, name: str, key: str) -> Any:
        """Return the policy that a setting of the section names.

        Raises:
            UnknownName: there is no such policy; the error says where the setting stands.
        """
        try:
            return maker.policy(name, self._host.cwd)
        except UnknownName as error:
            error.where = self.where(key)
            raise

    def where(self, key: str) -> str:
        """Return the place of a setting of the section."""
        layer = _users_layer(self._host, key)
        return layer.where(f"executor.{key}") if layer is not None else f"executor.{key}"

    def _together(self, maker: Any, rules: Rules) -> Held | None:
        named: str | None = users(self._host, "sandbox")
        must = [name for name, rule in ((named, named), *rules) if not isinstance(rule, (Mapping, NoneType))]
        if must and self._transport == "local":
            raise UsageError(
                f"the policy {must[0]!r} must hold, and tools run in this process (local), which no sandbox holds",
                hint="set tools.executor: stdio",
            )
        if maker is None:
            if named is not None:
                raise self.missing(named, "sandbox")
            return None
        if self._transport == "local":
            return None
        cwd = self._host.cwd
        given = [] if named is None else [(named, self.policy(maker, named, "sandbox"))]
        if (commands := maker.commands(cwd)) is not None:
            given.append(("sandbox.commands", commands))
        asked = bool(given or must)
        given += [(name, maker.policy(rule, cwd)) for name, rule in rules]
        if not given:
            return None
        found = given[0][1]
        for _, policy in given[1:]:
            found = found.narrow(policy, cwd)
        try:
            return self._open(maker, " and ".join(dict.fromkeys(name for name, _ in given)), found)
        except SkillKitError:
            if asked:
                raise
            return None

    def _open(self, maker: Any, name: str, policy: Any) -> Held:
        policy = policy.model_copy(update={"read": (*policy.read, *_interpreter(policy.read))})
        box = maker.open(policy, self._host.cwd)
        if self._transport == "http" and policy.network != "on":
            raise UsageError(
                f"tools.executor: http cannot reach a process in the sandbox policy {name!r}, whose network is {policy.network}",
                hint="tools.executor: stdio needs no network",
            )
        return Held(name, data := policy.data(), json.dumps(data, sort_keys=True), box)

    def missing(self, name: str, key: str) -> UsageError:
        """Return the error of a setting that names a policy where no plugin brings sandboxes."""
        return UsageError(
            f"it names the policy {name!r}, and no plugin brings sandboxes",
            where=self.where(key),
            hint=f"skillkit plugins install skillkit-sandbox, or take executor.{key} away",
        )


def _interpreter(read: Sequence[str]) -> list[str]:
    """Return the folders of this Python that a policy does not show, so that the process can start."""
    folders = dict.fromkeys(os.path.realpath(path) for path in (sys.prefix, sys.base_prefix, *sys.path) if path)

    def shown(path: str) -> bool:
        private = [p for p in _PRIVATE if _below(path, p)]
        return any(_below(path, one) for one in read if not private or _below(one, private[0]))

    return [path for path in folders if Path(path).exists() and not shown(path)]


def _below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")
