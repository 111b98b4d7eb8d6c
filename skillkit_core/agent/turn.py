"""One turn: an answer of the model, the calls in it, and the events around both (spec, section 7)."""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import ErrorKind, ProviderError
from ..events.results import EventResult, TurnEndResult, TurnStartResult
from ..events.types import TurnEndEvent, TurnStartEvent
from ..messages import AgentMessage, AssistantMessage, StopReason
from .compaction import compact_now
from .executor import ToolBatch
from .run import Run
from .step import ask_model, drop_answer
from .transcript import keep_answer, keep_results, say

__all__ = ["begin_turn", "end_turn", "execute", "get_answer", "run_tools"]


async def begin_turn(run: Run) -> Sequence[AgentMessage] | None:
    """Emit ``turn_start``; gives what this turn alone sends, if a handler wants that."""
    agent, bus = run.agent, run.agent.events
    run.in_turn, run.answer, run.results = True, None, []
    if not bus.has("turn_start"):
        return None
    answer = await bus.emit(bus.make(TurnStartEvent, turn_index=run.turns, messages=agent.session.messages))
    if not isinstance(answer, TurnStartResult):
        return None
    for message in answer.append or ():
        await say(run, message)
    return answer.messages or None


async def get_answer(run: Run, turn_messages: Sequence[AgentMessage] | None) -> AssistantMessage:
    """Ask the model and persist its answer; an overflow is compacted away once per input."""
    try:
        message = await ask_model(run, turn_messages)
    except ProviderError as error:
        if error.kind is not ErrorKind.overflow or run.compacted_for_overflow:
            raise
        run.compacted_for_overflow = True
        await drop_answer(run)
        if not await compact_now(run, "overflow"):
            error.hint = (
                error.hint or "the conversation is too long for the model: start a new one, or install a compactor"
            )
            raise
        message = await ask_model(run, None)
    message = await keep_answer(run, message)
    run.content = message.text
    run.stop_reason = message.stop_reason
    return message


async def run_tools(run: Run, message: AssistantMessage) -> ToolBatch | None:
    """Run the calls of an answer and persist their results in the order of the calls."""
    if not message.tool_calls:
        return None
    batch = ToolBatch(run, message.tool_calls)
    await execute(run, batch, truncated=message.stop_reason is StopReason.length)
    return batch


async def execute(run: Run, batch: ToolBatch, *, truncated: bool = False) -> None:
    """Run a batch and persist its results in the order of the calls; calls that wait for a decision have none yet."""
    queues = run.agent.queues
    run.batch = batch
    run.tool_calls += len(batch.items)
    skip = run.agent.config.steer_policy == "skip_remaining"
    try:
        if truncated:
            await batch.truncated()
        else:
            await batch.execute(lambda: skip and bool(queues.waiting("steer")))
            if batch.suspended and queues.waiting("steer"):
                await batch.deny_waiting("the user sent a new instruction instead of a decision")
    finally:
        await keep_results(run, batch.results)


async def end_turn(run: Run) -> str | None:
    """Sync the session and emit ``turn_end``; gives the reason when a handler wants the run to stop."""
    problem: BaseException | None = None
    try:
        await run.agent.session.sync()
    except BaseException as error:
        if not run.closing:
            raise  # the turn ends when the run is closed
        problem = error
    run.in_turn = False
    answer = await _tell_turn_end(run) if run.agent.events.has("turn_end") else None
    if problem is not None:
        raise problem
    if isinstance(answer, TurnEndResult) and answer.stop is True:
        return answer.reason if isinstance(answer.reason, str) else "stopped by a handler"
    return None


async def _tell_turn_end(run: Run) -> EventResult:
    bus, message = run.agent.events, run.answer
    return await bus.emit(
        bus.make(
            TurnEndEvent,
            turn_index=run.turns,
            message=message,
            tool_results=tuple(run.results),
            usage=message.usage if message is not None else None,
        )
    )
