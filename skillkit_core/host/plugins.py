"""The plugins that run: the host adds them, checks and calls their hooks one by one, and drops them."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from importlib import import_module
from itertools import count
from types import FrameType
from typing import TYPE_CHECKING, Any

from ..descriptors import KINDS
from ..errors import ConfigError, Diagnostic, PluginError
from ..hookspecs.markers import DEPRECATED
from ..settings.config import masked
from ..settings.documents import read_document
from ..settings.trust import PROJECT_CONFIG
from .hooks import new_hooks
from .loading import Failure, check_hooks, isolated, must_be_plain, refuse_async, refuse_awaitable
from .probe import called

if TYPE_CHECKING:
    from pluggy import HookCaller

    from ..events.types import Event
    from .authors import Authors
    from .discovery import EntryPoint
    from .manager import Host
    from .manifest import Manifest


class LoadedPlugin:
    """A plugin that runs.

    Attributes:
        entry: where it was installed; ``None``: it was embedded.
        position: place among the plugins, which come and go.
        hooks: the hooks that it implements.
        defines: the hooks that it defines itself.
        events: the event classes that it defines.
        kinds: the kinds of items that it defines, each with the type of its items.
    """

    __slots__ = ("defines", "entry", "events", "hooks", "kinds", "later", "name", "plugin", "position")

    def __init__(self, name: str, plugin: Any, entry: EntryPoint | None, position: int) -> None:
        self.name = name
        self.plugin = plugin
        self.entry = entry
        self.position = position
        self.hooks: tuple[str, ...] = ()
        self.defines: set[str] = set()
        self.events: list[type[Event]] = []
        self.later: list[str] = []
        self.kinds: dict[str, tuple[type[Any] | str, ...]] = {}

    @property
    def owner(self) -> dict[str, Any]:
        """The plugin's distribution and version, as arguments of a diagnostic."""
        entry = self.entry
        return {"distribution": entry.distribution if entry else None, "version": entry.version if entry else None}


