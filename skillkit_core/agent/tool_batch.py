"""The tool calls of one answer run in sequence or at once; the results keep the order of the calls (spec, section 7)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from contextvars import Context
from typing import TYPE_CHECKING, Any

from ..errors import interrupts
from ..host.secrets import MASK
from ..messages import Outcome, ToolCall, ToolResultMessage
from ..tools import Tool
from .containment import Carried, carried, reason_of, seen, working_task
from .pump import ToolUpdates
from .repair import NO_RESULT
from .run import RunTask
from .suspension import NEW, Resumption, SuspendedCall
from .tool_call import FindTool, ToolCallRun

if TYPE_CHECKING:
    from .run import Run

__all__ = ["ToolBatch"]


class ToolBatch:
    """The tool calls of one assistant message.

    Args:
        run: the run of the batch.
        calls: the tool calls of the message.
        resume: the persisted calls and the decisions about the calls, when the run resumes a session.
        tools: the tools that the request offered; default: the tools of the agent.
    """

    def __init__(
        self, run: Run, calls: Sequence[ToolCall], resume: Resumption = NEW, tools: Sequence[Tool] | None = None
    ) -> None:
        self._run = run
        self._updates = ToolUpdates(run)
        self._find: FindTool = run.agent.toolbox.get if tools is None else {tool.name: tool for tool in tools}.get
        self._resume = resume
        self.calls = [
            ToolCallRun(run, call, (i, len(calls)), self._find, self._updates, resume) for i, call in enumerate(calls)
        ]

    async def execute(self, steered: Callable[[], bool]) -> None:
        """Run the batch, until every call has its result or waits for a decision.

        A cancellation ends the open calls within the grace time with the outcome ``interrupted``, and is raised then.

        Args:
            steered: return whether a steering message waits; calls that have not started are skipped then.
        """
        in_sequence = not self._run.config.parallel_tools or any(
            (tool := self._find(name)) is not None and tool.sequential for name in {c.call.name for c in self.calls}
        )
        await self._whole(self._in_sequence(steered) if in_sequence else self._at_once(steered))

    async def _whole(self, work: Coroutine[Any, Any, None]) -> None:
        """Await ``work``; when it raises, give every open call its result before the error passes (I1)."""
        task = working_task()
        try:
            await work
        except BaseException as error:
            # the closed coroutine has no task any more, so nothing can be awaited in it
            if isinstance(error, GeneratorExit) and working_task() is not task:
                raise
            self._run.close()
            if interrupts(error):
                self._run.signal.abort(reason_of(error))
            await self._interrupt("failed" if isinstance(error, Exception) else "was aborted")
            raise

    async def _in_sequence(self, steered: Callable[[], bool]) -> None:
        for i, call in enumerate(self.calls):
            if i and steered():
                await self.skip()
                return
            if call.result is not None:
                continue
            await call.prepare(self.calls[i:])
            if call.result is None and call.deferred is None:
                await self._execute([call])
            if not call.waiting:
                continue
            # later calls may build on the call that waits
            for later in self.calls[i + 1 :]:
                if later.result is None:
                    await later.wait()
            return

    async def _at_once(self, steered: Callable[[], bool]) -> None:
        for call in self.calls:
            if call.result is None:
                await call.prepare(self.calls)
        if steered():
            await self.skip()
            return
        prepared = [call for call in self.calls if call.result is None and call.deferred is None]
        if prepared:
            await self._execute(prepared)

    async def _execute(self, calls: Sequence[ToolCallRun]) -> None:
        """Run prepared calls at the same time; raise an interrupt at once, another error after all calls have ended."""
        left_out = [c.call.id for c in self.calls if c.result is None and c.deferred is None and c not in calls]
        tasks: list[asyncio.Task[None]] = [RunTask(carried(call.execute(left_out))) for call in calls]
        self._run.tasks.update(tasks)
        for task in tasks:
            task.add_done_callback(seen)
        left: set[asyncio.Task[None]] = set(tasks)
        while left:
            done, left = await asyncio.wait(left, return_when=asyncio.FIRST_EXCEPTION)
            self._run.tasks.difference_update(done)
            for task in done:
                if not task.cancelled() and isinstance(found := task.exception(), Carried):
                    raise found.error
        for task in tasks:
            task.result()

    async def skip(self) -> None:
        """Give every call that has not started the outcome ``skipped``."""
        await self._refuse(Outcome.skipped, "Skipped: the user sent a new instruction.")

    async def truncate(self) -> None:
        """Give every call the outcome ``truncated``, because the length limit cut the answer off."""
        text = "The answer was cut off by its length limit, so this call was not run. Make the call again, shorter."
        await self._whole(self._refuse(Outcome.truncated, text))

    async def _refuse(self, outcome: Outcome, text: str) -> None:
        for call in self.calls:
            if call.result is None:
                await call.refuse(outcome, text)

    async def _interrupt(self, how: str = "was aborted") -> None:
        """Cancel and await running calls within the grace time; give each open call a result that says ``how`` the run ended."""
        tasks = {t for t in self._run.tasks if not t.done()}
        for task in tasks:
            task.cancel()
        if tasks:
            # the loop keeps a cancelled timer, which must not keep the context of the run alive
            waiting = asyncio.wait(tasks, timeout=self._run.abort_grace)
            _, left = await asyncio.create_task(waiting, context=Context())
            self._run.agent.scheduler.abandon(left)
        self._updates.end()
        interrupted: BaseException | None = None
        for call in self.calls:
            # a handler may interrupt again: the call keeps the state that it has reached, so each handler is asked once
            while not call.ended:
                try:
                    await call.interrupt(how)
                except BaseException as error:
                    if not interrupts(error):
                        raise
                    interrupted = error
        if interrupted is not None:
            raise interrupted

    @property
    def suspended(self) -> list[SuspendedCall]:
        """The calls that wait for a decision, as the session persists them."""
        return [c.suspended(c.deferred or ()) for c in self.calls if c.waiting]

    async def deny_waiting(self, reason: str) -> None:
        """Deny every call that waits for a decision."""
        for call in self.calls:
            if call.waiting:
                await call.deny_waiting(reason)

    async def deny_all(self, reason: str) -> None:
        """Deny every call of a batch that an earlier run has suspended; the calls that a crash left open are interrupted."""
        await self.interrupt_unsafe()
        for call in self.calls:
            if call.result is None:
                await call.deny_waiting(reason)

    async def interrupt_waiting(self) -> list[ToolResultMessage]:
        """Give every call that waits for a decision the outcome ``interrupted``; return their results."""
        waiting = [call for call in self.calls if call.result is None]
        await self._interrupt()
        return [call.result for call in waiting if call.result is not None]

    async def interrupt_unsafe(self) -> None:
        """Give each call that a crash left open the outcome ``interrupted``, unless its tool has ``replay="safe"``."""
        for call in self.calls:
            tool = self._find(call.call.name)
            stored = self._resume.stored(call.call.id)
            # The call may have had a secret there, and would run with something else.
            redacted = MASK in str(call.call.args)
            if stored is None and (tool is None or tool.replay != "safe" or redacted):
                await call.refuse(Outcome.interrupted, NO_RESULT)

    @property
    def results(self) -> list[ToolResultMessage]:
        """The results so far, in the order of the calls."""
        return [call.result for call in self.calls if call.result is not None]

    @property
    def terminates(self) -> bool:
        """True when every call asks for the end of the run."""
        return bool(self.calls) and all(call.terminate for call in self.calls)
