"""``before_tool_call``: who may change a call, who must see what runs, and what several answers mean (spec, section 6)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ..contracts.approver import Question
from ..frozen import freeze
from .results import UNSET, EventResult, ReplaceArgs, ToolCallEventResult
from .types import ToolCallEvent

if TYPE_CHECKING:
    from .bus import EventBus, HandlerRecord

__all__ = ["ToolCallDecision", "decide", "merge_patch"]

GUARD = 4
OBSERVER = 5


@dataclass(frozen=True, slots=True)
class ToolCallDecision(EventResult):
    """What the handlers of one call decided.

    Attributes:
        block: it must not run; ``reason`` says why, ``plugin`` who.
        args: what runs: these are the arguments that the last guard saw.
        changed_by: who changed the arguments last.
        questions: what must be asked first.
        result: what stands for the execution, or ``UNSET``.
        terminate: a handler wants the run to end after the batch.
    """

    block: bool = False
    reason: str = ""
    plugin: str | None = None
    args: Mapping[str, Any] | None = None
    changed_by: str | None = None
    questions: tuple[Question, ...] = ()
    result: Any = UNSET
    terminate: bool = False


def merge_patch(target: Mapping[str, Any], patch: Mapping[str, Any]) -> dict[str, Any]:
    """A JSON merge patch (RFC 7386): ``None`` removes a key, objects merge, everything else replaces."""
    out = dict(target)
    for key, value in patch.items():
        if value is None:
            out.pop(key, None)
        elif isinstance(value, Mapping):
            old = out.get(key)
            out[key] = merge_patch(old if isinstance(old, Mapping) else {}, value)
        else:
            out[key] = value
    return out


class _Decider:
    def __init__(self, bus: EventBus, event: ToolCallEvent) -> None:
        self.bus = bus
        self.event = event
        self.questions: dict[HandlerRecord, Question] = {}
        self.substitute: Any = UNSET
        self.terminate = False
        self.changed_by: HandlerRecord | None = None
        self.blocks: list[tuple[str, str | None]] = []

    async def ask(self, record: HandlerRecord) -> ToolCallEventResult | None:
        """The handler's answer; a failure of any kind is a block that names it."""
        try:
            answer = await self.bus.call(record, self.event)
        except Exception as error:  # noqa: BLE001 - fails closed (spec, section 4)
            await self.bus.failed(record, self.event, error)
            if record.phase != OBSERVER:
                reason = f"{record.label} failed, so the call is blocked: {type(error).__name__}: {error}"
                self.blocks.append((reason, record.plugin))
            return None
        return None if record.phase == OBSERVER else answer

    def take(self, record: HandlerRecord, answer: ToolCallEventResult) -> None:
        """Everything in an answer but its arguments."""
        if answer.block:
            self.blocks.append((answer.reason or f"blocked by {record.label}", record.plugin))
        if answer.ask is not None:
            self.questions[record] = Question(answer.ask, record.plugin, answer.ask_key)
        elif record in self.questions:
            del self.questions[record]
        if answer.result is not UNSET and self.substitute is UNSET:
            self.substitute = answer.result
        self.terminate = self.terminate or answer.terminate

    def rewritten(self, answer: ToolCallEventResult) -> Mapping[str, Any] | None:
        """The arguments that an answer asks for, or ``None`` when it leaves them alone."""
        if answer.args is None:
            return None
        if isinstance(answer.args, ReplaceArgs):
            return answer.args.args
        merged: Mapping[str, Any] = freeze(merge_patch(self.event.args, answer.args))
        return merged

    def blocked(self) -> ToolCallDecision:
        reasons = list(dict.fromkeys(reason for reason, _ in self.blocks))
        return ToolCallDecision(True, "; ".join(reasons), self.blocks[0][1], self.event.args, terminate=self.terminate)


def _wants(record: HandlerRecord, event: Any) -> bool:
    return record.alive and (not (record.tools or record.only) or record.wants(event))


async def decide(bus: EventBus, event: ToolCallEvent, records: tuple[HandlerRecord, ...]) -> ToolCallDecision:
    """Ask the handlers of one call.

    First everybody before phase ``guard``, each seeing the changes of those before it. Whoever looked before the last
    change is asked once more on the final arguments and may not change them again. Then the guards, on what will run.
    A block ends it at once; blocks of handlers that said it together are joined.
    """
    work = _Decider(bus, event)
    saw: dict[HandlerRecord, Mapping[str, Any]] = {}
    before = [r for r in records if r.phase < GUARD and _wants(r, event)]
    for record in before:
        answer = await work.ask(record)
        saw[record] = work.event.args
        if answer is not None:
            work.take(record, answer)
            args = work.rewritten(answer)
            if args is not None and args != work.event.args:
                work.event = replace(work.event, args=args)
                work.changed_by = record
                saw[record] = args
        if work.blocks:
            return work.blocked()
    for record in before:
        if saw[record] == work.event.args or not record.alive:
            continue
        answer = await work.ask(record)
        if answer is not None:
            work.take(record, answer)
            args = work.rewritten(answer)
            if args is not None and args != work.event.args:
                work.blocks.append((f"{record.label} keeps changing the arguments (unstable)", record.plugin))
        if work.blocks:
            return work.blocked()
    for record in records:
        if record.phase < GUARD or not _wants(record, work.event):
            continue
        answer = await work.ask(record)
        if answer is not None:
            if answer.args is not None:
                work.blocks.append((f"{record.label} is a guard and may not change arguments", record.plugin))
            work.take(record, answer)
        if work.blocks:
            return work.blocked()
    return ToolCallDecision(
        args=work.event.args,
        changed_by=work.changed_by.label if work.changed_by else None,
        plugin=work.changed_by.plugin if work.changed_by else None,
        questions=tuple(work.questions.values()),
        result=work.substitute,
        terminate=work.terminate,
    )
