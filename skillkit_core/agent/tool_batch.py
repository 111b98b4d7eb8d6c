"""The calls of one answer: run in sequence or at once, their results in the order of the calls (spec, section 7)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Sequence
from contextvars import Context
from typing import TYPE_CHECKING, Any

from ..containment import (
    Carried,
    Escaped,
    await_contained,
    call_contained,
    carried,
    in_words,
    interrupts,
    reason_of,
    seen,
    working_task,
)
from ..contracts.approver import ApprovalDecision
from ..errors import SkillKitError, ToolError
from ..events.bus import EventBus
from ..events.results import UNSET
from ..frozen import EMPTY
from ..messages import Outcome, ToolCall, ToolResultMessage
from ..tools import ToolOutput
from .around import wrapped
from .nesting import work_in
from .pump import Updates
from .repair import NO_RESULT
from .suspension import Resumption, SuspendedCall
from .tool_call import IN_PROCESS, CallContext, Preparation, Prepared, Settlement, as_output, checked, tell_decision

if TYPE_CHECKING:
    from .run import Run

__all__ = ["ToolBatch"]

log = logging.getLogger("skillkit.agent")


class ToolBatch:
    """The calls of one assistant message."""

    def __init__(self, run: Run, calls: Sequence[ToolCall]) -> None:
        self.run = run
        self.bus: EventBus = run.agent.events
        self.items = [Prepared(call, i) for i, call in enumerate(calls)]
        self._settlement = Settlement(run)
        self._preparation = Preparation(run, self._settlement, len(self.items))
        self._updates = Updates(run)

    # --- running ----------------------------------------------------------------------------------------------

    async def run_one(self, item: Prepared) -> None:
        """Run one prepared call and settle it."""
        clock = self.run.agent.clock
        item.begun_at = clock.monotonic()
        if item.substitute is not UNSET:
            output, outcome = as_output(item.substitute), Outcome.ok
            if output.is_error:
                outcome = Outcome.error
        else:
            output, outcome = await self._execute(item)
        if item.result is not None:
            return  # it came too late: the run was aborted, and the call has its result
        duration = clock.monotonic() - item.begun_at
        await self._updates.drain()
        output, outcome = await self._settlement.patched(item, output, outcome, duration)
        await self._settlement.settle(item, output, outcome, duration)

    async def _execute(self, item: Prepared) -> tuple[ToolOutput, Outcome]:
        tool = item.tool
        assert tool is not None and item.event is not None
        ctx = item.ctx = CallContext(self.run, tool.name, item.call.id, self._updates.show)
        work_in(self.run, ctx)  # an agent that the tool makes or asks is part of this call; the task ends with it
        executor = self.run.agent.config.executor or IN_PROCESS
        event, args = item.event, item.args

        source = self.run.agent.toolbox.source(tool.name)
        where = f"plugin {source!r}, tool {tool.name!r}" if source else f"tool {tool.name!r}"

        async def body() -> ToolOutput:
            return await await_contained(call_contained(executor.execute, tool, args, ctx, where=where), where)

        call = wrapped(self.run.agent.around.tool_call, event, body, self.bus.context)
        try:
            async with asyncio.timeout(None) as limit:
                if tool.timeout is not None:  # its timer stays with the loop, and must not hold the context of the run
                    Context().run(limit.reschedule, self.run.loop.time() + tool.timeout)
                output = checked(tool, await call())
            return output, Outcome.error if output.is_error else Outcome.ok
        except TimeoutError as error:
            if tool.timeout is None:
                return ToolOutput(f"TimeoutError: {error}", is_error=True), Outcome.error
            return ToolOutput(f"The tool did not finish within {tool.timeout:g} s.", is_error=True), Outcome.timeout
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            return ToolOutput(f"The tool was cancelled from the inside: {error}", is_error=True), Outcome.error
        except ToolError as error:
            return ToolOutput(str(error), is_error=True), Outcome.error
        except Exception as error:  # noqa: BLE001 - a tool's failure is a result (spec, section 9.20)
            if isinstance(error, Escaped):
                log.warning("%s", error)
                error.where = error.where or where
            said = str(error) if isinstance(error, SkillKitError) else in_words(error)
            return ToolOutput(said, is_error=True), Outcome.error

    # --- the batch --------------------------------------------------------------------------------------------

    async def execute(self, steered: Callable[[], bool]) -> None:
        """Run the batch; afterwards every item has its result. ``steered()``: the user wants something else now.

        On cancellation the open calls are ended within the grace time and settled as interrupted, then it passes.
        """
        tools = self.run.agent.toolbox
        alone = not self.run.agent.config.parallel_tools or any(
            (tool := tools.get(item.call.name)) is not None and tool.sequential for item in self.items
        )
        await self._whole(self._one_by_one(steered) if alone else self._together(steered))

    async def _whole(self, work: Coroutine[Any, Any, None]) -> None:
        """Do the work; if that ends early, whatever ends it, every call has its result before it passes (I1)."""
        task = working_task()
        try:
            await work
        except BaseException as error:
            if isinstance(error, GeneratorExit) and working_task() is not task:
                raise  # nobody will go on here
            self.run.closing = True
            if interrupts(error):
                self.run.signal.abort(reason_of(error))
            await self._interrupt("failed" if isinstance(error, Exception) else "was aborted")
            raise

    async def _one_by_one(self, steered: Callable[[], bool]) -> None:
        for item in self.items:
            if item.index and steered():
                await self.skip()
                return
            if item.result is not None:
                continue
            await self._preparation.prepare(item)
            if item.deferred is not None:  # what comes after it may build on it
                for later in self.items[self.items.index(item) + 1 :]:
                    later.deferred = later.stored.questions if later.stored is not None else ()
                return
            if item.result is None:
                await self._run([item])

    async def _together(self, steered: Callable[[], bool]) -> None:
        for item in self.items:
            if item.result is None:
                await self._preparation.prepare(item)
        if steered():
            await self.skip()
            return
        runnable = [item for item in self.items if item.result is None and item.deferred is None]
        if runnable:
            await self._run(runnable)

    async def _run(self, items: Sequence[Prepared]) -> None:
        """Run prepared calls at the same time; what interrupts the run passes at once, another error when all are done."""
        tasks = [asyncio.create_task(carried(self.run_one(item))) for item in items]
        self.run.tasks.update(tasks)
        for task in tasks:
            task.add_done_callback(seen)
        left: set[asyncio.Task[None]] = set(tasks)
        while left:
            done, left = await asyncio.wait(left, return_when=asyncio.FIRST_EXCEPTION)
            self.run.tasks.difference_update(done)
            for task in done:
                if not task.cancelled() and isinstance(found := task.exception(), Carried):
                    raise found.error
        for task in tasks:
            task.result()

    async def skip(self) -> None:
        """Give every call that has not started the outcome ``skipped``."""
        for item in self.items:
            if item.result is None:
                await self._settlement.refuse(item, Outcome.skipped, "Skipped: the user sent a new instruction.")

    async def _interrupt(self, how: str = "was aborted") -> None:
        """End what runs, wait for it within the grace time, and settle what is left; ``how`` the run ended."""
        agent = self.run.agent
        tasks = {t for t in self.run.tasks if not t.done()}
        for task in tasks:
            task.cancel()
        if tasks:
            _, left = await asyncio.wait(tasks, timeout=self.run.abort_grace)
            agent.abandon(left)
        self._updates.end()
        interrupted: BaseException | None = None
        for item in self.items:
            while item.result is None or not item.ended:  # each handler is asked once; one may interrupt again
                try:
                    if item.result is None:
                        await self._settlement.refuse(item, Outcome.interrupted, f"Interrupted: the run {how}.")
                    else:
                        await self._settlement.end(item, item.result.details, 0.0)
                except BaseException as error:
                    if not interrupts(error):
                        raise
                    interrupted = error
        if interrupted is not None:
            raise interrupted

    # --- suspension -------------------------------------------------------------------------------------------

    @property
    def suspended(self) -> list[SuspendedCall]:
        """The calls that wait for a decision."""
        waiting = [item for item in self.items if item.deferred is not None and item.result is None]
        return [
            SuspendedCall(i.call.id, i.call.name, i.args or i.call.args or EMPTY, i.deferred or ()) for i in waiting
        ]

    async def deny_waiting(self, reason: str) -> None:
        """Deny every call that waits for a decision."""
        for item in self.items:
            if item.deferred is not None and item.result is None:
                answer = ApprovalDecision("deny", reason)
                await tell_decision(self.run, item, answer)
                await self._preparation.deny(item, answer)

    async def interrupt_waiting(self) -> list[ToolResultMessage]:
        """Give every call that waits for a decision the outcome ``interrupted``; their results."""
        waiting = [item for item in self.items if item.result is None]
        await self._interrupt()
        return [item.result for item in waiting if item.result is not None]

    async def take_up(self, resumption: Resumption) -> None:
        """Make the batch one of open calls: with stored arguments, or what a crash left, which is run again only if safe."""
        for item in self.items:
            item.stored = resumption.stored(item.call.id)
            item.decision = resumption.decisions.get(item.call.id)
            tool = self.run.agent.toolbox.get(item.call.name)
            if item.stored is None and (tool is None or tool.replay != "safe"):
                await self._settlement.refuse(item, Outcome.interrupted, NO_RESULT)

    async def truncated(self) -> None:
        """Answer every call of an answer that was cut off by its length limit."""
        await self._whole(self._truncate())

    async def _truncate(self) -> None:
        for item in self.items:
            text = "The answer was cut off by its length limit, so this call was not run. Make the call again, shorter."
            await self._settlement.refuse(item, Outcome.truncated, text)

    @property
    def results(self) -> list[ToolResultMessage]:
        """The results, in the order of the calls."""
        return [item.result for item in self.items if item.result is not None]

    @property
    def terminates(self) -> bool:
        """Whether every result wants the run to end."""
        return bool(self.items) and all(item.terminate for item in self.items)
