"""The loop: a run from its first request to its end, in the order in which it happens (spec, section 7)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import asdict

from ..containment import as_failure, interrupts, reason_of
from ..contracts.approver import ApprovalDecision
from ..errors import AgentError, ErrorKind, ProviderError
from ..events.results import (
    UNSET,
    BeforeAgentEndResult,
    BeforeAgentStartResult,
    EventResult,
    TurnEndResult,
    TurnStartResult,
)
from ..events.types import (
    AgentEndEvent,
    AgentStartEvent,
    BeforeAgentEndEvent,
    BeforeAgentStartEvent,
    TurnEndEvent,
    TurnStartEvent,
)
from ..frozen import freeze
from ..messages import AgentMessage, AssistantMessage, StopReason, TextBlock, UserMessage
from ..stream import StreamEvent
from .compaction import compact_if_needed, compact_now
from .context import joined, prompt_parts
from .model_call import ask_model, close_message, drop_answer, redacted
from .run import LimitReached, Run
from .suspension import Resumption, Suspension, decisions_entry, resumption
from .tool_batch import ToolBatch
from .transcript import keep_answer, keep_results, say, take, take_with

__all__ = [
    "begin_turn",
    "close_aborted",
    "close_failed",
    "close_interrupted",
    "end_turn",
    "execute",
    "finish",
    "get_answer",
    "run_loop",
    "run_tools",
    "suspend",
]

MAX_CONTINUES = 3


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
        if run.interrupt is not None:
            await close_interrupted(run, run.interrupt)
            raise run.interrupt from None
        if run.signal.aborted:
            await close_aborted(run)
        elif task is not None and task.cancelling():
            await close_aborted(run)
            raise
        else:  # nobody cancelled the run: a plugin let a CancelledError of its own escape
            await close_failed(run, AgentError("something in the run was cancelled from the inside"), cancelled)
    except BaseException as raised:
        if interrupts(raised):
            await close_interrupted(run, raised)
            raise
        error = as_failure(raised, run.task)  # whatever fails a run is its outcome
        if run.signal.aborted:
            await close_aborted(run)
        else:
            await close_failed(run, error)
    finally:
        run.closing = True
        await finish(run)


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
    parts = prompt_parts(agent)
    run.system_prompt = joined(parts)
    if run.began_by is not None and not agent.queues:
        return None
    said: AgentMessage = prompt[-1] if prompt else UserMessage()
    if resume is None:
        await _deny_waiting(run)
        taken = await take(run, "next_run", "all")
        if run.began_by is not None:
            if not taken + await take_with(run, run.began_by):
                return None
            said = run.messages[-1]
    for message in prompt:
        await say(run, message, sync=True)
    if bus.has("before_agent_start"):
        images = tuple(block for block in said.content if not isinstance(block, TextBlock))
        event = bus.make(
            BeforeAgentStartEvent,
            prompt=said.text,
            images=images,
            system_prompt=run.system_prompt,
            parts=freeze(parts),
        )
        answer = await bus.emit(event)
        if isinstance(answer, BeforeAgentStartResult):
            if isinstance(answer.system_prompt, str):
                run.system_prompt = answer.system_prompt
            later = tuple(answer.messages or ())
    if resume is None:
        for message in later:
            await say(run, message, sync=True)
    run.started = True
    if bus.has("agent_start"):
        await bus.emit(
            bus.make(
                AgentStartEvent,
                model=run.target.model,
                provider=run.target.provider,
                tools=tuple(tool.name for tool in agent.toolbox.tools()),
                limits=freeze(asdict(agent.config.limits)),
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
        await keep_results(run, batch.results)


async def _take_up(run: Run, resume: Resumption, more: Sequence[AgentMessage]) -> bool:
    """Execute or deny the open calls of the last answer; whether the run goes on."""
    agent = run.agent
    if resume.suspension is not None:  # from here on a crash finds calls without results, and runs none of them again
        entry = decisions_entry(resume.suspension, resume.decisions)
        await agent.session.append("custom", entry, sync=True)
    if resume.calls:
        batch = ToolBatch(run, resume.calls)
        await batch.take_up(resume)
        await execute(run, batch)
        if batch.suspended:
            await suspend(run, batch)
            return False
    await take(run, "next_run", "all")
    for message in more:
        await say(run, message, sync=True)
    return True


# --- the turns ----------------------------------------------------------------------------------------------------


async def _turns(run: Run) -> None:
    continues, cut_off = 0, 0
    while True:
        await run.checkpoint()
        await compact_if_needed(run)
        if run.turns or run.began_by is None:  # one that a message began has said it
            await take(run, "steer", run.agent.config.queue_mode)
        try:
            run.require_room()
            message = await get_answer(run, await begin_turn(run))
        except LimitReached as limit:
            run.outcome, run.reason = "limit", str(limit)
            return
        batch = await run_tools(run, message)
        if batch is not None and batch.suspended:
            await suspend(run, batch)
            return
        stop = await end_turn(run)
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
                await say(run, UserMessage(content=wanted, source="stop_hook"), sync=True)  # type: ignore[arg-type]
                return True, continues + 1
            await agent.complain("before_agent_end", f"handlers made the run go on {MAX_CONTINUES} times; it ends now")
    if agent.queues.waiting("steer"):  # it came while the handlers were asked
        return True, continues
    said = await take(run, "follow_up", agent.config.queue_mode)
    return bool(said), 0 if said else continues


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
