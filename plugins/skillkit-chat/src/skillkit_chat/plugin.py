"""The plugin ``chat``: the commands ``run``, ``chat``, ``attach``, ``rpc`` and ``resume``."""

from __future__ import annotations

from collections.abc import Callable

from skillkit_core import Command, hookimpl


@hookimpl
def register_commands(register: Callable[[Command], None]) -> None:
    """Offer ``skillkit run``, ``chat``, ``attach``, ``rpc``, and ``resume``, which ``skillkit sessions resume`` calls."""
    register(Command("run", "skillkit_chat.cli:run", "Run a request, or one action of a skill."))
    chat = "skillkit_chat.conversation.command:chat"
    register(Command("chat", chat, "Work with an agent in a conversation.", opens=True))
    attach = "skillkit_chat.attaching:attach"
    register(Command("attach", attach, "See and steer a session that another process has open."))
    register(Command("rpc", "skillkit_chat.rpc.command:rpc", "Let another program steer an agent."))
    register(Command("resume", "skillkit_chat.cli:resume", "Go on with a suspended session."))
