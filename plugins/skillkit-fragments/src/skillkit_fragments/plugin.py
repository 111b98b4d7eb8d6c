"""The plugin ``fragments``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from skillkit_core import hookimpl

if TYPE_CHECKING:
    from skillkit_engines import Fragment


@hookimpl(optionalhook=True)
def register_fragments(register: Callable[[Fragment], None]) -> None:
    """Offer the fragments, where the plugin ``engines`` is there."""
    from .catalogue import FRAGMENTS

    for fragment in FRAGMENTS:
        register(fragment)
