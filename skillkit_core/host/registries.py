"""The registries of a host: the items of all plugins, collected one kind at a time and made when first needed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from ..descriptors import KINDS, Command, ConfigSection, ContextProvider, Factory, Provider, TokenEstimator, load_object
from ..errors import PluginError, UnknownName
from ..frozen import EMPTY
from ..settings.config import CORE_KEYS
from .loading import Failure, isolated, prints_aside, refuse_awaitable
from .probe import called
from .registry import Entry, ModelRegistry, Registry, make

if TYPE_CHECKING:
    from .manager import Host
    from .plugins import Plugins


T = TypeVar("T")
CORE_COMMANDS = ("config", "doctor", "plugins")
"""The commands whose bare names mean the core's commands, whatever plugins offer."""
_TYPES: Mapping[str, tuple[type[Any] | str, ...]] = {
    "adapters": (Provider,),
    "commands": (Command,),
    "config": (ConfigSection,),
    "context_providers": (ContextProvider,),
    "models": ("skillkit_core.models:ModelDefinition",),
    "skill_sources": ("skillkit_core.contracts.skill_loader:SkillSource",),
    "token_estimators": (TokenEstimator,),
    "tools": ("skillkit_core.tools:Tool", "skillkit_core.tools:ToolSet"),
}
"""The items of the core's kinds; of the others a :class:`Factory` makes the objects."""


def singular(kind: str) -> str:
    """Return the word of errors for one item of a kind."""
    special = {"credentials": "credential source", "config": "section", "adapters": "provider"}
    return special.get(kind) or kind.removesuffix("s").replace("_", " ")


class FactoryRegistry(Registry[Any], Generic[T]):
    """Finished objects by name, and factories: the first ``get`` calls a registered :class:`Factory` with the host."""

    def __init__(self, host: Host, kind: str, describe: Callable[[str], str] | None = None) -> None:
        super().__init__(describe)
        self.kind = kind
        self._host = host
        self._made: dict[int, tuple[Entry[Any], T]] = {}

    def get(self, name: str) -> T:
        """Return the object called ``name`` or ``name@plugin``, and make the object if that was not done yet.

        Raises:
            UnknownName: there is no such object.
            AmbiguousName: several plugins offer the bare name.
            PluginError: the object cannot be made.
        """
        entry = self.entry(name)
        if not isinstance(entry.item, Factory):
            return cast(T, entry.item)
        with self._host.lock:
            made = self._made.get(id(entry))
            if made is None:
                made = (entry, make(self._host, self.kind, entry, entry.item.create, self._host))
                self._made[id(entry)] = made
            return made[1]

    def _forget(self, entry: Entry[Any]) -> None:
        self._made.pop(id(entry), None)

    def made(self) -> list[T]:
        """Return the objects that exist already."""
        return [obj for _, obj in self._made.values()]


def item_types(kind: str, families: Mapping[str, tuple[type[Any] | str, ...]] = EMPTY) -> tuple[type[Any], ...]:
    """Return the types that ``register_<kind>`` accepts. ``families`` has those of the kinds that plugins define."""
    return tuple(map(load_object, families.get(kind) or _TYPES.get(kind, (Factory,))))


def ask(host: Host, kind: str, plugin: str, impl: Any) -> list[Any]:
    """Return the items that ``plugin`` passes to ``register`` in its implementation of ``register_<kind>``.

    Raises:
        PluginError: an item has the wrong type, or the hook is async. Errors of the plugin pass.
    """
    types = item_types(kind, host.load().kinds)
    items: list[Any] = []

    def register(item: Any) -> None:
        if not isinstance(item, types):
            names = " or ".join(t.__name__ for t in types)
            raise PluginError(f"register_{kind} takes {names}, not {type(item).__name__}")
        if kind not in KINDS and not (isinstance(getattr(item, "name", None), str) and item.name):
            raise PluginError(f"register_{kind}: a {type(item).__name__} without a name cannot be found again")
        if kind == "config" and item.name in CORE_KEYS:
            raise PluginError(f"section {item.name!r} is the core's", hint="name it after the plugin")
        if (manifest := host.load().manifests.get(plugin)) is not None:
            for secret in getattr(item, "api_key_env", ()):
                manifest.check("secrets", secret, f"the secret {secret} of {item.name!r}")
        items.append(item)

    arguments: dict[str, Any] = {"register": register, "host": host}
    if "config" in impl.argnames and kind not in ("commands", "config"):
        arguments["config"] = host.config.section(plugin)

    def call() -> list[Any]:
        refuse_awaitable(f"register_{kind}", impl.function(**{name: arguments[name] for name in impl.argnames}))
        return items

    answer: list[Any] = called(host, f"register_{kind}", impl, call)
    return answer


