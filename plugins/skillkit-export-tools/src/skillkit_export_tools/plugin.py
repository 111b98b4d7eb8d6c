"""The plugin ``export-tools``: a text as a file for people, and addresses that are kept."""

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
    """Offer the section ``export``."""
    register(ConfigSection("export", "skillkit_export_tools.config:ExportConfig"))


@hookimpl
def register_tools(register: Callable[[Tool], None], host: Host) -> None:
    """Offer the tools."""
    from .tools import export_tools

    for tool in export_tools(host):
        register(tool)


@hookimpl(optionalhook=True)
def register_packs(register: Callable[[ToolPack], None]) -> None:
    """Offer the pack ``export``, where the plugin ``engines`` is there: its tools wait until somebody asks for them."""
    from skillkit_engines import ToolPack

    about = "Make HTML, DOCX, PDF, CSV or JSON of a text, and keep addresses."
    register(
        ToolPack("export", about, ("export_to_format_tool", "bookmark_url_tool"), ("bookmark_url_tool",), waits=True)
    )
