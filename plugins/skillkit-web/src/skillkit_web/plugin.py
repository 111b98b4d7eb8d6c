"""The plugin ``web``: the command ``web``, and its section of the configuration."""

from __future__ import annotations

from collections.abc import Callable

from skillkit_core import Command, hookimpl
from skillkit_core.descriptors import ConfigSection


@hookimpl
def register_commands(register: Callable[[Command], None]) -> None:
    """Offer ``skillkit web``."""
    register(Command("web", "skillkit_web.command:web", "Work with agents on a page in the browser."))


@hookimpl
def register_config(register: Callable[[ConfigSection], None]) -> None:
    """Offer the section ``page``; ``web`` is that of the tools for the web."""
    register(ConfigSection("page", "skillkit_web.config:PageConfig"))
