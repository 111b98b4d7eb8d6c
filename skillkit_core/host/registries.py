"""What plugins bring, by kind: each registry is filled when it is first asked for, each plugin a transaction of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..registry import Registry
from .kinds import CORE_COMMANDS, KINDS, singular
from .loading import Failure, isolated

if TYPE_CHECKING:
    from .manager import Host
    from .plugins import Plugins

__all__ = ["Registries"]

_MADE_LATER = ("runtimes", "compactors", "session_stores", "skill_loaders", "credentials")


class Registries:
    """The registries of a host by kind, and which of them have been filled."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._registries: dict[str, Any] = {}
        self._filled: set[str] = set()

    def made(self, kind: str) -> Any:
        """The registry of a kind if it was asked for already, else ``None``."""
        return self._registries.get(kind)

    def get(self, kind: str, plugins: Plugins) -> Any:
        """The registry of a kind, filled by the plugins."""
        registry = self._registries.get(kind)
        if registry is None:
            registry = self._registries[kind] = self._new(kind)
        if kind not in self._filled:
            self._filled.add(kind)
            for name in list(plugins.loaded):
                self._collect(kind, name, plugins)
            self._report_clashes(kind)
        return registry

    def _new(self, kind: str) -> Any:
        host = self._host
        if kind == "adapters":
            from .adapters import AdapterRegistry

            registry: Any = AdapterRegistry(host)
        elif kind == "models":
            from ..models import ModelRegistry

            registry = ModelRegistry(host.describe)
        elif kind in _MADE_LATER:
            from .factories import FactoryRegistry

            registry = FactoryRegistry(host, singular(kind), host.describe)
        else:
            registry = Registry(host.describe, first_wins=kind == "tools")
            registry.kind = singular(kind)
        distribution = host.distribution
        if distribution is not None:
            registry.prefer.update(distribution.overrides.get(kind, {}))
        return registry

    def _collect(self, kind: str, name: str, plugins: Plugins) -> None:
        """Let one plugin register; an error takes back what it registered."""
        impls = plugins.own_impls(name, f"register_{kind}")
        if not impls:
            return
        from .collect import ask

        registry = self._registries[kind]
        try:
            with isolated(name, f"register_{kind}", seconds=plugins.seconds, **plugins.owner(name)):
                for item in [item for impl in impls for item in ask(self._host, kind, name, impl)]:
                    if kind == "models":
                        registry.register(item, None, name)
                    else:
                        registry.register(item.name, item, name)
        except Failure as failure:
            registry.unregister_by_source(name)
            self._host.report(failure.diagnostic)

    def collect_late(self, name: str, plugins: Plugins) -> None:
        """Ask a plugin that came late for the kinds that the others have been asked for."""
        for kind in KINDS:
            if kind in self._filled:
                self._collect(kind, name, plugins)
                self._report_clashes(kind, name)

    def forget(self, name: str) -> None:
        """Take back everything that a plugin registered."""
        for registry in self._registries.values():
            registry.unregister_by_source(name)

    def _report_clashes(self, kind: str, only: str | None = None) -> None:
        """Say which tools and sections those of another plugin hide, and which commands those of the core."""
        registry = self._registries[kind]
        hidden: list[tuple[Any, str]] = []
        if kind == "tools":
            for entries in registry.clashes().values():
                first = self._host.describe(entries[0].source) if entries[0].source else "the application"
                hidden += [(entry, f"is also offered by {first}, which comes first") for entry in entries[1:]]
        elif kind == "config":
            for entries in registry.clashes().values():
                hidden += [(entry, f"is that of plugin {entries[0].source!r}") for entry in entries[1:]]
        elif kind == "commands":
            hidden = [(e, "is the core's") for e in registry.entries() if e.name in CORE_COMMANDS]
        for entry, why in hidden:
            if entry.source is not None and only in (None, entry.source):
                message = f"{singular(kind)} {entry.name!r} {why}"
                remedy = f"call it {entry.address!r}" if kind != "config" else "tell the plugin's author"
                self._host.note(entry.source, message, stage=f"register_{kind}", remedy=remedy)
