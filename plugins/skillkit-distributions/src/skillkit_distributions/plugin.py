"""The plugin ``distributions``: commands that make, lock, verify and build distributions."""

from __future__ import annotations

from collections.abc import Callable

from skillkit_core import hookimpl
from skillkit_core.descriptors import Command


@hookimpl
def register_commands(register: Callable[[Command], None]) -> None:
    """``skillkit dist``, and ``skillkit plugins lock``, ``verify`` and ``export``."""
    register(Command("dist", "skillkit_distributions.commands:dist", "Make and build distributions."))
    for name, text in (
        ("lock", "Write what is installed into a lock."),
        ("verify", "Compare what is installed with the lock."),
        ("export", "Write the locked versions for pip and uv."),
    ):
        register(Command(f"plugins {name}", f"skillkit_distributions.locks:{name}", text))
