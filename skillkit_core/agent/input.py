"""The input of an agent: prompts, queued messages, the queues, and the receipts."""

from __future__ import annotations

import asyncio
import contextlib
import re
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

from ..errors import AgentError, AsyncHandlerError, NoActiveRun, RunAborted, SkillKitError, UsageError
from ..events.results import UNSET, Handled, Transform
from ..events.subscriptions import GuardFailed
from ..events.types import InputEvent, QueueUpdateEvent
from ..messages import (
    AgentMessage,
    AssistantMessage,
    Block,
    Origin,
    StopReason,
    TextBlock,
    UserMessage,
    blocks_of,
    clean,
)
from .part import Part
from .response import AgentResponse

if TYPE_CHECKING:
    from .runner import AgentRunner
    from .scheduler import Scheduler

__all__ = ["Delivery", "Input", "Kind", "QueueItem", "Queues", "Receipt"]

_COMMAND = re.compile(r"/[a-z][\w:-]*(?:\s|\Z)")  # "/compact now", but not "/etc/hosts looks wrong"


class Receipt:
    """The receipt of ``steer(..., trigger=True)`` or ``follow_up(..., trigger=True)``.

    Attributes:
        id: the id of the queued item, for :meth:`AgentRunner.cancel`; empty when a handler of ``input`` answered.
        wants_run: no run has begun for the message yet.
        said: a run has persisted the message.
        watched: somebody has called :meth:`response`.
    """

    def __init__(self, scheduler: Scheduler) -> None:
        self.id = ""
        self.wants_run = True
        self.said = self.watched = False
        self._scheduler = scheduler
        self._future: Future[AgentResponse] = Future()

    @property
    def done(self) -> bool:
        """True when the run that took the message is over, or no run will take the message."""
        return self._future.done()

    async def response(self) -> AgentResponse:
        """Wait for the end of the run that takes the message; return the response. Any thread and loop may call this.

        Raises:
            AgentError: the run failed, or the message was cancelled or the agent closed before a run took the message.
            RunAborted: the run was aborted.
            ReentrancyError: the caller is part of a run of this agent.
        """
        self._scheduler.refuse_reentry("response")
        self.watched = True
        return await asyncio.shield(asyncio.wrap_future(self._future))

    def taken(self) -> None:
        """Mark the message as persisted by a run."""
        self.said, self.wants_run = True, False

    def want_run(self, wanted: bool) -> None:
        """Set whether a run must still begin for the message."""
        self.wants_run = wanted

    def resolve(self, response: AgentResponse) -> None:
        """Set the response, unless the receipt has a response or an error."""
        if not self._future.done():
            self._future.set_result(response)

    def fail(self, error: BaseException) -> None:
        """Set the error, unless the receipt has a response or an error."""
        if not self._future.done():
            self._future.set_exception(error)


Kind: TypeAlias = Literal["steer", "follow_up", "next_run"]


@dataclass(frozen=True, slots=True)
class QueueItem:
    """One queued message.

    Attributes:
        id: the id for :meth:`AgentRunner.cancel`.
        kind: the queue.
        text: the text of the message.
        images: the image and document blocks of the message.
        reply: the reply of a handler of ``input``; ``None``: no handler has replied.
        receipt: the receipt of a message that may begin a run.
        pinned: compaction keeps the message.
        origin: who sent the message, and from where.
    """

    id: str
    kind: Kind
    text: str
    images: tuple[Block, ...] = ()
    reply: str | None = None
    receipt: Receipt | None = field(default=None, compare=False, repr=False)
    pinned: bool = False
    origin: Origin | None = None

    def messages(self, ts: float) -> list[AgentMessage]:
        """Return the item as a user message, followed by the reply if there is one."""
        return exchange(self.text, self.images, self.reply, ts, self.kind, self.pinned, self.origin)


def exchange(
    text: str,
    images: Sequence[Block],
    reply: str | None,
    ts: float,
    source: str = "user",
    pinned: bool = False,
    origin: Origin | None = None,
) -> list[AgentMessage]:
    """Return a user message, and the reply of a handler as an answer; leave out either one if it is empty."""
    said: list[AgentMessage] = []
    if content := ((TextBlock(text),) if text else ()) + tuple(images):
        said.append(UserMessage(content=content, source=source, pinned=pinned, origin=origin, ts=ts))
    if reply:
        said.append(AssistantMessage(content=blocks_of(reply), stop_reason=StopReason.stop, ts=ts))
    return said