class Plugins:
    """Loaded plugins by name, in the order in which their hooks are called.

    Args:
        host: the ``host`` argument of every hook.
        report: called with every problem.
        seconds: time limit of one call.

    Attributes:
        kinds: the kinds of items that the plugins define, each with the type of its items.
        manifests: what installed plugins declare that they need.
        complete: whether all are there that the host begins with.
    """

    def __init__(self, host: Any, report: Callable[[Diagnostic], None], seconds: float) -> None:
        self.pm = new_hooks()
        self.loaded: dict[str, LoadedPlugin] = {}
        self.manifests: dict[str, Manifest | None] = {}
        self.kinds: dict[str, tuple[type[Any] | str, ...]] = {}
        self.seconds = seconds
        self.complete = False
        self._host = host
        self._report = report
        self._events: Mapping[str, type[Event]] | None = None
        self._authors: Authors | None = None
        self._positions = count()
        self._impls: dict[str, tuple[Sequence[Any], Mapping[str, Sequence[Any]]]] = {}

    @property
    def events(self) -> Mapping[str, type[Event]]:
        """Every event by its name: the core's, and those that the plugins define."""
        if self._events is None:
            from ..events.types import EVENTS

            for loaded in self.loaded.values():
                self._import_events(loaded, EVENTS)
            added = {cls.type: cls for loaded in self.loaded.values() for cls in loaded.events}
            self._events = {**EVENTS, **added} if added else EVENTS
        return self._events

    def _import_events(self, loaded: LoadedPlugin, known: Mapping[str, type[Event]]) -> None:
        """Import the modules of events that a plugin has named; one that fails is reported, and defines none."""
        later, loaded.later = loaded.later, []
        for module in later:
            try:
                with isolated(loaded.name, "register_hookspecs", **loaded.owner, seconds=self.seconds):
                    loaded.events += _added_events(import_module(module), known)
            except Failure as failure:
                self._report(failure.diagnostic)

    def acting(self, caller: FrameType | None = None) -> str | None:
        """Return the plugin whose code runs, by the stack, or ``None`` for the core and the application.

        Args:
            caller: the innermost frame that counts; where the core called, nobody else did.
        """
        if self._authors is None:
            from .authors import Authors

            self._authors = Authors(self.loaded.values())
        return self._authors.running(caller)

    def refuse_secret(self, name: str, caller: FrameType) -> None:
        """Raise :class:`PluginError` if the plugin whose code asks for a secret declares that it needs others."""
        if any(manifest is not None and "secrets" in manifest.needs for manifest in self.manifests.values()):
            plugin = self.acting(caller)
            if plugin is not None and (manifest := self.manifests.get(plugin)) is not None:
                manifest.check("secrets", name, f"plugin {plugin!r}: the secret {name}")

    def add_all(self, candidates: Iterable[tuple[str, Any, EntryPoint | None]]) -> None:
        """Add plugins that may define hooks for each other, and report what is wrong with each."""
        for name, plugin, entry in candidates:
            self._admit(name, plugin, entry)
        implemented = self._implemented()
        for name in list(self.loaded):
            self._check(name, implemented[name])
        self.complete = True
        for name in list(self.loaded):
            self._announce(name)

    def add(self, name: str, plugin: Any) -> bool:
        """Add one more plugin, and return whether the plugin stays."""
        if not (self._admit(name, plugin, None) and self._check(name, self._implemented()[name])):
            return False
        self._announce(name)
        return True

    def _announce(self, name: str) -> None:
        for problem in self.tell_others("plugin_registered", name, plugin=name):
            self._report(problem)

    def _admit(self, name: str, plugin: Any, entry: EntryPoint | None) -> bool:
        """Register a plugin with pluggy, and let the plugin define its hooks. Return whether that worked."""
        loaded = LoadedPlugin(name, plugin, entry, next(self._positions))
        pm = self.pm
        try:
            with isolated(name, "hooks", seconds=self.seconds, **loaded.owner):
                if name in self.loaded:
                    raise PluginError(f"there is a plugin named {name!r} already", hint="give it another name")
                try:
                    pm.register(plugin, name)
                except BaseException:
                    if (known := pm.get_name(plugin)) not in (None, name):
                        hint = "remove one of them"
                        raise PluginError(f"it is registered already, as {known!r}", hint=hint) from None
                    self._forget(loaded)
                    raise
        except Failure as failure:
            self._report(failure.diagnostic)
            return False
        self.loaded[name] = loaded
        self._authors = None
        self._impls.clear()
        if self.call(name, "register_hookspecs", add=lambda: self._specs_of(loaded)):
            return True
        self.drop(name)
        return False

    def _specs_of(self, loaded: LoadedPlugin) -> Callable[..., None]:
        def add(space: Any, kinds: Mapping[str, Any] | None = None, events: str | None = None) -> None:
            before = self.pm.defined()
            if twice := sorted(name for name in before & set(dir(space)) if self.pm.parse_hookspec_opts(space, name)):
                # pluggy would replace the first spec, or keep it, without a word
                where, hint = f"hook {twice[0]!r}", "implement it, or define another name"
                raise PluginError("there is such a hook already", where=where, hint=hint)
            try:
                self.pm.add_hookspecs(space)
            finally:
                # A module that fails half-way has defined hooks too, which drop() removes.
                loaded.defines |= self.pm.defined() - before
            # Before that import no plugin can have defined an event.
            if "skillkit_core.events.types" in sys.modules:
                loaded.events += _added_events(space, self.events)
                self._events = None
            if events is not None:
                loaded.later.append(events)
                self._events = None
            for kind, types in (kinds or {}).items():
                loaded.kinds[kind] = self.kinds[kind] = self._kind(kind, types)

        return add

    def _kind(self, kind: str, types: Any) -> tuple[type[Any] | str, ...]:
        """Check a kind of items that a plugin defines; return the types of its items."""
        where, allowed = f"kind {kind!r}", types if isinstance(types, tuple) else (types,)
        if kind in KINDS or kind in self.kinds:
            raise PluginError("there is such a kind already", where=where, hint="give it another name")
        if f"register_{kind}" not in self.pm.defined():
            raise PluginError(f"it needs a hookspec 'register_{kind}'", where=where, hint="define it beside the others")
        if not allowed or not all(isinstance(t, type) or (isinstance(t, str) and ":" in t) for t in allowed):
            hint = "name the class of the items, or 'module:Class'"
            raise PluginError(f"its items need a type, not {types!r}", where=where, hint=hint)
        return allowed

    def _implemented(self) -> Mapping[str, list[tuple[HookCaller, Any]]]:
        """Return the implementations of every plugin, each with its hook."""
        found: dict[str, list[tuple[HookCaller, Any]]] = {name: [] for name in self.loaded}
        for caller, impl in self.pm.implemented():
            found[impl.plugin_name].append((caller, impl))
        return found

    def _check(self, name: str, implemented: list[tuple[HookCaller, Any]]) -> bool:
        """Check a plugin's hooks, drop the plugin if one is wrong, and return whether the plugin stays."""
        loaded = self.loaded[name]
        try:
            with isolated(name, "hooks", **loaded.owner, seconds=0):
                check_hooks(self.pm, implemented, lambda: self.events)
                if (manifest := self.manifests.get(name)) is not None:
                    for caller, _ in implemented:
                        manifest.check_hook(caller.name)
        except Failure as failure:
            self.drop(name)
            self._report(failure.diagnostic)
            return False
        loaded.hooks = tuple(sorted({c.name for c, impl in implemented if not self._drop_async(loaded, c, impl)}))
        for caller, impl in implemented:
            for argument, words in vars(caller.spec.function).get(DEPRECATED, ()) if caller.spec is not None else ():
                if argument is None or argument in impl.argnames:
                    self._report(Diagnostic(name, caller.name, words, **loaded.owner, severity="warning"))
        return True

    def _drop_async(self, loaded: LoadedPlugin, caller: Any, impl: Any) -> bool:
        """Leave out and report an async implementation of a hook whose answer nobody awaits. Return whether this is one."""
        if not (inspect.iscoroutinefunction(impl.function) or inspect.isasyncgenfunction(impl.function)):
            return False
        if not (must_be_plain(caller.name) or caller.name.removeprefix("register_") in self.kinds):
            return False
        self.pm.leave_out(caller, impl)
        self._impls.pop(caller.name, None)
        wrong = refuse_async(caller.name)
        self._report(Diagnostic(loaded.name, caller.name, wrong.message, wrong.hint or "", **loaded.owner))
        return True

    def drop(self, name: str) -> None:
        """Forget a plugin, its implementations and the hooks that it defined."""
        loaded = self.loaded.pop(name, None)
        if loaded is not None:
            self._forget(loaded)

    def _forget(self, loaded: LoadedPlugin) -> None:
        """Remove a plugin from pluggy, also one whose registration ended half-way."""
        self._events = self._authors = None
        self._impls.clear()
        for kind in loaded.kinds:
            self.kinds.pop(kind, None)
        self.pm.forget(loaded.name, loaded.plugin, loaded.defines)

    def owner(self, name: str) -> dict[str, Any]:
        """Return a plugin's distribution and version, as arguments of a diagnostic."""
        loaded = self.loaded.get(name)
        return loaded.owner if loaded is not None else {}

    def describe(self, source: str) -> str:
        """Return a plugin in the words of an error: its name, distribution and version."""
        owner = self.owner(source)
        return f"{source} ({owner['distribution']} {owner['version']})" if owner.get("distribution") else source

    def reinstall_hint(self, source: str | None) -> str | None:
        """Return what to type when a package that a plugin needs is missing."""
        distribution = self.owner(source).get("distribution") if source else None
        return f"pip install --force-reinstall {distribution}" if distribution else None

    def impls(self, hook: str) -> Sequence[Any]:
        """Return pluggy's implementations of a hook, in the order of the plugins, then in the order of definition.

        A plugin may have several (``specname=``), for example a rewriter and a guard of one event.
        """
        return self._by_hook(hook)[0]

    def own_impls(self, name: str, hook: str) -> Sequence[Any]:
        """Return one plugin's implementations of a hook."""
        return self._by_hook(hook)[1].get(name, ())

    def _by_hook(self, hook: str) -> tuple[Sequence[Any], Mapping[str, Sequence[Any]]]:
        """Return the implementations of a hook in order, and by plugin, sorted once for a set of plugins."""
        found = self._impls.get(hook)
        if found is None:
            known = [impl for impl in self.pm.of(hook) if impl.plugin_name in self.loaded]
            known.sort(key=lambda impl: (self.loaded[impl.plugin_name].position, _defined_at(impl)))
            by_plugin: dict[str, list[Any]] = {}
            for impl in known:
                by_plugin.setdefault(impl.plugin_name, []).append(impl)
            found = self._impls[hook] = (known, by_plugin)
        return found

    def call(self, name: str, hook: str, *, seconds: float | None = None, **lazy: Callable[[], Any]) -> bool:
        """Call one plugin's host hook with those ``lazy`` arguments that the hook takes. Return whether the call worked."""
        impls = self.own_impls(name, hook)
        if not impls:
            return True
        stage = "config" if hook == "host_configure" else hook
        try:
            with isolated(name, stage, seconds=seconds or self.seconds, **self.owner(name)):
                arguments = {"host": lambda: self._host, **lazy}
                for impl in impls:
                    refuse_awaitable(hook, self._bound(hook, impl, {n: arguments[n]() for n in impl.argnames})())
        except Failure as failure:
            self._report(failure.diagnostic)
            return False
        return True

    def _bound(self, hook: str, impl: Any, values: Mapping[str, Any]) -> Callable[[], Any]:
        """Return the call of an implementation with those of ``values``, and the host, that it takes."""
        arguments = {"host": self._host, **values}
        call = partial(impl.function, **{n: arguments[n] for n in impl.argnames})
        return partial(called, self._host, hook, impl, call)

    def tell_others(self, hook: str, subject: str, **values: Any) -> list[Diagnostic]:
        """Call every plugin's implementation but that of ``subject``, and return what went wrong."""
        problems: list[Diagnostic] = []
        for impl in self.impls(hook):
            if impl.plugin_name == subject:
                continue
            try:
                with isolated(impl.plugin_name, hook, seconds=self.seconds, **self.owner(impl.plugin_name)):
                    refuse_awaitable(hook, self._bound(hook, impl, values)())
            except Failure as failure:
                problems.append(failure.diagnostic)
        return problems

    async def first_answer(self, hook: str, wanted: type[Any] = object, *, closed: bool = False, **values: Any) -> Any:
        """Return the first answer to a hook that is not ``None`` after awaiting, or ``None``. Failures are reported.

        Args:
            wanted: type of an answer. An answer of another type is a failure.
            closed: raise the first failure as a :class:`PluginError`; the next answer might not hold what this one would have.
        """
        for impl in self.impls(hook):
            try:
                answer = await self.awaited(impl.plugin_name, hook, self._bound(hook, impl, values), wanted=wanted)
            except Failure as failure:
                self._report(failure.diagnostic)
                if closed:
                    raise PluginError(str(failure.diagnostic)) from failure
                continue
            if answer is not None:
                return answer
        return None

    async def awaited(
        self, plugin: str, hook: str, call: Callable[[], Any], seconds: float | None = None, wanted: type[Any] = object
    ) -> Any:
        """Return the answer of a plugin's ``call()``. An awaitable is awaited, for at most ``seconds`` from its first wait.

        Raises:
            Failure: the call failed, took too long, or gave neither a ``wanted`` nor ``None``.
            CancelledError: the task was cancelled.
        """
        try:
            with isolated(plugin, hook, seconds=0, **self.owner(plugin)):
                answer = call()
                if inspect.isawaitable(answer):
                    from ..events.trampoline import drive

                    answer = await drive(answer, seconds)
                if answer is not None and not isinstance(answer, wanted):
                    raise PluginError(f"{hook} gives {wanted.__name__} or None, not {type(answer).__name__}")
                return answer
        except Failure as failure:
            from asyncio import CancelledError

            if isinstance(failure.__cause__, (CancelledError, GeneratorExit)):
                raise failure.__cause__ from None
            raise

    async def call_closing(self, name: str, seconds: float) -> None:
        """Await one plugin's implementations of ``host_closing``. Failures are reported."""
        for impl in self.own_impls(name, "host_closing"):
            try:
                await self.awaited(name, "host_closing", self._bound("host_closing", impl, {}), seconds)
            except Failure as failure:
                self._report(failure.diagnostic)


