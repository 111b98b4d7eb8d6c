"""The host: one object that holds plugins, configuration and registries; applications and the command line start from it."""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..descriptors import Command, ConfigSection
from ..errors import PluginError, UsageError
from ..registry import Registry
from ..settings.config import Config, Layer, environment_layer, flag_layer
from ..settings.documents import read_document
from ..settings.paths import platform_paths
from ..settings.trust import Trust
from .collect import ask
from .diagnostics import Diagnostic
from .discovery import DISTRIBUTIONS, PLUGINS, EntryPoint, scan
from .loading import Failure, SkillKitPluginManager, check_api, check_hooks, import_plugin, isolated, new_manager
from .policy import Decision, Selection, decide

if TYPE_CHECKING:
    from ..contracts.compactor import Compactor
    from ..contracts.runtime import SkillRuntime
    from ..contracts.session_store import SessionStore
    from ..contracts.skill_loader import SkillLoader
    from ..distribution.definition import Distribution
    from ..events.bus import EventBus
    from ..models import ModelRegistry
    from ..skills import SkillProblem, SkillRegistry
    from .adapters import AdapterRegistry
    from .factories import FactoryRegistry

__all__ = ["Host", "LoadedPlugin"]

IMPORT_SECONDS = 10.0
HOOK_SECONDS = 10.0
SHUTDOWN_SECONDS = 5.0
MIN_SECRET = 8  # shorter values would blank out ordinary text


@dataclass(slots=True)
class LoadedPlugin:
    """A plugin that runs."""

    name: str
    plugin: Any
    entry: EntryPoint | None = None
    hooks: tuple[str, ...] = ()
    failed: set[str] = field(default_factory=set)


