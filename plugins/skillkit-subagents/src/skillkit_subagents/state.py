"""What is known of agents while nobody has asked one: the settings, and empty tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from skillkit_core import AgentRunner

__all__ = ["CREWS", "DEFAULTS", "HOOKS", "POLICIES", "SANDBOXES", "Settings"]


class Settings(NamedTuple):
    """The values of the section ``subagents``, whose model describes them, for code that does without pydantic."""

    depth: int = 2
    parallel: int = 4
    total: int = 50
    turns: int | None = 50
    tokens: int | None = None
    cost: float | None = None
    models: Sequence[str] | None = None
    model_aliases: Mapping[str, str] = {}


class AtWork(Protocol):
    """The agents that one agent asked, as its end concerns them: a :class:`~skillkit_subagents.crew.Crew`."""

    async def delivered(self) -> None:
        """Wait until every agent in the background has ended and its answer is a message."""

    async def end(self, reason: str) -> None:
        """End all agents and wait for them."""


DEFAULTS = Settings()
CREWS: WeakKeyDictionary[AgentRunner, AtWork] = WeakKeyDictionary()
"""The agents that each agent asked; none before the first is asked."""
HOOKS: WeakKeyDictionary[AgentRunner, tuple[str, Mapping[str, Any]]] = WeakKeyDictionary()
"""The path of the file of each agent that has hooks, and its hooks."""
POLICIES: WeakKeyDictionary[AgentRunner, Mapping[str, Any]] = WeakKeyDictionary()
"""What each agent may not do although the agent that asked it may: ``mode``, and rules that ``ask`` or ``deny``."""
SANDBOXES: WeakKeyDictionary[AgentRunner, Sequence[str]] = WeakKeyDictionary()
"""Names of the sandbox policies that hold each agent's tools, besides those that hold the tools of the agent that asked it."""
