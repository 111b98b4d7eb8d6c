"""The plugin ``feeds``: subscriptions, and what is new in them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from skillkit_core import hookimpl
from skillkit_core.descriptors import ConfigSection

if TYPE_CHECKING:
    from skillkit_engines import ToolPack

    from skillkit_core import Host, Tool


@hookimpl
def register_config(register: Callable[[ConfigSection], None]) -> None:
    """Offer the section ``feeds``."""
    register(ConfigSection("feeds", "skillkit_feeds.config:FeedsConfig"))


@hookimpl
def register_tools(register: Callable[[Tool], None], host: Host) -> None:
    """Offer the tools. Those that fetch a feed go to the address of their argument, which permissions judge."""
    from .tools import feed_tools

    for tool in feed_tools(host):
        register(tool)


@hookimpl(optionalhook=True)
def register_packs(register: Callable[[ToolPack], None]) -> None:
    """Offer the pack ``feeds``, where the plugin ``engines`` is there: its tools wait until somebody asks for them."""
    from skillkit_engines import ToolPack

    register(
        ToolPack(
            "feeds",
            "Read RSS and Atom feeds.",
            ("list_feeds_tool", "read_feed_tool", "add_feed_tool", "remove_feed_tool", "search_feed_items_tool"),
            ("read_feed_tool", "add_feed_tool", "remove_feed_tool", "search_feed_items_tool"),
            waits=True,
        )
    )
