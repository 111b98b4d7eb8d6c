"""The hook of the family of search providers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from skillkit_core import hookspec

if TYPE_CHECKING:
    from skillkit_core import Host
    from skillkit_core.descriptors import Factory


@hookspec
def register_search_providers(register: Callable[[Factory], None], host: Host, config: Any) -> None:
    """Offer search providers: ``register(Factory("acme", "acme.search:Acme"))``, made as ``create(host)``.

    The object is a :class:`~skillkit_web_tools.search.SearchProvider`.
    """
