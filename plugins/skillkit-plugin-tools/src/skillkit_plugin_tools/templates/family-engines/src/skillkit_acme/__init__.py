"""The plugin "acme": an engine of the family of skillkit-engines. Importing it must cost little."""

from __future__ import annotations

from collections.abc import Callable

from skillkit_core import Factory, hookimpl


@hookimpl(optionalhook=True)
def register_engines(register: Callable[[Factory], None]) -> None:
    """Offer the engine, where the plugin ``engines`` is there."""
    about = "answers, then checks the answer once"
    register(Factory("acme", "skillkit_acme.engine:AcmeEngine", about))
