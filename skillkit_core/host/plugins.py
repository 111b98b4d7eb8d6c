"""The plugins that run: taking them in, checking their hooks, calling these one by one, and letting them go again."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from ..descriptors import KINDS
from ..errors import ConfigError, Diagnostic, PluginError
from .loading import Failure, SkillKitPluginManager, check_hooks, isolated, new_manager
from .probe import called

if TYPE_CHECKING:
    from ..events.types import Event
    from .discovery import EntryPoint
    from .manager import Host

__all__ = ["LoadedPlugin", "Plugins", "check_required"]


class LoadedPlugin:
    """A plugin that runs.

    Attributes:
        entry: where it was installed; ``None``: it was embedded.
        hooks: the hooks that it implements. defines: the hooks that it defines itself. events: the events.
    """

    __slots__ = ("defines", "entry", "events", "hooks", "name", "plugin")

    def __init__(self, name: str, plugin: Any, entry: EntryPoint | None) -> None:
        self.name = name
        self.plugin = plugin
        self.entry = entry
        self.hooks: tuple[str, ...] = ()
        self.defines: set[str] = set()
        self.events: list[type[Event]] = []

    @property
    def owner(self) -> dict[str, Any]:
        """Distribution and version, as the diagnostics name them."""
        entry = self.entry
        return {"distribution": entry.distribution if entry else None, "version": entry.version if entry else None}

    def remove_events(self) -> None:
        """Take back the events that the plugin brought."""
        if self.events:
            from ..events.added import remove_event

            for event in self.events:
                remove_event(event)
            self.events = []


class Plugins:
    """Loaded plugins by name, in the order in which their hooks are called.

    Args:
        host: the ``host`` argument of every hook. report: called with every problem. seconds: what one call may take.
    """

    def __init__(self, host: Any, report: Callable[[Diagnostic], None], seconds: float) -> None:
        self.pm: SkillKitPluginManager = new_manager()
        self.loaded: dict[str, LoadedPlugin] = {}
        self.seconds = seconds
        self._host = host
        self._report = report

    # --- coming and going -------------------------------------------------------------------------------------

    def add_all(self, candidates: Iterable[tuple[str, Any, EntryPoint | None]]) -> None:
        """Take in plugins that may define hooks for each other; what is wrong with one is reported."""
        for name, plugin, entry in candidates:
            self._admit(name, plugin, entry)
        for name in list(self.loaded):
            self._check(name)
        for name in list(self.loaded):
            self._announce(name)

    def add(self, name: str, plugin: Any) -> bool:
        """Take in one more plugin; whether it stays."""
        if not (self._admit(name, plugin, None) and self._check(name)):
            return False
        self._announce(name)
        return True

    def _announce(self, name: str) -> None:
        for problem in self.tell_others("plugin_registered", name, plugin=name):
            self._report(problem)

    def _admit(self, name: str, plugin: Any, entry: EntryPoint | None) -> bool:
        """Register a plugin with pluggy and let it define its hooks."""
        loaded = LoadedPlugin(name, plugin, entry)
        pm = self.pm
        with self._reporting():
            with isolated(name, "hooks", seconds=self.seconds, **loaded.owner):
                if name in self.loaded:
                    raise PluginError(f"there is a plugin named {name!r} already", hint="give it another name")
                if pm.is_registered(plugin):
                    raise PluginError(
                        f"it is registered already, as {pm.get_name(plugin)!r}", hint="remove one of them"
                    )
                try:
                    pm.register(plugin, name)
                except BaseException:
                    self._forget(loaded)
                    raise
            self.loaded[name] = loaded
            if self.call(name, "register_hookspecs", add=lambda: self._specs_of(loaded)):
                return True
            self.drop(name)
        return False

    def _specs_of(self, loaded: LoadedPlugin) -> Callable[[Any], None]:
        def add(space: Any) -> None:
            before = self._defined()
            try:
                self.pm.add_hookspecs(space)
            finally:  # what fails half-way is taken back as well
                loaded.defines |= self._defined() - before
            if "skillkit_core.events.types" in sys.modules:  # else nobody can have defined any
                from ..events.added import add_events

                loaded.events += add_events(space)

        return add

    def _defined(self) -> set[str]:
        return {name for name, caller in vars(self.pm.hook).items() if getattr(caller, "spec", None) is not None}

    def _check(self, name: str) -> bool:
        """Refuse a plugin that implements what nobody defined."""
        loaded = self.loaded[name]
        callers = self.pm.get_hookcallers(loaded.plugin) or []
        try:
            with isolated(name, "hooks", **loaded.owner):
                check_hooks(self.pm, loaded.plugin, callers)
        except Failure as failure:
            self.drop(name)
            self._report(failure.diagnostic)
            return False
        loaded.hooks = tuple(sorted(caller.name for caller in callers))
        return True

    def drop(self, name: str) -> None:
        """Forget a plugin, its implementations and the hooks that it defined."""
        loaded = self.loaded.pop(name, None)
        if loaded is not None:
            self._forget(loaded)

    def _forget(self, loaded: LoadedPlugin) -> None:
        """Take a plugin out of pluggy, also one whose registration ended half-way."""
        pm, plugin = self.pm, loaded.plugin
        loaded.remove_events()
        if pm.get_plugin(loaded.name) is plugin:
            pm.unregister(name=loaded.name)
        for name, caller in list(vars(pm.hook).items()):
            impls = getattr(caller, "_hookimpls", None)
            if impls is None:
                continue
            impls[:] = [i for i in impls if i.plugin is not plugin]
            if name in loaded.defines:
                caller.spec = None
            if caller.spec is None and not impls:
                delattr(pm.hook, name)

    @contextmanager
    def _reporting(self) -> Iterator[None]:
        try:
            yield
        except Failure as failure:
            self._report(failure.diagnostic)

    # --- calling ----------------------------------------------------------------------------------------------

    def owner(self, name: str) -> dict[str, Any]:
        """Distribution and version of a plugin, for diagnostics."""
        loaded = self.loaded.get(name)
        return loaded.owner if loaded is not None else {}

    def impls(self, hook: str) -> list[Any]:
        """Pluggy's implementations of a hook, in the order of the plugins, in a plugin in the order of definition.

        A plugin may have several (``specname=``): a rewriter and a guard of the same event, for example.
        """
        caller = getattr(self.pm.hook, hook, None)
        if caller is None:
            return []
        found = caller.get_hookimpls()
        if not found:
            return []
        by_plugin: dict[str, list[Any]] = {}
        for impl in found:
            by_plugin.setdefault(impl.plugin_name, []).append(impl)
        for impls in by_plugin.values():
            if len(impls) > 1:
                impls.sort(key=_defined_at)
        return [impl for name in self.loaded for impl in by_plugin.get(name, ())]

    def own_impls(self, name: str, hook: str) -> list[Any]:
        """One plugin's implementations of a hook."""
        return [i for i in self.impls(hook) if i.plugin_name == name]

    def call(self, name: str, hook: str, *, seconds: float | None = None, **lazy: Callable[[], Any]) -> bool:
        """Call one plugin's implementation of a host hook; arguments are made only if it takes them. Whether it worked."""
        impls = self.own_impls(name, hook)
        if not impls:
            return True
        stage = "config" if hook == "host_configure" else hook
        try:
            with isolated(name, stage, seconds=seconds or self.seconds, **self.owner(name)):
                arguments = {"host": lambda: self._host, **lazy}
                for impl in impls:
                    given = {n: arguments[n]() for n in impl.argnames}
                    called(self._host, hook, impl, partial(impl.function, **given))
        except Failure as failure:
            self._report(failure.diagnostic)
            return False
        return True

    def tell_others(self, hook: str, subject: str, **values: Any) -> list[Diagnostic]:
        """Call every plugin's implementation but that of ``subject``; gives what went wrong."""
        problems: list[Diagnostic] = []
        for impl in self.impls(hook):
            if impl.plugin_name == subject:
                continue
            try:
                with isolated(impl.plugin_name, hook, seconds=self.seconds, **self.owner(impl.plugin_name)):
                    arguments = {"host": self._host, **values}
                    given = {n: arguments[n] for n in impl.argnames}
                    called(self._host, hook, impl, partial(impl.function, **given))
            except Failure as failure:
                problems.append(failure.diagnostic)
        return problems

    async def first_answer(self, hook: str, **values: Any) -> Any:
        """The first answer to a hook that is not ``None`` after awaiting, or ``None``; failures are reported."""
        import inspect

        for impl in self.impls(hook):
            arguments = {"host": self._host, **values}
            try:
                with isolated(impl.plugin_name, hook, seconds=0, **self.owner(impl.plugin_name)):
                    given = {n: arguments[n] for n in impl.argnames}
                    answer = called(self._host, hook, impl, partial(impl.function, **given))
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


