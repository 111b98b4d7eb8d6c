"""The loop: a run from its beginning through its turns to its end, in this order (spec, section 7)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import asdict

from ..config import Limits
from ..contracts.adapter import LLMAdapter
from ..contracts.approver import ApprovalDecision
from ..contracts.driver import Driver
from ..contracts.session_store import DRIVEN
from ..errors import AgentError, ErrorKind, LimitReached, ProviderError, SessionError, SkillKitError, interrupts
from ..events.results import UNSET, BeforeAgentEndResult, BeforeAgentStartResult, TurnEndResult, TurnStartResult
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
from .driven import Drive
from .input import Kind
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
    """Drive a run to its outcome, and emit ``agent_end`` if the run has started; raise only cancellation and interrupts.

    Args:
        run: the run, whose session is open.
        prompt: the messages of the user; none when the run begins with messages that the session holds, with a queued message,
            or with ``resume``.
        resume: the open calls with which the run begins.
    """
    await Loop(run).drive(prompt, resume)


class Restart(Exception):
    """A handler of ``turn_start`` wants another run for the inputs of the turn."""


async def keep_exchange(run: Run, said: Sequence[AgentMessage]) -> None:
    """Deny the calls that wait for a decision, then persist an input that a handler answered, with the reply."""
    loop = Loop(run)
    await loop.deny_waiting()
    for message in said:
        await loop.transcript.say(message, sync=True)


def worked_on(messages: Sequence[AgentMessage]) -> UserMessage:
    """Return the input on which a resumed run works: the newest one that is no steering message in the middle of a run."""
    found = UserMessage()
    for i, message in reversed(tuple(enumerate(messages))):
        if isinstance(message, UserMessage) and message.source != "stop_hook":
            found, before = message, messages[i - 1] if i else None
            if message.source != "steer" or (isinstance(before, AssistantMessage) and not before.tool_calls):
                break
    return found


class Loop:
    """Drives one run."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.agent = run.agent
        self.bus = run.bus
        self.transcript = Transcript(run)
        self.call: ModelCall | None = None  # of the current turn
        self.batch: ToolBatch | None = None  # of the current answer
        self.driver: Drive | None = None  # in the place of the model
        self.started = False  # agent_start was emitted
        self.in_turn = False  # turn_start was emitted, turn_end was not
        self.compacted_for_overflow = False  # reset by each input
        self.read = 0, 0  # the messages and the receipts of the run that are no inputs of the next turn

    async def drive(self, prompt: Sequence[AgentMessage], resume: Resumption | None) -> None:
        """Begin the run, take its turns, and end it with an outcome on every path."""
        run = self.run
        try:
            more = await self._begin(prompt, resume)
            if more is not None and (resume is None or await self._take_up(resume, more)):
                self.read = len(run.messages), len(run.receipts)
                try:
                    await (self._turns() if self.driver is None else self._driven(self.driver))
                except Restart:
                    await self._restart()
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
            else:
                # nobody cancelled the run: a plugin let a CancelledError of its own escape
                await self._close_failed(AgentError("something in the run was cancelled from the inside"), cancelled)
        except BaseException as raised:
            if interrupts(raised):
                await self._close_interrupted(raised)
                raise
            error = as_failure(raised, run.task)
            if run.signal.aborted:
                await self._close_aborted()
            else:
                await self._close_failed(error)
        finally:
            run.close()
            await self._finish()

    async def _begin(self, prompt: Sequence[AgentMessage], resume: Resumption | None) -> Sequence[AgentMessage] | None:
        """Choose the target, persist the input, and emit ``agent_start``.

        Returns:
            The handlers' messages, which a resumed run persists after the results of its open calls; ``None``: the message for
            which the run began was cancelled, and the run has no turn.
        """
        run, agent, later = self.run, self.agent, None
        parts = prompt_parts(agent, run.context.providers)
        run.prompt_with(joined(parts))
        said: AgentMessage = prompt[-1] if prompt else run.inputs[-1] if run.inputs else worked_on(run.session.messages)
        try:
            await run.choose_target()
        except SkillKitError:
            # only a driver can work without a model; nothing is persisted when there is neither
            if run.began_by is None and self.bus.has_say("before_agent_start"):
                later = await self._prepare(said, parts, resume is not None)
            if self.driver is None:
                raise
        if run.began_by is not None and not agent.queues:
            return None
        if resume is None:
            await self.deny_waiting()
            taken = await self._take("next_run", everything=True)
            if run.began_by is not None:
                if not taken + self._new_input(await self.transcript.take_until(run.began_by)):
                    return None
                said = run.messages[-1]
        for message in prompt:
            await self.transcript.say(message, sync=True)
        if resume is None and run.session.driven is not None:
            await self._end_driven()  # an earlier driver did not come to its end: its input is given up
        if later is None:
            later = (
                await self._prepare(said, parts, resume is not None) if "before_agent_start" in self.bus.table else ()
            )
        if resume is None:
            for message in later:
                await self.transcript.say(message, sync=True)
        self.started = True
        if "agent_start" in self.bus.table:
            target, parent = run.target if self.driver is None else None, run.parent
            await self.bus.fire(
                AgentStartEvent,
                model=target.model if target is not None else None,
                provider=target.provider if target is not None else "",
                tools=tuple(tool.name for tool in agent.toolbox.tools()) if target is not None else (),
                limits=freeze(asdict(run.ledger.limits)),
                parent_run_id=parent.run.id if parent is not None else None,
                parent_tool_call_id=parent.call.tool_call_id
                if parent is not None and parent.call is not None
                else None,
            )
        return later

    async def _prepare(self, said: AgentMessage, parts: Mapping[str, str], resumed: bool) -> Sequence[AgentMessage]:
        """Emit ``before_agent_start``, and prepare the run as the handlers want it; return their messages."""
        run = self.run
        answer = await self.bus.fire(
            BeforeAgentStartEvent,
            prompt=said.text,
            images=tuple(block for block in said.content if not isinstance(block, TextBlock)),
            resumed=resumed,
            system_prompt=run.system_prompt,
            parts=freeze(parts),
        )
        if not isinstance(answer, BeforeAgentStartResult):
            return ()
        if isinstance(answer.system_prompt, str):
            run.prompt_with(answer.system_prompt)
        if isinstance(answer.limits, Limits):
            run.ledger.lower(answer.limits)
        await self._use_target(answer.adapter or None, answer.model or None)
        if isinstance(answer.driver, Driver):
            self.driver = Drive(self, answer.driver, said.text, resumed and run.session.driven is not None)
        return () if run.config.bare else tuple(answer.messages or ())

    async def _use_target(self, adapter: str | LLMAdapter | None, model: str | ModelDefinition | None) -> None:
        """Use the adapter and model that ``before_agent_start`` names for the run; report names that are unknown."""
        if adapter is None and model is None:
            return
        try:
            await self.run.use_target(adapter, model)
        except SkillKitError as error:
            await self.run.bus.complain("before_agent_start", f"the run keeps its model: {error}")

    async def deny_waiting(self) -> None:
        """Deny the calls that wait for a decision, because another input came instead (spec, section 7)."""
        session = self.run.session
        suspension = session.suspension()
        if suspension is None:
            return
        found = resumption(session.messages, suspension, None)
        no = ApprovalDecision("deny", "the user went on without deciding")
        given = dict.fromkeys(suspension.open_calls, no)
        await session.append("custom", decisions_entry(suspension, given), sync=True)
        batch = ToolBatch(self.run, found.calls, found)
        try:
            await batch.deny_all(no.reason)
        finally:
            await self.transcript.persist_results(batch.results)

    async def _take_up(self, resume: Resumption, more: Sequence[AgentMessage]) -> bool:
        """Execute or deny the open calls of the last answer; return whether the run goes on."""
        if resume.suspension is not None:
            # persisted before any call runs, so that no call runs twice after a crash
            entry = decisions_entry(resume.suspension, resume.decisions)
            await self.run.session.append("custom", entry, sync=True)
        if resume.calls:
            batch = ToolBatch(self.run, resume.calls, resume)
            await batch.interrupt_unsafe()
            await self._execute(batch)
            if batch.suspended:
                await self.suspend(batch)
                return False
        await self._take("next_run", everything=True)
        for message in more:
            await self.transcript.say(message, sync=True)
        return True

    async def _take(self, kind: Kind, *, everything: bool = False) -> int:
        """Persist messages of a queue; return how many messages were persisted."""
        if not self.agent.queues.items[kind]:
            return 0
        return self._new_input(await self.transcript.take(kind, "all" if everything else self.run.config.queue_mode))

    def _new_input(self, said: int) -> int:
        """Allow compaction again after a new input (spec, section 7: once per conversational input); return ``said``."""
        if said:
            self.compacted_for_overflow = False
            self.run.context.allow_compaction()
        return said

    async def _restart(self) -> None:
        """End the run, and what its driver did, for another run."""
        if self.run.session.driven is not None:
            await self._end_driven()
        self._leave_to_another_run()

    def _leave_to_another_run(self) -> None:
        """Let another run begin with the inputs that came since the last turn, and answer their receipts."""
        messages, receipts = self.read
        self.run.followed_by_one_for(self._inputs(messages), receipts)

    def _inputs(self, since: int) -> tuple[UserMessage, ...]:
        """Return the messages of the user that the run has persisted as input since one of its messages."""
        said = self.run.messages[since:]
        return tuple(m for m in said if isinstance(m, UserMessage) and m.source != "stop_hook")

    async def _turns(self) -> None:
        run, ledger, queues = self.run, self.run.ledger, self.agent.queues
        continues, cut_off = 0, 0
        while True:
            if run.signal.aborted:
                await run.checkpoint()
            if run.window and run.config.compaction and run.context.may_compact:
                await compact_if_needed(run)
            # a run that a queued message began has persisted the message already
            if ledger.turns or run.began_by is None:
                await self._take("steer")
            try:
                ledger.begin_turn()
                turn = await self.begin_turn()
                message = await self._answer(turn)
            except LimitReached as limit:
                run.conclude("limit", limit.message)
                return
            batch = await self.run_calls(message, turn.tools)
            if batch is not None and batch.suspended:
                await self.suspend(batch)
                return
            stop = await self.end_turn()
            cut_off = cut_off + 1 if message.stop_reason is StopReason.length and batch is not None else 0
            if cut_off >= 2:
                raise AgentError(
                    "the answer was cut off by its length limit twice in a row while it made tool calls",
                    hint="raise max_tokens or ask for smaller steps",
                )
            if run.signal.aborted:
                await run.checkpoint()
            if stop is not None:
                self.stopped(stop)
                return
            if (batch is not None and not batch.terminates) or message.stop_reason is StopReason.pause:
                continue
            if queues.items["steer"]:
                continue
            more, continues = await self._goes_on(continues)
            if not more:
                return

    def stopped(self, stop: TurnEndResult) -> None:
        """Conclude the run as a handler of ``turn_end`` wants it."""
        reason = stop.reason if isinstance(stop.reason, str) else "stopped by a handler"
        self.run.conclude(stop.outcome if isinstance(stop.outcome, str) else "completed", reason)

    async def _driven(self, driver: Drive) -> None:
        """Let code drive the run in the place of the model."""
        finished = False
        try:
            finished = await driver.to_the_end()
        except LimitReached as limit:  # a handler of turn_start stops the run
            self.run.conclude("limit", limit.message)
        finally:
            self.driver = None
        if self.run.outcome == "completed":
            await self._end_driven()
        self.read = len(self.run.messages), len(self.run.receipts)
        if finished and (await self._take("steer") or await self._take("follow_up")):
            self._leave_to_another_run()  # the driver has not seen them

    async def _end_driven(self) -> None:
        """Note that nothing is left to resume of the driver of the branch."""
        await self.run.session.append("custom", {"custom_type": DRIVEN, "over": True})

    async def begin_turn(self) -> Turn:
        """Emit ``turn_start``; return what the handlers change for this turn.

        Raises:
            LimitReached: a handler stops the run before the request.
            Restart: a handler wants another run for the inputs that have come.
        """
        run = self.run
        self.in_turn = True
        self.transcript.begin_turn()
        self.call = ModelCall(run, self.transcript)
        if "turn_start" not in self.bus.table:
            return Turn()
        inputs = self._inputs(self.read[0])
        answer = await self.bus.fire(
            TurnStartEvent,
            turn_index=run.ledger.turns - 1,
            inputs=inputs,
            messages=run.session.messages,
            tools=self.agent.toolbox.tools(),
            system_prompt=run.system_prompt,
        )
        answer = answer if isinstance(answer, TurnStartResult) else TurnStartResult()
        if answer.stop is True:
            raise LimitReached(answer.reason if isinstance(answer.reason, str) else "stopped by a handler")
        if answer.restart is True and inputs:
            raise Restart
        self.read = len(run.messages), len(run.receipts)
        for message in answer.append or ():
            await self.transcript.say(message)
        tools: tuple[Tool, ...] | None = None
        if isinstance(answer.tools, Sequence):
            wanted = [tool for tool in answer.tools if self.agent.toolbox.permits(tool.name)]
            tools = tuple(sorted(wanted, key=lambda tool: tool.name))
        return Turn(
            answer.messages or None, tools, answer.system_prompt if isinstance(answer.system_prompt, str) else None
        )

    async def _answer(self, turn: Turn) -> AssistantMessage:
        """Call the model and persist the answer; compact and call again at the first overflow after an input."""
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
        self.run.answered(self.run.messages[-1].text, message.stop_reason)
        return message

    async def run_calls(self, message: AssistantMessage, tools: tuple[Tool, ...] | None = None) -> ToolBatch | None:
        """Execute the calls of an answer and persist their results; return the batch, ``None`` without calls."""
        calls = message.tool_calls
        if not calls:
            return None
        batch = ToolBatch(self.run, calls, tools=tools)
        await self._execute(batch, truncated=message.stop_reason is StopReason.length)
        return batch

    async def _execute(self, batch: ToolBatch, *, truncated: bool = False) -> None:
        """Execute a batch and persist its results in the order of the calls; waiting calls have no result yet."""
        run, queues = self.run, self.agent.queues
        self.batch = batch
        run.ledger.count_tool_calls(len(batch.calls))
        # a driver gets steering messages at its checkpoints
        skip = run.config.steer_policy == "skip_remaining" and self.driver is None
        try:
            if truncated:
                await batch.truncate()
            else:
                await batch.execute(lambda: skip and bool(queues.items["steer"]))
                if queues.items["steer"]:
                    await batch.deny_waiting("the user sent a new instruction instead of a decision")
        finally:
            await self.transcript.persist_results(batch.results)

    async def end_turn(self) -> TurnEndResult | None:
        """Begin a sync and emit ``turn_end``; return the answer of a handler that stops the run, else ``None``."""
        run, message = self.run, self.transcript.answer
        problem: SessionError | None = None
        try:
            run.session.handle.begin_sync()
        except SessionError as error:
            # the failure closes the run, and _finish() ends the turn
            if not run.closing:
                raise
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
        """Return whether stop hooks, steering or follow-ups continue the run, and how often stop hooks did so in a row."""
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
                await self.run.bus.complain("before_agent_end", text)
        # a steering message may come while the handlers work
        if queues.items["steer"]:
            return True, continues
        said = await self._take("follow_up")
        return bool(said), 0 if said else continues

    async def suspend(self, batch: ToolBatch) -> None:
        """Persist the calls that wait for a decision, and end the run as ``suspended``."""
        calls = batch.suspended
        await self.run.session.append("suspension", Suspension.data(calls, str(self.run.cwd)), sync=True)
        self.batch = None  # the suspended calls stay open
        names = ", ".join(dict.fromkeys(call.name for call in calls))
        self.run.conclude("suspended", f"a decision is awaited about {names}")

    async def _close_failed(self, error: Exception, cause: BaseException | None = None) -> None:
        """End the run as ``failed``; ``cause`` becomes the ``__cause__`` of an error without one."""
        self.run.close()
        error.__cause__ = error.__cause__ or cause
        self.run.conclude("failed", self.run.reason, error)
        await self._persist_partial(StopReason.error)
        await self._close_calls()

    async def _close_aborted(self) -> None:
        """End the run as ``aborted``, after ``abort()`` or a cancellation of the run's task."""
        run, task = self.run, asyncio.current_task()
        run.close()
        while run.signal.aborted and task is not None and task.uncancel() > 0:
            pass
        run.conclude("aborted", run.signal.reason or "aborted")
        await run.ledger.close_aborted()
        await self._persist_partial(StopReason.aborted)
        await self._close_calls()

    async def _close_interrupted(self, error: BaseException) -> None:
        """End the run as ``aborted``, also when handlers interrupt the end again."""
        reason = reason_of(error)
        self.run.signal.abort(reason)
        # the program is about to end, and only the log can say why
        if not isinstance(error, KeyboardInterrupt):
            log.warning("the run was %s", self.run.redact(reason))
        for _ in range(MAX_INTERRUPTS):
            try:
                await self._close_aborted()
                return
            except BaseException as again:
                if not interrupts(again):
                    raise

    async def _persist_partial(self, reason: StopReason) -> None:
        """Persist the part of the answer that has arrived: text that was shown is never lost (I7)."""
        message = self.call.partial(reason) if self.call is not None and self.transcript.answer is None else None
        if message is None:
            return
        self.run.answered(message.text or self.run.content, reason)
        if message.content:
            await self.transcript.persist_answer(message)
        else:
            await self.transcript.drop_answer(message)

    async def _close_calls(self) -> None:
        """Give waiting calls a result when the run ends before their suspension is persisted (I1)."""
        if self.batch is not None and self.batch.suspended:
            await self.transcript.persist_results(await self.batch.interrupt_waiting())

    async def _finish(self) -> None:
        """Emit ``turn_end`` for an open turn, ``agent_end``, and the stream's last event (I8)."""
        try:
            if self.in_turn:
                await self.end_turn()
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
