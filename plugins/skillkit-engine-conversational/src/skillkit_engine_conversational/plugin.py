"""The plugin ``engine-conversational``: skills that talk."""

from __future__ import annotations

from collections.abc import Callable

from skillkit_core import hookimpl
from skillkit_core.descriptors import Factory


@hookimpl(optionalhook=True)
def register_engines(register: Callable[[Factory], None]) -> None:
    """Offer the engine, where the plugin ``engines`` is there."""
    target = "skillkit_engine_conversational.engine:ConversationalEngine"
    register(Factory("conversational", target, "talk, with every tool, and a way to hand a request on"))
