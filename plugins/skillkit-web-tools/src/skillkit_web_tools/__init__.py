"""Web tools for agents: ``web_fetch`` and ``web_search``; and the guarded client for other plugins.

Names are imported when they are first used (PEP 562).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .client import Fetched as Fetched, Page as Page, WebClient as WebClient, client_of as client_of

__all__ = ["Fetched", "Page", "WebClient", "client_of"]

__version__ = "0.2.0"


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    found = getattr(import_module(f"{__name__}.client"), name)
    globals()[name] = found
    return found
