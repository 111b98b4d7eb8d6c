"""The context of a handler: its agent, session and user interface."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from weakref import ref

from ..abort import AbortSignal

if TYPE_CHECKING:
    from ..agent.runner import AgentRunner
    from ..agent.session import Session
    from ..contracts.user_interface import UserInterface

__all__ = ["HandlerContext"]


class HandlerContext:
    """The second argument of a handler that takes two."""

    __slots__ = ("_ref",)

    def __init__(self, agent: AgentRunner | None = None) -> None:
        self._ref = ref(agent) if agent is not None else None  # the agent owns its context

    @property
    def agent(self) -> AgentRunner | None:
        """The agent; ``None`` on a bus without an agent, and after the agent is gone."""
        return self._ref() if self._ref is not None else None

    def _agent(self) -> AgentRunner:
        agent = self.agent
        if agent is None:
            raise RuntimeError("this event bus belongs to no agent, or the agent is gone")
        return agent

    @property
    def signal(self) -> AbortSignal:
        """Set when the run is aborted."""
        return self._agent().scheduler.signal

    @property
    def agent_path(self) -> tuple[str, ...]:
        """``("main",)``, or deeper for a nested run."""
        return self._agent().events.agent_path if self.agent is not None else ("main",)

    @property
    def session(self) -> Session:
        """The session of the agent; raises as :attr:`AgentRunner.session`."""
        return self._agent().session

    @property
    def ui(self) -> UserInterface | None:
        """The user interface that reaches a person; ``None`` where nobody can be asked."""
        agent = self.agent
        return agent.ui if agent is not None else None

    async def steer(self, message: str) -> str:
        """Call :meth:`AgentRunner.steer`."""
        return await self._agent().steer(message)

    async def follow_up(self, message: str) -> str:
        """Call :meth:`AgentRunner.follow_up`."""
        return await self._agent().follow_up(message)

    def abort(self, reason: str | None = None) -> None:
        """End the run."""
        self._agent().abort(reason)

    def when_idle(self, callback: Callable[[], Any]) -> None:
        """Call ``callback()`` (sync or async) when the run is over, for work that a handler must not await."""
        self._agent().scheduler.when_idle(callback)
