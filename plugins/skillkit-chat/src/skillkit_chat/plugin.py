"""The plugin ``chat``: the command ``run``."""

from __future__ import annotations

from collections.abc import Callable

from skillkit_core import Command, hookimpl


@hookimpl
def register_commands(register: Callable[[Command], None]) -> None:
    """Offer ``skillkit run``."""
    register(Command("run", "skillkit_chat.cli:run", "Run a request, or one action of a skill."))
