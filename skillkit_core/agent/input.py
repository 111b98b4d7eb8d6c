"""What reaches an agent: the text of prompts and queued messages, the queues they wait in, and the receipts for them."""

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
from ..messages import AgentMessage, AssistantMessage, Block, StopReason, TextBlock, UserMessage, blocks_of, clean
from .part import Part
from .response import AgentResponse

if TYPE_CHECKING:
    from .runner import AgentRunner
    from .scheduler import Scheduler

__all__ = ["Delivery", "Input", "Kind", "QueueItem", "Queues", "Receipt"]

_COMMAND = re.compile(r"/[a-z][\w:-]*(?:\s|\Z)")  # "/compact now", but not "/etc/hosts looks wrong"


class Receipt:
    """What ``steer(..., trigger=True)`` and ``follow_up(..., trigger=True)`` give.

    Attributes:
        id: the queued item, for :meth:`AgentRunner.cancel`; empty when a handler of ``input`` has dealt with the message.
    """

    def __init__(self, scheduler: Scheduler) -> None:
        self.id = ""
        self.wants_run = True  # until one has begun for it
        self.said = False  # whether a run has taken the message
        self.watched = False  # whether somebody asked for the response
        self._scheduler = scheduler
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
        self._scheduler.refuse_reentry("response")
        self.watched = True
        return await asyncio.shield(asyncio.wrap_future(self._future))

    def taken(self) -> None:
        """A run has said the message."""
        self.said, self.wants_run = True, False

    def want_run(self, wanted: bool) -> None:
        """Say whether a run is still to begin for the message."""
        self.wants_run = wanted

    def resolve(self, response: AgentResponse) -> None:
        """The run is over; only the first end counts."""
        if not self._future.done():
            self._future.set_result(response)

    def fail(self, error: BaseException) -> None:
        """There is no response; only the first end counts."""
        if not self._future.done():
            self._future.set_exception(error)


Kind: TypeAlias = Literal["steer", "follow_up", "next_run"]


@dataclass(frozen=True, slots=True)
class QueueItem:
    """One queued message; it is known by its id, never by its text.

    Attributes:
        id: names it for :meth:`AgentRunner.cancel`.
        kind: the queue.
        text, images: what is said.
        reply: what a handler of ``input`` has answered; ``None``: nobody has.
        receipt: that of a message that may begin a run.
    """

    id: str
    kind: Kind
    text: str
    images: tuple[Block, ...] = ()
    reply: str | None = None
    receipt: Receipt | None = field(default=None, compare=False, repr=False)

    def messages(self, ts: float) -> list[AgentMessage]:
        """Return the item as a user message, with the reply to it if there is one."""
        return exchange(self.text, self.images, self.reply, ts, source=self.kind)


def exchange(
    text: str, images: Sequence[Block], reply: str | None, ts: float, source: str = "user"
) -> list[AgentMessage]:
    """Return what was said as a message, and what a handler has replied as another one."""
    said: list[AgentMessage] = []
    if content := ((TextBlock(text),) if text else ()) + tuple(images):
        said.append(UserMessage(content=content, source=source, ts=ts))
    if reply:
        said.append(AssistantMessage(content=blocks_of(reply), stop_reason=StopReason.stop, ts=ts))
    return said


class Queues:
    """The three queues of an agent. Every accepted item is consumed once, returned, or still here (I14).

    Attributes:
        items: what waits, by kind, oldest first.
    """

    def __init__(self, changed: Callable[[], None] = lambda: None) -> None:
        # Tuples: they are short, nearly always empty, and every session has three.
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
    ) -> str:
        """Queue a message; gives its id."""
        with self._lock:
            self._count += 1
            item = QueueItem(f"q{self._count}", kind, text, tuple(images), reply, receipt)
            if receipt is not None:
                receipt.id = item.id
            self.items[kind] += (item,)
        self._changed()
        return item.id

    def take(self, kind: Kind, mode: Literal["one_at_a_time", "all"] = "one_at_a_time") -> list[QueueItem]:
        """Consume the next item, or all of them."""
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
        """Undo a ``take``: what was taken could not be said after all."""
        with self._lock:
            self.items[item.kind] = (item, *self.items[item.kind])
            if self._consumed is not None:
                self._consumed.discard(item.id)
        self._changed()

    def cancel(self, item_id: str) -> Literal["cancelled", "already_consumed", "already_cleared"]:
        """Take an item out of its queue."""
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
        """Take out and return what waits for the running run; messages for the next run stay."""
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
        """Of the messages that may begin a run, the first one for which none has begun."""
        with self._lock:
            every = [*self.items["steer"], *self.items["follow_up"]]
        return next((i.receipt for i in every if i.receipt is not None and i.receipt.wants_run), None)

    def forsake(self, error: AgentError) -> None:
        """Say to whoever waits for a response that there will be none."""
        with self._lock:
            every = [*self.items["steer"], *self.items["follow_up"]]
        for item in every:
            if item.receipt is not None:
                item.receipt.fail(error)

    def waiting(self, kind: Kind) -> tuple[str, ...]:
        """The ids that wait, oldest first."""
        return tuple(item.id for item in self.items[kind])

    def __bool__(self) -> bool:
        return bool(self.items["steer"] or self.items["follow_up"])