class Queues:
    """The three queues of an agent. Every accepted item is consumed once, returned, or still queued (I14).

    Attributes:
        items: the queued items by kind, oldest first.
    """

    def __init__(self, changed: Callable[[], None] = lambda: None) -> None:
        # an empty tuple costs no memory, and queues are nearly always empty
        self.items: dict[Kind, tuple[QueueItem, ...]] = {"steer": (), "follow_up": (), "next_run": ()}
        self._count = 0
        self._consumed: set[str] | None = None
        self._changed = changed
        self._lock = threading.Lock()  # abort() clears from any thread

    def put(
        self,
        kind: Kind,
        text: str,
        images: Sequence[Block] = (),
        receipt: Receipt | None = None,
        reply: str | None = None,
        pinned: bool = False,
        origin: Origin | None = None,
    ) -> str:
        """Queue a message; return the id of the item."""
        with self._lock:
            self._count += 1
            item = QueueItem(f"q{self._count}", kind, text, tuple(images), reply, receipt, pinned, origin)
            if receipt is not None:
                receipt.id = item.id
            self.items[kind] += (item,)
        self._changed()
        return item.id

    def take(self, kind: Kind, mode: Literal["one_at_a_time", "all"] = "one_at_a_time") -> list[QueueItem]:
        """Consume and return the next item, or all items."""
        with self._lock:
            queue = self.items[kind]
            items = list(queue if mode == "all" else queue[:1])
            if not items:
                return items
            self.items[kind] = queue[len(items) :]
            if self._consumed is None:
                self._consumed = set()
            self._consumed.update(item.id for item in items)
        self._changed()
        return items

    def put_back(self, item: QueueItem) -> None:
        """Undo a ``take`` of an item that could not be persisted."""
        with self._lock:
            self.items[item.kind] = (item, *self.items[item.kind])
            if self._consumed is not None:
                self._consumed.discard(item.id)
        self._changed()

    def cancel(self, item_id: str) -> Literal["cancelled", "already_consumed", "already_cleared"]:
        """Remove an item from its queue; return whether the item was still queued."""
        with self._lock:
            item = next((i for queue in self.items.values() for i in queue if i.id == item_id), None)
            if item is None:
                return "already_consumed" if item_id in (self._consumed or ()) else "already_cleared"
            self.items[item.kind] = tuple(i for i in self.items[item.kind] if i is not item)
        if item.receipt is not None:
            item.receipt.fail(AgentError("the message was taken back before it was said"))
        self._changed()
        return "cancelled"

    def clear(self) -> list[QueueItem]:
        """Remove and return the items for the active run; items for the next run stay."""
        with self._lock:
            items = [*self.items["steer"], *self.items["follow_up"]]
            self.items["steer"] = self.items["follow_up"] = ()
        for item in items:
            if item.receipt is not None:
                item.receipt.fail(RunAborted("the run was aborted before the message was said"))
        if items:
            self._changed()
        return items

    def wanting(self) -> Receipt | None:
        """Return the receipt of the first message for which a run must still begin."""
        with self._lock:
            every = [*self.items["steer"], *self.items["follow_up"]]
        return next((i.receipt for i in every if i.receipt is not None and i.receipt.wants_run), None)

    def forsake(self, error: AgentError) -> None:
        """Fail the receipts of all queued messages."""
        with self._lock:
            every = [*self.items["steer"], *self.items["follow_up"]]
        for item in every:
            if item.receipt is not None:
                item.receipt.fail(error)

    def waiting(self, kind: Kind) -> tuple[str, ...]:
        """Return the ids of the queued items, oldest first."""
        return tuple(item.id for item in self.items[kind])

    def __bool__(self) -> bool:
        return bool(self.items["steer"] or self.items["follow_up"])


Delivery = Literal["prompt", "steer", "follow_up"]


