"""The plugin ``acp``: the command ``acp``."""

from __future__ import annotations

from collections.abc import Callable

from skillkit_core import Command, hookimpl


@hookimpl
def register_commands(register: Callable[[Command], None]) -> None:
    """Offer ``skillkit acp``."""
    register(Command("acp", "skillkit_acp.command:acp", "Let an editor work with an agent."))
