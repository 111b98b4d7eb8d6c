"""One tool call from its arguments to its result: checked, guarded, approved, executed, answered once (spec, section 6)."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from ..abort import AbortSignal
from ..containment import await_contained, call_contained, in_words, run_in_thread
from ..contracts.approver import ApprovalDecision, ApprovalRequest, Approver, Question
from ..contracts.tool_executor import ToolExecutor
from ..descriptors import load_object
from ..errors import ToolError
from ..events.bus import GuardFailed
from ..events.results import UNSET, ToolResultEventResult
from ..events.tool_call import ToolCallDecision, same_json
from ..events.types import (
    ApprovalRequestEvent,
    ApprovalResolvedEvent,
    ToolCallEvent,
    ToolExecutionEndEvent,
    ToolExecutionStartEvent,
    ToolResultEvent,
)
from ..frozen import EMPTY
from ..messages import (
    Block,
    DocumentBlock,
    ImageBlock,
    Outcome,
    ProviderBlock,
    TextBlock,
    ToolCall,
    ToolResultMessage,
    blocks_of,
)
from ..models import TokenUsage
from ..schema import validate
from ..text import clean, limit_text
from ..tools import Tool, ToolOutput
from .nesting import beyond, chain

if TYPE_CHECKING:
    from .run import Run
    from .suspension import SuspendedCall

__all__ = [
    "IN_PROCESS",
    "CallContext",
    "InProcessExecutor",
    "Preparation",
    "Prepared",
    "Settlement",
    "agreement",
    "as_output",
    "checked",
    "plain_details",
    "tell_decision",
]


@dataclass(slots=True)
class Prepared:
    """One call on its way: what it is, what was decided, and its result."""

    call: ToolCall
    index: int
    tool: Tool | None = None
    args: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    event: ToolCallEvent | None = None
    substitute: Any = UNSET
    terminate: bool = False
    started: bool = False
    ended: bool = False
    begun_at: float = 0.0
    ctx: CallContext | None = None
    result: ToolResultMessage | None = None
    stored: SuspendedCall | None = None
    decision: ApprovalDecision | None = None
    deferred: tuple[Question, ...] | None = None


class InProcessExecutor(ToolExecutor):
    """Runs tools in this process, on the loop of the run."""

    async def execute(self, tool: Tool, args: Mapping[str, Any], ctx: Any) -> ToolOutput:
        """Call the tool's function."""
        function = load_object(tool.execute)
        if inspect.iscoroutinefunction(function):
            answer = await function(args, ctx)
        else:  # a plain function must not hold up the loop; one that gives an awaitable has it awaited here
            answer = await asyncio.to_thread(run_in_thread, function, args, ctx)
            answer = await answer if inspect.isawaitable(answer) else answer
        if isinstance(answer, ToolOutput):
            return answer
        if isinstance(answer, str):
            return ToolOutput(answer)
        raise ToolError(f"tool {tool.name!r} returned {type(answer).__name__} instead of ToolOutput or str")


Emit: TypeAlias = "Callable[[CallContext, str, str, int], None]"


class CallContext:
    """What a running tool can see and do (:class:`~skillkit_core.tools.ToolContext`)."""

    __slots__ = (
        "_emit",
        "_n",
        "agent",
        "agent_path",
        "cwd",
        "nested",
        "session_id",
        "settled",
        "signal",
        "tool_call_id",
        "tool_name",
    )

    def __init__(self, run: Run, tool_name: str, call_id: str, emit: Emit) -> None:
        self.agent = run.agent
        self.tool_name = tool_name
        self.tool_call_id = call_id
        self.signal: AbortSignal = run.signal
        self.cwd: Path = run.agent.cwd
        self.session_id = run.agent.session_id
        self.agent_path = run.agent.agent_path
        self.settled = False
        self.nested = TokenUsage()  # what runs inside the call used; it is in the books already
        self._emit = emit
        self._n = 0

    def on_output(self, output: str, stream: Literal["stdout", "stderr"] = "stdout") -> None:
        """Show output; nothing is shown after the call has settled."""
        if not self.settled and output:
            self._n += 1
            self._emit(self, output, stream, self._n)