class Input(Part):
    """Passes prompts and messages through the ``input`` handlers into runs and queues."""

    def __init__(self, agent: AgentRunner) -> None:
        super().__init__(agent)
        self._bus = agent.events
        self._redact = agent.redact

    async def prompt(
        self, text: str, images: Sequence[Block], origin: Origin | None
    ) -> tuple[list[AgentMessage], Handled | None]:
        """Return the messages of a prompt, and the answer of a handler that handled the prompt."""
        text, blocks, pinned, handled = await self._asked(text, images, "prompt", origin)
        reply = None if handled is None else handled.reply
        said = exchange(text, blocks, reply, self._bus.clock(), pinned=pinned, origin=origin)
        if handled is not None:
            return said if handled.keep else [], handled
        if not said:
            raise UsageError("there is nothing to say: the message is empty")
        return said, None

    async def trigger(self, delivery: Delivery, text: str, images: Sequence[Block], origin: Origin | None) -> Receipt:
        """Queue a message for the active run, or begin a run with it; see :meth:`AgentRunner.steer`."""
        agent, scheduler = self._agent, self._agent.scheduler
        scheduler.require_free()
        if scheduler.run is None:
            await agent.open()
        receipt = Receipt(scheduler)
        if await self.queue(delivery, text, images, origin, receipt):
            try:
                scheduler.begin_waiting()
            except SkillKitError:
                agent.queues.cancel(receipt.id)
                raise
        return receipt

    async def queue(
        self,
        delivery: Delivery,
        text: str,
        images: Sequence[Block],
        origin: Origin | None = None,
        receipt: Receipt | None = None,
    ) -> str:
        """Queue a message for the active run; return the item's id, or an empty one when a handler handled the message.

        A message with a ``receipt`` is queued also without an active run.
        """
        agent, scheduler = self._agent, self._agent.scheduler
        if _COMMAND.match(text):
            raise UsageError("a command cannot be queued into a run", hint="wait for its end")
        text, blocks, pinned, handled = await self._asked(text, images, delivery, origin)
        if handled is not None:
            self._keep(text, blocks, handled, origin)
            if receipt is not None:
                receipt.resolve(AgentResponse(content=handled.reply or "", session_id=agent.session_id))
            return ""
        late = NoActiveRun("the run ended before the message could be queued", hint="use chat()")
        if receipt is not None:
            scheduler.require_free()
        elif not scheduler.steerable:
            raise late
        if not text and not blocks:
            raise UsageError("there is nothing to say: the message is empty")
        kind: Kind = "steer" if delivery == "steer" else "follow_up"
        item_id = agent.queues.put(kind, text, blocks, receipt, pinned=pinned, origin=origin)
        if receipt is None and not scheduler.steerable and agent.queues.cancel(item_id) == "cancelled":
            raise late  # the run ended on another thread in between
        return item_id

    async def later(self, text: str, images: Sequence[Block], origin: Origin | None) -> str:
        """Queue a follow-up for the next run; return as :meth:`queue`."""
        agent = self._agent
        if agent.events.has("input"):
            await agent.open()
        text, blocks, pinned, handled = await self._asked(text, images, "follow_up", origin)
        if handled is not None:
            self._keep(text, blocks, handled, origin)
            return ""
        return agent.queues.put("next_run", text, blocks, pinned=pinned, origin=origin)

    def _keep(self, text: str, images: Sequence[Block], handled: Handled, origin: Origin | None) -> None:
        """Queue a handled message and its reply for the next prompt if the handler keeps both: a run may be active now."""
        if handled.keep:
            self._agent.queues.put("next_run", text, images, reply=handled.reply or "", origin=origin)

    async def _asked(
        self, text: str, images: Sequence[Block], delivery: Delivery, origin: Origin | None
    ) -> tuple[str, tuple[Block, ...], bool, Handled | None]:
        """Emit ``input``; return text, images and ``pinned`` as the handlers want them, and the answer of one that handled it."""
        text, blocks = self._redact(clean(text)), tuple(images)
        if "input" not in self._bus.table:
            return text, blocks, False, None
        try:
            answer = await self._bus.fire(InputEvent, text=text, images=blocks, origin=origin, delivery=delivery)
        except GuardFailed as error:
            raise AgentError(f"the input was rejected: {error}") from error
        if isinstance(answer, Handled):
            return text, blocks, False, answer
        if isinstance(answer, Transform):
            text = answer.text if isinstance(answer.text, str) else text
            blocks = blocks_of(answer.images) if answer.images is not UNSET else blocks  # type: ignore[arg-type]
        return text, blocks, isinstance(answer, Transform) and answer.pinned is True, None

    def queue_changed(self) -> None:
        """Emit ``queue_update``; any thread may call this."""
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
            with contextlib.suppress(AsyncHandlerError):  # without a running loop, async handlers cannot run
                bus.emit_sync(event)
        else:
            bus.emit_threadsafe(event)  # handlers run on the thread of the loop, whoever calls this
