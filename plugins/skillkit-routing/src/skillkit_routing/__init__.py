"""Which skill takes a request: greetings and pins without a model call, then one call that selects.

Names are imported when they are first used (PEP 562).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .greeting import is_greeting as is_greeting
    from .selecting import select as select

__all__ = ["is_greeting", "select"]

__version__ = "0.2.0"


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used."""
    from importlib import import_module

    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{'greeting' if name == 'is_greeting' else 'selecting'}"), name)
