"""The plugin ``chat``: the commands ``run``, ``rpc`` and ``resume``."""

from __future__ import annotations

from collections.abc import Callable

from skillkit_core import Command, hookimpl


@hookimpl
def register_commands(register: Callable[[Command], None]) -> None:
    """Offer ``skillkit run``, ``skillkit rpc``, and ``skillkit resume``, which ``skillkit sessions resume`` calls."""
    register(Command("run", "skillkit_chat.cli:run", "Run a request, or one action of a skill."))
    register(Command("rpc", "skillkit_chat.rpc.command:rpc", "Let another program steer an agent."))
    register(Command("resume", "skillkit_chat.cli:resume", "Go on with a suspended session.", hidden=True))
