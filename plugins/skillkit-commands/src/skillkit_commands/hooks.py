"""The hook of the family."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from skillkit_core import hookspec

if TYPE_CHECKING:
    from skillkit_core import Host

    from .command import SlashCommand, SlashCommandSet


@hookspec
def register_slash_commands(
    register: Callable[[SlashCommand | SlashCommandSet], None], host: Host, config: Any
) -> None:
    """Offer slash commands to every front end: ``register(SlashCommand(...))`` or ``register(SlashCommandSet(...))``."""
