"""What stands in the host for an isolated plugin: its hooks, made of what the process says that the plugin implements."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from skillkit_process import environment

from skillkit_core import PHASES, PluginError, hookimpl, thaw
from skillkit_core.errors import Diagnostic
from skillkit_core.host.loading import Failure

from . import items
from .config import IsolationConfig, settings_of
from .connection import Asked, Connection, Gone, Process
from .refused import refusals
from .values import pack
from .wire import Message

if TYPE_CHECKING:
    from skillkit_core import Host
    from skillkit_core.host.discovery import EntryPoint
    from skillkit_core.host.manifest import Manifest

__all__ = ["Isolated", "load"]

_OWN = (
    "PYTHONDONTWRITEBYTECODE", "PYTHONPATH", "PYTHONPYCACHEPREFIX", "SKILLKIT_HOME", "VIRTUAL_ENV", "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME",
)  # fmt: skip
_PHASE_NAMES = {number: name for name, number in PHASES.items()}
_WHERE_ELSE = "run it without isolation, if you trust it"


class Isolated:
    """An isolated plugin: its process, and what the host has of it.

    Args:
        entry: where the plugin is.
        manifest: what the plugin declares that it needs.
        host: whose plugin it is.
        seconds: for its import.
    """

    def __init__(self, entry: EntryPoint, manifest: Manifest | None, host: Host, seconds: float) -> None:
        self.entry = entry
        self.name = entry.name
        self.host = host
        self.config: IsolationConfig = settings_of(host)
        self.secrets = manifest.needs.get("secrets", ()) if manifest is not None else ()
        self._seconds = seconds
        self.hook_seconds = float(host.config.get("plugins.hook_timeout", 10.0))
        self._load_seconds = seconds + 3 * self.hook_seconds
        self._start_seconds = self.config.start_timeout + self._load_seconds
        self._sent: Mapping[str, Any] = {}
        self.connection = Connection(
            entry.name, self._start, self._about, self.config.restarts, self.config.start_timeout, self.report
        )

    def _start(self) -> Process:
        env = environment((*_OWN, *self.secrets), self.host.environ)
        for name in self.secrets:
            self.host.remember_secret(env.get(name, ""))
        command = [sys.executable, "-u", "-P", "-m", "skillkit_isolation.child"]
        return Process(self.name, command, env, os.fspath(self.host.cwd))

    def _about(self) -> tuple[Message, float]:
        """Return what the process is told first, and the seconds that loading may take."""
        self._sent = self._settings()
        path = [os.path.abspath(place) for place in sys.path if place]  # noqa: PTH100
        about = {"entry": list(self.entry), "path": path, "seconds": self._seconds, "cwd": os.fspath(self.host.cwd)}
        return {"do": "load", "settings": self._sent, **about}, self._load_seconds

    def _settings(self) -> dict[str, Any]:
        """Return the plugin's section, and the limits of its own host, which end a hook before this one ends the process."""
        given = thaw(self.host.config.raw(self.name))
        section = {f"{self.name}.{key}": pack(value) for key, value in given.items()} if isinstance(given, dict) else {}
        return {**section, "plugins.hook_timeout": 0.8 * self.hook_seconds}

    def report(self, problem: Mapping[str, Any]) -> None:
        """Report a problem of the plugin to the host."""
        told = {
            k: v
            for k, v in problem.items()
            if k in Diagnostic._fields and k not in ("plugin", "distribution", "version")
        }
        self.host.report(
            Diagnostic(self.name, distribution=self.entry.distribution, version=self.entry.version, **told)
        )

    def secret(self, what: str, name: Any) -> Any:
        """Answer a question of the plugin that comes without an agent: for a secret that it declares."""
        self._allowed(what, name)
        return self.host.secret(str(name))

    def _allowed(self, what: str, name: Any) -> None:
        if what != "secret":
            raise PluginError(f"nobody answers {what!r} here")
        if name not in self.secrets:
            raise PluginError(f"the secret {name} is beyond what it declares", hint=f"needs.secrets lacks {name}")

    def asked(self, agent: Any, more: Callable[[str, Any], Any] | None = None) -> Asked:
        """Return what answers the questions of the plugin in the name of an agent: secrets, and its own notes."""

        async def answer(what: str, body: Any) -> Any:
            if what == "note" and agent is not None:
                if not str(body[0]).startswith(own := f"{self.name}."):
                    raise PluginError(f"{body[0]!r} is no note of plugin {self.name!r}", hint=f"write {own}...")
                return await agent.session.note(body[0], body[1], sync=bool(body[2]))
            if what == "notes" and agent is not None:
                return self._notes(agent, body)
            if more is not None and what != "secret":
                return await more(what, body)
            self._allowed(what, body)
            return await self.host.find_secret(body)

        return answer

    def asked_now(self, agent: Any) -> Asked:
        """Return what answers the questions of the plugin where nothing can be awaited."""
        return lambda what, body: self._notes(agent, body) if what == "notes" else self.secret(what, body)

    def _notes(self, agent: Any, kind: Any) -> list[list[Any]]:
        """Return the notes of the plugin in the session of an agent."""
        return [list(note) for note in agent.session.notes(kind) if note.type.startswith(f"{self.name}.")]

    def where(self, agent: Any, event: Any = None) -> dict[str, Any]:
        """Return what the process knows of an agent."""
        if event is not None:
            return {"session": event.session_id, "agent_path": list(event.agent_path)}
        return {"session": getattr(agent, "session_id", None), "agent_path": list(agent.events.agent_path)}

    # --- what the host calls ------------------------------------------------------------------------------------------

    def load(self) -> Any:
        """Start the process, and return the plugin that the host registers.

        Raises:
            Failure: the plugin did not load.
            PluginError: the process did not start.
        """
        found = self.connection.start()
        if (failed := found.get("failed")) is not None:
            self.connection.close()
            whose = {"distribution": self.entry.distribution, "version": self.entry.version}
            raise Failure(Diagnostic(**{**failed, **whose}))
        self._refuse(refusals(found["left_out"]))
        plugin = SimpleNamespace(name=self.name)
        for number, facts in enumerate(found["hooks"]):
            setattr(plugin, f"hook_{number:04}", self._hook(number, facts))
        for kind in found["kinds"]:
            setattr(plugin, f"register_{kind}", self._registers(kind))
        return plugin

    def _refuse(self, lines: Mapping[str, str]) -> None:
        """Say what the plugin goes without. One that is required does not load: nothing may run without a part of it.

        Raises:
            Failure: the plugin is required.
        """
        required = self.name in self.host.config.get("plugins.required", ())
        for line in lines.values():
            if required:
                self.connection.close()
                raise Failure(
                    Diagnostic(self.name, "hooks", line, _WHERE_ELSE, self.entry.distribution, self.entry.version)
                )
            self.report({"stage": "isolation", "message": line, "remedy": _WHERE_ELSE, "severity": "warning"})
        if lines:
            words = f"plugin {self.name!r} runs isolated, and so without {', '.join(lines)}"
            self.host.tell(f"{words}; 'skillkit plugins doctor' says why")

    def _hook(self, number: int, facts: Mapping[str, Any]) -> Callable[..., Any]:
        """Return an implementation of a lifecycle hook that the process answers."""
        from skillkit_core.events.types import EVENTS

        name, phase = facts["hook"], _PHASE_NAMES.get(facts["phase"])
        cls = EVENTS.get(name)
        guards = cls is not None and (cls.guard == "always" or (phase == "guard" and cls.guard == "phase"))
        seconds = min(filter(None, (facts["timeout"], self.config.timeout)), default=None)
        connection = self.connection

        async def hook(event: Any, ctx: Any) -> Any:
            if connection.lost is not None and not guards:
                return None  # said once, when it was lost
            told = pack(event)
            message = {
                "do": "hook",
                "hook": number,
                "event": told if event._redact is None else event._redact(told),
                "ctx": self.where(ctx.agent, event),
            }
            try:
                answer = await connection.call(message, seconds, self.asked(ctx.agent))
            except Gone:
                if connection.lost is not None and not guards:
                    return None
                raise
            return items.with_own_tools(answer, event)

        hook.__qualname__ = facts["label"]
        tools = tuple(facts["tools"]) if facts["tools"] is not None else None
        # the process is ended by the limit above; the one of the bus comes later, also where the process must be started first
        limit = seconds + 1 + self._start_seconds if seconds is not None else None
        marks: dict[str, Any] = {
            "specname": name,
            "phase": phase,
            "timeout": limit,
            "tools": tools,
            "while_": tuple(facts["while_"]),
        }
        made: Callable[..., Any] = hookimpl(**marks)(hook)
        return made

    def _registers(self, kind: str) -> Callable[..., None]:
        """Return an implementation of a registration hook that registers what the process tells."""

        def registers(register: Callable[[Any], None]) -> None:
            message = {"do": "register", "kind": kind}
            for told in self.connection.ask(message, self.hook_seconds, self.secret):
                register(items.MAKERS[kind](self, told))

        registers.__qualname__ = f"register_{kind}"
        return hookimpl(specname=f"register_{kind}")(registers)

    def configure(self) -> None:
        """Tell the process that settings have changed, if any of its own have."""
        if (settings := self._settings()) != self._sent and self.connection.lost is None:
            self._sent = settings
            self.connection.ask({"do": "configure", "settings": settings}, self.hook_seconds, self.secret)

    async def aclose(self, seconds: float) -> None:
        """Let the plugin end what it started, and end its process."""
        if self.connection.alive:
            await self.connection.call({"do": "close"}, seconds)
        self.connection.close()

    def close(self, seconds: float) -> None:
        """Do the same without a loop."""
        try:
            if self.connection.alive:
                self.connection.ask({"do": "close"}, seconds, self.secret)
        finally:
            self.connection.close()


def load(entry: EntryPoint, manifest: Manifest | None, host: Host, seconds: float) -> Any:
    """Start the process of a plugin; return what the host registers as the plugin."""
    isolated = Isolated(entry, manifest, host, seconds)
    plugin = isolated.load()
    host.state("isolation").setdefault("plugins", {})[entry.name] = isolated
    return plugin
