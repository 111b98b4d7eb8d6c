"""The hook of the family of filters."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from skillkit_core import hookspec

if TYPE_CHECKING:
    from skillkit_core import Host
    from skillkit_core.descriptors import Factory


@hookspec
def register_file_filters(register: Callable[[Factory], None], host: Host, config: Any) -> None:
    """Offer filters of what ``grep`` and ``glob`` find: ``register(Factory("name", "module:function"))``.

    ``function(agent, tool)`` returns ``allows(path) -> bool`` for absolute paths. A filter leaves files out; it shows none that
    would not be found without it.
    """
