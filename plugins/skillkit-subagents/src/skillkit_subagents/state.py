"""What is known of agents while nobody has asked one: the settings, and empty tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol
from weakref import WeakKeyDictionary

from skillkit_core.config import setting

if TYPE_CHECKING:
    from skillkit_core import AgentRunner

__all__ = ["CREW", "CREWS", "DEFAULTS", "HOOKS", "POLICIES", "POLICY", "SANDBOXES", "Settings"]


@dataclass(frozen=True, slots=True)
class Settings:
    """The section ``subagents``: how many agents may work for an agent, how deep, and how much each may use."""

    depth: int = setting(2, "how deep agents may ask agents; 0: the tool is not offered", ge=0, le=16)
    parallel: int = setting(4, "how many agents of one agent work at once; others wait", ge=1)
    total: int = setting(50, "how many agents may be asked in one session, those of agents included", ge=1)
    turns: int | None = setting(50, "most rounds of one agent with its model", ge=1)
    tokens: int | None = setting(None, "most tokens of one agent", ge=1)
    cost: float | None = setting(None, "most US dollars of one agent", ge=0)
    models: tuple[str, ...] | None = setting(
        None, "models that a model may choose for an agent; null: every known one, []: none"
    )
    model_aliases: dict[str, str] = setting(
        dict, "what names of models in agent files mean here, for example haiku: openai/gpt-5-mini"
    )


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
CREW = "subagents.crew"  # the topic that an agent arms that has asked another one
POLICY = "subagents.policy"  # the topic that an agent with such a policy arms
SANDBOXES: WeakKeyDictionary[AgentRunner, Sequence[str]] = WeakKeyDictionary()
"""Names of the sandbox policies that hold each agent's tools, besides those that hold the tools of the agent that asked it."""
