"""The plugin ``memory-tools``: facts that last over sessions, and what was said in this one."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from skillkit_core import hookimpl, hookspec
from skillkit_core.descriptors import ConfigSection, Factory

if TYPE_CHECKING:
    from skillkit_engines import ToolPack

    from skillkit_core import Host, Tool


class Hooks:
    """The hook of the family."""

    @hookspec
    def register_fact_stores(self, register: Callable[[Factory], None], host: Host, config: Any) -> None:
        """Keep facts elsewhere than in a file: ``register(Factory(name, create))``; ``memory.store`` chooses by the name.

        ``create(host)`` makes an object with the methods ``store``, ``forget`` and ``facts`` of
        :class:`~skillkit_memory_tools.Facts`, which are called in threads.
        """


@hookimpl
def register_hookspecs(add: Callable[..., Any]) -> None:
    """Define ``register_fact_stores`` and its registry."""
    add(Hooks, kinds={"fact_stores": Factory})


@hookimpl
def register_config(register: Callable[[ConfigSection], None]) -> None:
    """Offer the section ``memory``."""
    register(ConfigSection("memory", "skillkit_memory_tools.config:MemoryConfig"))


@hookimpl
def register_tools(register: Callable[[Tool], None]) -> None:
    """Offer the tools."""
    from .tools import TOOLS

    for tool in TOOLS:
        register(tool)


@hookimpl(optionalhook=True)
def register_packs(register: Callable[[ToolPack], None]) -> None:
    """Offer the pack ``preferences``, where the plugin ``engines`` is there: its tools wait until somebody asks for them."""
    from skillkit_engines import ToolPack

    register(
        ToolPack(
            "preferences",
            "What is known of the user, forgetting it, and the conversation so far.",
            ("get_user_preferences_tool", "forget_fact_tool", "get_conversation_summary_tool"),
            ("forget_fact_tool", "get_conversation_summary_tool"),
            waits=True,
        )
    )
