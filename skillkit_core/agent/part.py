"""What the parts of an agent have in common: they know the agent, and do not keep it alive."""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import ref

from ..errors import AgentError

if TYPE_CHECKING:
    from .runner import AgentRunner

__all__ = ["Part"]


class Part:
    """A part of an agent.

    The agent holds its parts, and they hold it weakly: an agent that nobody uses any more is freed at once, with its session
    and all its messages, instead of waiting for the garbage collector as one of many cycles.
    """

    def __init__(self, agent: AgentRunner) -> None:
        self._whole = ref(agent)

    @property
    def _agent(self) -> AgentRunner:
        agent = self._whole()
        if agent is None:
            raise AgentError("the agent is gone", hint="keep a reference to the agent as long as something uses it")
        return agent
