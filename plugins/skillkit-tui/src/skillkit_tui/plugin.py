"""The plugin ``tui``: the command ``tui``, and the hooks for chords of the leader key and parts of the status line."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from skillkit_core import hookimpl, hookspec
from skillkit_core.descriptors import Command, ConfigSection, Factory

if TYPE_CHECKING:
    from skillkit_core import Host

    from .chords import Chord, Indicator


class Hooks:
    """The hooks of the family."""

    @hookspec
    def register_chords(self, register: Callable[[Chord], None], host: Host, config: Any) -> None:
        """Offer what a key after the leader key does: ``register(Chord("plan", "p", "Plan", plan))``."""

    @hookspec
    def register_indicators(self, register: Callable[[Indicator | Factory], None], host: Host, config: Any) -> None:
        """Offer a part of the status line: ``register(Indicator("network", lambda agent: "NET off"))``.

        A plugin that does not build on this one offers the core's ``Factory("network", create)``, where ``create(host)`` makes
        the function of the agent.
        """


@hookimpl
def register_hookspecs(add: Callable[..., Any]) -> None:
    """Define ``register_chords`` and ``register_indicators``, and their registries."""
    add(Hooks, kinds={"chords": "skillkit_tui.chords:Chord", "indicators": ("skillkit_tui.chords:Indicator", Factory)})


@hookimpl
def register_commands(register: Callable[[Command], None]) -> None:
    """Offer ``skillkit tui``."""
    register(Command("tui", "skillkit_tui.command:tui", "Work with an agent in a terminal UI."))


@hookimpl
def register_config(register: Callable[[ConfigSection], None]) -> None:
    """Offer the section ``tui``."""
    register(ConfigSection("tui", "skillkit_tui.config:TuiConfig"))
