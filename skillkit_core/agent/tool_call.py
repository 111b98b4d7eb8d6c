"""One tool call, from its arguments to its one result: prepare, approve, execute, finish (spec, section 6).

The file is long because a call is read from top to bottom: each step decides on what the step before it left.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextvars import Context
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from ..abort import AbortSignal
from ..contracts.approver import ApprovalDecision, ApprovalRequest, Question
from ..contracts.tool_executor import ToolExecutor
from ..descriptors import load_object
from ..errors import NoActiveRun, SkillKitError, Suspended, ToolError, UsageError, close_matches, in_words
from ..events.results import NO_ANSWER, UNSET, EventResult, ToolResultEventResult
from ..events.subscriptions import GuardFailed
from ..events.tool_call import ToolCallDecision
from ..events.types import (
    ApprovalRequestEvent,
    ApprovalResolvedEvent,
    ToolCallEvent,
    ToolEvent,
    ToolExecutionEndEvent,
    ToolExecutionStartEvent,
    ToolResultEvent,
)
from ..frozen import EMPTY, copied, same_json
from ..host.json_schema import validate
from ..messages import (
    AgentMessage,
    AssistantMessage,
    Block,
    Outcome,
    TextBlock,
    ToolCall,
    ToolResultMessage,
    blocks_of,
    clean,
)
from ..models import BUCKETS, TokenUsage
from ..tools import Tool, ToolOutput, checked, plain_details
from .approval import KeptQuestion, approvers_of, ask_approvers, call_name
from .around import wrapped
from .asking import ask
from .containment import run_in_thread
from .nesting import enter
from .pump import ToolUpdates, limit_text
from .suspension import Resumption, SuspendedCall, shown_answer

if TYPE_CHECKING:
    from ..contracts.user_interface import Answers, Survey
    from .run import Run
    from .runner import AgentRunner

__all__ = ["IN_PROCESS", "CallContext", "FindTool", "InProcessExecutor", "ToolCallRun"]

WITHHELD = "The result was withheld because a guard failed."
_UNUSED = TokenUsage()
FindTool: TypeAlias = Callable[[str], Tool | None]
Answer: TypeAlias = tuple[ToolOutput, Outcome]


class ToolCallRun:
    """Prepares, executes and finishes one tool call, which gets exactly one result (I1).

    Attributes:
        call: the tool call, as the model made it.
        args: the arguments with which the tool runs, as the last guard saw them; handlers and approvers get copies.
        result: the result; ``None`` before the call has one.
        decisions: the decisions that were given to the resumed run, by call; one counts only for the stored arguments.
        deferred: the questions that wait for a decision; ``None``: the call does not wait.
        terminate: the call agrees that the run ends after the batch.
        unstarted: the ids of the other calls of the answer that have not started when the call runs.
        question: the name under which somebody was asked about the call last.
    """

    __slots__ = (
        "_allowed", "_answer", "_below", "_bus", "_ctx", "_decided", "_ended", "_find", "_guards", "_index", "_inner", "_of",
        "_run", "_started", "_stored", "_substitute", "_survey", "_tool", "_updates", "args", "call", "decisions",
        "deferred", "question", "result", "terminate", "unstarted",
    )  # fmt: skip

    def __init__(
        self,
        run: Run,
        call: ToolCall,
        position: tuple[int, int],
        find: FindTool,
        updates: ToolUpdates,
        resume: Resumption,
    ) -> None:
        self.call = call
        self.args: Mapping[str, Any] = EMPTY
        self.result: ToolResultMessage | None = None
        self.deferred: tuple[Question, ...] | None = None
        self.terminate = False
        self._run = run
        self._bus = run.bus
        self._index, self._of = position
        self._find = find
        self._updates = updates
        self._stored = resume.stored(call.id)
        self.decisions = resume.decisions
        self.question = self._stored.question if self._stored is not None else ""
        self._below: tuple[str, ...] = ()
        self._inner: tuple[SuspendedCall, ...] = ()
        self._answer: Mapping[str, Any] | None = None
        self._allowed: tuple[Question, ...] = ()
        self.unstarted: Sequence[str] = ()
        self._survey: Survey | None = None
        self._decided: ApprovalDecision | None = None  # the decision about the survey with which the call waited
        self._tool: Tool | None = None
        self._substitute: Any = UNSET
        self._guards: Mapping[str, str] = EMPTY
        self._ctx: CallContext | None = None
        self._started = self._ended = False

    async def prepare(self, others: Sequence[ToolCallRun] = ()) -> None:
        """Check the call, ask the guards and the approvers, and start the call or give it an error as its result.

        Args:
            others: calls of the batch; those without a result have not started.
        """
        problem = self._check()
        if problem is not None:
            await self.refuse(Outcome.error, problem)
            return
        questions, refusal = await self._ask_guards() if "before_tool_call" in self._bus.table else ((), None)
        if refusal is not None:
            await self.refuse(*refusal)
            return
        if questions or self._stored is not None:
            answer = await self._approval(questions, others)
            if answer.decision == "deny":
                await self.deny(answer)
            if answer.decision != "allow":
                return
        if self._run.signal.aborted:
            await self._run.checkpoint()
        await self._start()

    def _check(self) -> str | None:
        """Find the tool and validate the arguments; return the error for the model, or ``None``."""
        call, name = self.call, self.call.name
        tool = self._find(name)
        if tool is None:
            close = close_matches(name, [one.name for one in self._run.agent.toolbox.tools() if self._find(one.name)])
            return f"There is no tool {name!r}." + (f" Did you mean {', '.join(close)}?" if close else "")
        if call.args is None:
            return f"The arguments of {name!r} are not a JSON object: {self._run.redact(call.raw_args)[:200]!r}"
        if self._stored is not None and self._stored.redacted:
            return (
                f"The call of {name!r} was not run: its arguments held a secret, which no session keeps. Make it again."
            )
        args = copied(call.args if self._stored is None else self._stored.args)
        problem = validate(tool.parameters, args)
        if problem is not None:
            return f"The arguments of {name!r} do not fit: {problem}"
        self._tool, self.args = tool, args
        return None

    def _make(self, cls: type[ToolEvent], **values: Any) -> ToolEvent:
        """Return an event about the call, with a copy of the arguments."""
        args = copied(self.args)
        return self._bus.make(cls, tool_name=self.call.name, tool_call_id=self.call.id, args=args, **values)

    def _event(self, tool: Tool) -> ToolEvent:
        """Return the :class:`ToolCallEvent` of the call."""
        raw, about = copied(self.call.args), tool.annotations
        return self._make(ToolCallEvent, raw_args=raw, index=self._index, batch_size=self._of, annotations=about)

    async def fire(self, cls: type[ToolEvent], **values: Any) -> EventResult:
        """Emit an event about the call if anybody listens; return the answers as one."""
        return await self._bus.emit(self._make(cls, **values)) if cls.type in self._bus.table else NO_ANSWER

    async def _ask_guards(self) -> tuple[tuple[Question, ...], tuple[Outcome, str] | None]:
        """Emit ``before_tool_call``; return the questions to approve, and the result of a call that must not run."""
        assert self._tool is not None
        decision = await self._bus.emit(self._event(self._tool))
        if not isinstance(decision, ToolCallDecision):
            return (), None
        if decision.args is not None:
            self.args = decision.args
        self.terminate, self._guards = decision.terminate, decision.guards
        if decision.block:
            return (), (Outcome.blocked, f"Blocked: {decision.reason}")
        if decision.changed_by is not None:
            problem = validate(self._tool.parameters, self.args)
            if problem is not None:
                who = f"plugin {decision.plugin!r}" if decision.plugin else decision.changed_by
                text = f"{who} changed the arguments so that they do not fit: {problem}"
                return (), (Outcome.error, text)
        self._substitute = decision.result
        return decision.questions, None

    async def _approval(self, questions: Sequence[Question], others: Sequence[ToolCallRun]) -> ApprovalDecision:
        """Return the decision about the call with its current arguments: given to ``resume``, remembered, or asked for now."""
        stored, decided = self._stored, self.decisions.get(self.call.id)
        if stored is not None:
            own, same = stored.own_questions, same_json(self.args, stored.args)
            if decided is not None and decided.decision == "deny":
                return await self._resolve(own, decided)
            self._allowed = stored.allowed if same else ()
            fresh = tuple(q for q in questions if q not in own and q not in self._allowed)
            if stored.survey is not None:
                # the tool asks again, and gets the answers that came for these arguments
                self._decided, self._answer = (
                    (decided, decided.answer) if decided is not None and same else (None, None)
                )
                questions = fresh
            elif decided is not None and same:
                await self._resolve(own, decided)
                questions = fresh
            else:
                # no decision covers the current arguments, so the stored questions count also when their guard is gone
                questions = (*own, *fresh)
        sticky = self._run.outermost.agent.conversation.sticky_approvals
        if all(q.key is not None and (self.call.name, q.plugin, q.key) in sticky for q in questions):
            return ApprovalDecision("allow")
        answer = await self._ask_approvers(questions, others)
        if answer.decision == "defer":
            self.deferred = tuple(questions)
        return answer

    async def _ask_approvers(self, questions: Sequence[Question], others: Sequence[ToolCallRun]) -> ApprovalDecision:
        """Keep the questions in the session, and ask the approvers; return the decision."""
        run = self._run
        approvers = await approvers_of(run)
        kept = KeptQuestion(run, self.suspended(tuple(questions)))
        self.question = kept.id
        if approvers:
            await kept.keep([other.call.id for other in others if other is not self and other.result is None])
        args, path, known = copied(self.args), run.agent.events.agent_path, (kept.id, kept.deferrable)
        request = ApprovalRequest(self.call.name, self.call.id, args, questions, path, *known)
        await self.fire(
            ApprovalRequestEvent,
            id=kept.id,
            questions=tuple(q.text for q in questions),
            asked=tuple(questions),
            rememberable=request.rememberable,
            deferrable=kept.deferrable,
        )
        answer = await ask_approvers(approvers, request)
        return await self._resolve(questions, answer, kept if approvers else None)

    async def _resolve(
        self, questions: Sequence[Question], answer: ApprovalDecision, kept: KeptQuestion | None = None
    ) -> ApprovalDecision:
        """Write the decision, emit ``approval_resolved``, and remember an approval; return ``answer``."""
        if kept is not None:
            await kept.resolve(answer)
        await self.fire(
            ApprovalResolvedEvent,
            id=self.question or call_name(self._run, self.call.id),
            questions=tuple(q.text for q in questions),
            decision=answer.decision,
            reason=answer.reason,
            remember=answer.remember,
            answers=shown_answer(answer),
            origin=answer.origin,
        )
        if answer.decision != "allow":
            return answer
        self._allowed += tuple(questions)
        if answer.answer is not None:
            self._answer = answer.answer
        if answer.remember:
            keys = {(self.call.name, q.plugin, q.key) for q in questions if q.key is not None}
            self._run.outermost.agent.conversation.sticky_approvals.update(keys)
        return answer

    @property
    def run(self) -> Run:
        """The run of the call."""
        return self._run

    @property
    def waiting(self) -> bool:
        """True when the call waits for a decision."""
        return self.deferred is not None and self.result is None

    async def wait(self) -> None:
        """Defer the call, because it may build on an earlier call that waits; the guards' questions are kept with it."""
        if self._stored is not None:
            self.deferred, self._allowed = self._stored.questions, self._stored.allowed
            self._below, self._inner = self._stored.below, self._stored.inner
            self._survey = self._stored.survey
        elif self._check() is None and "before_tool_call" in self._bus.table:
            self.deferred, _ = await self._ask_guards()
        if not self.deferred:
            self.deferred, self.args = (), EMPTY  # when the call's turn comes, the handlers get what the model wrote

    def suspended(self, questions: tuple[Question, ...]) -> SuspendedCall:
        """Return what the session keeps of a call that waits."""
        args, stored = self.args or self.call.args or EMPTY, self._stored
        redacted = self._run.redact(args) is not args or (stored is not None and stored.redacted)
        kept = (redacted, self._allowed, self._below, self._inner, self._survey, self.question)
        return SuspendedCall(self.call.id, self.call.name, args, questions, *kept)

    async def deny(self, answer: ApprovalDecision) -> None:
        """Give the call the outcome ``denied``."""
        await self.refuse(Outcome.denied, f"Denied: {answer.reason or 'no reason given'}")

    async def deny_waiting(self, reason: str) -> None:
        """Emit ``approval_resolved`` with a denial for a waiting call, and give the call the outcome ``denied``."""
        answer = ApprovalDecision("deny", reason)
        await self._resolve(self.deferred or (), answer)
        await self.deny(answer)

    async def _start(self) -> None:
        self._started = True
        await self.fire(ToolExecutionStartEvent)

    async def execute(self, unstarted: Sequence[str] = ()) -> None:
        """Run a prepared call, and give the call its result. A tool with effects waits until the disk has its call (I10)."""
        self.unstarted = unstarted
        if self._substitute is UNSET and self._tool is not None and self._tool.replay != "safe":
            await self._run.session.handle.sync()
        began = self._run.clock.monotonic()
        if self._substitute is not UNSET:
            output = _as_output(self._substitute)
            outcome = Outcome.error if output.is_error else Outcome.ok
        else:
            try:
                output, outcome = await self._run_tool()
            except Suspended as waiting:
                await self._wait_below(waiting)
                return
        # an abort gave the call its result before the tool answered
        if self.result is not None:
            return
        duration = self._run.clock.monotonic() - began
        await self._updates.drain()
        if "after_tool_result" in self._bus.table:
            output, outcome = await self._patched(output, outcome, duration)
        await self._finish(output, outcome, duration)

    async def _run_tool(self) -> Answer:
        run, tool, args = self._run, self._tool, self.args
        assert tool is not None
        ctx = self._ctx = CallContext(run, self, tool.name, self._updates, self._answer)
        enter(run, ctx)  # no leave(): the task ends with the call
        executor = run.executor or IN_PROCESS

        async def body() -> ToolOutput:
            return await executor.execute(tool, args, ctx)

        hooks = run.agent.around.of("wrap_tool_call")
        call = wrapped(hooks, self._event(tool), body, self._bus.context) if hooks else body
        try:
            output = checked(tool, await (call() if tool.timeout is None else _limited(call(), tool.timeout)))
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
        except Suspended:
            raise
        except Exception as error:  # noqa: BLE001 - a tool's failure is a result (spec, section 9.20)
            said = str(error) if isinstance(error, SkillKitError) else in_words(error)
            return ToolOutput(said, is_error=True), Outcome.error

    def waits(self, below: tuple[str, ...], inner: tuple[SuspendedCall, ...]) -> SuspendedCall:
        """Return what the session keeps of the call while agents inside the call wait."""
        questions = tuple(question for call in inner for question in call.questions)
        return replace(self.suspended(questions), below=below, inner=inner)

    async def _wait_below(self, waiting: Suspended) -> None:
        """Let the call wait with its survey, or with the agent inside the call; emit ``tool_execution_end`` for this attempt."""
        if self.result is not None:
            return
        session, calls = waiting.session_id, waiting.suspension.calls
        if session == self._run.session.id:
            self.deferred, self._survey, self.question = calls[0].questions, calls[0].survey, calls[0].question
            await self._end_attempt()
            return
        asked = [call for call in calls if call.questions]
        self._below = (session, *(below for call in asked for below in call.below))
        self._inner = tuple(
            inner if call.inner else replace(inner, id=f"{session}/{inner.id}")
            for call in asked
            for inner in call.waiting
        )
        self.deferred = tuple(question for call in asked for question in call.questions)
        await self._end_attempt()

    async def _end_attempt(self) -> None:
        """End a call that waits; emit ``tool_execution_end`` for this attempt."""
        if self._ctx is not None:
            self._ctx.close()
        await self._updates.drain()
        self._ended = True
        await self.fire(ToolExecutionEndEvent, outcome=Outcome.suspended, guards=self._guards)

    @property
    def asks(self) -> bool:
        """True when the tool asks first and acts afterwards, so that it can run again once it has its answers."""
        return self._tool is not None and self._tool.annotations.get("asks") is True

    @property
    def resumed(self) -> bool:
        """True when the call waited with a survey in an earlier run."""
        return self._stored is not None and self._stored.survey is not None

    def take_decision(self, survey: Survey) -> ApprovalDecision | None:
        """Return, once, the decision about the survey with which the call waited, if it is this one."""
        decided, stored = self._decided, self._stored
        if decided is None or decided.answer is None or stored is None or stored.survey is None:
            return None
        if not same_json(stored.survey.to_dict(), self._run.redact(survey.to_dict())):
            return None
        self._decided = None
        return decided

    @property
    def suspends(self) -> bool:
        """True when the call can wait for agents inside the call."""
        return self._tool is not None and self._tool.suspends

    @property
    def below(self) -> tuple[str, ...]:
        """The sessions of agents inside the call that wait, when the call is resumed."""
        return self._stored.below if self._stored is not None else ()

    async def _patched(self, output: ToolOutput, outcome: Outcome, duration: float) -> Answer:
        """Emit ``after_tool_result``; return the output and the outcome with the changes of the handlers."""
        try:
            patch = await self.fire(
                ToolResultEvent,
                raw_args=self.call.args or EMPTY,
                content=self._content(output),
                details=self._run.redact(output.details),
                is_error=output.is_error,
                terminate=output.terminate,
                usage=output.usage,
                outcome=outcome,
                duration=duration,
            )
        except GuardFailed:
            return ToolOutput(WITHHELD, is_error=True, usage=output.usage), Outcome.error
        if not isinstance(patch, ToolResultEventResult):
            return output, outcome
        values = dict(patch.set_fields())
        output = replace(output, **values)
        if "is_error" in values and outcome in (Outcome.ok, Outcome.error):
            outcome = Outcome.error if output.is_error else Outcome.ok
        return output, outcome

    async def refuse(self, outcome: Outcome, text: str) -> None:
        """Give a call that must not run an error as its result."""
        if not self._started:
            self.args = self.args or self.call.args or EMPTY
            await self._start()
        await self._finish(ToolOutput(text, is_error=True), outcome, 0.0)

    async def interrupt(self, how: str) -> None:
        """Give an open call the outcome ``interrupted``; emit ``tool_execution_end`` unless it was emitted."""
        if self.result is None:
            await self.refuse(Outcome.interrupted, f"Interrupted: the run {how}.")
        elif not self._ended:
            await self._end(self.result, self.result.details, 0.0)

    @property
    def ended(self) -> bool:
        """True when the call has its result and ``tool_execution_end`` was emitted."""
        return self._ended and self.result is not None

    async def _finish(self, output: ToolOutput, outcome: Outcome, duration: float) -> None:
        """Set the result of the call, unless the call has one; record the usage; emit ``tool_execution_end``."""
        if self.result is not None:
            return
        nested = self._ctx.close() if self._ctx is not None else _UNUSED
        self.terminate = self.terminate or output.terminate
        result = self.result = ToolResultMessage(
            tool_call_id=self.call.id,
            tool_name=self.call.name,
            content=self._content(output),
            is_error=outcome is not Outcome.ok or output.is_error,
            outcome=outcome,
            details=plain_details(output.details),
            pinned=output.pinned,
            ts=self._run.clock.time(),
        )
        if output.usage is not None:
            usage = _besides(output.usage, nested)
            await self._run.ledger.record(usage, "tool", self._run.target, tool_name=self.call.name)
        await self._end(result, output.details, duration)

    def _content(self, output: ToolOutput) -> tuple[Block, ...]:
        """Return the output as blocks: cleaned, with secrets redacted, cut to the ``max_output`` of the tool."""
        room = self._tool.max_output if self._tool is not None else 100_000
        blocks: list[Block] = []
        for block in blocks_of(output.content):
            if isinstance(block, TextBlock):
                text = limit_text(self._run.redact(clean(block.text)), room)
                block = block if text == block.text else TextBlock(text)
                room = max(0, room - len(text))
            blocks.append(block)
        return tuple(blocks)

    async def _end(self, result: ToolResultMessage, details: Any, duration: float) -> None:
        if self._ended:  # the call waited for an agent inside it
            return
        self._ended = True
        await self.fire(
            ToolExecutionEndEvent,
            content=result.content,
            details=self._run.redact(details),
            is_error=result.is_error,
            outcome=result.outcome,
            duration=duration,
            guards=self._guards,
        )


