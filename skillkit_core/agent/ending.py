"""How a run ends: its outcome, what is kept of what was going on, and the events that close it (spec, section 7)."""

from __future__ import annotations

import asyncio
import logging

from ..containment import interrupts, reason_of
from ..events.types import AgentEndEvent
from ..messages import StopReason
from ..stream import StreamEvent
from .executor import ToolBatch
from .run import Run
from .step import close_message, redacted
from .suspension import Suspension
from .transcript import keep_answer, keep_results
from .turn import end_turn

__all__ = ["close_aborted", "close_failed", "close_interrupted", "finish", "suspend"]

MAX_INTERRUPTS = 10

log = logging.getLogger("skillkit.agent")


async def suspend(run: Run, batch: ToolBatch) -> None:
    """Keep what waits for a decision, and end the run with it."""
    calls = batch.suspended
    await run.agent.session.append("suspension", Suspension.data(calls, str(run.agent.cwd)), sync=True)
    run.batch = None  # its calls may stay open
    run.outcome = "suspended"
    run.reason = f"a decision is awaited about {', '.join(dict.fromkeys(call.name for call in calls))}"


async def close_failed(run: Run, error: Exception, cause: BaseException | None = None) -> None:
    """End the run as ``failed``; ``cause`` is said with an error that was made of something else."""
    run.closing = True
    error.__cause__ = error.__cause__ or cause
    run.outcome, run.error = "failed", error
    await _keep_partial(run, StopReason.error)
    await _close_calls(run)


async def close_aborted(run: Run) -> None:
    """End the run as ``aborted``, also when it was cancelled from the outside."""
    run.closing = True
    task = asyncio.current_task()
    while run.signal.aborted and task is not None and task.uncancel() > 0:
        pass
    run.outcome, run.reason = "aborted", run.signal.reason or "aborted"
    await run.account_for_aborted()
    await _keep_partial(run, StopReason.aborted)
    await _close_calls(run)


async def close_interrupted(run: Run, error: BaseException) -> None:
    """As :func:`close_aborted`; handlers that are told of the end may interrupt it again, each once."""
    reason = reason_of(error)
    run.signal.abort(reason)
    if not isinstance(error, KeyboardInterrupt):  # the program is about to end, and nobody else would say why
        log.warning("the run was %s", run.agent.host.redact(reason))
    for _ in range(MAX_INTERRUPTS):
        try:
            await close_aborted(run)
            return
        except BaseException as again:
            if not interrupts(again):
                raise


async def _keep_partial(run: Run, reason: StopReason) -> None:
    """Persist what had arrived of an answer: text that was shown is never lost (I7)."""
    builder = run.builder
    if builder is None or run.target is None:
        return
    message = builder.message(
        provider=run.target.provider,
        api=run.target.adapter.api,
        model=run.target.model.id,
        ts=run.agent.clock.time(),
        stop_reason=reason,
    )
    message = redacted(run, message)
    run.content = message.text or run.content
    run.stop_reason = reason
    if builder.empty:
        await close_message(run, message)
    else:
        await keep_answer(run, message)


async def _close_calls(run: Run) -> None:
    """Give calls that wait for a decision a result: the run ended before their suspension was kept (I1)."""
    if run.batch is not None and run.batch.suspended:
        await keep_results(run, await run.batch.interrupt_waiting())


async def finish(run: Run) -> None:
    """Close the brackets that are open, and push the one event that ends the stream."""
    try:
        if run.in_turn:  # the run ends in the middle of it; brackets balance on every path (I8)
            await end_turn(run)
    finally:
        await _agent_end(run)


async def _agent_end(run: Run) -> None:
    agent, bus = run.agent, run.agent.events
    if run.started and bus.has("agent_end"):
        await bus.emit(
            bus.make(
                AgentEndEvent,
                outcome=run.outcome,
                error=run.error,
                messages=tuple(run.messages),
                usage=run.usage,
                leaf_id=agent.session.leaf_id,
            )
        )
    failure = run.failure()
    if failure is None:
        run.push(StreamEvent("done", run.content, usage=run.usage, stop_reason=run.stop_reason))
    else:
        run.push(StreamEvent("error", run.content, error=failure, usage=run.usage, stop_reason=run.stop_reason))
