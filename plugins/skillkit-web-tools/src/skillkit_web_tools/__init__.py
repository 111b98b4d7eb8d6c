"""Web tools for agents: ``web_fetch`` and ``web_search``; the guarded client, and which addresses are public, for other plugins.

Names are imported when they are first used (PEP 562).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .addresses import is_named as is_named, is_public as is_public
    from .client import Fetched as Fetched, Page as Page, WebClient as WebClient, client_of as client_of
    from .search import SearchHit as SearchHit, SearchProvider as SearchProvider, chosen_provider as chosen_provider
    from .tools import refused as refused

_WHERE = {
    "SearchHit": "search", "SearchProvider": "search", "chosen_provider": "search", "is_named": "addresses",
    "is_public": "addresses", "refused": "tools",
}  # fmt: skip
__all__ = [
    "Fetched", "Page", "SearchHit", "SearchProvider", "WebClient", "chosen_provider", "client_of", "is_named", "is_public",
    "refused",
]  # fmt: skip

__version__ = "0.2.0"


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    found = getattr(import_module(f"{__name__}.{_WHERE.get(name, 'client')}"), name)
    globals()[name] = found
    return found
