"""A run that code drives in the place of a model: what the driver asks for, the loop does (spec, section 7)."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from ..contracts.driver import Driver
from ..contracts.session_store import DRIVEN
from ..errors import AgentError, LimitReached, SkillKitError, UsageError, in_words
from ..frozen import thaw
from ..messages import AgentMessage, AssistantMessage, StopReason, ToolCall, ToolResultMessage, clean, message_from_dict
from ..stream import StreamEvent
from ..tools import Tool
from .completion import complete
from .containment import Carried, carried, seen
from .input import QueueItem
from .nesting import current_parent
from .run import Run, RunTask

if TYPE_CHECKING:
    from .loop import Loop

__all__ = ["Drive"]

T = TypeVar("T")


class _Work(NamedTuple):
    """Something that the driver waits for, or that was taken from a queue."""

    do: Callable[[], Awaitable[Any]]
    done: asyncio.Future[Any] | None = None
    taken: Sequence[QueueItem] = ()


class Drive:
    """The run, as the driver holds it (:class:`DrivenRun`).

    The driver has a task of its own, so that a driver that hangs or swallows its cancellation cannot hold the run. What the
    driver says and calls, the task of the run does, in the order in which the driver asked: there is one turn at a time.
    """

    def __init__(self, loop: Loop, driver: Driver, query: str, resumed: bool) -> None:
        self._loop = loop
        self._run: Run = loop.run
        self._driver = driver
        self.agent = loop.agent
        self.query = query
        self.resumed = resumed
        self.signal = loop.run.signal
        self._kept: Kept | None = None
        self._work: asyncio.Queue[_Work | None] = asyncio.Queue()
        self._over = False  # nothing is done for the driver any more

    # --- what the driver does -----------------------------------------------------------------------------------

    @property
    def messages(self) -> Sequence[AgentMessage]:
        """The messages of the branch, from the newest compaction on."""
        return self._run.session.messages

    async def say(self, text: str) -> None:
        """Say a text as one assistant message."""
        if not isinstance(text, str):
            raise UsageError(f"a driver says a text, not {type(text).__name__}")
        await self._wait_for(partial(self._say, self._run.redact(clean(text))))

    async def call(self, *calls: ToolCall) -> tuple[ToolResultMessage, ...]:
        """Make tool calls, and return their results in the order of the calls."""
        for call in calls:
            if not isinstance(call, ToolCall):
                raise UsageError(f"a driver calls ToolCall(id, name, args), not {type(call).__name__}")
        return await self._wait_for(partial(self._call, calls))

    async def ask(
        self,
        messages: Sequence[AgentMessage],
        *,
        system: str = "",
        tools: Sequence[Tool] = (),
        schema: Mapping[str, Any] | None = None,
        purpose: str,
        role: str | None = None,
    ) -> AssistantMessage:
        """Ask the model of the run once."""
        await self._require_open()
        return await complete(
            self._run, messages, system=system, tools=tools, schema=schema, purpose=purpose, role=role
        )

    def checkpoint(self) -> list[QueueItem]:
        """Take and return the steering messages that have come."""
        items = [] if self._over else self.agent.queues.take("steer", self._run.config.queue_mode)
        if items:
            self._work.put_nowait(_Work(partial(self._keep, items), taken=items))
        return items

    async def _require_open(self) -> None:
        parent = current_parent()
        if parent is not None and parent.call is not None and parent.run is self._run:
            raise UsageError("a tool cannot speak or call for the driver that waits for it", hint="return the output")
        if self._over or self._run.closing:
            # a driver that swallows this in a loop must not hold the event loop
            await asyncio.sleep(0)
            raise AgentError("the run is over", hint="a driver speaks and calls before drive() returns")

    async def _wait_for(self, do: Callable[[], Awaitable[T]]) -> T:
        await self._require_open()
        done: asyncio.Future[T] = self._run.loop.create_future()
        self._work.put_nowait(_Work(do, done))
        return await done

    # --- what the task of the run does for it -------------------------------------------------------------------

    async def to_the_end(self) -> bool:
        """Let the driver drive the run, until the driver is done or the run has another end; return whether it is done."""
        run = self._run
        if self.resumed:
            self._kept = Kept(run)
        else:
            await run.session.append("custom", {"custom_type": DRIVEN}, sync=True)
        task = RunTask(carried(self._drive()), name=f"driver of {run.id}")
        run.tasks.add(task)
        task.add_done_callback(seen)
        task.add_done_callback(lambda _: self._work.put_nowait(None))
        try:
            while (work := await self._work.get()) is not None and not task.done():
                await self._do(work)
                if self._over:
                    return False
                if run.signal.aborted:
                    await run.checkpoint()
            if work is not None and work.taken:
                await work.do()
        finally:
            self._over = True
            await self._dismiss(task)
        self._check(task)
        return run.outcome == "completed"

    async def _drive(self) -> None:
        await self._driver.drive(self)

    async def _do(self, work: _Work) -> None:
        """Do one thing; what the driver did wrong, and a limit, go to the driver, everything else ends the run."""
        done = work.done
        if done is not None and done.done():
            return  # the driver waits no more
        try:
            answer = await work.do()
        except (LimitReached, UsageError) as error:
            if self._loop.in_turn:
                raise
            if done is not None and not done.done():
                done.set_exception(error)
            return
        if done is not None and not done.done() and not self._over:
            done.set_result(answer)

    async def _dismiss(self, task: asyncio.Task[None]) -> None:
        """Cancel the driver if it still works, and let it go after the grace time; put back what was taken and not persisted."""
        run = self._run
        if not task.done():
            run.close()
            task.cancel()
            _, left = await asyncio.wait([task], timeout=run.abort_grace)
            self.agent.scheduler.abandon(left)
        run.tasks.discard(task)
        while not self._work.empty():
            work = self._work.get_nowait()
            if work is not None and work.done is not None:
                work.done.cancel()
            for item in reversed(work.taken if work is not None else ()):
                self.agent.queues.put_back(item)

    def _check(self, task: asyncio.Task[None]) -> None:
        """Raise what the driver raised; conclude a run whose driver met a limit."""
        if task.cancelled():
            raise asyncio.CancelledError
        error = task.exception()
        if isinstance(error, Carried):
            raise error.error
        if isinstance(error, LimitReached):
            self._run.conclude("limit", error.message)
        elif isinstance(error, SkillKitError):
            raise error
        elif error is not None:
            raise AgentError(f"the driver {type(self._driver).__name__} failed: {in_words(error)}") from error

    async def _say(self, text: str) -> None:
        run = self._run
        if text.strip() and not (self._kept is not None and self._kept.said(text)):
            run.ledger.count_turn()
            await self._answer(_spoken(text))
            await self._end_turn()
        run.answered(text, StopReason.stop)

    async def _call(self, calls: Sequence[ToolCall]) -> tuple[ToolResultMessage, ...]:
        stored = [self._kept.result(call) if self._kept is not None else None for call in calls]
        fresh = [call for call, result in zip(calls, stored, strict=True) if result is None]
        made: dict[str, ToolResultMessage] = {}
        ids: list[str] = []
        if fresh:
            run, loop = self._run, self._loop
            run.ledger.begin_turn()
            message = await self._answer(_called(fresh))
            ids = [call.id for call in message.tool_calls]
            batch = await loop.run_calls(message)
            if batch is not None and batch.suspended:
                self._over = True
                await loop.suspend(batch)
                return ()
            made = {result.tool_call_id: result for result in loop.transcript.results}
            await self._end_turn()
        new = iter([made[call_id] for call_id in ids])
        return tuple([result if result is not None else next(new) for result in stored])

    async def _answer(self, stream: AsyncGenerator[StreamEvent, None]) -> AssistantMessage:
        """Begin a turn, and show and persist what the driver says in it."""
        loop = self._loop
        await loop.begin_turn()
        assert loop.call is not None
        return await loop.transcript.persist_answer(await loop.call.play(stream))

    async def _end_turn(self) -> None:
        stop = await self._loop.end_turn()
        if stop is not None:
            self._over = True
            self._loop.stopped(stop)

    async def _keep(self, items: Sequence[QueueItem]) -> None:
        for item in items:
            await self._loop.transcript.keep(item)


class Kept:
    """What the branch holds of an earlier run of the driver for the same input: texts, and the results of calls."""

    def __init__(self, run: Run) -> None:
        self._redact = run.redact
        self._texts: list[str] = []
        self._results: dict[str, deque[ToolResultMessage]] = {}
        path = run.session.path()
        begin = next((i for i, entry in enumerate(path) if entry.id == run.session.driven), len(path))
        messages = [message_from_dict(e.data["message"], e.ts) for e in path[begin:] if e.type == "message"]
        results = {m.tool_call_id: m for m in messages if isinstance(m, ToolResultMessage)}
        for message in messages:
            if not isinstance(message, AssistantMessage):
                continue
            if message.text:
                self._texts.append(message.text)
            for call in message.tool_calls:
                if call.id in results:
                    self._results.setdefault(self._key(call), deque()).append(results[call.id])

    def _key(self, call: ToolCall) -> str:
        """Return what a call is known by. Secrets in the arguments are redacted, as in the session."""
        return json.dumps([call.name, thaw(self._redact(call.args))], sort_keys=True, default=str)

    def result(self, call: ToolCall) -> ToolResultMessage | None:
        """Return the stored result of a call once; ``None``: the call has not been made."""
        found = self._results.get(self._key(call))
        return found.popleft() if found else None

    def said(self, text: str) -> bool:
        """Return once whether a text has been said."""
        if text not in self._texts:
            return False
        self._texts.remove(text)
        return True


async def _spoken(text: str) -> AsyncGenerator[StreamEvent, None]:
    """Yield a text as the events of an answer."""
    yield StreamEvent("text_start", index=0)
    yield StreamEvent("text_delta", text, index=0)
    yield StreamEvent("text_end", index=0)
    yield StreamEvent("done", stop_reason=StopReason.stop)


async def _called(calls: Sequence[ToolCall]) -> AsyncGenerator[StreamEvent, None]:
    """Yield calls as the events of an answer."""
    for i, call in enumerate(calls):
        about: dict[str, Any] = {"index": i, "tool_name": call.name, "tool_call_id": call.id}
        raw = call.raw_args or json.dumps(thaw(call.args), default=str)
        yield StreamEvent("tool_call_start", **about)
        yield StreamEvent("tool_call_delta", raw, **about)
        yield StreamEvent("tool_call_end", block=ToolCall(call.id, call.name, call.args, raw), **about)
    yield StreamEvent("done", stop_reason=StopReason.tool_calls)
