"""What ``skillkit-sessions`` brings: the stores ``jsonl`` and ``sqlite``, ``skillkit sessions``, the section ``sessions``."""

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
    """The stores ``jsonl``, which is the default, and ``sqlite``."""
    register(Factory("jsonl", "skillkit_sessions.store:JsonlStore", "one JSON Lines file per session"))
    register(Factory("sqlite", "skillkit_sessions.sqlite_store:SqliteStore", "one database, with full-text search"))


@hookimpl
def register_commands(register: Callable[[Command], None]) -> None:
    """``skillkit sessions``."""
    register(Command("sessions", "skillkit_sessions.cli:sessions", "List, show, branch, export and search sessions."))