def _added_events(space: Any, known: Mapping[str, type[Event]]) -> list[type[Event]]:
    """Return the event classes that a plugin defines in a module or class.

    Args:
        space: the module or class.
        known: the present events, by name.

    Raises:
        PluginError: a class has no name of its own, or the name is taken.
    """
    from ..events.types import ALIASES, Event

    found = [v for v in vars(space).values() if isinstance(v, type) and issubclass(v, Event)]
    found = [cls for cls in found if cls is not Event and not cls.__module__.startswith("skillkit_core.events")]
    for cls in found:
        where = f"event class {cls.__qualname__!r}"
        name = cls.__dict__.get("type")
        if not isinstance(name, str) or not name.isidentifier():
            raise PluginError("an event needs a type: the name of its hook", where=where)
        other = known.get(ALIASES.get(name, name))
        if other is not None and (other.__module__, other.__qualname__) != (cls.__module__, cls.__qualname__):
            raise PluginError(
                f"there is an event {name!r} already ({other.__module__}.{other.__qualname__})",
                where=where,
                hint="give it another name",
            )
    return found


def _defined_at(impl: Any) -> int:
    """Return the line of an implementation. Pluggy's own order is that of the names."""
    code = getattr(impl.function, "__code__", None)
    line: int = code.co_firstlineno if code is not None else 0
    return line


