"""SkillKit talks to Claude and to every server that speaks the Messages API."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .adapter import AnthropicAdapter
    from .config import AnthropicConfig
    from .wire import Accumulator, messages_table

__all__ = ["Accumulator", "AnthropicAdapter", "AnthropicConfig", "messages_table"]

_HOMES = {
    "Accumulator": "wire",
    "AnthropicAdapter": "adapter",
    "AnthropicConfig": "config",
    "messages_table": "wire",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{home}", __name__), name)
