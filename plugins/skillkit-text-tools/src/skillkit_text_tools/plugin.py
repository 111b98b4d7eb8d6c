"""The plugin ``text-tools``: seven tools that make one text of others."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from skillkit_core import hookimpl

if TYPE_CHECKING:
    from skillkit_engines import ToolPack

    from skillkit_core import Tool


@hookimpl
def register_tools(register: Callable[[Tool], None]) -> None:
    """Offer the tools; none of them changes anything outside of the session."""
    from .tools import TOOLS

    for tool in TOOLS:
        register(tool)


@hookimpl(optionalhook=True)
def register_packs(register: Callable[[ToolPack], None]) -> None:
    """Offer the pack ``compare``, where the plugin ``engines`` is there: its tools wait until somebody asks for them."""
    from skillkit_engines import ToolPack

    register(
        ToolPack(
            "compare",
            "Compare texts, and texts kept in this session.",
            ("compare_texts_tool", "clipboard_store_tool", "clipboard_get_tool"),
            ("clipboard_store_tool", "clipboard_get_tool"),
            waits=True,
        )
    )