def _defined_at(impl: Any) -> int:
    """The line of an implementation: pluggy goes through the names of a plugin by the alphabet."""
    code = getattr(impl.function, "__code__", None)
    line: int = code.co_firstlineno if code is not None else 0
    return line


_BEFORE = ("discovery", "import", "api", "hooks", "config", "host_configure", "host_started")
_PLUGINS = "'skillkit plugins list' shows which run"


def check_required(host: Host) -> None:
    """Make sure that the required plugins run and have registered what they bring. Called before every run.

    A guard that is not there would let everything pass.

    Raises:
        ConfigError: one of them does not.
    """
    required = host.config.get("plugins.required", ())
    if not required:
        return
    host.load()
    for kind in KINDS:
        host.registry(kind)
    where = host.config.origin("plugins.required")
    broken = [p for p in host.problems if p.severity == "error" and _came_up_short(p)]
    for name in required:
        problem = next((p for p in broken if p.plugin == name), None)
        if problem is not None:
            raise ConfigError(f"required plugin {problem}", where=where)
        if name not in host.plugins:
            why = next((d.reason for d in host.decisions if d.name == name and not d.enabled), "it is not installed")
            raise ConfigError(f"required plugin {name!r} does not run: {why}", where=where, hint=_PLUGINS)


def _came_up_short(problem: Diagnostic) -> bool:
    """Whether the plugin did not come up whole; a question that it failed to answer later has an error of its own."""
    return problem.stage in _BEFORE or problem.stage.startswith("register_")
