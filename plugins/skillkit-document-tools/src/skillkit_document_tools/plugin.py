"""The plugin ``document-tools``: Markdown files with front matter in a folder."""

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
    """Offer the section ``documents``."""
    register(ConfigSection("documents", "skillkit_document_tools.config:DocumentsConfig"))


@hookimpl
def register_tools(register: Callable[[Tool], None], host: Host) -> None:
    """Offer the tools."""
    from .tools import document_tools

    for tool in document_tools(host):
        register(tool)


@hookimpl(optionalhook=True)
def register_packs(register: Callable[[ToolPack], None]) -> None:
    """Offer the pack ``documents``, where the plugin ``engines`` is there: its tools wait until somebody asks for them."""
    from skillkit_engines import ToolPack

    register(
        ToolPack(
            "documents",
            "List, move and make documents and folders.",
            (
                "list_documents_by_type_tool",
                "move_document_tool",
                "list_folders_tool",
                "create_user_file_tool",
                "create_user_folder_tool",
            ),
            ("move_document_tool", "list_folders_tool", "create_user_file_tool", "create_user_folder_tool"),
            waits=True,
        )
    )
