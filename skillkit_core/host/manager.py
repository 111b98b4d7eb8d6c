"""The host holds plugins, configuration and registries. Applications and the command line start from a host."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, TypeVar

from ..descriptors import KINDS
from ..errors import Diagnostic, PluginError, SkillKitError, UnknownName, UsageError
from ..program import program
from .plan import Decision, Plan, Selection, once
from .registry import named

if TYPE_CHECKING:
    from pathlib import Path
    from weakref import WeakSet

    from ..config import AgentConfig
    from ..contracts.approver import Approver
    from ..contracts.compactor import Compactor
    from ..contracts.runtime import SkillRuntime
    from ..contracts.session_store import SessionStore
    from ..contracts.skill_loader import SkillLoader
    from ..contracts.tool_executor import ToolExecutor
    from ..descriptors import Command, ConfigSection
    from ..events.bus import EventBus
    from ..settings.config import Config
    from ..skills import SkillProblem
    from .adapters import AdapterRegistry
    from .discovery import EntryPoint
    from .distribution import Distribution
    from .plugins import LoadedPlugin, Plugins
    from .probe import HookProbe
    from .registries import FactoryRegistry, Registries
    from .registry import ModelRegistry, Registry
    from .secrets import Secrets
    from .skills import SkillRegistry


T = TypeVar("T")


IMPORT_SECONDS = HOOK_SECONDS = 10.0
SHUTDOWN_SECONDS = 5.0


class Host:
    """The plugins and their items, found when first needed.

    :attr:`decisions` reads metadata and configuration, :meth:`load` imports the plugins, a registry collects their items.

    Args:
        distribution: name of an installed distribution, or path of a ``distribution.yaml``; default: the one that
            ``SKILLKIT_DISTRIBUTION`` or the configuration names, else the only installed one.
        plugins: objects to embed without an entry point, ``(name, object)`` pairs or objects with a ``name``.
        discover: look for installed plugins.
        selection: choice of the installed plugins that run.
        settings: configuration values by dotted key, above every file and variable, like flags of the command line.
        cwd: the workspace; default: the current directory.
        environ: default: ``os.environ``.

    Attributes:
        problems: problems so far.
        skill_problems: pairs of source and problem of the skills.

    The registries of the core's kinds are attributes, too; :meth:`registry` gives those of any kind.
    """

    adapters: AdapterRegistry  # providers and adapters
    models: ModelRegistry
    runtimes: FactoryRegistry[SkillRuntime]
    compactors: FactoryRegistry[Compactor]
    session_stores: FactoryRegistry[SessionStore]
    skill_loaders: FactoryRegistry[SkillLoader]
    executors: FactoryRegistry[ToolExecutor]
    tools: Registry[Any]  # tools and tool sets, as registered
    commands: Registry[Command]
    context_providers: Registry[Any]  # parts of the system prompt
    token_estimators: Registry[Any]
    skill_sources: Registry[Any]

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name in _REGISTRIES:
                return self.registry(name)
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __init__(
        self,
        distribution: str | None = None,
        plugins: Iterable[Any] = (),
        discover: bool = True,
        *,
        selection: Selection | None = None,
        settings: Mapping[str, Any] | None = None,
        cwd: str | Path | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        self.environ: Mapping[str, str] = os.environ if environ is None else environ
        self.problems: list[Diagnostic] = []
        self.skill_problems: list[tuple[str, SkillProblem]] = []
        self._cwd = _current_directory() if cwd is None else os.fspath(cwd)
        self.plan = Plan(
            distribution, discover, selection or Selection(), settings or {}, self._cwd, self.environ, self._sections,
            self._installed, lambda line: self.tell(line),
        )  # fmt: skip
        self.lock = self.plan.lock
        self.tell: Callable[[str], object] = _log
        self._loaded = False  # from when every plugin is there; before, only the thread that loads them goes on
        self._embedded: list[tuple[str, Any]] = []
        self._plugins: Plugins | None = None
        self._registries: Registries | None = None
        self._skills: SkillRegistry | None = None
        self._secrets: Secrets | None = None
        self._buses: WeakSet[EventBus] | None = None
        self.probe: HookProbe | None = None  # see watch()
        self.handler_records: Any = None  # handlers that the buses share, compiled once for a set of plugins
        self.generation = 0  # grows when a plugin comes or goes
        self._states: dict[str, dict[str, Any]] = {}
        self._shut = self._closing = False
        for plugin in plugins:
            name, obj = plugin if isinstance(plugin, tuple) else (None, plugin)
            self.add_plugin(obj, name=name)

    @cached_property
    def cwd(self) -> Path:
        """The workspace."""
        return _path(self._cwd)

    @property
    def config_dir(self) -> Path:
        """The user's directory of configuration."""
        return _path(self.plan.paths.config)

    @property
    def data_dir(self) -> Path:
        """The user's directory of sessions and trust."""
        return _path(self.plan.paths.data)

    @property
    def cache_dir(self) -> Path:
        """The user's directory of files that can be made again."""
        return _path(self.plan.paths.cache)

    @property
    def withheld(self) -> Sequence[str] | None:
        """Files and folders of the trusted workspace that do not count, because the user has not seen them so.

        ``None``: the workspace is not trusted, and nothing of it counts.
        """
        if self.plan.withheld is not None and (seen := self.plan.reviewed) is not None:
            from .plugins import project_content

            known = {*seen, *self.plan.withheld}
            new = [one for one in project_content(self, self._cwd) if one not in known and (self.cwd / one).exists()]
            if new:
                self.plan.withhold(new)
        return self.plan.withheld

    def trusts(self, path: str | os.PathLike[str] = ".") -> bool:
        """Return whether a file or folder of the workspace counts: the user trusts it, and has seen all in it as it is.

        Args:
            path: relative to the workspace, or absolute; default: the whole workspace.
        """
        return self.withheld is not None and self.plan.trusts(os.fspath(path))

    @property
    def entries(self) -> Sequence[EntryPoint]:
        """Every SkillKit entry point of the installed distributions, read once."""
        return self.plan.entries

    @once
    def config(self) -> Config:
        """The configuration: distribution, user's file, trusted project's file, environment, settings."""
        return self.plan.config

    @property
    def distribution(self) -> Distribution | None:
        """The distribution that runs, or ``None``."""
        return self.plan.distribution

    @once
    def decisions(self) -> Sequence[Decision]:
        """The decision for every installed plugin, in order, made without importing any."""
        decisions = self.plan.decisions
        for problem in self.plan.problems():
            self.report(problem)
        return decisions

    def configure(self, settings: Mapping[str, Any]) -> None:
        """Set configuration values by dotted key, above every file and variable, before their first use.

        Plugins that are loaded are configured again.
        """
        self.plan.configure(settings)
        vars(self).pop("config", None)
        if self._plugins is not None:
            self._configure(self._plugins)
        self._listen_again()

    def _configure(self, loading: Plugins) -> None:
        for name in list(loading.loaded):
            loading.call(name, "host_configure", config=self._section_of(name))

    def check_config(self) -> None:
        """Validate the whole configuration.

        Raises:
            ConfigError: a setting is wrong. The error names the first one.
        """
        for problem in self.config.check():
            self.report(problem)
            self.tell(str(problem))

    def _sections(self) -> Mapping[str, ConfigSection]:
        found: dict[str, ConfigSection] = {}
        for entry in self.registry("config").entries():
            found.setdefault(entry.name, entry.item)
        return found

    def _installed(self) -> dict[str, str | None]:
        """Return the installed plugins, and of each why nobody asked it for its section, ``None`` where it was asked."""
        asked: dict[str, str | None] = dict.fromkeys(self.load().loaded)
        asked |= dict.fromkeys((p.plugin for p in self.problems if p.stage == "register_config"), "")
        return {d.name: "" if d.enabled else d.reason for d in self.decisions if d.duplicate_of is None} | asked

    def report(self, problem: Diagnostic) -> None:
        """Keep a problem for ``skillkit plugins doctor``, and call ``plugin_problem`` of the plugins."""
        self.problems.append(problem)
        if self._plugins is not None:
            self.problems += self._plugins.tell_others("plugin_problem", problem.plugin, problem=problem)

    def note(self, plugin: str, message: str, *, stage: str = "note", remedy: str = "") -> None:
        """Add a plugin's warning to ``skillkit plugins doctor``."""
        owner = self._plugins.owner(plugin) if self._plugins is not None else {}
        self.report(Diagnostic(plugin, stage, message, remedy, **owner, severity="warning"))

    def load(self) -> Plugins:
        """Import and register every plugin that runs. Do nothing when that is done.

        While one thread loads the plugins, others wait for it: a hook must not wait for a thread that asks the host.
        """
        if not self._loaded or self._plugins is None:
            with self.lock:
                if self._plugins is None:
                    if program().command_line:  # of other programs the classes are their own
                        from .methods import remember_methods

                        remember_methods("dataclasses", "exec")
                    from .loading import prints_aside

                    # A failing decision raises before anything is loaded, and again in the next call.
                    with prints_aside(descriptor=True):
                        self._load(self.decisions)
                    self._loaded = True
        assert self._plugins is not None
        return self._plugins

    def _load(self, decisions: Sequence[Decision]) -> None:
        from .discovery import dist_infos
        from .loading import Failure, import_plugin, isolated
        from .manifest import read_manifest
        from .plugins import Plugins

        if self.distribution is not None and self.distribution.policy.require_lock and self.plan.locked:
            from .lock import check_lock

            check_lock(self.plan)

        loading = Plugins(self, self.report, self.plan.seconds("plugins.hook_timeout", HOOK_SECONDS))
        limit = self.plan.seconds("plugins.import_timeout", IMPORT_SECONDS)
        self._plugins, here, found = loading, dist_infos(), dict[str, Any]()
        order, elsewhere = [d.entry for d in decisions if d.enabled and d.entry.value], self.plan.config.isolated
        for entry in sorted(order, key=lambda e: e.name in elsewhere):  # what starts processes is there by then
            owner: Any = {"distribution": entry.distribution, "version": entry.version}
            try:
                with isolated(entry.name, "manifest", **owner, seconds=0):
                    manifest = read_manifest(entry, self.plan.paths.cache)
                apart = partial(self._load_apart, entry, manifest, limit, found) if entry.name in elsewhere else None
                found[entry.name] = import_plugin(entry, limit, manifest, here, apart)
                loading.manifests[entry.name] = manifest
            except Failure as failure:
                self.report(failure.diagnostic)
        candidates = [(entry.name, found[entry.name], entry) for entry in order if entry.name in found]
        loading.add_all([*candidates, *((name, plugin, None) for name, plugin in self._embedded)])
        self._check_overrides(loading)
        self._configure(loading)
        for name in list(loading.loaded):
            loading.call(name, "host_started")

    def _load_apart(self, entry: EntryPoint, manifest: Any, limit: float, found: Mapping[str, Any]) -> Any:
        """Return what stands for a plugin in a process of its own, made by the first plugin that starts processes."""
        for plugin in (*found.values(), *(plugin for _, plugin in self._embedded)):
            if (load := getattr(plugin, "load_isolated", None)) is not None:
                return load(entry, manifest, self, limit)
        hint = "skillkit plugins install skillkit-isolation"
        raise PluginError("it may only run in a process of its own, and no plugin that runs starts one", hint=hint)

    def _check_overrides(self, loading: Plugins) -> None:
        """Report overrides of the distribution for kinds that neither the core nor a plugin defines."""
        found = self.distribution
        if found is None:
            return
        for kind, chosen in found.overrides.items():
            if kind not in KINDS and kind not in loading.kinds:
                message = f"distribution {found.name!r} has overrides.{kind}, and no plugin that runs defines this kind"
                for plugin in sorted(set(chosen.values())):
                    self.note(plugin, message, stage="discovery", remedy="install the plugin that does")

    def _section_of(self, name: str) -> Callable[[], Any]:
        return lambda: self.config.section(name)

    @property
    def plugins(self) -> Mapping[str, LoadedPlugin]:
        """The plugins that run, in order."""
        return self.load().loaded

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of items that :meth:`registry` knows: the core's, then those that plugins define."""
        return (*KINDS, *self.load().kinds)

    def impls(self, hook: str) -> Sequence[Any]:
        """Return pluggy's implementations of a hook, in the order of the plugins."""
        return self.load().impls(hook)

    async def resolve(self, hook: str, **values: Any) -> Any:
        """Return the first answer of a resolution hook that is not ``None`` after awaiting, or ``None``."""
        return await self.load().first_answer(hook, **values)

    def add_plugin(self, plugin: Any, name: str | None = None) -> str:
        """Embed a plugin without an entry point, a module or an object with ``hookimpl`` methods, and return its name.

        ``name`` defaults to the object's ``name``, else to the last part of its module or class name.

        Raises:
            PluginError: the name is taken, or the plugin breaks a rule.
        """
        from .loading import check_api

        if name is None:
            own = getattr(plugin, "name", None)
            name = own if isinstance(own, str) and own else None
        if name is None:
            name = str(getattr(plugin, "__name__", None) or type(plugin).__name__).rpartition(".")[2]
        check_api(name, plugin)
        if any(name == n for n, _ in self._embedded):
            raise PluginError(f"there is a plugin named {name!r} already", hint="pass another name=")
        if self._plugins is not None:
            self._add_late(self._plugins, name, plugin)
        self._embedded.append((name, plugin))
        return name

    def _add_late(self, loading: Plugins, name: str, plugin: Any) -> None:
        known = len(self.problems)
        loading.manifests[name] = loading.manifests.get(loading.acting() or "")  # it may do what its author may
        if not loading.add(name, plugin):
            problem = next((p for p in self.problems[known:] if p.plugin == name), None)
            message, hint = (problem.message, problem.remedy) if problem else ("it was refused", None)
            raise PluginError(message, where=f"plugin {name!r}", hint=hint)
        if self._registries is not None:
            self._registries.collect_late(name, loading)
        loading.call(name, "host_configure", config=self._section_of(name))
        loading.call(name, "host_started")
        self._changed()

    def remove_plugin(self, name: str) -> None:
        """Remove a plugin with its hooks, its items, the objects that were made from them, and its handlers.

        While an agent of this host runs, the plugin stays until the run is over, so that the run ends with the same plugins.

        Raises:
            UnknownName: no such plugin runs.
        """
        loading = self.load()
        if name not in loading.loaded:
            raise UnknownName("plugin", name, loading.loaded)
        if self._after_run(lambda: self.remove_plugin(name) if name in loading.loaded else None):
            return
        loading.call(name, "host_shutdown", seconds=min(SHUTDOWN_SECONDS, loading.seconds))
        if self._registries is not None:
            self._registries.forget(name, loading.loaded[name].kinds)
        loading.drop(name)
        self._states.pop(name, None)
        self._embedded = [(n, p) for n, p in self._embedded if n != name]
        for bus in self._attached():
            bus.forget(name)
        self._changed()

    def _after_run(self, work: Callable[[], object]) -> bool:
        """Return whether an agent of this host runs; ``work()`` is called when its run is over."""
        running = [bus for bus in self._attached() if bus.run_id is not None and bus.context.agent is not None]
        for bus in running[:1]:  # by then another one may run: the work looks again
            bus.context.when_idle(work)
        return bool(running)

    def _listen_again(self) -> None:
        self.handler_records = None
        for bus in self._attached():
            bus.refresh()

    def _changed(self) -> None:
        self.generation += 1
        if self._secrets is not None:
            self._secrets.forget_awaited()
        if self._skills is not None:
            self.reload_skills()
        self._listen_again()

    def state(self, plugin: str) -> dict[str, Any]:
        """Return the plugin's state for this host: a dict in memory that the plugin may change, and that ends with the host.

        A table in the plugin would keep the host for good where a value leads to the host, also a weak table.
        """
        return self._states.setdefault(plugin, {})

    def attach(self, bus: EventBus) -> None:
        """Refresh ``bus`` from now on whenever the plugins change."""
        with self.lock:
            if self._buses is None:
                from weakref import WeakSet

                self._buses = WeakSet()
            self._buses.add(bus)
        if self.probe is not None:
            self.probe.bus(bus)

    def _attached(self) -> list[EventBus]:
        with self.lock:
            return list(self._buses or ())

    def watch(self, probe: HookProbe) -> Callable[[], None]:
        """Put ``probe`` between this host and every hook that is called, and return a function that removes ``probe``.

        Raises:
            UsageError: the host has a probe already.
        """
        if self.probe is not None:
            raise UsageError("this host is being watched already", hint="end that first")
        self.probe = probe
        for bus in self._attached():
            probe.bus(bus)

        def stop() -> None:
            if self.probe is probe:
                self.probe = None

        return stop

    def registry(self, kind: str, *, again: bool = False) -> Any:
        """Return the registry of a kind (:attr:`kinds`), which the plugins fill when it is first asked for, and ``again``.

        Raises:
            UnknownName: there is no such kind.
        """
        loading = self.load()
        if self._registries is None:
            from .registries import Registries

            with self.lock:
                self._registries = self._registries or Registries(self)
        return self._registries.get(kind, loading, again=again)

    def freeze(self) -> None:
        """Spare the garbage collector what is loaded by now (:func:`gc.freeze`).

        Call it once in a program that lives long or holds many sessions, best after the first run, which imports the SDK of a
        provider. What is there by then is freed by its last reference alone, not as a part of a cycle. From then on new objects
        are looked at by ten thousands, because with thousands of sessions each look at the old ones takes long.
        """
        import gc

        gc.collect()
        gc.freeze()
        first, *others = gc.get_threshold()
        gc.set_threshold(max(first, 10_000) if first else 0, *others)  # 0: somebody switched it off

    def collect_all(self) -> None:
        """Collect all items of all plugins, so that every problem shows."""
        from ..settings.config import section_kind
        from .loading import Failure, isolated

        for kind in self.kinds:
            self.registry(kind)
        for entry in self.registry("config").entries():
            plugin = entry.source or "application"
            try:
                with isolated(plugin, "config", seconds=self.load().seconds, **self.load().owner(plugin)):
                    section_kind(entry.item)
            except Failure as failure:
                self.report(failure.diagnostic)

    @property
    def skills(self) -> SkillRegistry:
        """The skills, read from their sources when first asked for."""
        with self.lock:  # another thread waits until all are read
            return self.reload_skills() if self._skills is None else self._skills

    def reload_skills(self) -> SkillRegistry:
        """Find and read all skills again, once no agent of this host runs, so that a run ends with the skills it began with."""
        from .skills import SkillRegistry, load_skills

        if self._skills is not None and self._after_run(self.reload_skills):
            return self._skills
        with self.lock:
            self.registry("skill_sources", again=self._skills is not None)
            if self._skills is None:
                self._skills = SkillRegistry(self.load().describe)
            load_skills(self, self._skills)
            return self._skills

    async def find_runtime(self, name: str | None = None) -> SkillRuntime:
        """Return the runtime that runs a command.

        The first of these counts: the answer of ``resolve_runtime``, the runtime called ``name``, the one that the setting
        ``runtime`` names, the first registered one.

        Raises:
            UnknownName: nobody offers that name.
            UsageError: no runtime is installed.
            PluginError: a plugin failed to answer ``resolve_runtime``.
        """
        found: SkillRuntime | None = await self.resolve("resolve_runtime", closed=True, name=name)
        if found is not None:
            return found
        name = name or named(self.config, "runtime", self.runtimes, first=True)
        if name is None:
            raise UsageError("no runtime is installed", hint="install a plugin that brings one")
        return self.runtimes.get(name)

    async def find_executor(self, name: str | None = None) -> ToolExecutor | None:
        """Return the executor that runs the bodies of tools, ``None`` for this process.

        The first of these counts: the answer of ``resolve_executor``, the executor called ``name``, the one that the setting
        ``tools.executor`` names. An executor that is only installed runs nothing, because whoever sets up the host decides.

        Raises:
            UnknownName: nobody offers that name.
            PluginError: a plugin failed to answer ``resolve_executor``.
        """
        from ..contracts.tool_executor import ToolExecutor

        ask = self.load().first_answer
        found: ToolExecutor | None = await ask("resolve_executor", ToolExecutor, closed=True, name=name)
        if found is not None:
            return found
        name = name or named(self.config, "tools.executor", self.executors)
        return self.executors.get(name) if name is not None else None

    async def find_approver(self, config: AgentConfig) -> Approver | None:
        """Return the answer of ``resolve_approver`` for an agent without an approver, or ``None``."""
        from ..contracts.approver import Approver

        found: Approver | None = await self.load().first_answer("resolve_approver", Approver, config=config)
        return found

    def session_store(self) -> SessionStore:
        """Return the session store that the setting ``session.store`` names, else the first registered one, else memory."""
        stores = self.session_stores
        name = named(self.config, "session.store", stores, first=True)
        if name is not None:
            return stores.get(name)
        return self._memory

    @once
    def _memory(self) -> SessionStore:
        from .memory import MemoryStore

        return MemoryStore()

    @property
    def secrets(self) -> Secrets:
        """The secrets that this host has given out."""
        if self._secrets is None:
            from .secrets import Secrets

            with self.lock:
                self._secrets = self._secrets or Secrets(self)
        return self._secrets

    def secret(self, name: str) -> str | None:
        """Return a secret by the name of the environment variable that would hold the secret.

        The environment is asked first, then ``resolve_secret``, then the registered credential sources. Async plugins are
        awaited where no event loop runs. Inside a loop their answers to :meth:`find_secret` count, with a diagnostic if absent.
        """
        self.load().refuse_secret(name, sys._getframe(1))
        return self.secrets.find(name)

    def find_secret(self, name: str) -> Coroutine[Any, Any, str | None]:
        """Return a secret as :meth:`secret` does, and await async plugins. Who may have it is decided when it is called."""
        self.load().refuse_secret(name, sys._getframe(1))
        return self.secrets.wait_for(name)

    def remember_secret(self, value: str) -> None:
        """Replace ``value`` from now on in all text of events, sessions and errors."""
        self.secrets.remember(value)

    def redact(self, value: T) -> T:
        """Return a text, JSON or a message with ``***`` in place of every secret that this host knows."""
        return value if self._secrets is None else self._secrets.redact(value)

    async def aclose(self) -> None:
        """Call ``host_closing``, close adapters, executors and stores, then call ``host_shutdown``. Idempotent."""
        if self._shut or self._closing:
            return
        self._closing = True
        import asyncio

        if self._plugins is not None:
            for name in reversed(list(self._plugins.loaded)):
                await self._plugins.call_closing(name, min(SHUTDOWN_SECONDS, self._plugins.seconds))
        closing: list[Any] = []
        for kind in ("adapters", "executors", "session_stores"):
            registry = self._registries.made(kind) if self._registries is not None else None
            closing += registry.made() if registry is not None else ()
        for thing in closing:
            try:
                await asyncio.wait_for(thing.close(), SHUTDOWN_SECONDS)
            except (TimeoutError, Exception) as error:  # noqa: BLE001 - a plugin cannot keep the host from ending
                name = type(thing).__name__
                message = f"{name} could not be closed: {type(error).__name__}: {error}"
                self.problems.append(Diagnostic(name, "host_shutdown", message, severity="warning"))
        self.close()

    def close(self) -> None:
        """Call ``host_shutdown`` of every plugin, the last first, each within a time limit. Do nothing the second time.

        Only :meth:`aclose` can await: use it to call ``host_closing`` and to close adapters, executors and stores.
        """
        if self._shut:
            return
        self._shut = True
        if self._plugins is not None:
            for name in reversed(list(self._plugins.loaded)):
                self._plugins.call(name, "host_shutdown", seconds=min(SHUTDOWN_SECONDS, self._plugins.seconds))


def _log(line: str) -> None:
    import logging

    logging.getLogger("skillkit").warning(line)


def _path(text: str) -> Path:
    from pathlib import Path  # importing it is slow, and listing plugins needs none

    return Path(text)


def _current_directory() -> str:
    try:
        return os.getcwd()
    except OSError:
        raise SkillKitError("the current directory is gone", hint="change to one that exists") from None


_REGISTRIES = frozenset(KINDS) - {"config", "credentials"}
