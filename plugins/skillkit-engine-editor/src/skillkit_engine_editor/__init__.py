"""The engine ``editor``: edits of the open document as proposals.

Names are imported when they are first used (PEP 562).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .operations import Edited as Edited, edit as edit, revision_of as revision_of

__all__ = ["Edited", "edit", "revision_of"]

__version__ = "0.2.0"


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used."""
    from importlib import import_module

    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.operations"), name)
