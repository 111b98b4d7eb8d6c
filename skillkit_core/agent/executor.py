"""The one door to every tool: checks, guards, execution, and exactly one result per call in the order of the calls."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Sequence
from contextvars import Context
from dataclasses import replace
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
from ..contracts.approver import ApprovalDecision, Question
from ..errors import SkillKitError, ToolError
from ..events.bus import EventBus, GuardFailed
from ..events.results import UNSET, ToolResultEventResult
from ..events.tool_call import ToolCallDecision
from ..events.types import (
    ToolCallEvent,
    ToolExecutionEndEvent,
    ToolExecutionStartEvent,
    ToolResultEvent,
)
from ..frozen import EMPTY
from ..messages import (
    Block,
    Outcome,
    TextBlock,
    ToolCall,
    ToolResultMessage,
    blocks_of,
)
from ..models import TokenUsage
from ..schema import validate
from ..tools import ToolOutput
from .around import wrapped
from .call import IN_PROCESS, CallContext, Prepared, as_output, checked, plain_details
from .consent import agreement, tell_decision
from .nesting import beyond, work_in
from .repair import NO_RESULT
from .suspension import Resumption, SuspendedCall
from .text import clean, limit_text
from .updates import Updates

if TYPE_CHECKING:
    from .run import Run

__all__ = ["ToolBatch"]

log = logging.getLogger("skillkit.agent")
WITHHELD = "The result was withheld because a guard failed."


class ToolBatch:
    """The calls of one assistant message."""

    def __init__(self, run: Run, calls: Sequence[ToolCall]) -> None:
        self.run = run
        self.bus: EventBus = run.agent.events
        self.items = [Prepared(call, i) for i, call in enumerate(calls)]
        self._updates = Updates(run)

    # --- before -----------------------------------------------------------------------------------------------

    async def prepare(self, item: Prepared) -> None:
        """Check one call and ask the handlers; a call that must not run gets its result here."""
        call, name = item.call, item.call.name
        tool = self.run.agent.toolbox.get(name)
        if tool is None:
            await self._refuse(item, Outcome.error, self._unknown(name))
            return
        if call.args is None:
            await self._refuse(
                item, Outcome.error, f"The arguments of {name!r} are not a JSON object: {call.raw_args[:200]!r}"
            )
            return
        problem = validate(tool.parameters, call.args if item.stored is None else item.stored.args)
        if problem is not None:
            await self._refuse(item, Outcome.error, f"The arguments of {name!r} do not fit: {problem}")
            return
        item.tool, item.args = tool, item.stored.args if item.stored is not None else call.args
        item.event = self.bus.make(
            ToolCallEvent,
            tool_name=name,
            tool_call_id=call.id,
            args=item.args,
            raw_args=call.args,
            index=item.index,
            batch_size=len(self.items),
            annotations=tool.annotations,
        )
        questions = await self._guarded(item) if self.bus.has("before_tool_call") else ()
        if questions is None or not await self._allowed(item, questions):
            return
        await self.run.checkpoint()
        await self._start(item)

    def _unknown(self, name: str) -> str:
        from ..errors import close_matches

        names = [tool.name for tool in self.run.agent.toolbox.tools()]
        close = close_matches(name, names)
        return f"There is no tool {name!r}." + (f" Did you mean {', '.join(close)}?" if close else "")

    async def _guarded(self, item: Prepared) -> Sequence[Question] | None:
        """Ask the handlers of ``before_tool_call``: what must be asked before the call may go on; ``None``: it may not."""
        assert item.event is not None and item.tool is not None
        decision = await self.bus.emit(item.event)
        if not isinstance(decision, ToolCallDecision):
            return ()
        if decision.args is not None:
            item.args = decision.args
        item.terminate = decision.terminate
        if decision.block:
            await self._refuse(item, Outcome.blocked, f"Blocked: {decision.reason}")
            return None
        if decision.changed_by is not None:
            problem = validate(item.tool.parameters, item.args)
            if problem is not None:
                who = f"plugin {decision.plugin!r}" if decision.plugin else decision.changed_by
                await self._refuse(
                    item, Outcome.error, f"{who} changed the arguments so that they do not fit: {problem}"
                )
                return None
        if item.args is not item.event.args:
            item.event = replace(item.event, args=item.args)
        item.substitute = decision.result
        return decision.questions

    async def _allowed(self, item: Prepared, questions: Sequence[Question]) -> bool:
        """Whether everybody who must be asked agrees; else the call is denied or waits."""
        if not questions and item.stored is None:
            return True
        answer = await agreement(self.run, item, questions)
        if answer.decision == "deny":
            await self._deny(item, answer)
        return answer.decision == "allow"

    async def _deny(self, item: Prepared, answer: ApprovalDecision) -> None:
        await self._refuse(item, Outcome.denied, f"Denied: {answer.reason or 'no reason given'}")

    async def _start(self, item: Prepared) -> None:
        item.started = True
        if self.bus.has("tool_execution_start"):
            await self.bus.emit(
                self.bus.make(
                    ToolExecutionStartEvent, tool_name=item.call.name, tool_call_id=item.call.id, args=item.args
                )
            )

    async def _refuse(self, item: Prepared, outcome: Outcome, text: str) -> None:
        """Give a call that does not run its result."""
        if not item.started:
            item.args = item.args or item.call.args or EMPTY
            await self._start(item)
        await self._settle(item, ToolOutput(text, is_error=True), outcome, 0.0)

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
        output, outcome = await self._patched(item, output, outcome, duration)
        await self._settle(item, output, outcome, duration)

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

    # --- after ------------------------------------------------------------------------------------------------

    async def _patched(
        self, item: Prepared, output: ToolOutput, outcome: Outcome, duration: float
    ) -> tuple[ToolOutput, Outcome]:
        """What the handlers of ``after_tool_result`` make of the answer."""
        if not self.bus.has("after_tool_result"):
            return output, outcome
        event = self.bus.make(
            ToolResultEvent,
            tool_name=item.call.name,
            tool_call_id=item.call.id,
            args=item.args,
            raw_args=item.call.args or EMPTY,
            content=self._content(item, output),
            details=output.details,
            is_error=output.is_error,
            terminate=output.terminate,
            usage=output.usage,
            outcome=outcome,
            duration=duration,
        )
        try:
            patch = await self.bus.emit(event)
        except GuardFailed:
            return ToolOutput(WITHHELD, is_error=True), Outcome.error
        if not isinstance(patch, ToolResultEventResult):
            return output, outcome
        values = dict(patch.set_fields())
        output = replace(output, **values)
        if "is_error" in values and outcome in (Outcome.ok, Outcome.error):
            outcome = Outcome.error if output.is_error else Outcome.ok
        return output, outcome

    def _content(self, item: Prepared, output: ToolOutput) -> tuple[Block, ...]:
        """The answer as blocks: clean text, secrets redacted, not longer than the tool allows."""
        room = item.tool.max_output if item.tool is not None else 100_000
        redact = self.run.agent.host.redact
        blocks: list[Block] = []
        for block in blocks_of(output.content):
            if isinstance(block, TextBlock):
                text = limit_text(redact(clean(block.text)), room)
                block = block if text == block.text else TextBlock(text)
                room = max(0, room - len(text))
            blocks.append(block)
        return tuple(blocks)

    async def _settle(self, item: Prepared, output: ToolOutput, outcome: Outcome, duration: float) -> None:
        """Fix the one result of a call; whatever comes later is dropped."""
        if item.result is not None:
            return
        if item.ctx is not None:
            item.ctx.settled = True
        item.terminate = item.terminate or output.terminate
        content = self._content(item, output)
        item.result = ToolResultMessage(
            tool_call_id=item.call.id,
            tool_name=item.call.name,
            content=content,
            is_error=outcome is not Outcome.ok or output.is_error,
            outcome=outcome,
            details=plain_details(output.details),
            ts=self.run.agent.clock.time(),
        )
        if output.usage is not None:
            counted = item.ctx.nested if item.ctx is not None else TokenUsage()
            await self.run.account(beyond(output.usage, counted), purpose="tool")
        await self._end(item, output.details, duration)

    async def _end(self, item: Prepared, details: Any, duration: float) -> None:
        item.ended = True
        result = item.result
        if result is not None and self.bus.has("tool_execution_end"):
            await self.bus.emit(
                self.bus.make(
                    ToolExecutionEndEvent,
                    tool_name=item.call.name,
                    tool_call_id=item.call.id,
                    content=result.content,
                    details=details,
                    is_error=result.is_error,
                    outcome=result.outcome,
                    duration=duration,
                )
            )

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
            await self.prepare(item)
            if item.deferred is not None:  # what comes after it may build on it
                for later in self.items[self.items.index(item) + 1 :]:
                    later.deferred = later.stored.questions if later.stored is not None else ()
                return
            if item.result is None:
                await self._run([item])

    async def _together(self, steered: Callable[[], bool]) -> None:
        for item in self.items:
            if item.result is None:
                await self.prepare(item)
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
                await self._refuse(item, Outcome.skipped, "Skipped: the user sent a new instruction.")

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
                        await self._refuse(item, Outcome.interrupted, f"Interrupted: the run {how}.")
                    else:
                        await self._end(item, item.result.details, 0.0)
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
                await self._deny(item, answer)

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
                await self._refuse(item, Outcome.interrupted, NO_RESULT)

    async def truncated(self) -> None:
        """Answer every call of an answer that was cut off by its length limit."""
        await self._whole(self._truncate())

    async def _truncate(self) -> None:
        for item in self.items:
            text = "The answer was cut off by its length limit, so this call was not run. Make the call again, shorter."
            await self._refuse(item, Outcome.truncated, text)

    @property
    def results(self) -> list[ToolResultMessage]:
        """The results, in the order of the calls."""
        return [item.result for item in self.items if item.result is not None]

    @property
    def terminates(self) -> bool:
        """Whether every result wants the run to end."""
        return bool(self.items) and all(item.terminate for item in self.items)
