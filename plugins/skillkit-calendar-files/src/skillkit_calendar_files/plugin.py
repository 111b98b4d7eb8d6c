"""The plugin ``calendar-files``: events of ``.ics`` files."""

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
    """Offer the section ``calendar``."""
    register(ConfigSection("calendar", "skillkit_calendar_files.config:CalendarConfig"))


@hookimpl
def register_tools(register: Callable[[Tool], None], host: Host) -> None:
    """Offer the tools."""
    from .tools import calendar_tools

    for tool in calendar_tools(host):
        register(tool)


@hookimpl(optionalhook=True)
def register_packs(register: Callable[[ToolPack], None]) -> None:
    """Offer the pack ``calendar``, where the plugin ``engines`` is there: its tools wait until somebody asks for them."""
    from skillkit_engines import ToolPack

    register(
        ToolPack(
            "calendar",
            "Events of calendars, and free time.",
            ("list_events_tool", "find_free_time_tool", "add_event_tool"),
            ("find_free_time_tool", "add_event_tool"),
            waits=True,
        )
    )
