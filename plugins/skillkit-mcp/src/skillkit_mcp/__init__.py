"""MCP servers as tools, slash commands and resources of an agent, and SkillKit's tools as an MCP server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.2.0"
__all__ = ["connect"]

if TYPE_CHECKING:
    from .manager import connect


def __getattr__(name: str) -> Any:
    if name == "connect":
        from .manager import connect

        return connect
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
