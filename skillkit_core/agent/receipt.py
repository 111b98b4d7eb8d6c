"""What an agent gives for a message that may begin a run: its id, and the answer when there is one."""

from __future__ import annotations

import asyncio
from concurrent.futures import Future
from typing import TYPE_CHECKING

from .response import AgentResponse

if TYPE_CHECKING:
    from .slot import RunSlot

__all__ = ["Receipt"]


class Receipt:
    """What ``steer(..., trigger=True)`` and ``follow_up(..., trigger=True)`` give.

    Attributes:
        id: the queued item, for :meth:`AgentRunner.cancel`; empty when a handler of ``input`` has dealt with the message.
    """

    def __init__(self, slot: RunSlot) -> None:
        self.id = ""
        self.wants_run = True  # until one has begun for it
        self.said = False
        self.watched = False  # whether somebody asked for the response
        self._slot = slot
        self._future: Future[AgentResponse] = Future()  # threads wait for it, too

    @property
    def done(self) -> bool:
        """Whether the run that took the message is over, or none will take it."""
        return self._future.done()

    async def response(self) -> AgentResponse:
        """Wait for the end of the run that takes the message, and give its response; from any thread and loop.

        Raises:
            AgentError: the run failed, or the message was taken back or the agent closed before it was said. RunAborted: the
            run was aborted. ReentrancyError: the caller is part of a run of this agent.
        """
        self._slot.refuse_reentry("response")
        self.watched = True
        return await asyncio.shield(asyncio.wrap_future(self._future))

    def settle(self, response: AgentResponse) -> None:
        """The run is over; only the first end counts."""
        if not self._future.done():
            self._future.set_result(response)

    def fail(self, error: BaseException) -> None:
        """There is no response; only the first end counts."""
        if not self._future.done():
            self._future.set_exception(error)