def checked(tool: Tool, output: Any) -> ToolOutput:
    """What a tool or a wrapper gave, or a :class:`ToolError` that says what is wrong with it."""
    if not isinstance(output, ToolOutput):
        raise ToolError(f"tool {tool.name!r} returned {type(output).__name__} instead of ToolOutput")
    content = output.content
    if isinstance(content, str):
        return output
    allowed = (TextBlock, ImageBlock, DocumentBlock, ProviderBlock)
    if not isinstance(content, Sequence) or not all(isinstance(block, allowed) for block in content):
        raise ToolError(
            f"tool {tool.name!r} returned content that is neither text nor blocks of text, images and files"
        )
    return output


def as_output(value: Any) -> ToolOutput:
    """A substituted result as a tool's output."""
    if isinstance(value, ToolOutput):
        return value
    return ToolOutput(value if isinstance(value, str) else blocks_of(value))


def plain_details(details: Any) -> Any:
    """``details`` as JSON values, so that they can be kept."""
    import json

    if details is None:
        return None
    try:
        return json.loads(json.dumps(details, default=str))
    except (TypeError, ValueError, RecursionError):
        return repr(details)[:10_000]


IN_PROCESS = InProcessExecutor()


async def agreement(run: Run, item: Prepared, questions: Sequence[Question]) -> ApprovalDecision:
    """What everybody who must be asked says about exactly these arguments; the decision is told and remembered."""
    stored, decided = item.stored, item.decision
    if stored is not None:  # a suspended call
        fresh = tuple(q for q in questions if q not in stored.questions)
        if decided is not None and decided.decision == "deny":
            await tell_decision(run, item, decided)
            return decided
        if decided is not None and same_json(item.args, stored.args):
            await tell_decision(run, item, decided)
            _remember(run, item, stored.questions, decided)
            questions = fresh
        else:  # nobody decided about what would run now: what was asked is asked again, also if its guard is gone
            questions = (*stored.questions, *fresh)
    sticky = run.outermost.agent.sticky_approvals
    if all(q.key is not None and (item.call.name, q.plugin, q.key) in sticky for q in questions):
        return ApprovalDecision("allow")
    bus = run.agent.events
    if bus.has("approval_request"):
        texts = tuple(q.text for q in questions)
        about = {"tool_name": item.call.name, "tool_call_id": item.call.id}
        await bus.emit(bus.make(ApprovalRequestEvent, args=item.args, questions=texts, **about))
    answer = await _ask(run, item, questions)
    await tell_decision(run, item, answer)
    _remember(run, item, questions, answer)
    if answer.decision == "defer":
        item.deferred = tuple(questions)
    return answer


async def tell_decision(run: Run, item: Prepared, answer: ApprovalDecision) -> None:
    """Emit ``approval_resolved``."""
    bus = run.agent.events
    if bus.has("approval_resolved"):
        about = {"tool_name": item.call.name, "tool_call_id": item.call.id}
        await bus.emit(bus.make(ApprovalResolvedEvent, decision=answer.decision, reason=answer.reason, **about))


def _remember(run: Run, item: Prepared, questions: Sequence[Question], answer: ApprovalDecision) -> None:
    if answer.decision == "allow" and answer.remember:
        keys = {(item.call.name, q.plugin, q.key) for q in questions if q.key is not None}
        run.outermost.agent.sticky_approvals.update(keys)


async def _ask(run: Run, item: Prepared, questions: Sequence[Question]) -> ApprovalDecision:
    """What the approvers say: the run's, and those of the runs above it, each of whom must agree."""
    about = ApprovalRequest(item.call.name, item.call.id, item.args, questions, run.agent.agent_path)
    answer = unasked = ApprovalDecision("deny", "nobody can be asked: " + "; ".join(q.text for q in questions))
    for asking in chain(run):
        approver = asking.agent.config.approver
        if approver is None and asking.above is not None:
            continue  # whoever is above is asked
        if approver is None:
            return unasked
        answer = await _answer_of(approver, about)
        if answer.decision != "allow":
            break
    if answer.decision == "defer" and run.above is not None:
        return ApprovalDecision("deny", "an agent inside another run cannot wait for a decision")
    return answer


