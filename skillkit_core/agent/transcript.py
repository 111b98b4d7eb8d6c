"""The transcript of a run: announces and persists inputs, answers and tool results."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextvars import Context
from typing import Literal, TypeVar

from ..errors import interrupts
from ..events.results import UNSET, MessageEndResult
from ..events.types import MessageEndEvent, MessageStartEvent
from ..messages import AgentMessage, AssistantMessage, ToolResultMessage, with_time
from ..stream import MessageBuilder, StreamEvent
from .input import Kind, QueueItem, Receipt
from .run import Run
from .target import Target

__all__ = ["PartialAnswer", "Transcript"]

M = TypeVar("M", bound=AgentMessage)


class Transcript:
    """Persists the messages of one run, and emits ``message_start`` and ``message_end`` once for each answer and result.

    Attributes:
        answer: the answer of the current turn; ``None`` before it is persisted.
        results: the persisted tool results of the current turn.
    """

    def __init__(self, run: Run) -> None:
        self.answer: AssistantMessage | None = None
        self.results: list[ToolResultMessage] = []
        self._run = run
        self._bus = run.bus
        self._session = run.session
        # "open" after message_start of the answer, "closed" after message_end
        self._bracket: Literal["none", "open", "closed"] = "none"
        # the last persisted message, before the session redacted it
        self._persisted: AgentMessage | None = None
        # the entry id that message_end named, until the message is persisted
        self._announced: str | None = None

    async def _persist(self, message: AgentMessage) -> None:
        """Persist a message, and add the message to those of the run, also when only the wait for the disk fails."""
        session = self._session
        before, (entry_id, self._announced) = session.leaf_id, (self._announced, None)
        try:
            await session.append_message(message, entry_id=entry_id)
        finally:
            if session.leaf_id != before:
                self._persisted = message
                self._run.messages.append(session.context[-1])
            else:
                self._announced = entry_id

    async def say(self, message: AgentMessage, *, sync: bool = False) -> None:
        """Persist a message that did not come from a model. With ``sync``, its way to the disk begins, beside the request."""
        await self._persist(message if message.ts else with_time(message, self._run.clock.time()))
        if sync:
            self._session.handle.begin_sync()

    async def take(self, kind: Kind, mode: Literal["one_at_a_time", "all"]) -> int:
        """Persist the next message of a queue, or all; return how many. A message that fails stays queued (I14)."""
        run, queues = self._run, self._run.agent.queues
        waiting = len(queues.items[kind])
        if not waiting:
            return 0
        wanted, said = waiting if mode == "all" else 1, 0
        await run.checkpoint()
        while said < wanted and (items := queues.take(kind)):
            await self.keep(items[0])
            said += 1
        return said

    async def keep(self, item: QueueItem) -> None:
        """Persist a message that was taken from a queue; put it back if that fails."""
        run = self._run
        persisted = len(run.messages)
        try:
            for message in item.messages(run.clock.time()):
                await self.say(message, sync=True)
        finally:
            if len(run.messages) == persisted:
                run.agent.queues.put_back(item)
            elif (receipt := item.receipt) is not None:
                receipt.taken()
                run.receipts.append(receipt)

    async def take_until(self, receipt: Receipt) -> int:
        """Persist the queued messages up to the one for which the run began; return how many messages were persisted."""
        queues, mode, said = self._run.agent.queues, self._run.config.queue_mode, 0
        while not receipt.said and queues:
            said += await self.take("steer" if queues.items["steer"] else "follow_up", mode)
        return said

    def begin_turn(self) -> None:
        """Reset the answer and the results for a new turn."""
        self.answer, self.results = None, []

    def expect_answer(self) -> None:
        """Prepare for an answer that has no ``message_start`` yet: a wrapper may answer without a request."""
        self._bracket = "none"

    async def open_answer(self) -> None:
        """Emit ``message_start`` of an answer."""
        self._bracket = "open"
        await self._bus.fire(MessageStartEvent, message=None, role="assistant")

    async def drop_answer(self, message: AssistantMessage) -> None:
        """Emit ``message_end``, without an entry id, of an answer that is not persisted."""
        if self._bracket == "open":
            self._bracket = "closed"
            await self._bus.fire(MessageEndEvent, message=message, entry_id="")

    async def persist_answer(self, message: AssistantMessage) -> AssistantMessage:
        """Emit ``message_end`` and persist the answer, before any of its tools runs (I10); return the persisted answer."""
        message = self._run.context.unique_calls(message)
        if self._bracket == "none":
            await self.open_answer()  # a wrapper answered without a stream
        if self._bracket == "open":
            self._bracket = "closed"
            message = await self._message_end(message)
        try:
            await self._persist(message)
        finally:
            if self._persisted is message:
                self.answer = message
        return message

    async def _message_end(self, message: M) -> M:
        """Emit ``message_end``; return the message, or the message with which a handler replaces it."""
        if "message_end" not in self._bus.table:
            return message
        self._announced = self._session.announce()
        answer = await self._bus.fire(MessageEndEvent, message=message, entry_id=self._announced)
        replaced = answer.message if isinstance(answer, MessageEndResult) else UNSET
        return replaced if isinstance(replaced, type(message)) else message

    async def persist_results(self, results: Sequence[ToolResultMessage]) -> None:
        """Announce and persist the results; raise an abort in between only after all results are persisted (I1)."""
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
                    if stage == self._persist_result and self._persisted is not result:
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
            if self._persisted is result:
                self.results.append(result)
                if run.streaming:
                    name, call_id = result.tool_name, result.tool_call_id
                    text = run.messages[-1].text
                    run.push(StreamEvent("tool_result", text, tool_name=name, tool_call_id=call_id))
        return result


class PartialAnswer:
    """Writes the text of an answer into the session at an interval while the answer arrives, so that the text survives a kill.

    A timer does the work, so that a delta costs nothing. Text that may be the beginning of a secret waits for the rest.
    """

    def __init__(self, run: Run, builder: MessageBuilder, target: Target) -> None:
        self._run = run
        self._builder = builder
        self._target = target
        self._written = 0
        self._stopped = False
        self._task: asyncio.Task[None] | None = None
        self._arm()

    def _arm(self) -> None:
        # the loop keeps a cancelled timer for a while, and with it the context
        interval = self._run.session.handle.flush_interval
        self._timer = self._run.loop.call_later(interval, self._begin, context=Context())

    def _begin(self) -> None:
        self._task = self._run.own(self._write)

    async def _write(self) -> None:
        text = self._run.redact(self._builder.text)
        piece = text[self._written : len(text) - self._run.agent.host.secrets.begun(text)]
        if piece:
            # a session that cannot be written fails the run at its next entry, not here
            await self._append(piece)
            self._written += len(piece)
        if not self._stopped:
            self._arm()

    async def _append(self, piece: str) -> None:
        target = self._target
        about = {"provider": target.provider, "api": target.adapter.api, "model": target.model.id}
        await self._run.session.append("partial", {"text": piece, **about})

    async def stop(self) -> None:
        """Write no more, because the answer is whole or was cut off."""
        self._stopped = True
        self._timer.cancel()
        if self._task is not None:
            await asyncio.wait([self._task])

    async def drop(self) -> None:
        """Write an empty piece: what was written of the answer does not count."""
        if self._written:
            await self._append("")