def note_unchecked(host: Host, tool: Any, source: str | None) -> None:
    """Note once which keywords of a tool's parameters nobody checks. A ``ToolSet`` has no parameters yet."""
    if not (found := _unchecked(tool.name, getattr(tool, "parameters", None))):
        return
    plugin, names = source or "application", ", ".join(repr(name) for name in sorted(found))
    message = f"tool {tool.name!r}: nobody checks {names} in its parameters"
    if (plugin, message) not in [(problem.plugin, problem.message) for problem in host.problems]:
        host.note(plugin, message, stage="register_tools", remedy="use other keywords, or check it in the tool")


@lru_cache(1024)  # each new agent offers the same tools; the name keeps apart what has the same keys
def _unchecked(name: str, parameters: Any) -> set[str]:
    from .json_schema import unchecked

    return unchecked(parameters)


class Registries:
    """The registries of a host by kind."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._registries: dict[str, Any] = {}
        self._filled: set[str] = set()  # from when filling begins
        self._ready: set[str] = set()

    def made(self, kind: str) -> Any:
        """Return the registry of a kind if somebody asked for it before, else ``None``."""
        return self._registries.get(kind)

    def get(self, kind: str, plugins: Plugins, *, again: bool = False) -> Any:
        """Return the registry of a kind, filled by the plugins, which are asked ``again`` if that is wanted.

        Raises:
            UnknownName: neither the core nor a plugin has such a kind.
            PluginError: not every plugin is there yet.
        """
        if kind in self._ready and not again:
            return self._registries[kind]
        if not plugins.complete:  # what is collected now would lack those that come
            raise PluginError(f"no plugin has registered {kind} yet", hint="ask in host_configure, or when it is used")
        with self._host.lock, prints_aside(descriptor=True):  # another thread waits until all is there
            registry = self._registries.get(kind)
            if registry is None:
                families = plugins.kinds
                if kind not in KINDS and kind not in families:
                    raise UnknownName("kind of registry", kind, [*KINDS, *families])
                registry = self._registries[kind] = self._new(kind, families)
            if again or kind not in self._filled:
                self._filled.add(kind)
                for name in list(plugins.loaded):
                    self._collect(kind, name, plugins)
                self._report_clashes(kind)
                self._ready.add(kind)
            return registry

    def _new(self, kind: str, families: Mapping[str, tuple[type[Any] | str, ...]]) -> Any:
        host = self._host
        if kind == "adapters":
            from .adapters import AdapterRegistry

            registry: Any = AdapterRegistry(host)
        elif kind == "models":
            registry = ModelRegistry(host.load().describe)
        elif (families.get(kind) or _TYPES.get(kind, (Factory,))) == (Factory,):
            registry = FactoryRegistry(host, singular(kind), host.load().describe)
        else:
            registry = Registry(host.load().describe, first_wins=kind == "tools")
            registry.kind = singular(kind)
        distribution = host.distribution
        if distribution is not None:
            registry.prefer.update(distribution.overrides.get(kind, {}))
        return registry

    def _collect(self, kind: str, name: str, plugins: Plugins) -> None:
        """Let one plugin register its items. An error removes all of them."""
        impls = plugins.own_impls(name, f"register_{kind}")
        if not impls:
            return

        registry = self._registries[kind]
        try:
            with isolated(name, f"register_{kind}", seconds=plugins.seconds, **plugins.owner(name)):
                for item in [item for impl in impls for item in ask(self._host, kind, name, impl)]:
                    if kind == "models":
                        registry.register(item, None, name)
                    else:
                        registry.register(item.name, item, name)
                        if kind == "tools":
                            note_unchecked(self._host, item, name)
        except Failure as failure:
            registry.unregister_by_source(name)
            self._host.report(failure.diagnostic)

    def collect_late(self, name: str, plugins: Plugins) -> None:
        """Collect from a plugin that came late the kinds that were collected from the others."""
        for kind in self._host.kinds:
            if kind in self._filled:
                self._collect(kind, name, plugins)
                self._report_clashes(kind, name)

    def forget(self, name: str, kinds: Iterable[str] = ()) -> None:
        """Remove all items of a plugin, and the registries of the ``kinds`` that the plugin defines."""
        for registry in self._registries.values():
            registry.unregister_by_source(name)
        for kind in kinds:
            self._registries.pop(kind, None)
            self._filled.discard(kind)
            self._ready.discard(kind)

    def _report_clashes(self, kind: str, only: str | None = None) -> None:
        """Note tools and sections that another plugin's hide, and commands that the core's hide."""
        registry = self._registries[kind]
        hidden: list[tuple[Any, str]] = []
        if kind == "tools":
            for entries in registry.clashes().values():
                first = self._host.load().describe(entries[0].source) if entries[0].source else "the application"
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
