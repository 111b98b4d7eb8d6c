"""The one place that knows pluggy from the inside: specs, validation and unregistering, never a call.

Pluggy has no public way to list the implementations of a hook that has no spec yet, to leave one of them out, or to forget a
plugin whose registration ended half-way. What the host needs of that stands here, under names of its own.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from types import ModuleType
from typing import Any

from pluggy import HookCaller, PluginManager

from ..hookspecs.markers import PROJECT

__all__ = ["Hooks", "new_hooks"]


class Hooks(PluginManager):
    """The hooks that are defined, and the plugins that implement them."""

    _mark = f"{PROJECT}_impl"

    def parse_hookimpl_opts(self, plugin: Any, name: str) -> Any:
        """Return pluggy's options of an implementation, ``None`` for a name that is no hook or cannot be read.

        Most names of a module are no hooks, and pluggy's own check of each name is slow.
        """
        if isinstance(plugin, ModuleType) and not hasattr(vars(plugin).get(name), self._mark):
            return None
        try:
            return super().parse_hookimpl_opts(plugin, name)
        except AttributeError:
            return None

    def defined(self) -> set[str]:
        """Return the names of the hooks that have a spec."""
        return {name for name, caller in vars(self.hook).items() if getattr(caller, "spec", None) is not None}

    def implemented(self) -> Iterator[tuple[HookCaller, Any]]:
        """Yield every implementation with its hook."""
        for caller in vars(self.hook).values():
            for impl in caller.get_hookimpls():
                yield caller, impl

    def of(self, hook: str) -> Sequence[Any]:
        """Return the implementations of a hook, in pluggy's order."""
        caller = getattr(self.hook, hook, None)
        return () if caller is None else tuple(caller._hookimpls)

    def leave_out(self, caller: HookCaller, impl: Any) -> None:
        """Remove one implementation."""
        caller._hookimpls.remove(impl)

    def forget(self, name: str, plugin: Any, defines: Collection[str]) -> None:
        """Remove a plugin and the hooks that it defines, also when its registration ended half-way."""
        if self.get_plugin(name) is plugin:
            self.unregister(name=name)
        for hook, caller in list(vars(self.hook).items()):
            impls = getattr(caller, "_hookimpls", None)
            if impls is None:
                continue
            impls[:] = [impl for impl in impls if impl.plugin is not plugin]
            if hook in defines:
                caller.spec = None
            if caller.spec is None and not impls:
                delattr(self.hook, hook)


def new_hooks() -> Hooks:
    """Return the hooks of the core, without plugins."""
    from ..hookspecs import host, lifecycle, registration, resolution

    hooks = Hooks(PROJECT)
    for module in (host, registration, resolution, lifecycle):
        hooks.add_hookspecs(module)
    return hooks
