"""The plugin ``engine-conversational``: skills that are done by calling tools."""

from __future__ import annotations

from collections.abc import Callable

from skillkit_core import hookimpl
from skillkit_core.descriptors import Factory


@hookimpl(optionalhook=True)
def register_engines(register: Callable[[Factory], None]) -> None:
    """Offer the engine, where the plugin ``engines`` is there."""
    register(
        Factory("conversational", "skillkit_engine_conversational.engine:ConversationalEngine", "tools in rounds, then an answer")
    )
