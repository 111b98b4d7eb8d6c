"""The plugin ``tui``: the command ``tui``, and the hook for chords of the leader key."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from skillkit_core import hookimpl, hookspec
from skillkit_core.descriptors import Command, ConfigSection

if TYPE_CHECKING:
    from skillkit_core import Host

    from .chords import Chord


class Hooks:
    """The hook of the family."""

    @hookspec
    def register_chords(self, register: Callable[[Chord], None], host: Host, config: Any) -> None:
        """Offer what a key after the leader key does: ``register(Chord("plan", "p", "Plan", plan))``."""


@hookimpl
def register_hookspecs(add: Callable[..., Any]) -> None:
    """Define ``register_chords`` and its registry."""
    add(Hooks, kinds={"chords": "skillkit_tui.chords:Chord"})


@hookimpl
def register_commands(register: Callable[[Command], None]) -> None:
    """Offer ``skillkit tui``."""
    register(Command("tui", "skillkit_tui.command:tui", "Work with an agent in a terminal UI."))


@hookimpl
def register_config(register: Callable[[ConfigSection], None]) -> None:
    """Offer the section ``tui``."""
    register(ConfigSection("tui", "skillkit_tui.config:TuiConfig"))
