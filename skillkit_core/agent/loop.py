"""The loop: a run from its first request to its end, in the order in which it happens (spec, section 7)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import asdict

from ..config import Limits
from ..contracts.adapter import LLMAdapter
from ..contracts.approver import ApprovalDecision
from ..errors import AgentError, ErrorKind, ProviderError, SkillKitError, interrupts
from ..events.results import (
    UNSET,
    BeforeAgentEndResult,
    BeforeAgentStartResult,
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
from ..models import ModelDefinition
from ..stream import StreamEvent
from ..tools import Tool
from .compaction import compact_if_needed, compact_now
from .containment import as_failure, reason_of
from .context import joined, prompt_parts
from .input import Kind
from .ledger import LimitReached
from .model_call import ModelCall, Turn
from .run import Run
from .suspension import Resumption, Suspension, decisions_entry, resumption
from .tool_batch import ToolBatch
from .transcript import Transcript

__all__ = ["keep_exchange", "run_loop"]

MAX_CONTINUES = 3
MAX_INTERRUPTS = 10

log = logging.getLogger("skillkit.agent")


async def run_loop(run: Run, prompt: Sequence[AgentMessage], resume: Resumption | None = None) -> None:
    """Drive a run to its end: set its outcome, and emit ``agent_end`` exactly once; raise only cancellation and interrupts.

    Begin with ``prompt``, with what is queued, or with the open calls of ``resume``.
    """
    await Loop(run).drive(prompt, resume)


async def keep_exchange(run: Run, said: Sequence[AgentMessage]) -> None:
    """Persist an input that a handler has dealt with, and the reply to it; what waits for a decision is denied first."""
    loop = Loop(run)
    await loop.deny_waiting()
    for message in said:
        await loop.transcript.say(message, sync=True)


class Loop:
    """Drives one run."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.agent = run.agent
        self.bus = run.bus
        self.transcript = Transcript(run)
        self.call: ModelCall | None = None  # of the current turn
        self.batch: ToolBatch | None = None  # of the current answer
        self.started = False  # agent_start was emitted
        self.in_turn = False  # turn_start was emitted, turn_end not yet
        self.compacted_for_overflow = False  # since the last input

    async def drive(self, prompt: Sequence[AgentMessage], resume: Resumption | None) -> None:
        """Do everything from the beginning to the end."""
        run = self.run
        try:
            more = await self._begin(prompt, resume)
            if more is not None and (resume is None or await self._take_up(resume, more)):
                await self._turns()
            if run.signal.aborted:
                await run.checkpoint()
        except asyncio.CancelledError as cancelled:
            task = asyncio.current_task()
            if run.interrupt is not None:
                await self._close_interrupted(run.interrupt)
                raise run.interrupt from None
            if run.signal.aborted:
                await self._close_aborted()
            elif task is not None and task.cancelling():
                await self._close_aborted()
                raise
            else:  # nobody cancelled the run: a plugin let a CancelledError of its own escape
                await self._close_failed(AgentError("something in the run was cancelled from the inside"), cancelled)
        except BaseException as raised:
            if interrupts(raised):
                await self._close_interrupted(raised)
                raise
            error = as_failure(raised, run.task)  # whatever fails a run is its outcome
            if run.signal.aborted:
                await self._close_aborted()
            else:
                await self._close_failed(error)
        finally:
            run.close()
            await self._finish()

    # --- the beginning ----------------------------------------------------------------------------------------

    async def _begin(self, prompt: Sequence[AgentMessage], resume: Resumption | None) -> Sequence[AgentMessage] | None:
        """Do everything before the first turn; return the handlers' messages that must wait for the results of open calls.

        Return ``None`` when the message that the run began for was taken back, so that there is nothing to do.
        """
        run, agent = self.run, self.agent
        target = await run.choose_target()
        parts = prompt_parts(agent, run.context.providers)
        run.prompt_with(joined(parts))
        if run.began_by is not None and not agent.queues:
            return None
        said: AgentMessage = prompt[-1] if prompt else UserMessage()
        if resume is None:
            await self.deny_waiting()
            taken = await self._take("next_run", everything=True)
            if run.began_by is not None:
                if not taken + self._new_input(await self.transcript.take_until(run.began_by)):
                    return None
                said = run.messages[-1]
        for message in prompt:
            await self.transcript.say(message, sync=True)
        later: Sequence[AgentMessage] = ()
        if "before_agent_start" in self.bus.table:
            answer = await self.bus.fire(
                BeforeAgentStartEvent,
                prompt=said.text,
                images=tuple(block for block in said.content if not isinstance(block, TextBlock)),
                system_prompt=run.system_prompt,
                parts=freeze(parts),
            )
            if isinstance(answer, BeforeAgentStartResult):
                if isinstance(answer.system_prompt, str):
                    run.prompt_with(answer.system_prompt)
                later = tuple(answer.messages or ())
                if isinstance(answer.limits, Limits):
                    run.ledger.lower(answer.limits)
                await self._use_target(answer.adapter or None, answer.model or None)
        if resume is None:
            for message in later:
                await self.transcript.say(message, sync=True)
        self.started = True
        if "agent_start" in self.bus.table:
            target, parent = run.target or target, run.parent
            await self.bus.fire(
                AgentStartEvent,
                model=target.model,
                provider=target.provider,
                tools=tuple(tool.name for tool in agent.toolbox.tools()),
                limits=freeze(asdict(run.ledger.limits)),
                parent_run_id=parent.run.id if parent is not None else None,
                parent_tool_call_id=parent.call.tool_call_id
                if parent is not None and parent.call is not None
                else None,
            )
        return later

    async def _use_target(self, adapter: str | LLMAdapter | None, model: str | ModelDefinition | None) -> None:
        """Answer the run as a handler of ``before_agent_start`` wants; one that names what there is not is reported."""
        if adapter is None and model is None:
            return
        try:
            await self.run.use_target(adapter, model)
        except SkillKitError as error:
            await self.agent.complain("before_agent_start", f"the run keeps its model: {error}")

    async def deny_waiting(self) -> None:
        """Deny the calls that wait before another input is said: the user went on instead of deciding (spec, section 7)."""
        session = self.run.session
        suspension = session.suspension()
        if suspension is None:
            return
        found = resumption(session.messages, suspension, None)
        no = ApprovalDecision("deny", "the user went on without deciding")
        given = dict.fromkeys(suspension.open_calls, no)
        await session.append("custom", decisions_entry(suspension, given), sync=True)
        batch = ToolBatch(self.run, found.calls)
        try:
            await batch.deny_all(no.reason)
        finally:
            await self.transcript.persist_results(batch.results)

    async def _take_up(self, resume: Resumption, more: Sequence[AgentMessage]) -> bool:
        """Execute or deny the open calls of the last answer; return whether the run goes on."""
        if (
            resume.suspension is not None
        ):  # from here on a crash finds calls without results, and runs none of them again
            entry = decisions_entry(resume.suspension, resume.decisions)
            await self.run.session.append("custom", entry, sync=True)
        if resume.calls:
            batch = ToolBatch(self.run, resume.calls, resume)
            await batch.interrupt_unsafe()
            await self._execute(batch)
            if batch.suspended:
                await self._suspend(batch)
                return False
        await self._take("next_run", everything=True)
        for message in more:
            await self.transcript.say(message, sync=True)
        return True

    async def _take(self, kind: Kind, *, everything: bool = False) -> int:
        """Say what waits in a queue; return how many messages were said."""
        if not self.agent.queues.items[kind]:
            return 0
        return self._new_input(await self.transcript.take(kind, "all" if everything else self.run.config.queue_mode))

    def _new_input(self, said: int) -> int:
        """After a new input, compaction may be tried again (spec, section 7: once per conversational input)."""
        if said:
            self.compacted_for_overflow = False
            self.agent.allow_compaction()
        return said

    # --- the turns --------------------------------------------------------------------------------------------

    async def _turns(self) -> None:
        agent, run, ledger, queues = self.agent, self.run, self.run.ledger, self.agent.queues
        continues, cut_off = 0, 0
        while True:
            if run.signal.aborted:
                await run.checkpoint()
            if run.window and run.config.compaction and agent.may_compact:
                await compact_if_needed(run)
            if ledger.turns or run.began_by is None:  # a run that a message began has said it
                await self._take("steer")
            try:
                ledger.begin_turn()
                turn = await self._begin_turn()
                message = await self._answer(turn)
            except LimitReached as limit:
                run.conclude("limit", str(limit))
                return
            batch = await self._run_tools(message, turn)
            if batch is not None and batch.suspended:
                await self._suspend(batch)
                return
            stop = await self._end_turn()
            cut_off = cut_off + 1 if message.stop_reason is StopReason.length and batch is not None else 0
            if cut_off >= 2:
                raise AgentError(
                    "the answer was cut off by its length limit twice in a row while it made tool calls",
                    hint="raise max_tokens or ask for smaller steps",
                )
            if run.signal.aborted:
                await run.checkpoint()
            if stop is not None:
                run.conclude(stop.outcome if isinstance(stop.outcome, str) else "completed", _reason(stop))
                return
            if (batch is not None and not batch.terminates) or message.stop_reason is StopReason.pause:
                continue
            if queues.items["steer"]:
                continue
            more, continues = await self._goes_on(continues)
            if not more:
                return

    async def _begin_turn(self) -> Turn:
        """Emit ``turn_start``; return what this turn alone sends.

        Raises:
            LimitReached: a handler stops the run before the request.
        """
        run = self.run
        self.in_turn = True
        self.transcript.begin_turn()
        self.call = ModelCall(run, self.transcript)
        if "turn_start" not in self.bus.table:
            return Turn()
        answer = await self.bus.fire(
            TurnStartEvent,
            turn_index=run.ledger.turns - 1,
            messages=run.session.messages,
            tools=self.agent.toolbox.tools(),
            system_prompt=run.system_prompt,
        )
        if not isinstance(answer, TurnStartResult):
            return Turn()
        if answer.stop is True:
            raise LimitReached(answer.reason if isinstance(answer.reason, str) else "stopped by a handler")
        for message in answer.append or ():
            await self.transcript.say(message)
        tools: tuple[Tool, ...] | None = None
        if isinstance(answer.tools, Sequence):
            wanted = [tool for tool in answer.tools if self.agent.toolbox.permits(tool.name)]
            tools = tuple(sorted(wanted, key=lambda tool: tool.name))
        return Turn(
            answer.messages or None,
            tools,
            answer.system_prompt if isinstance(answer.system_prompt, str) else None,
        )

    async def _answer(self, turn: Turn) -> AssistantMessage:
        """Ask the model and persist the answer; an overflow is compacted away once per input."""
        assert self.call is not None
        try:
            message = await self.call.ask(turn)
        except ProviderError as error:
            if error.kind is not ErrorKind.overflow or self.compacted_for_overflow:
                raise
            self.compacted_for_overflow = True
            await self.call.drop()
            if not await compact_now(self.run, "overflow"):
                error.hint = (
                    error.hint or "the conversation is too long for the model: start a new one, or install a compactor"
                )
                raise
            message = await self.call.ask(Turn(None, turn.tools, turn.system_prompt))
        message = await self.transcript.persist_answer(message)
        self.run.answered(message.text, message.stop_reason)
        return message

    async def _run_tools(self, message: AssistantMessage, turn: Turn) -> ToolBatch | None:
        """Run the calls of an answer and persist their results in the order of the calls."""
        calls = message.tool_calls
        if not calls:
            return None
        batch = ToolBatch(self.run, calls, tools=turn.tools)
        await self._execute(batch, truncated=message.stop_reason is StopReason.length)
        return batch

    async def _execute(self, batch: ToolBatch, *, truncated: bool = False) -> None:
        """Run a batch and persist its results in the order of the calls; calls that wait for a decision have none yet."""
        run, queues = self.run, self.agent.queues
        self.batch = batch
        run.ledger.count_tool_calls(len(batch.calls))
        skip = run.config.steer_policy == "skip_remaining"
        try:
            if truncated:
                await batch.truncate()
            else:
                await batch.execute(lambda: skip and bool(queues.items["steer"]))
                if queues.items["steer"]:
                    await batch.deny_waiting("the user sent a new instruction instead of a decision")
        finally:
            await self.transcript.persist_results(batch.results)

    async def _end_turn(self) -> TurnEndResult | None:
        """Sync the session and emit ``turn_end``; return the answer of handlers that want the run to stop."""
        run, message = self.run, self.transcript.answer
        problem: BaseException | None = None
        try:
            await run.session.sync()
        except BaseException as error:
            if not run.closing:
                raise  # the turn ends when the run is closed
            problem = error
        self.in_turn = False
        answer = await self.bus.fire(
            TurnEndEvent,
            turn_index=run.ledger.turns - 1,
            message=message,
            tool_results=tuple(self.transcript.results),
            usage=message.usage if message is not None else None,
        )
        if problem is not None:
            raise problem
        return answer if isinstance(answer, TurnEndResult) and answer.stop is True else None

    async def _goes_on(self, continues: int) -> tuple[bool, int]:
        """Return whether stop hooks or follow-ups make the run go on, and how often stop hooks did so in a row."""
        run, queues = self.run, self.agent.queues
        if "before_agent_end" in self.bus.table:
            answer = await self.bus.fire(
                BeforeAgentEndEvent,
                messages=run.session.messages,
                stop_hook_active=continues > 0,
                n_continues=continues,
            )
            wanted = answer.continue_with if isinstance(answer, BeforeAgentEndResult) else UNSET
            if isinstance(wanted, str) and wanted:
                if continues < MAX_CONTINUES:
                    message = UserMessage(content=wanted, source="stop_hook")  # type: ignore[arg-type]
                    await self.transcript.say(message, sync=True)
                    return True, continues + 1
                text = f"handlers made the run go on {MAX_CONTINUES} times; it ends now"
                await self.agent.complain("before_agent_end", text)
        if queues.items["steer"]:  # it came while the handlers were asked
            return True, continues
        said = await self._take("follow_up")
        return bool(said), 0 if said else continues

    # --- the end ----------------------------------------------------------------------------------------------

    async def _suspend(self, batch: ToolBatch) -> None:
        """Persist what waits for a decision, and end the run with it."""
        calls = batch.suspended
        await self.run.session.append("suspension", Suspension.data(calls, str(self.run.cwd)), sync=True)
        self.batch = None  # its calls may stay open
        names = ", ".join(dict.fromkeys(call.name for call in calls))
        self.run.conclude("suspended", f"a decision is awaited about {names}")

    async def _close_failed(self, error: Exception, cause: BaseException | None = None) -> None:
        """End the run as ``failed``; ``cause`` is what the error was made of."""
        self.run.close()
        error.__cause__ = error.__cause__ or cause
        self.run.conclude("failed", self.run.reason, error)
        await self._persist_partial(StopReason.error)
        await self._close_calls()

    async def _close_aborted(self) -> None:
        """End the run as ``aborted``, also when it was cancelled from the outside."""
        run, task = self.run, asyncio.current_task()
        run.close()
        while run.signal.aborted and task is not None and task.uncancel() > 0:
            pass
        run.conclude("aborted", run.signal.reason or "aborted")
        await run.ledger.close_aborted()
        await self._persist_partial(StopReason.aborted)
        await self._close_calls()

    async def _close_interrupted(self, error: BaseException) -> None:
        """End the run as ``aborted``; handlers may interrupt the end again, each once."""
        reason = reason_of(error)
        self.run.signal.abort(reason)
        if not isinstance(error, KeyboardInterrupt):  # the program is about to end, and nobody else would say why
            log.warning("the run was %s", self.run.redact(reason))
        for _ in range(MAX_INTERRUPTS):
            try:
                await self._close_aborted()
                return
            except BaseException as again:
                if not interrupts(again):
                    raise

    async def _persist_partial(self, reason: StopReason) -> None:
        """Persist what had arrived of an answer: text that was shown is never lost (I7)."""
        message = self.call.partial(reason) if self.call is not None and self.transcript.answer is None else None
        if message is None:
            return
        self.run.answered(message.text or self.run.content, reason)
        if message.content:
            await self.transcript.persist_answer(message)
        else:
            await self.transcript.drop_answer(message)

    async def _close_calls(self) -> None:
        """Give calls that wait for a decision a result: the run ended before their suspension was persisted (I1)."""
        if self.batch is not None and self.batch.suspended:
            await self.transcript.persist_results(await self.batch.interrupt_waiting())

    async def _finish(self) -> None:
        """Close the brackets that are open, and push the one event that ends the stream."""
        try:
            if self.in_turn:  # the run ends in the middle of a turn; brackets balance on every path (I8)
                await self._end_turn()
        finally:
            await self._agent_end()

    async def _agent_end(self) -> None:
        run = self.run
        if self.started:
            await self.bus.fire(
                AgentEndEvent,
                outcome=run.outcome,
                reason=run.reason,
                error=run.error,
                messages=tuple(run.messages),
                usage=run.ledger.usage,
                leaf_id=run.session.leaf_id,
            )
        failure = run.failure()
        usage, stop_reason = run.ledger.usage, run.stop_reason
        if failure is None:
            run.push(StreamEvent("done", run.content, usage=usage, stop_reason=stop_reason))
        else:
            run.push(StreamEvent("error", run.content, error=failure, usage=usage, stop_reason=stop_reason))


def _reason(stop: TurnEndResult) -> str:
    """Return why a handler ended the run."""
    return stop.reason if isinstance(stop.reason, str) else "stopped by a handler"
