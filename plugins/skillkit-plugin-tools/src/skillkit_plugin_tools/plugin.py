"""The plugin ``plugin-tools``: ``skillkit plugins new`` and ``check``, and ``skillkit dev``."""

from __future__ import annotations

from collections.abc import Callable

from skillkit_core import hookimpl
from skillkit_core.descriptors import Command


@hookimpl
def register_commands(register: Callable[[Command], None]) -> None:
    """Commands for people who write plugins."""
    register(Command("dev", "skillkit_plugin_tools.dev:dev", "Run SkillKit with the plugin of this folder."))
    register(Command("plugins check", "skillkit_plugin_tools.checking:check", "Show the report card of a plugin."))
    register(Command("plugins new", "skillkit_plugin_tools.new:new", "Make the package of a plugin."))
