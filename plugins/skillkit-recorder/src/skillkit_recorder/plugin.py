"""The plugin ``recorder``: the commands ``record`` and ``replay``."""

from __future__ import annotations

from collections.abc import Callable

from skillkit_core import Command, hookimpl


@hookimpl
def register_commands(register: Callable[[Command], None]) -> None:
    """Offer ``skillkit record`` and ``skillkit replay``."""
    register(Command("record", "skillkit_recorder.commands:record", "Run a command and record its session."))
    register(Command("replay", "skillkit_recorder.commands:replay", "Replay a recorded session and compare."))