class Host:
    """Holds plugins and what they bring. The roadmap calls it ``engine``.

    Args:
        distribution: name of an installed distribution, or path of a ``distribution.yaml``; default: see
            :meth:`distribution_name`.
        plugins: objects to embed without an entry point, ``(name, object)`` pairs or objects with a ``name``.
        discover: look for installed plugins.
        selection: which of them run.
        settings: configuration values by dotted key, above every file and variable (what flags are on the command line).
        cwd: the workspace; default: the current directory.
        environ: default: ``os.environ``.

    Nothing is imported before it is needed: constructing a host scans and decides; the first hook call loads.
    """

    def __init__(
        self,
        distribution: str | None = None,
        plugins: Iterable[Any] = (),
        discover: bool = True,
        *,
        selection: Selection | None = None,
        settings: Mapping[str, Any] | None = None,
        cwd: Path | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        self.environ: Mapping[str, str] = os.environ if environ is None else environ
        self.cwd = Path(cwd) if cwd is not None else Path.cwd()
        paths = platform_paths(dict(self.environ))
        self.config_dir, self.data_dir, self.cache_dir = paths.config, paths.data, paths.cache
        self.problems: list[Diagnostic] = []
        self.skill_problems: list[tuple[str, SkillProblem]] = []
        self._discover = discover
        self._wanted = distribution
        self._selection = selection or Selection()
        self._settings = dict(settings or {})
        self._entries: list[EntryPoint] | None = None
        self._decisions: list[Decision] | None = None
        self._distribution: Distribution | None = None
        self._config: Config | None = None
        self._trusted: bool | None = None
        self._plugins: dict[str, LoadedPlugin] = {}
        self._pm: SkillKitPluginManager | None = None
        self._loaded = False
        self._registries: dict[str, Any] = {}
        self._collected: set[str] = set()
        self._buses: weakref.WeakSet[EventBus] = weakref.WeakSet()
        self._embedded: list[tuple[str, Any]] = []
        self._shut = False
        self._secrets: set[str] = set()
        self._memory: SessionStore | None = None
        for plugin in plugins:
            name, obj = plugin if isinstance(plugin, tuple) else (getattr(plugin, "name", None), plugin)
            self.add_plugin(obj, name=name)

    # --- what is installed, and what runs ---------------------------------------------------------------------

    @property
    def entries(self) -> Sequence[EntryPoint]:
        """Every SkillKit entry point of the installed distributions; read once."""
        if self._entries is None:
            self._entries = scan() if self._discover else []
        return self._entries

    @property
    def trusted(self) -> bool:
        """Whether the workspace is a folder that the user trusts."""
        if self._trusted is None:
            self._trusted = Trust(self.data_dir).is_trusted(self.cwd)
        return self._trusted

    @property
    def config(self) -> Config:
        """The configuration: distribution, user's file, trusted project's file, environment, settings."""
        if self._config is None:
            self._config = self._configuration()
        return self._config

    def _file_layer(self, name: str, path: Path) -> Layer | None:
        document = read_document(path, self.cache_dir)
        return None if document is None else Layer(name, document.data, document.where)

    def _configuration(self) -> Config:
        layers = [self._file_layer("user", self.config_dir / "config.yaml")]
        if self.trusted:
            layers.append(self._file_layer("project", self.cwd / ".skillkit" / "config.yaml"))
        layers.append(environment_layer(self.environ))
        layers.append(flag_layer(self._settings))
        config = Config([layer for layer in layers if layer is not None], self._sections, self._known_sections)
        name = self.distribution_name(config)
        if name is not None:
            from ..distribution.definition import load_distribution

            installed = [e for e in self.entries if e.group == DISTRIBUTIONS]
            found = self._distribution = load_distribution(name, installed, self.cache_dir)
            below = Layer("distribution", {**found.defaults, **found.config}, lambda key: f"{found.path}: {key}")
            config.layers.insert(0, below)
        return config

    def distribution_name(self, config: Config) -> str | None:
        """Which distribution runs.

        In this order: the constructor's (``--distribution``), ``SKILLKIT_DISTRIBUTION``, the trusted project's
        ``distribution``, the user's, the only installed one, none.
        """
        if not self._discover and self._wanted is None:
            return None
        named = self._wanted or config.raw("distribution")
        if named is not None:
            return str(named)
        installed = {e.name for e in self.entries if e.group == DISTRIBUTIONS}
        return installed.pop() if len(installed) == 1 else None

    @property
    def distribution(self) -> Distribution | None:
        """The distribution that runs, or ``None``."""
        _ = self.config
        return self._distribution

    @property
    def decisions(self) -> Sequence[Decision]:
        """Every installed plugin, in order, with whether it runs and why. Nothing is imported for this."""
        if self._decisions is None:
            self._decisions = self._decide()
        return self._decisions

    def _decide(self) -> list[Decision]:
        config, given = self.config, self._selection
        only, only_origin = given.only, given.only_origin
        variable = self.environ.get("SKILLKIT_PLUGINS")
        if only is None and variable is not None:
            only = tuple(n.strip() for n in variable.split(",") if n.strip())
            only_origin = "SKILLKIT_PLUGINS"
        enable, disable = dict(given.enable), dict(given.disable)
        for key, into in (("plugins.enabled", enable), ("plugins.disabled", disable)):
            for name in self._names(config, key):
                if name not in given.enable and name not in given.disable:
                    into[name] = config.origin(key) or key
        installed = [e for e in self.entries if e.group == PLUGINS]
        known = {e.name for e in installed}
        found = self._distribution
        selection = Selection(only, only_origin, enable, disable, given.only_default)
        listed = found.plugins if found else ()
        decisions = decide(
            installed, selection, listed, bool(found and found.only_listed), found.name if found else None
        )
        for name in listed:
            if name not in known:
                self._report(
                    Diagnostic(
                        name, "discovery", f"distribution {found.name if found else ''!r} lists it, but it is not installed",
                        f"pip install skillkit-{name}", severity="warning",
                    )
                )  # fmt: skip
        for decision in decisions:
            if decision.duplicate_of is not None:
                self._report(self._duplicate(decision))
        return decisions

    @staticmethod
    def _names(config: Config, key: str) -> list[str]:
        value = config.raw(key)
        if isinstance(value, str):
            return [part.strip() for part in value.split(",") if part.strip()]
        return [str(v) for v in value] if isinstance(value, (list, tuple)) else []

    @staticmethod
    def _duplicate(decision: Decision) -> Diagnostic:
        entry, other = decision.entry, decision.duplicate_of
        assert other is not None
        return Diagnostic(
            entry.name,
            "discovery",
            f"two distributions offer this plugin name: {other.distribution} {other.version} runs, "
            f"{entry.distribution} {entry.version} does not",
            f"uninstall one of them: pip uninstall {entry.distribution}",
            entry.distribution,
            entry.version,
        )

    # --- loading ----------------------------------------------------------------------------------------------

    @property
    def pm(self) -> SkillKitPluginManager:
        """Pluggy's manager, with every plugin loaded."""
        self.load()
        assert self._pm is not None
        return self._pm

    def load(self) -> None:
        """Import and register every plugin that runs. Called when something is needed; calling it again does nothing."""
        if self._loaded:
            return
        self._loaded = True
        self._pm = new_manager()
        candidates: list[tuple[str, Any, EntryPoint | None]] = []
        for decision in self.decisions:
            if decision.enabled:
                with self._catching():
                    plugin = import_plugin(decision.entry, self._import_seconds())
                    candidates.append((decision.name, plugin, decision.entry))
        candidates.extend((name, plugin, None) for name, plugin in self._embedded)
        for name, plugin, entry in candidates:
            self._admit(name, plugin, entry)
        for name in list(self._plugins):
            self._check(name)
        for name in self._plugins:
            self._call_others("plugin_registered", name, plugin=name)
        self._apply_overrides()
        for name in list(self._plugins):
            self._call(name, "host_configure", config=self._section_of(name))
        for name in list(self._plugins):
            self._call(name, "host_started")

    def _section_of(self, name: str) -> Callable[[], Any]:
        return lambda: self.config.section(name)

    def _import_seconds(self) -> float:
        value = self.config.raw("plugins.import_timeout")
        return float(value) if isinstance(value, (int, float)) and value > 0 else IMPORT_SECONDS

    def _apply_overrides(self) -> None:
        if self._distribution is not None:
            for kind, chosen in self._distribution.overrides.items():
                self.registry(kind).prefer.update(chosen)

    def _about(self, name: str) -> dict[str, Any]:
        loaded = self._plugins.get(name)
        return _owner(loaded.entry if loaded else None)

    def _admit(self, name: str, plugin: Any, entry: EntryPoint | None) -> bool:
        """Register a plugin with pluggy and let it define its hooks."""
        about = _owner(entry)
        assert self._pm is not None
        pm = self._pm
        with self._catching():
            with isolated(name, "hooks", seconds=HOOK_SECONDS, **about):
                if pm.has_plugin(name):
                    raise PluginError(f"there is a plugin named {name!r} already", hint="give it another name")
                try:
                    pm.register(plugin, name)
                except BaseException:
                    self._forget(name, plugin)
                    raise
            self._plugins[name] = LoadedPlugin(name, plugin, entry)
            if not self._call(name, "register_hookspecs", add=lambda: pm.add_hookspecs):
                self._drop(name)
                return False
            return True
        return False

    def _check(self, name: str) -> bool:
        """Refuse a plugin that implements what nobody defined."""
        assert self._pm is not None
        loaded = self._plugins[name]
        try:
            with isolated(name, "hooks", **self._about(name)):
                check_hooks(self._pm, name, loaded.plugin, self._lifecycle_names())
        except Failure as failure:
            self._drop(name)
            self._report(failure.diagnostic)
            return False
        loaded.hooks = tuple(sorted(c.name for c in self._pm.get_hookcallers(loaded.plugin) or ()))
        return True

    def _lifecycle_names(self) -> frozenset[str]:
        from ..hookspecs import lifecycle

        return frozenset(n for n, f in vars(lifecycle).items() if callable(f) and hasattr(f, "skillkit_spec"))

    def _forget(self, name: str, plugin: Any) -> None:
        """Take a plugin out of pluggy, also one whose registration ended half-way."""
        assert self._pm is not None
        pm = self._pm
        if pm.get_plugin(name) is plugin:
            pm.unregister(name=name)
        for hook in list(vars(pm.hook).values()):
            impls = getattr(hook, "_hookimpls", None)
            if impls is not None:
                impls[:] = [i for i in impls if i.plugin is not plugin]

    def _drop(self, name: str) -> None:
        loaded = self._plugins.pop(name, None)
        if loaded is not None:
            self._forget(name, loaded.plugin)

    def _catching(self) -> _Catching:
        return _Catching(self._report)

    def _report(self, problem: Diagnostic) -> None:
        self.problems.append(problem)
        if self._pm is not None and problem.stage != "plugin_problem":
            self._call_others("plugin_problem", problem.plugin, problem=problem)

    def note(self, plugin: str, message: str, *, stage: str = "note", remedy: str = "") -> None:
        """Let a plugin add a warning to ``skillkit plugins doctor``."""
        self._report(Diagnostic(plugin, stage, message, remedy, **self._about(plugin), severity="warning"))

    # --- calling hooks ----------------------------------------------------------------------------------------

    def _impls(self, hook: str) -> list[Any]:
        caller = getattr(self._pm.hook, hook, None) if self._pm is not None else None
        if caller is None:
            return []
        by_plugin = {impl.plugin_name: impl for impl in caller.get_hookimpls()}
        return [by_plugin[name] for name in self._plugins if name in by_plugin]

    def impls(self, hook: str) -> list[Any]:
        """Pluggy's implementations of a hook, in the order of the plugins."""
        self.load()
        return self._impls(hook)

    def _call(self, name: str, hook: str, *, seconds: float = HOOK_SECONDS, **lazy: Callable[[], Any]) -> bool:
        """Call one plugin's implementation of a host hook; arguments are made only if it takes them."""
        impl = next((i for i in self._impls(hook) if i.plugin_name == name), None)
        if impl is None:
            return True
        stage = "config" if hook == "host_configure" else hook
        try:
            with isolated(name, stage, seconds=seconds, **self._about(name)):
                arguments = {"host": lambda: self, **lazy}
                impl.function(**{n: arguments[n]() for n in impl.argnames})
        except Failure as failure:
            self._report(failure.diagnostic)
            return False
        return True

    def _call_others(self, hook: str, subject: str, **values: Any) -> None:
        for impl in self._impls(hook):
            if impl.plugin_name == subject:
                continue
            try:
                with isolated(impl.plugin_name, hook, seconds=HOOK_SECONDS, **self._about(impl.plugin_name)):
                    arguments = {"host": self, **values}
                    impl.function(**{n: arguments[n] for n in impl.argnames})
            except Failure as failure:
                self.problems.append(failure.diagnostic)

    async def resolve(self, hook: str, **values: Any) -> Any:
        """The first answer of a resolution hook that is not ``None`` after awaiting, or ``None``."""
        import inspect

        for impl in self.impls(hook):
            arguments = {"host": self, **values}
            try:
                with isolated(impl.plugin_name, hook, seconds=0, **self._about(impl.plugin_name)):
                    answer = impl.function(**{n: arguments[n] for n in impl.argnames})
                    if inspect.isawaitable(answer):
                        answer = await answer
            except Failure as failure:
                import asyncio

                if isinstance(failure.__cause__, asyncio.CancelledError):
                    raise failure.__cause__ from None
                self._report(failure.diagnostic)
                continue
            if answer is not None:
                return answer
        return None

    async def find_runtime(self, name: str | None = None) -> SkillRuntime:
        """The runtime to run a command with.

        What ``resolve_runtime`` gives; else the one called ``name``; else ``runtime`` of the configuration; else ``bash``;
        else the only one.

        Raises:
            UnknownName: nobody offers that name. UsageError: there is none, or several and nobody chose.
        """
        found: SkillRuntime | None = await self.resolve("resolve_runtime", name=name)
        if found is not None:
            return found
        known = self.runtimes.list()
        name = name or self.config.get("runtime") or ("bash" if "bash" in known else None)
        if name is not None:
            return self.runtimes.get(name)
        if len(known) == 1:
            return self.runtimes.get(known[0])
        if not known:
            raise UsageError("no runtime is installed", hint="pip install skillkit-bash")
        raise UsageError("several runtimes are installed", hint=f"set 'runtime' to one of {', '.join(known)}")

    def remember_secret(self, value: str) -> None:
        """Have ``value`` replaced wherever text leaves for events, sessions or errors."""
        if len(value) >= MIN_SECRET:
            self._secrets.add(value)

    def redact(self, text: str) -> str:
        """``text`` with every secret that this host has given out replaced by ``***``."""
        for value in self._secrets:
            if value in text:
                text = text.replace(value, "***")
        return text

    def session_store(self) -> SessionStore:
        """The session store to use: ``session.store`` of the configuration, else the first registered, else memory."""
        stores = self.session_stores
        name = self.config.get("session.store") or next(iter(stores.list()), None)
        if name is not None:
            return stores.get(name)
        from ..agent.memory import MemoryStore

        if self._memory is None:
            self._memory = MemoryStore()
        return self._memory

    def secret(self, name: str) -> str | None:
        """A secret by the name of the environment variable that would hold it.

        The environment is asked first, then ``resolve_secret``, then the registered credential sources.
        """
        value = self._find_secret(name)
        if value:
            self.remember_secret(value)
        return value

    def _find_secret(self, name: str) -> str | None:
        if value := self.environ.get(name):
            return value
        for impl in self.impls("resolve_secret"):
            try:
                with isolated(
                    impl.plugin_name, "resolve_secret", seconds=HOOK_SECONDS, **self._about(impl.plugin_name)
                ):
                    arguments: dict[str, Any] = {"host": self, "name": name}
                    found = impl.function(**{n: arguments[n] for n in impl.argnames})
            except Failure as failure:
                self._report(failure.diagnostic)
                continue
            if found:
                return str(found)
        for source in self.registry("credentials").list():
            if found := self.registry("credentials").get(source).get(name):
                return str(found)
        return None

    # --- what plugins bring -----------------------------------------------------------------------------------

    def _new_registry(self, kind: str) -> Any:
        if kind == "adapters":
            from .adapters import AdapterRegistry

            return AdapterRegistry(self)
        if kind == "models":
            from ..models import ModelRegistry

            return ModelRegistry(self.describe)
        if kind == "skills":
            from ..skills import SkillRegistry

            return SkillRegistry(self.describe)
        if kind in ("runtimes", "compactors", "session_stores", "skill_loaders", "credentials"):
            from .factories import FactoryRegistry

            names = {"credentials": "credential source"}
            return FactoryRegistry(self, names.get(kind) or kind.removesuffix("s").replace("_", " "), self.describe)
        registry: Registry[Any] = Registry(self.describe, first_wins=kind in ("tools", "commands"))
        registry.kind = kind.removesuffix("s").replace("_", " ")
        return registry

    def registry(self, kind: str) -> Any:
        """The registry of a kind, filled by the plugins when it is first asked for."""
        registry = self._registries.get(kind)
        if registry is None:
            registry = self._registries[kind] = self._new_registry(kind)
        if kind not in self._collected and kind != "skills":
            self._collected.add(kind)
            self.load()
            for name in list(self._plugins):
                self._collect_from(kind, name)
            if kind == "tools":
                self._report_tool_clashes(registry)
        return registry

    def _collect_from(self, kind: str, name: str) -> None:
        impl = next((i for i in self._impls(f"register_{kind}") if i.plugin_name == name), None)
        if impl is None:
            return
        registry = self._registries[kind]
        try:
            with isolated(name, f"register_{kind}", seconds=HOOK_SECONDS, **self._about(name)):
                for item in ask(self, kind, name, impl):
                    if kind == "models":
                        registry.register(item, None, name)
                    else:
                        registry.register(item.name, item, name)
        except Failure as failure:
            registry.unregister_by_source(name)
            self._plugins[name].failed.add(f"register_{kind}")
            self._report(failure.diagnostic)

    def _report_tool_clashes(self, registry: Registry[Any]) -> None:
        for tool, entries in registry.clashes().items():
            for entry in entries[1:]:
                if entry.source is not None:
                    message = f"tool {tool!r} is also offered by plugin {entries[0].source!r}, which comes first"
                    self.note(entry.source, message, stage="register_tools", remedy=f"call it {entry.address!r}")

    @property
    def adapters(self) -> AdapterRegistry:
        """Providers and adapters."""
        found: AdapterRegistry = self.registry("adapters")
        return found

    @property
    def models(self) -> ModelRegistry:
        """Model definitions."""
        found: ModelRegistry = self.registry("models")
        return found

    @property
    def runtimes(self) -> FactoryRegistry[SkillRuntime]:
        """Runtimes."""
        found: FactoryRegistry[SkillRuntime] = self.registry("runtimes")
        return found

    @property
    def compactors(self) -> FactoryRegistry[Compactor]:
        """Compactors."""
        found: FactoryRegistry[Compactor] = self.registry("compactors")
        return found

    @property
    def session_stores(self) -> FactoryRegistry[SessionStore]:
        """Session stores."""
        found: FactoryRegistry[SessionStore] = self.registry("session_stores")
        return found

    @property
    def skill_loaders(self) -> FactoryRegistry[SkillLoader]:
        """Skill loaders."""
        found: FactoryRegistry[SkillLoader] = self.registry("skill_loaders")
        return found

    @property
    def tools(self) -> Registry[Any]:
        """Tools and tool sets, as registered."""
        found: Registry[Any] = self.registry("tools")
        return found

    @property
    def commands(self) -> Registry[Command]:
        """Commands of plugins."""
        found: Registry[Command] = self.registry("commands")
        return found

    @property
    def context_providers(self) -> Registry[Any]:
        """Parts of the system prompt."""
        found: Registry[Any] = self.registry("context_providers")
        return found

    @property
    def token_estimators(self) -> Registry[Any]:
        """Token estimators."""
        found: Registry[Any] = self.registry("token_estimators")
        return found

    @property
    def skill_sources(self) -> Registry[Any]:
        """Places where skills are."""
        found: Registry[Any] = self.registry("skill_sources")
        return found

    @property
    def skills(self) -> SkillRegistry:
        """The skills, read from their sources when they are first asked for."""
        found: SkillRegistry = self.registry("skills")
        if "skills" not in self._collected:
            self._collected.add("skills")
            from .skills import load_skills

            load_skills(self, found)
        return found

    def reload_skills(self) -> SkillRegistry:
        """Read all skills again."""
        self._collected.discard("skills")
        return self.skills

    def names_from(self, kind: str, plugin: str) -> list[str]:
        """The names of what ``plugin`` registered of one kind."""
        registry = self.registry(kind)
        return [registry.name_of(e) for e in registry.entries() if e.source == plugin]

    def section_models(self) -> list[tuple[str, Any]]:
        """The sections of the configuration that plugins declared: name and pydantic model."""
        from ..descriptors import load_object

        return [(e.name, load_object(e.item.model)) for e in self.registry("config").entries()]

    def configure(self, settings: Mapping[str, Any]) -> None:
        """Set values by dotted key, above every file and variable, before they are first used."""
        self._settings.update({k: v for k, v in settings.items() if v is not None})
        self._config = None

    def _sections(self) -> Mapping[str, ConfigSection]:
        return {entry.name: entry.item for entry in self.registry("config").entries()}

    def _known_sections(self) -> list[str]:
        return [d.name for d in self.decisions]

    # --- adding and removing ----------------------------------------------------------------------------------

    @property
    def plugins(self) -> Mapping[str, LoadedPlugin]:
        """The plugins that run, in order."""
        self.load()
        return self._plugins

    def describe(self, source: str) -> str:
        """A plugin in the words of an error: its name, distribution and version."""
        loaded = self._plugins.get(source)
        if loaded is not None and loaded.entry is not None:
            return f"{source} ({loaded.entry.distribution} {loaded.entry.version})"
        return source

    def reinstall_hint(self, source: str | None) -> str | None:
        """What to type when a package that a plugin needs is missing."""
        loaded = self._plugins.get(source) if source else None
        if loaded is None or loaded.entry is None:
            return None
        return f"pip install --force-reinstall {loaded.entry.distribution}"

    def add_plugin(self, plugin: Any, name: str | None = None) -> str:
        """Embed a plugin without an entry point: a module, or an object with ``hookimpl`` methods. Returns its name.

        Raises:
            PluginError: the name is taken, or the plugin breaks a rule.
        """
        name = name or getattr(plugin, "name", None) or getattr(plugin, "__name__", None) or type(plugin).__name__
        name = str(name).rpartition(".")[2]
        if not self._loaded:
            if any(name == n for n, _ in self._embedded):
                raise PluginError(f"there is a plugin named {name!r} already", hint="pass another name=")
            check = self._first_failure(lambda: check_api(name, plugin))
            if check is not None:
                raise PluginError(check.message, where=f"plugin {name!r}", hint=check.remedy)
            self._embedded.append((name, plugin))
            return name
        known = len(self.problems)
        if not (self._admit(name, plugin, None) and self._check(name)):
            problem = self.problems[known] if len(self.problems) > known else None
            raise PluginError(problem.message if problem else "it was refused", where=f"plugin {name!r}")
        self._call_others("plugin_registered", name, plugin=name)
        for kind in self._collected - {"skills"}:
            self._collect_from(kind, name)
        self._call(name, "host_configure", config=lambda: self.config.section(name))
        self._call(name, "host_started")
        self._changed()
        return name

    @staticmethod
    def _first_failure(check: Callable[[], None]) -> Diagnostic | None:
        try:
            check()
        except Failure as failure:
            return failure.diagnostic
        return None

    def remove_plugin(self, name: str) -> None:
        """Unload a plugin: its hooks, everything it registered, and everything that was made from that.

        Raises:
            UnknownName: no such plugin runs.
        """
        self.load()
        if name not in self._plugins:
            from ..errors import UnknownName

            raise UnknownName("plugin", name, self._plugins)
        self._call(name, "host_shutdown", seconds=SHUTDOWN_SECONDS)
        for registry in self._registries.values():
            registry.unregister_by_source(name)
        self._drop(name)
        self._embedded = [(n, p) for n, p in self._embedded if n != name]
        self._changed()

    def _changed(self) -> None:
        if "skills" in self._collected:
            self.reload_skills()
        for bus in list(self._buses):
            bus.refresh()

    def attach(self, bus: EventBus) -> None:
        """Tell ``bus`` whenever the plugins change."""
        self._buses.add(bus)

    # --- the end ----------------------------------------------------------------------------------------------

    async def aclose(self) -> None:
        """Close adapters and stores, then call ``host_shutdown``. Idempotent."""
        if self._shut:
            return
        import asyncio

        adapters = self._registries.get("adapters")
        stores = self._registries.get("session_stores")
        closing = [adapters.close()] if adapters is not None else []
        closing += [store.close() for store in stores.made()] if stores is not None else []
        for work in closing:
            try:
                await asyncio.wait_for(work, SHUTDOWN_SECONDS)
            except (TimeoutError, Exception) as error:  # noqa: BLE001 - a plugin cannot keep the host from ending
                self.problems.append(Diagnostic("host", "host_shutdown", f"{type(error).__name__}: {error}"))
        self.close()

    def close(self) -> None:
        """Call ``host_shutdown`` of every plugin, each within its time. Idempotent."""
        if self._shut:
            return
        self._shut = True
        for name in reversed(list(self._plugins)):
            self._call(name, "host_shutdown", seconds=SHUTDOWN_SECONDS)

    def check_config(self) -> None:
        """Validate the whole configuration.

        Raises:
            ConfigError: the first thing that is wrong.
        """
        self.config.check()
        unknown = [n for n in self._selection.disable if n not in {d.name for d in self.decisions}]
        if unknown:
            raise UsageError(f"-P no:{unknown[0]} names a plugin that is not installed")


def _owner(entry: EntryPoint | None) -> dict[str, Any]:
    """The distribution of a plugin, as the diagnostics name it."""
    return {"distribution": entry.distribution if entry else None, "version": entry.version if entry else None}


class _Catching:
    """Reports a :class:`Failure` of the body and goes on."""

    def __init__(self, report: Callable[[Diagnostic], None]) -> None:
        self._report = report

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> bool:
        if isinstance(error, Failure):
            self._report(error.diagnostic)
            return True
        return False
