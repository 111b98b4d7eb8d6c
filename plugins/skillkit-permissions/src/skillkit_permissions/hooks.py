"""The hook of the family of rules that other plugins know."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from skillkit_core import hookspec

if TYPE_CHECKING:
    from skillkit_core import Host
    from skillkit_core.descriptors import Factory


@hookspec
def register_permission_rules(register: Callable[[Factory], None], host: Host, config: Any) -> None:
    """Offer rules that depend on the moment: ``register(Factory(name, create))``.

    ``create`` makes a function ``(agent) -> [(origin, {"allow": [...], "ask": [...], "deny": [...]}), ...]``, which is called for
    every tool call.
    """
