"""The plugin ``chart-tools``: one tool that draws."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from skillkit_core import hookimpl

if TYPE_CHECKING:
    from skillkit_core import Host, Tool


@hookimpl
def register_tools(register: Callable[[Tool], None], host: Host) -> None:
    """Offer the tool, which writes one new file. The pack ``visualization`` of ``toolpacks`` names it."""
    from .tools import chart_tool

    register(chart_tool(host))
