"""Agents that work for an agent: the tool ``spawn_agent``, agents in files, and how they are watched and stopped."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .crew import Subagent, stop, subagents_of
    from .definitions import AgentFile, agent_files
    from .state import DEFAULTS, Settings

__all__ = ["DEFAULTS", "AgentFile", "Settings", "Subagent", "agent_files", "stop", "subagents_of"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from . import crew, definitions, state

    return getattr(next(module for module in (state, definitions, crew) if name in module.__all__), name)
