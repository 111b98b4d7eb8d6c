"""What is said in a run: inputs, answers and results are announced, kept in the session, and counted to the run."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Literal

from ..containment import interrupts
from ..events.results import UNSET, MessageEndResult
from ..events.types import MessageEndEvent, MessageStartEvent
from ..messages import AgentMessage, AssistantMessage, ToolResultMessage, with_time
from ..stream import StreamEvent
from .input import Kind, Receipt
from .model_call import open_message, redacted
from .run import Run

__all__ = ["keep_answer", "keep_results", "say", "take", "take_with"]


async def say(run: Run, message: AgentMessage, *, sync: bool = False) -> None:
    """Persist a message that is no answer of the model."""
    message = redacted(run, message if message.ts else with_time(message, run.agent.clock.time()))
    await _persist(run, message, sync=sync)


async def _persist(run: Run, message: AgentMessage, *, sync: bool = False) -> None:
    """Persist a message of the run. It is one also when this raises after it was written: while the disk is waited for."""
    session = run.agent.session
    before, (entry_id, run.announced) = session.leaf_id, (run.announced, None)
    try:
        await session.append_message(message, sync=sync, entry_id=entry_id)
    finally:
        if session.leaf_id != before:
            run.messages.append(message)
        else:
            run.announced = entry_id


async def take(run: Run, kind: Kind, mode: Literal["one_at_a_time", "all"]) -> int:
    """Say what waits in a queue; an item leaves its queue and is in the session, or it waits still (I14)."""
    agent = run.agent
    wanted = len(agent.queues.waiting(kind)) if mode == "all" else 1
    said = 0
    await run.checkpoint()
    while said < wanted and (items := agent.queues.take(kind)):
        kept = len(run.messages)
        try:
            await say(run, items[0].message(agent.clock.time()), sync=True)
        finally:
            if len(run.messages) == kept:
                agent.queues.put_back(items[0])
            elif (receipt := items[0].receipt) is not None:
                receipt.said, receipt.wants_run = True, False
                run.receipts.append(receipt)
        said += 1
    if said:
        run.compacted_for_overflow = False  # a new input (spec, section 7: once per conversational input)
        agent.compaction_off = False
    return said


async def take_with(run: Run, receipt: Receipt) -> int:
    """Say the message that the run was begun for, and what waited before it."""
    queues, mode, said = run.agent.queues, run.agent.config.queue_mode, 0
    while not receipt.said and queues:
        said += await take(run, "steer" if queues.waiting("steer") else "follow_up", mode)
    return said


async def keep_answer(run: Run, message: AssistantMessage) -> AssistantMessage:
    """``message_end``, then the session: the answer is kept before any of its tools runs."""
    agent, bus = run.agent, run.agent.events
    message = agent.view.unique_calls(message)
    if run.bracket == "none":
        await open_message(run)  # an around-hook gave an answer that no stream brought
    if run.bracket == "open":
        run.bracket = "closed"
        if bus.has("message_end"):
            run.announced = agent.session.announce()
            answer = await bus.emit(bus.make(MessageEndEvent, message=message, entry_id=run.announced))
            replaced = answer.message if isinstance(answer, MessageEndResult) else UNSET
            message = redacted(run, replaced) if isinstance(replaced, AssistantMessage) else message
    try:
        await _persist(run, message)
    finally:
        if run.messages and run.messages[-1] is message:
            run.builder, run.answer = None, message
    return message


async def keep_results(run: Run, results: Sequence[ToolResultMessage]) -> None:
    """Say and persist the results; an abort in the middle is passed on when all of them are kept (I1)."""
    passing: BaseException | None = None
    for result in results:
        for step in (_result_start, _result_end, _result_kept):
            try:
                result = await step(run, result)
            except BaseException as error:
                if not interrupts(error) and not isinstance(error, asyncio.CancelledError):
                    raise
                run.closing = True
                if passing is None or interrupts(error):
                    passing = error
                if step is _result_kept and (not run.messages or run.messages[-1] is not result):
                    await _result_kept(run, result)
    if passing is not None:
        raise passing


async def _result_start(run: Run, result: ToolResultMessage) -> ToolResultMessage:
    bus = run.agent.events
    if bus.has("message_start"):
        await bus.emit(bus.make(MessageStartEvent, message=result, role="tool_result"))
    return result


async def _result_end(run: Run, result: ToolResultMessage) -> ToolResultMessage:
    bus = run.agent.events
    if not bus.has("message_end"):
        return result
    run.announced = run.agent.session.announce()
    answer = await bus.emit(bus.make(MessageEndEvent, message=result, entry_id=run.announced))
    replaced = answer.message if isinstance(answer, MessageEndResult) else UNSET
    return redacted(run, replaced) if isinstance(replaced, ToolResultMessage) else result


async def _result_kept(run: Run, result: ToolResultMessage) -> ToolResultMessage:
    try:
        await _persist(run, result)
    finally:
        if run.messages and run.messages[-1] is result:
            run.results.append(result)
            name, call_id = result.tool_name, result.tool_call_id
            run.push(StreamEvent("tool_result", result.text, tool_name=name, tool_call_id=call_id))
    return result