class InProcessExecutor(ToolExecutor):
    """Runs async tools on the loop of the run, and plain functions in a thread."""

    async def execute(self, tool: Tool, args: Mapping[str, Any], ctx: Any) -> ToolOutput:
        """Call the function of the tool, and return its output; raise :class:`ToolError` for another type."""
        function = tool.execute if callable(tool.execute) else load_object(tool.execute)
        code = getattr(function, "__code__", None)
        if (code is not None and code.co_flags & inspect.CO_COROUTINE) or inspect.iscoroutinefunction(function):
            answer = await function(args, ctx)
        else:
            # a plain function must not block the loop
            answer = await asyncio.to_thread(run_in_thread, function, args, ctx)
            answer = await answer if inspect.isawaitable(answer) else answer
        if isinstance(answer, ToolOutput):
            return answer
        if isinstance(answer, str):
            return ToolOutput(answer)
        raise ToolError(f"tool {tool.name!r} returned {type(answer).__name__} instead of ToolOutput or str")


IN_PROCESS = InProcessExecutor()


class CallContext:
    """The context of a running tool (:class:`~skillkit_core.tools.ToolContext`)."""

    __slots__ = (
        "_asked", "_call", "_n", "_nested", "_updates", "agent", "agent_path", "answer", "cwd", "run_id", "session_id", "settled",
        "signal", "tool_call_id", "tool_name", "ui",
    )  # fmt: skip

    def __init__(
        self, run: Run, call: ToolCallRun, tool_name: str, updates: ToolUpdates, answer: Mapping[str, Any] | None = None
    ) -> None:
        self._call: ToolCallRun | None = call
        self.agent: AgentRunner = run.agent
        self.ui = run.agent.ui
        self.answer = answer
        self.tool_name = tool_name
        self.tool_call_id = call.call.id
        self.signal: AbortSignal = run.signal
        self.cwd: Path = run.cwd
        self.session_id = run.session.id
        self.run_id: str | None = run.id
        self.agent_path = run.bus.agent_path
        self.settled = False
        self._nested = _UNUSED
        self._updates = updates
        self._n = self._asked = 0

    async def complete(self, messages: Sequence[AgentMessage], **asked: Any) -> AssistantMessage:
        """Ask a model once; the usage of the answer is in the books already if the tool reports it, too."""
        if self.settled:
            raise NoActiveRun("the call has its result", hint="ask before the tool returns")
        answer = await self.agent.scheduler.complete(messages, **asked)
        self.add_nested(answer.usage)
        return answer

    async def ask(self, survey: Survey, *, wait: bool = True) -> Answers | None:
        """Ask a person; see :meth:`~skillkit_core.tools.ToolContext.ask`."""
        call, self._asked = self.call, self._asked + 1
        return await ask(call.run, call, self.ui, survey, wait, self._asked - 1)

    def on_output(self, output: str, stream: Literal["stdout", "stderr"] = "stdout") -> None:
        """Emit output of the tool as ``tool_execution_update``; do nothing once the call has its result."""
        if not self.settled and output:
            self._n += 1
            self._updates.show(self, output, stream, self._n)

    def add_nested(self, usage: TokenUsage) -> None:
        """Add the usage of a run inside the call, which the usage ledger has recorded already."""
        self._nested = self._nested + usage

    @property
    def idempotency_key(self) -> str:
        """The session, the entry of the answer, and the place of the call in the answer."""
        session, place = self.agent.session, (self.tool_call_id, 0)
        for entry_id, message in zip(reversed(session.context_ids), reversed(session.context), strict=True):
            ids = [call.id for call in message.tool_calls] if isinstance(message, AssistantMessage) else []
            if self.tool_call_id in ids:
                place = entry_id, ids.index(self.tool_call_id)
                break
        return f"{self.session_id}/{place[0]}/{place[1]}"

    @property
    def call(self) -> ToolCallRun:
        """The call; raise :class:`UsageError` when the call is over."""
        if self._call is None:
            raise UsageError("the tool call is over")
        return self._call

    @property
    def below(self) -> tuple[str, ...]:
        """The sessions of the agents that this call started and that wait."""
        return self.call.below

    def close(self) -> TokenUsage:
        """End the updates of the call; return the usage of the runs inside the call."""
        self.settled, self._call = True, None
        return self._nested


async def _limited(work: Coroutine[Any, Any, ToolOutput], seconds: float) -> ToolOutput:
    async with asyncio.timeout(None) as limit:
        # the loop keeps a cancelled timer, which must not keep the context of the run alive
        Context().run(limit.reschedule, asyncio.get_running_loop().time() + seconds)
        return await work


def _as_output(value: Any) -> ToolOutput:
    if isinstance(value, ToolOutput):
        return value
    return ToolOutput(value if isinstance(value, str) else blocks_of(value))


def _besides(reported: TokenUsage, nested: TokenUsage) -> TokenUsage:
    """Return the usage that a tool reports, without the usage of nested runs, which the ledger has recorded."""
    return TokenUsage(*[max(0, getattr(reported, name) - getattr(nested, name)) for name in BUCKETS])
