"""The plugin ``memory-tools``: facts that last over sessions, and what was said in this one."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from skillkit_core import hookimpl
from skillkit_core.descriptors import ConfigSection

if TYPE_CHECKING:
    from skillkit_engines import ToolPack

    from skillkit_core import Tool


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
