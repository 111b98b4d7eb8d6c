"""The plugin ``a2a``: the command ``a2a``."""

from __future__ import annotations

from collections.abc import Callable

from skillkit_core import Command, hookimpl
from skillkit_core.descriptors import ConfigSection


@hookimpl
def register_config(register: Callable[[ConfigSection], None]) -> None:
    """Offer the section ``a2a``."""
    register(ConfigSection("a2a", "skillkit_a2a.config:Section"))


@hookimpl
def register_commands(register: Callable[[Command], None]) -> None:
    """Offer ``skillkit a2a``."""
    register(Command("a2a", "skillkit_a2a.command:a2a", "Work with agents of other hosts over A2A."))
