"""The loop: a run from its first request to its end (spec, section 7).

What one turn does is in ``turn.py``, how a run ends in ``ending.py``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import asdict

from ..containment import as_failure, interrupts
from ..contracts.approver import ApprovalDecision
from ..errors import AgentError
from ..events.results import UNSET, BeforeAgentEndResult, BeforeAgentStartResult
from ..events.types import AgentStartEvent, BeforeAgentEndEvent, BeforeAgentStartEvent
from ..frozen import freeze
from ..messages import AgentMessage, StopReason, TextBlock, UserMessage
from .compaction import compact_if_needed
from .ending import close_aborted, close_failed, close_interrupted, finish, suspend
from .executor import ToolBatch
from .prompt import joined, prompt_parts
from .run import LimitReached, Run
from .suspension import Resumption, decisions_entry, resumption
from .transcript import keep_results, say, take, take_with
from .turn import begin_turn, end_turn, execute, get_answer, run_tools

__all__ = ["run_loop"]

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
