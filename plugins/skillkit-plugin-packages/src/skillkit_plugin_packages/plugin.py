"""The plugin ``plugin-packages``: commands of ``skillkit plugins`` that change which plugins are there."""

from __future__ import annotations

from collections.abc import Callable

from skillkit_core import hookimpl
from skillkit_core.descriptors import Command

COMMANDS = {
    "install": "Install packages of plugins.",
    "uninstall": "Remove packages of plugins.",
    "upgrade": "Upgrade packages of plugins.",
    "enable": "Let plugins run.",
    "disable": "Keep plugins from running.",
    "search": "Look for packages of plugins.",
    "readme": "Show the documentation of a package.",
}


@hookimpl
def register_commands(register: Callable[[Command], None]) -> None:
    """``skillkit plugins install``, ``uninstall``, ``upgrade``, ``enable``, ``disable``, ``search`` and ``readme``."""
    for name, text in COMMANDS.items():
        register(Command(f"plugins {name}", f"skillkit_plugin_packages.commands:{name}", text))
