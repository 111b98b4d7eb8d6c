"""What a user says, on its way into a run: cleaned, redacted, shown to the handlers of ``input``, then a prompt or queued."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from ..errors import AgentError, AsyncHandlerError, NoActiveRun, SkillKitError, UsageError
from ..events.bus import GuardFailed
from ..events.results import UNSET, Handled, Transform
from ..events.types import InputEvent, QueueUpdateEvent
from ..messages import AgentMessage, Block, TextBlock, UserMessage, blocks_of
from ..stream import StreamEvent
from .part import Part
from .receipt import Receipt
from .response import AgentResponse
from .run import Run
from .text import clean

if TYPE_CHECKING:
    from .runner import AgentRunner

__all__ = ["Delivery", "Intake"]

Delivery = Literal["prompt", "steer", "follow_up"]


class Intake(Part):
    """The one way in for what is said to an agent."""

    def __init__(self, agent: AgentRunner) -> None:
        super().__init__(agent)

    async def prompt(self, run: Run, text: str, images: Sequence[Block]) -> list[AgentMessage] | None:
        """The messages that a run begins with, or ``None`` when a handler has dealt with the matter."""
        agent = self._agent
        accepted = await self._asked(text, images, "prompt")
        if isinstance(accepted, Handled):
            run.content = accepted.reply or ""
            run.push(StreamEvent("text_delta", run.content, index=0))
            run.push(StreamEvent("done", run.content))
            return None
        text, blocks = accepted
        content = ((TextBlock(text),) if text else ()) + blocks
        if not content:
            raise UsageError("there is nothing to say: the message is empty")
        agent.compaction_off = False
        return [UserMessage(content=content, ts=agent.clock.time())]

    async def trigger(self, delivery: Delivery, text: str, images: Sequence[Block]) -> Receipt:
        """Queue something for the active run, or begin one with it; see :meth:`AgentRunner.steer`."""
        agent, slot = self._agent, self._agent.slot
        slot.require_free()
        if slot.run is None:
            await agent.open()
        receipt = Receipt(slot)
        if await self.queue(delivery, text, images, receipt):
            try:
                slot.begin_waiting()
            except SkillKitError:
                agent.queues.cancel(receipt.id)
                raise
        return receipt

    async def queue(
        self, delivery: Delivery, text: str, images: Sequence[Block], receipt: Receipt | None = None
    ) -> str:
        """Queue something for the active run; gives the item's id, an empty one when a handler has dealt with it.

        With a ``receipt`` it is queued also while nothing runs.
        """
        agent, slot = self._agent, self._agent.slot
        if text.startswith("/"):
            raise UsageError("a command cannot be queued into a run", hint="wait for its end")
        accepted = await self._asked(text, images, delivery)
        if isinstance(accepted, Handled):
            if receipt is not None:
                receipt.settle(AgentResponse(content=accepted.reply or "", session_id=agent.session_id))
            return ""
        late = NoActiveRun("the run ended before the message could be queued", hint="use chat()")
        if receipt is not None:
            slot.require_free()
        elif not slot.steerable:
            raise late
        text, blocks = accepted
        if not text and not blocks:
            raise UsageError("there is nothing to say: the message is empty")
        item_id = agent.queues.put("steer" if delivery == "steer" else "follow_up", text, blocks, receipt)
        if receipt is None and not slot.steerable and agent.queues.cancel(item_id) == "cancelled":
            raise late  # it ended on its thread while this one queued
        return item_id

    async def later(self, text: str, images: Sequence[Block]) -> str:
        """Keep a follow-up for the next run, as there is none; gives what :meth:`queue` gives."""
        agent = self._agent
        if agent.events.has("input"):
            await agent.open()
        accepted = await self._asked(text, images, "follow_up")
        return "" if isinstance(accepted, Handled) else agent.queues.put("next_run", *accepted)

    async def _asked(
        self, text: str, images: Sequence[Block], delivery: Delivery
    ) -> tuple[str, tuple[Block, ...]] | Handled:
        """What the handlers of ``input`` make of it."""
        agent = self._agent
        text, blocks = agent.host.redact(clean(text)), tuple(images)
        if not agent.events.has("input"):
            return text, blocks
        event = agent.events.make(InputEvent, text=text, images=blocks, delivery=delivery)
        try:
            answer = await agent.events.emit(event)
        except GuardFailed as error:
            raise AgentError(f"the input was rejected: {error}") from error
        if isinstance(answer, Handled):
            return answer
        if isinstance(answer, Transform):
            text = answer.text if isinstance(answer.text, str) else text
            blocks = blocks_of(answer.images) if answer.images is not UNSET else blocks  # type: ignore[arg-type]
        return text, blocks

    def queue_changed(self) -> None:
        """Tell ``queue_update``; from any thread."""
        bus, queues = self._agent.events, self._agent.queues
        if not bus.has("queue_update"):
            return
        event = bus.make(
            QueueUpdateEvent,
            steering=queues.waiting("steer"),
            follow_up=queues.waiting("follow_up"),
            next_run=queues.waiting("next_run"),
        )
        try:
            here: asyncio.AbstractEventLoop | None = asyncio.get_running_loop()
        except RuntimeError:
            here = None
        if bus.loop is None or bus.loop.is_closed() or (here is bus.loop and bus.all_sync("queue_update")):
            with contextlib.suppress(AsyncHandlerError):  # an async handler has no loop to run on here
                bus.emit_sync(event)
        else:
            bus.emit_threadsafe(event)  # handlers run on the thread of the loop, also when another one aborts
