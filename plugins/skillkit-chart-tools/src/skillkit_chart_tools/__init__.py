"""Charts for agents: bars, lines, points and pies as SVG or PNG.

Names are imported when they are first used (PEP 562).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .drawing import as_png as as_png, drawn as drawn

__all__ = ["as_png", "drawn"]

__version__ = "0.2.0"


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    found = getattr(import_module(f"{__name__}.drawing"), name)
    globals()[name] = found
    return found
