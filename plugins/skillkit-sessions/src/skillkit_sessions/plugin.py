"""What ``skillkit-sessions`` brings: the session store ``jsonl``, the command ``sessions``, the section ``sessions``."""

from __future__ import annotations

from collections.abc import Callable

from skillkit_core import hookimpl
from skillkit_core.descriptors import Command, ConfigSection, Factory


@hookimpl
def register_config(register: Callable[[ConfigSection], None]) -> None:
    """The section ``sessions``."""
    register(ConfigSection("sessions", "skillkit_sessions.config:SessionsConfig"))


@hookimpl
def register_session_stores(register: Callable[[Factory], None]) -> None:
    """The store ``jsonl``."""
    register(Factory("jsonl", "skillkit_sessions.store:JsonlStore", "one JSON Lines file per session"))


@hookimpl
def register_commands(register: Callable[[Command], None]) -> None:
    """``skillkit sessions``."""
    register(Command("sessions", "skillkit_sessions.cli:sessions", "List, show and search sessions."))
