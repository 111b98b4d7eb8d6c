"""The plugin ``text-tools``: seven tools that make one text of others."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from skillkit_core import hookimpl

if TYPE_CHECKING:
    from skillkit_core import Tool


@hookimpl
def register_tools(register: Callable[[Tool], None]) -> None:
    """Offer the tools; none of them changes anything outside of the session."""
    from .tools import TOOLS

    for tool in TOOLS:
        register(tool)
