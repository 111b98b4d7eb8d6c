"""The plugin ``mail``: reading a maildir, and sending through SMTP."""

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
    """Offer the section ``mail``."""
    register(ConfigSection("mail", "skillkit_mail.config:MailConfig"))


@hookimpl
def register_tools(register: Callable[[Tool], None], host: Host) -> None:
    """Offer the tools. Those that send must be approved, and be allowed by name where no permissions ask."""
    from .tools import mail_tools

    for tool in mail_tools(alone="permissions" not in host.plugins):
        register(tool)


@hookimpl(optionalhook=True)
def register_packs(register: Callable[[ToolPack], None]) -> None:
    """Offer the pack ``email_content``, where the plugin ``engines`` is there: its tools wait until somebody asks for them."""
    from skillkit_engines import ToolPack

    register(
        ToolPack("email_content", "Send a text by email; a person is asked first.", ("email_content_tool",), waits=True)
    )
