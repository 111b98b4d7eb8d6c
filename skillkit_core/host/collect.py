"""Collecting: asking each plugin what it brings, one kind at a time, each plugin a transaction of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..descriptors import Command, ConfigSection, ContextProvider, Factory, Provider, TokenEstimator
from ..errors import PluginError
from ..settings.config import CORE_KEYS
from .probe import called

if TYPE_CHECKING:
    from .manager import Host

__all__ = ["ask", "item_types"]


def item_types(name: str) -> tuple[type[Any], ...]:
    """The descriptor types that ``register_<name>`` accepts, imported when they are needed."""
    if name == "models":
        from ..models import ModelDefinition

        return (ModelDefinition,)
    if name == "tools":
        from ..tools import Tool, ToolSet

        return (Tool, ToolSet)
    if name == "skill_sources":
        from ..contracts.skill_loader import SkillSource

        return (SkillSource,)
    plain: dict[str, type[Any]] = {
        "adapters": Provider,
        "commands": Command,
        "config": ConfigSection,
        "context_providers": ContextProvider,
        "token_estimators": TokenEstimator,
    }
    return (plain.get(name, Factory),)


def ask(host: Host, kind: str, plugin: str, impl: Any) -> list[Any]:
    """What ``plugin`` hands to ``register`` in its implementation of ``register_<kind>``.

    Raises:
        PluginError: an item has the wrong type. Whatever the plugin raises passes.
    """
    types = item_types(kind)
    items: list[Any] = []

    def register(item: Any) -> None:
        if not isinstance(item, types):
            names = " or ".join(t.__name__ for t in types)
            raise PluginError(f"register_{kind} takes {names}, not {type(item).__name__}")
        if kind == "config" and item.name in CORE_KEYS:
            raise PluginError(f"section {item.name!r} is the core's", hint="name it after the plugin")
        items.append(item)

    arguments: dict[str, Any] = {"register": register, "host": host}
    if "config" in impl.argnames and kind not in ("commands", "config"):
        arguments["config"] = host.config.section(plugin)

    def call() -> list[Any]:
        impl.function(**{name: arguments[name] for name in impl.argnames})
        return items

    answer: list[Any] = called(host, f"register_{kind}", impl, call)
    return answer
