"""The base class of the parts of an agent, which hold the agent weakly."""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import ref

from ..errors import AgentError

if TYPE_CHECKING:
    from .runner import AgentRunner

__all__ = ["Part"]


class Part:
    """A part of an agent. The weak reference avoids a cycle, so that an agent that nobody uses is freed at once."""

    def __init__(self, agent: AgentRunner) -> None:
        self._whole = ref(agent)

    @property
    def _agent(self) -> AgentRunner:
        agent = self._whole()
        if agent is None:
            raise AgentError("the agent is gone", hint="keep a reference to the agent as long as something uses it")
        return agent
