"""What a search provider is, and which one answers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from skillkit_core import ToolError

if TYPE_CHECKING:
    from skillkit_core import Host

__all__ = ["SearchHit", "SearchProvider", "chosen_provider"]


@dataclass(frozen=True, slots=True)
class SearchHit:
    """One answer of a search.

    Attributes:
        title: of the page.
        url: its address.
        excerpt: a few lines of it, plain text.
    """

    title: str
    url: str
    excerpt: str = ""


class SearchProvider(ABC):
    """Searches the web. Made by ``register_search_providers``."""

    name: str

    @abstractmethod
    async def usable(self) -> str | None:
        """Return what is missing for it to be used, to be said after its name; ``None``: nothing is."""

    @abstractmethod
    async def search(self, query: str, limit: int) -> Sequence[SearchHit]:
        """Return the best hits, at most ``limit``.

        Raises:
            ToolError: the provider could not be asked.
        """


async def chosen_provider(host: Host, name: str | None) -> SearchProvider:
    """Return the provider called ``name``, or the first one that can be used.

    Raises:
        UnknownName: there is no provider of that name.
        ToolError: something is missing, said for each provider.
    """
    registry = host.registry("search_providers")
    missing = []
    for known in [name] if name else registry.list():
        provider: SearchProvider = registry.get(known)
        lacks = await provider.usable()
        if lacks is None:
            return provider
        missing.append(f"{known} {lacks}")
    raise ToolError(f"no search provider can be used: {'; '.join(missing) or 'none is installed'}")