async def _answer_of(approver: Approver, about: ApprovalRequest) -> ApprovalDecision:
    try:
        answer = await await_contained(call_contained(approver.approve, about))
        if not isinstance(answer, ApprovalDecision) or answer.decision not in ("allow", "deny", "defer"):
            raise TypeError(f"it answered {answer!r} instead of an ApprovalDecision of allow, deny or defer")
    except Exception as error:  # noqa: BLE001 - fails closed: who cannot answer has not agreed
        return ApprovalDecision("deny", f"the approver failed: {in_words(error)}")
    return answer


class Preparation:
    """Prepares the calls of one assistant message, ``batch_size`` of them."""

    def __init__(self, run: Run, settlement: Settlement, batch_size: int) -> None:
        self.run = run
        self.bus = run.agent.events
        self._settlement = settlement
        self._batch_size = batch_size

    async def prepare(self, item: Prepared) -> None:
        """Check one call and ask the handlers; a call that must not run gets its result here."""
        call, name = item.call, item.call.name
        tool = self.run.agent.toolbox.get(name)
        if tool is None:
            await self._settlement.refuse(item, Outcome.error, self._unknown(name))
            return
        if call.args is None:
            await self._settlement.refuse(
                item, Outcome.error, f"The arguments of {name!r} are not a JSON object: {call.raw_args[:200]!r}"
            )
            return
        problem = validate(tool.parameters, call.args if item.stored is None else item.stored.args)
        if problem is not None:
            await self._settlement.refuse(item, Outcome.error, f"The arguments of {name!r} do not fit: {problem}")
            return
        item.tool, item.args = tool, item.stored.args if item.stored is not None else call.args
        item.event = self.bus.make(
            ToolCallEvent,
            tool_name=name,
            tool_call_id=call.id,
            args=item.args,
            raw_args=call.args,
            index=item.index,
            batch_size=self._batch_size,
            annotations=tool.annotations,
        )
        questions = await self._guarded(item) if self.bus.has("before_tool_call") else ()
        if questions is None or not await self._allowed(item, questions):
            return
        await self.run.checkpoint()
        await self._settlement.start(item)

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
            await self._settlement.refuse(item, Outcome.blocked, f"Blocked: {decision.reason}")
            return None
        if decision.changed_by is not None:
            problem = validate(item.tool.parameters, item.args)
            if problem is not None:
                who = f"plugin {decision.plugin!r}" if decision.plugin else decision.changed_by
                await self._settlement.refuse(
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
            await self.deny(item, answer)
        return answer.decision == "allow"

    async def deny(self, item: Prepared, answer: ApprovalDecision) -> None:
        """Give a call that somebody decided against its result."""
        await self._settlement.refuse(item, Outcome.denied, f"Denied: {answer.reason or 'no reason given'}")


WITHHELD = "The result was withheld because a guard failed."


class Settlement:
    """Gives the calls of a run their results."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.bus = run.agent.events

    async def start(self, item: Prepared) -> None:
        """Say that a call begins."""
        item.started = True
        if self.bus.has("tool_execution_start"):
            await self.bus.emit(
                self.bus.make(
                    ToolExecutionStartEvent, tool_name=item.call.name, tool_call_id=item.call.id, args=item.args
                )
            )

    async def refuse(self, item: Prepared, outcome: Outcome, text: str) -> None:
        """Give a call that does not run its result."""
        if not item.started:
            item.args = item.args or item.call.args or EMPTY
            await self.start(item)
        await self.settle(item, ToolOutput(text, is_error=True), outcome, 0.0)

    async def patched(
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
            return ToolOutput(WITHHELD, is_error=True, usage=output.usage), Outcome.error
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

    async def settle(self, item: Prepared, output: ToolOutput, outcome: Outcome, duration: float) -> None:
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
        await self.end(item, output.details, duration)

    async def end(self, item: Prepared, details: Any, duration: float) -> None:
        """Say that a call has its result; ``details`` are the tool's own, ``duration`` is in seconds."""
        item.ended = True
        result = item.result
        if result is not None and self.bus.has("tool_execution_end"):
            await self.bus.emit(
                self.bus.make(
                    ToolExecutionEndEvent,
                    tool_name=item.call.name,
                    tool_call_id=item.call.id,
                    args=item.args,
                    content=result.content,
                    details=details,
                    is_error=result.is_error,
                    outcome=result.outcome,
                    duration=duration,
                )
            )
