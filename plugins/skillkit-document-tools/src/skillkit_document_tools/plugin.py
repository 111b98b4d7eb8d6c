"""The plugin ``document-tools``: Markdown files with front matter in a folder."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from skillkit_core import hookimpl
from skillkit_core.descriptors import ConfigSection

if TYPE_CHECKING:
    from skillkit_core import Host, Tool


@hookimpl
def register_config(register: Callable[[ConfigSection], None]) -> None:
    """Offer the section ``documents``."""
    register(ConfigSection("documents", "skillkit_document_tools.config:DocumentsConfig"))


@hookimpl
def register_tools(register: Callable[[Tool], None], host: Host) -> None:
    """Offer the tools."""
    from .tools import document_tools

    for tool in document_tools(host):
        register(tool)
