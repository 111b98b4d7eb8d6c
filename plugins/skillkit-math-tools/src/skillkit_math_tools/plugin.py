"""The plugin ``math-tools``: three tools that calculate."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from skillkit_core import hookimpl

if TYPE_CHECKING:
    from skillkit_core import Tool


@hookimpl
def register_tools(register: Callable[[Tool], None]) -> None:
    """Offer the tools, which change nothing. The pack ``math`` of ``toolpacks`` names them."""
    from .tools import TOOLS

    for tool in TOOLS:
        register(tool)