def project_content(host: Host, folder: str) -> dict[str, list[Callable[[], Iterable[str]]]]:
    """Return the files and folders that count in a folder once it is trusted, each with what describes it to the user."""
    from pathlib import Path

    file = Path(folder, PROJECT_CONFIG)
    document = read_document(file, host.plan.paths.cache) if file.is_file() else None
    settings = document.data if document is not None else {}
    found: dict[str, list[Callable[[], Iterable[str]]]]
    found = {PROJECT_CONFIG: [lambda: (f"{key}: {value}" for key, value in _flat(masked(settings)))]}
    if str(named := settings.get("distribution")).endswith((".yaml", ".yml")):
        found[str(Path(PROJECT_CONFIG).parent / str(named))] = []

    def register(path: str, describe: Callable[[], Iterable[str]] = tuple) -> None:
        found.setdefault(str(Path(path)), []).append(describe)

    loading = host.load()
    for name in loading.loaded:
        loading.call(
            name, "project_content", register=lambda: register, folder=lambda: folder, settings=lambda: settings
        )
    return found


def _flat(settings: Mapping[Any, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    for key, value in settings.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", ", ".join(map(str, value)) if isinstance(value, list) else str(value)


_BEFORE = ("discovery", "manifest", "import", "api", "hooks", "config", "host_configure", "host_started")
_PLUGINS = "'skillkit plugins list' shows which run"


def check_required(host: Host) -> None:
    """Make sure before a run that the required plugins run and have registered all their items.

    Without this check, a missing guard would let everything pass.

    Raises:
        ConfigError: a required plugin does not run, or did not register an item.
    """
    required = host.config.get("plugins.required", ())
    if not required:
        return
    host.load()
    for kind in host.kinds:
        host.registry(kind)
    broken = [p for p in host.problems if p.severity == "error" and _came_up_short(p)]
    for name in required:
        where = host.config.origin("plugins.required", name)
        problem = next((p for p in broken if p.plugin == name), None)
        if problem is not None:
            raise ConfigError(f"required {problem}", where=where)
        if name not in host.plugins:
            why = next((d.reason for d in host.decisions if d.name == name and not d.enabled), "it is not installed")
            raise ConfigError(f"required plugin {name!r} does not run: {why}", where=where, hint=_PLUGINS)


def _came_up_short(problem: Diagnostic) -> bool:
    """Return whether a problem kept a plugin from starting whole. A later failure to answer is an error of its own."""
    return problem.stage in _BEFORE or problem.stage.startswith("register_")