Delivery = Literal["prompt", "steer", "follow_up"]


class Input(Part):
    """The one way in for what is said to an agent."""

    def __init__(self, agent: AgentRunner) -> None:
        super().__init__(agent)
        self._bus = agent.events
        self._redact = agent.redact

    async def prompt(self, text: str, images: Sequence[Block]) -> tuple[list[AgentMessage], Handled | None]:
        """Return the messages of a prompt, and the answer of a handler that has dealt with it."""
        text, blocks, handled = await self._asked(text, images, "prompt")
        if handled is not None:
            return exchange(text, blocks, handled.reply, self._bus.clock()) if handled.keep else [], handled
        said = exchange(text, blocks, None, self._bus.clock())
        if not said:
            raise UsageError("there is nothing to say: the message is empty")
        return said, None

    async def trigger(self, delivery: Delivery, text: str, images: Sequence[Block]) -> Receipt:
        """Queue something for the active run, or begin one with it; see :meth:`AgentRunner.steer`."""
        agent, scheduler = self._agent, self._agent.scheduler
        scheduler.require_free()
        if scheduler.run is None:
            await agent.open()
        receipt = Receipt(scheduler)
        if await self.queue(delivery, text, images, receipt):
            try:
                scheduler.begin_waiting()
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
        agent, scheduler = self._agent, self._agent.scheduler
        if _COMMAND.match(text):
            raise UsageError("a command cannot be queued into a run", hint="wait for its end")
        text, blocks, handled = await self._asked(text, images, delivery)
        if handled is not None:
            self._keep(text, blocks, handled)
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
        item_id = agent.queues.put("steer" if delivery == "steer" else "follow_up", text, blocks, receipt)
        if receipt is None and not scheduler.steerable and agent.queues.cancel(item_id) == "cancelled":
            raise late  # it ended on its thread while this one queued
        return item_id

    async def later(self, text: str, images: Sequence[Block]) -> str:
        """Keep a follow-up for the next run, as there is none; gives what :meth:`queue` gives."""
        agent = self._agent
        if agent.events.has("input"):
            await agent.open()
        text, blocks, handled = await self._asked(text, images, "follow_up")
        if handled is not None:
            self._keep(text, blocks, handled)
            return ""
        return agent.queues.put("next_run", text, blocks)

    def _keep(self, text: str, images: Sequence[Block], handled: Handled) -> None:
        """Have what a handler has dealt with said with the next prompt, if it is to be kept: now a run may go on."""
        if handled.keep:
            self._agent.queues.put("next_run", text, images, reply=handled.reply or "")

    async def _asked(
        self, text: str, images: Sequence[Block], delivery: Delivery
    ) -> tuple[str, tuple[Block, ...], Handled | None]:
        """Return what the handlers of ``input`` make of it, and the answer of one that has dealt with it."""
        text, blocks = self._redact(clean(text)), tuple(images)
        if "input" not in self._bus.table:
            return text, blocks, None
        try:
            answer = await self._bus.fire(InputEvent, text=text, images=blocks, delivery=delivery)
        except GuardFailed as error:
            raise AgentError(f"the input was rejected: {error}") from error
        if isinstance(answer, Handled):
            return text, blocks, answer
        if isinstance(answer, Transform):
            text = answer.text if isinstance(answer.text, str) else text
            blocks = blocks_of(answer.images) if answer.images is not UNSET else blocks  # type: ignore[arg-type]
        return text, blocks, None

    def queue_changed(self) -> None:
        """Emit ``queue_update``; from any thread."""
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
