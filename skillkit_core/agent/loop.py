"""The loop: a run from its first request to its end (spec, section 7). One file, one reading."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from ..containment import as_failure, interrupts, reason_of
from ..contracts.approver import ApprovalDecision
from ..errors import AgentError, ErrorKind, ProviderError
from ..events.results import (
    UNSET,
    BeforeAgentEndResult,
    BeforeAgentStartResult,
    MessageEndResult,
    TurnEndResult,
    TurnStartResult,
)
from ..events.types import (
    AgentEndEvent,
    AgentStartEvent,
    BeforeAgentEndEvent,
    BeforeAgentStartEvent,
    MessageEndEvent,
    MessageStartEvent,
    TurnEndEvent,
    TurnStartEvent,
)
from ..messages import AgentMessage, AssistantMessage, StopReason, TextBlock, ToolResultMessage, UserMessage
from ..stream import StreamEvent
from .compaction import compact_if_needed, compact_now
from .executor import ToolBatch
from .queues import Kind
from .receipt import Receipt
from .run import LimitReached, Run
from .step import ask_model, close_message, drop_answer, open_message, redacted
from .suspension import Resumption, Suspension, decisions_entry, resumption

__all__ = ["run_loop"]

MAX_CONTINUES = 3
MAX_INTERRUPTS = 10


async def run_loop(run: Run, prompt: Sequence[AgentMessage], resume: Resumption | None = None) -> None:
    """Drive a run to its end. Sets ``run.outcome`` and emits ``agent_end`` exactly once; never raises but cancellation.

    Begins with ``prompt``, with what is queued, or with the open calls of ``resume``.
    """
    try:
        more = await _begin(run, prompt, resume)
        if more is not None and (resume is None or await _take_up(run, resume, more)):
            await _turns(run)
        await run.checkpoint()
    except asyncio.CancelledError as cancelled:
        task = asyncio.current_task()
        if run.signal.aborted:
            await _close_aborted(run)
        elif task is not None and task.cancelling():
            await _close_aborted(run)
            raise
        else:  # nobody cancelled the run: a plugin let a CancelledError of its own escape
            await _close_failed(run, AgentError("something in the run was cancelled from the inside"), cancelled)
    except BaseException as raised:
        if interrupts(raised):
            run.signal.abort(reason_of(raised))
            await _close_interrupted(run)
            raise
        error = as_failure(raised, run.task)  # whatever fails a run is its outcome
        if run.signal.aborted:
            await _close_aborted(run)
        else:
            await _close_failed(run, error)
    finally:
        run.closing = True
        await _finish(run)


# --- the beginning ------------------------------------------------------------------------------------------------


async def _begin(
    run: Run, prompt: Sequence[AgentMessage], resume: Resumption | None = None
) -> Sequence[AgentMessage] | None:
    """Everything before the first turn; gives the handlers' messages that must wait for the results of open calls.

    ``None``: the message that the run was begun for was taken back, so there is nothing to do.
    """
    agent, bus = run.agent, run.agent.events
    later: Sequence[AgentMessage] = ()
    run.target = await agent.selection.current()
    run.system_prompt = agent.host.redact(agent.system_prompt())
    if run.began_by is not None and not agent.queues:
        return None
    said: AgentMessage = prompt[-1] if prompt else UserMessage()
    if resume is None:
        await _deny_waiting(run)
        taken = await _take(run, "next_run", "all")
        if run.began_by is not None:
            if not taken + await _take_with(run, run.began_by):
                return None
            said = run.messages[-1]
    for message in prompt:
        await _say(run, message, sync=True)
    if bus.has("before_agent_start"):
        images = tuple(block for block in said.content if not isinstance(block, TextBlock))
        event = bus.make(BeforeAgentStartEvent, prompt=said.text, images=images, system_prompt=run.system_prompt)
        answer = await bus.emit(event)
        if isinstance(answer, BeforeAgentStartResult):
            if isinstance(answer.system_prompt, str):
                run.system_prompt = answer.system_prompt
            later = tuple(answer.messages or ())
    if resume is None:
        for message in later:
            await _say(run, message, sync=True)
    run.started = True
    if bus.has("agent_start"):
        limits = agent.config.limits
        await bus.emit(
            bus.make(
                AgentStartEvent,
                model=run.target.model,
                provider=run.target.provider,
                tools=tuple(tool.name for tool in agent.toolbox.tools()),
                limits={"turns": limits.turns, "tokens": limits.tokens, "cost": limits.cost},
            )
        )
    return later


async def _deny_waiting(run: Run) -> None:
    """Another input instead of a decision: the calls that wait are denied before it is said (spec, section 7)."""
    suspension = run.agent.session.suspension()
    if suspension is None:
        return
    found = resumption(run.agent.session.messages, suspension, None)
    no = ApprovalDecision("deny", "the user went on without deciding")
    given = dict.fromkeys(suspension.open_calls, no)
    await run.agent.session.append("custom", decisions_entry(suspension, given), sync=True)
    batch = ToolBatch(run, found.calls)
    for item in batch.items:
        item.deferred = ()
    try:
        await batch.deny_waiting(no.reason)
    finally:
        await _keep_results(run, batch.results)


async def _take_up(run: Run, resume: Resumption, more: Sequence[AgentMessage]) -> bool:
    """Execute or deny the open calls of the last answer; whether the run goes on."""
    agent = run.agent
    if resume.suspension is not None:  # from here on a crash finds calls without results, and runs none of them again
        entry = decisions_entry(resume.suspension, resume.decisions)
        await agent.session.append("custom", entry, sync=True)
    if resume.calls:
        batch = ToolBatch(run, resume.calls)
        await batch.take_up(resume)
        await _execute(run, batch)
        if batch.suspended:
            await _suspend(run, batch)
            return False
    await _take(run, "next_run", "all")
    for message in more:
        await _say(run, message, sync=True)
    return True


async def _suspend(run: Run, batch: ToolBatch) -> None:
    """Keep what waits for a decision, and end the run with it."""
    calls = batch.suspended
    await run.agent.session.append("suspension", Suspension.data(calls, str(run.agent.cwd)), sync=True)
    run.batch = None  # its calls may stay open
    run.outcome = "suspended"
    run.reason = f"a decision is awaited about {', '.join(dict.fromkeys(call.name for call in calls))}"


async def _say(run: Run, message: AgentMessage, *, sync: bool = False) -> None:
    """Persist a message that is no answer of the model."""
    message = message if message.ts else replace(message, ts=run.agent.clock.time())
    await run.agent.session.append_message(message, sync=sync)
    run.messages.append(message)


async def _take(run: Run, kind: Kind, mode: Literal["one_at_a_time", "all"]) -> int:
    """Say what waits in a queue; an item leaves its queue and is in the session, or it waits still (I14)."""
    agent = run.agent
    wanted = len(agent.queues.waiting(kind)) if mode == "all" else 1
    said = 0
    await run.checkpoint()
    while said < wanted and (items := agent.queues.take(kind)):
        try:
            await _say(run, items[0].message(agent.clock.time()), sync=True)
        except BaseException:
            agent.queues.put_back(items[0])
            raise
        said += 1
        if (receipt := items[0].receipt) is not None:
            receipt.said, receipt.wants_run = True, False
            run.receipts.append(receipt)
    if said:
        run.compacted_for_overflow = False  # a new input (spec, section 7: once per conversational input)
        agent.compaction_off = False
    return said


async def _take_with(run: Run, receipt: Receipt) -> int:
    """Say the message that the run was begun for, and what waited before it."""
    queues, mode, said = run.agent.queues, run.agent.config.queue_mode, 0
    while not receipt.said and queues:
        said += await _take(run, "steer" if queues.waiting("steer") else "follow_up", mode)
    return said


# --- the turns ----------------------------------------------------------------------------------------------------


async def _turns(run: Run) -> None:
    continues, cut_off = 0, 0
    while True:
        await run.checkpoint()
        await compact_if_needed(run)
        if run.turns or run.began_by is None:  # one that a message began has said it
            await _take(run, "steer", run.agent.config.queue_mode)
        try:
            run.require_room()
            message = await _answer(run, await _turn_start(run))
        except LimitReached as limit:
            run.outcome, run.reason = "limit", str(limit)
            return
        batch = await _tools(run, message)
        if batch is not None and batch.suspended:
            await _suspend(run, batch)
            return
        stop = await _turn_end(run)
        run.turns += 1
        cut_off = cut_off + 1 if message.stop_reason is StopReason.length and message.tool_calls else 0
        if cut_off >= 2:
            raise AgentError(
                "the answer was cut off by its length limit twice in a row while it made tool calls",
                hint="raise max_tokens or ask for smaller steps",
            )
        await run.checkpoint()
        if stop is not None:
            run.reason = stop
            return
        if (batch is not None and not batch.terminates) or message.stop_reason is StopReason.pause:
            continue
        if run.agent.queues.waiting("steer"):
            continue
        more, continues = await _goes_on(run, continues)
        if not more:
            return


async def _turn_start(run: Run) -> Sequence[AgentMessage] | None:
    """Emit ``turn_start``; gives what this turn alone sends, if a handler wants that."""
    agent, bus = run.agent, run.agent.events
    run.in_turn, run.answer, run.results = True, None, []
    if not bus.has("turn_start"):
        return None
    answer = await bus.emit(bus.make(TurnStartEvent, turn_index=run.turns, messages=agent.session.messages))
    if not isinstance(answer, TurnStartResult):
        return None
    for message in answer.append or ():
        await _say(run, message)
    return answer.messages or None


async def _answer(run: Run, turn_messages: Sequence[AgentMessage] | None) -> AssistantMessage:
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
    message = await _persist_answer(run, message)
    run.content = message.text
    run.stop_reason = message.stop_reason
    return message


async def _persist_answer(run: Run, message: AssistantMessage) -> AssistantMessage:
    """``message_end``, then the session: the answer is kept before any of its tools runs."""
    agent, bus = run.agent, run.agent.events
    message = agent.view.unique_calls(message)
    if run.bracket == "none":
        await open_message(run)  # an around-hook gave an answer that no stream brought
    if run.bracket == "open":
        run.bracket = "closed"
        if bus.has("message_end"):
            answer = await bus.emit(bus.make(MessageEndEvent, message=message, entry_id=agent.session.next_id()))
            replaced = answer.message if isinstance(answer, MessageEndResult) else UNSET
            message = replaced if isinstance(replaced, AssistantMessage) else message
    await agent.session.append_message(message)
    run.messages.append(message)
    run.builder, run.answer = None, message
    return message


async def _tools(run: Run, message: AssistantMessage) -> ToolBatch | None:
    """Run the calls of an answer and persist their results in the order of the calls."""
    if not message.tool_calls:
        return None
    batch = ToolBatch(run, message.tool_calls)
    await _execute(run, batch, truncated=message.stop_reason is StopReason.length)
    return batch


async def _execute(run: Run, batch: ToolBatch, *, truncated: bool = False) -> None:
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
        await _keep_results(run, batch.results)


async def _keep_results(run: Run, results: Sequence[ToolResultMessage]) -> None:
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
    answer = await bus.emit(bus.make(MessageEndEvent, message=result, entry_id=run.agent.session.next_id()))
    replaced = answer.message if isinstance(answer, MessageEndResult) else UNSET
    return replaced if isinstance(replaced, ToolResultMessage) else result


async def _result_kept(run: Run, result: ToolResultMessage) -> ToolResultMessage:
    await run.agent.session.append_message(result)
    run.messages.append(result)
    run.results.append(result)
    run.push(StreamEvent("tool_result", result.text, tool_name=result.tool_name, tool_call_id=result.tool_call_id))
    return result


async def _turn_end(run: Run) -> str | None:
    """Sync the session and emit ``turn_end``; gives the reason when a handler wants the run to stop."""
    bus, message = run.agent.events, run.answer
    run.in_turn = False
    await run.agent.session.sync()
    if not bus.has("turn_end"):
        return None
    answer = await bus.emit(
        bus.make(
            TurnEndEvent,
            turn_index=run.turns,
            message=message,
            tool_results=tuple(run.results),
            usage=message.usage if message is not None else None,
        )
    )
    if isinstance(answer, TurnEndResult) and answer.stop is True:
        return answer.reason if isinstance(answer.reason, str) else "stopped by a handler"
    return None


async def _goes_on(run: Run, continues: int) -> tuple[bool, int]:
    """Whether stop hooks or follow-ups make the run go on, and how often stop hooks did so in a row."""
    agent, bus = run.agent, run.agent.events
    if bus.has("before_agent_end"):
        answer = await bus.emit(
            bus.make(
                BeforeAgentEndEvent,
                messages=agent.session.messages,
                stop_hook_active=continues > 0,
                n_continues=continues,
            )
        )
        wanted = answer.continue_with if isinstance(answer, BeforeAgentEndResult) else UNSET
        if isinstance(wanted, str) and wanted:
            if continues < MAX_CONTINUES:
                await _say(run, UserMessage(content=wanted, source="stop_hook"), sync=True)  # type: ignore[arg-type]
                return True, continues + 1
            await agent.complain("before_agent_end", f"handlers made the run go on {MAX_CONTINUES} times; it ends now")
    if agent.queues.waiting("steer"):  # it came while the handlers were asked
        return True, continues
    said = await _take(run, "follow_up", agent.config.queue_mode)
    return bool(said), 0 if said else continues


# --- the end ------------------------------------------------------------------------------------------------------


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
        await _persist_answer(run, message)


async def _close_calls(run: Run) -> None:
    """Give calls that wait for a decision a result: the run ended before their suspension was kept (I1)."""
    if run.batch is not None and run.batch.suspended:
        await _keep_results(run, await run.batch.interrupt_waiting())


async def _close_failed(run: Run, error: Exception, cause: BaseException | None = None) -> None:
    run.closing = True
    error.__cause__ = error.__cause__ or cause
    run.outcome, run.error = "failed", error
    await _keep_partial(run, StopReason.error)
    await _close_calls(run)


async def _close_aborted(run: Run) -> None:
    run.closing = True
    task = asyncio.current_task()
    while run.signal.aborted and task is not None and task.uncancel() > 0:
        pass
    run.outcome, run.reason = "aborted", run.signal.reason or "aborted"
    await run.account_for_aborted()
    await _keep_partial(run, StopReason.aborted)
    await _close_calls(run)


async def _close_interrupted(run: Run) -> None:
    """As :func:`_close_aborted`; handlers that are told of the end may interrupt it again, each once."""
    for _ in range(MAX_INTERRUPTS):
        try:
            await _close_aborted(run)
            return
        except BaseException as error:
            if not interrupts(error):
                raise


async def _finish(run: Run) -> None:
    try:
        if run.in_turn:  # the run ends in the middle of it; brackets balance on every path (I8)
            await _turn_end(run)
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
