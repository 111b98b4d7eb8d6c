"""The plugin ``inspect``: the command ``inspect``."""

from __future__ import annotations

from collections.abc import Callable

from skillkit_core import hookimpl
from skillkit_core.descriptors import Command


@hookimpl
def register_commands(register: Callable[[Command], None]) -> None:
    """Offer ``skillkit inspect``."""
    register(
        Command("inspect", "skillkit_inspect.cli:inspect", "Show which hooks of plugins are called and what they do.")
    )
