"""Whose code runs: the frames on Python's stack, told apart by the plugins that the code belongs to."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .plugins import LoadedPlugin

__all__ = ["Authors"]


class Authors:
    """The plugins by their code, to find the plugin whose code is running.

    The module tells the code of an installed plugin and of an embedded module. Qualified names tell the methods of an embedded
    object and the functions in these methods. Of several objects of one class, the one that the frame holds counts.
    """

    def __init__(self, plugins: Iterable[LoadedPlugin]) -> None:
        # By module: the prefix of qualified names, and the plugin.
        self._modules: dict[str, list[tuple[str, LoadedPlugin]]] = {}
        self._codes: dict[CodeType, LoadedPlugin] = {}  # functions among the attributes of embedded objects
        for loaded in plugins:
            plugin = loaded.plugin
            if isinstance(plugin, ModuleType):
                module, names = plugin.__name__, ""
            else:
                kind = plugin if isinstance(plugin, type) else type(plugin)
                module, names = kind.__module__, "" if loaded.entry is not None else f"{kind.__qualname__}."
            self._modules.setdefault(module, []).append((names, loaded))
            package = module.rpartition(".")[0]
            if loaded.entry is not None and getattr(sys.modules.get(package), "__file__", None):
                self._modules.setdefault(package, []).append(("", loaded))
            if not isinstance(plugin, ModuleType):
                given = getattr(plugin, "__dict__", {}).values()
                self._codes |= {f.__code__: loaded for f in given if isinstance(f, FunctionType)}

    def running(self, caller: FrameType | None = None) -> str | None:
        """Return the plugin of the innermost frame that is a plugin's, up to the event loop; from ``caller`` up to the core."""
        frame = caller or sys._getframe(1) if self._modules else None
        while frame is not None:
            module = frame.f_globals.get("__name__", "")
            if caller is not None and module.startswith("skillkit_core."):
                return None
            # The frames below only started the loop.
            if module == "asyncio.events":
                return None
            found = self._of(frame, module)
            if found is not None:
                return found
            frame = frame.f_back
        return None

    def _of(self, frame: FrameType, module: str) -> str | None:
        if frame.f_code in self._codes:
            return self._codes[frame.f_code].name
        name, inside = frame.f_code.co_qualname, module
        while inside:
            known = self._modules.get(inside)
            if known is not None:
                whose = [p for names, p in known if name.startswith(names)]
                if len(whose) > 1:
                    held = {id(value) for value in frame.f_locals.values()}
                    whose = [p for p in whose if id(p.plugin) in held]
                if whose:
                    return whose[0].name
            inside = inside.rpartition(".")[0]
        return None
