"""What is said in a run: inputs, answers and results are announced, and persisted in the session."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Literal, TypeVar

from ..errors import interrupts
from ..events.results import UNSET, MessageEndResult
from ..events.types import MessageEndEvent, MessageStartEvent
from ..host.text import without_secrets
from ..messages import AgentMessage, AssistantMessage, ToolResultMessage, with_time
from ..stream import StreamEvent
from .input import Kind, Receipt
from .run import Run

__all__ = ["Transcript"]

M = TypeVar("M", bound=AgentMessage)


class Transcript:
    """Emits ``message_start`` and ``message_end`` of one run, each once, and persists what stands between them.

    Attributes:
        answer: the answer of the current turn, once it is persisted.
        results: the tool results of the current turn.
    """

    def __init__(self, run: Run) -> None:
        self.answer: AssistantMessage | None = None
        self.results: list[ToolResultMessage] = []
        self._run = run
        self._bus = run.bus
        self._session = run.session
        self._bracket: Literal["none", "open", "closed"] = "none"  # message_start and message_end of the answer
        self._announced: str | None = None  # the id that message_end has told of a message, until that is persisted

    def redacted(self, message: M) -> M:
        """Return ``message`` without secrets in its text: a server may echo a key, and the session keeps what it is told."""
        return without_secrets(message, self._run.redact)

    async def _persist(self, message: AgentMessage, *, sync: bool = False) -> None:
        """Persist a message of the run. It is one also when this raises after it was written: while the disk is waited for."""
        session = self._session
        before, (entry_id, self._announced) = session.leaf_id, (self._announced, None)
        try:
            await session.append_message(message, sync=sync, entry_id=entry_id)
        finally:
            if session.leaf_id != before:
                self._run.messages.append(message)
            else:
                self._announced = entry_id

    # --- inputs -----------------------------------------------------------------------------------------------

    async def say(self, message: AgentMessage, *, sync: bool = False) -> None:
        """Persist a message that no model has made."""
        message = self.redacted(message if message.ts else with_time(message, self._run.clock.time()))
        await self._persist(message, sync=sync)

    async def take(self, kind: Kind, mode: Literal["one_at_a_time", "all"]) -> int:
        """Say what waits in a queue; return how many messages were said.

        A message leaves its queue and is in the session, or waits still (I14).
        """
        run, queues = self._run, self._run.agent.queues
        waiting = len(queues.items[kind])
        if not waiting:
            return 0
        wanted, said = waiting if mode == "all" else 1, 0
        await run.checkpoint()
        while said < wanted and (items := queues.take(kind)):
            persisted = len(run.messages)
            try:
                for message in items[0].messages(run.clock.time()):
                    await self.say(message, sync=True)
            finally:
                if len(run.messages) == persisted:
                    queues.put_back(items[0])
                elif (receipt := items[0].receipt) is not None:
                    receipt.taken()
                    run.receipts.append(receipt)
            said += 1
        return said

    async def take_until(self, receipt: Receipt) -> int:
        """Say the message that the run began for, and what waited before it; return how many messages were said."""
        queues, mode, said = self._run.agent.queues, self._run.config.queue_mode, 0
        while not receipt.said and queues:
            said += await self.take("steer" if queues.items["steer"] else "follow_up", mode)
        return said

    # --- answers ----------------------------------------------------------------------------------------------

    def begin_turn(self) -> None:
        """Forget the answer and the results of the last turn."""
        self.answer, self.results = None, []

    def expect_answer(self) -> None:
        """Wrappers are about to give an answer, which has a ``message_start`` of its own also without a request."""
        self._bracket = "none"

    async def open_answer(self) -> None:
        """Emit ``message_start`` of an answer."""
        self._bracket = "open"
        await self._bus.fire(MessageStartEvent, message=None, role="assistant")

    async def drop_answer(self, message: AssistantMessage) -> None:
        """Emit ``message_end`` of an answer that is not persisted: there is no entry."""
        if self._bracket == "open":
            self._bracket = "closed"
            await self._bus.fire(MessageEndEvent, message=message, entry_id="")

    async def persist_answer(self, message: AssistantMessage) -> AssistantMessage:
        """Emit ``message_end``, then persist the answer: before any tool of it runs (I10)."""
        message = self._run.context.unique_calls(message)
        if self._bracket == "none":
            await self.open_answer()  # an around-hook gave an answer that no stream brought
        if self._bracket == "open":
            self._bracket = "closed"
            message = await self._message_end(message)
        try:
            await self._persist(message)
        finally:
            if self._run.messages and self._run.messages[-1] is message:
                self.answer = message
        return message

    async def _message_end(self, message: M) -> M:
        """Emit ``message_end``; return what the handlers make of the message."""
        if "message_end" not in self._bus.table:
            return message
        self._announced = self._session.announce()
        answer = await self._bus.fire(MessageEndEvent, message=message, entry_id=self._announced)
        replaced = answer.message if isinstance(answer, MessageEndResult) else UNSET
        return self.redacted(replaced) if isinstance(replaced, type(message)) else message

    # --- results ----------------------------------------------------------------------------------------------

    async def persist_results(self, results: Sequence[ToolResultMessage]) -> None:
        """Announce and persist the results; an abort in the middle is passed on when all of them are persisted (I1)."""
        passing: BaseException | None = None
        for result in results:
            for stage in (self._result_start, self._message_end, self._persist_result):
                try:
                    result = await stage(result)
                except BaseException as error:
                    if not interrupts(error) and not isinstance(error, asyncio.CancelledError):
                        raise
                    self._run.close()
                    if passing is None or interrupts(error):
                        passing = error
                    if stage == self._persist_result and (
                        not self._run.messages or self._run.messages[-1] is not result
                    ):
                        await self._persist_result(result)
        if passing is not None:
            raise passing

    async def _result_start(self, result: ToolResultMessage) -> ToolResultMessage:
        await self._bus.fire(MessageStartEvent, message=result, role="tool_result")
        return result

    async def _persist_result(self, result: ToolResultMessage) -> ToolResultMessage:
        run = self._run
        try:
            await self._persist(result)
        finally:
            if run.messages and run.messages[-1] is result:
                self.results.append(result)
                if run.streaming:
                    name, call_id = result.tool_name, result.tool_call_id
                    run.push(StreamEvent("tool_result", result.text, tool_name=name, tool_call_id=call_id))
        return result
