"""``before_tool_call``: handlers change a call, guards see its final arguments, and all answers become one (spec, section 6)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from ..contracts.approver import Question
from ..errors import in_words
from ..frozen import EMPTY, copied, freeze, same_json
from .results import UNSET, EventResult, ReplaceArgs, ToolCallEventResult
from .subscriptions import GUARD, OBSERVER, HandlerRecord
from .types import ToolCallEvent

if TYPE_CHECKING:
    from .bus import EventBus

_FIELDS = tuple(field.name for field in fields(ToolCallEvent))
_values = attrgetter(*_FIELDS)


@dataclass(frozen=True, slots=True)
class ToolCallDecision(EventResult):
    """The decision of the handlers of one call.

    Attributes:
        block: the call must not run.
        reason: reason of the block.
        plugin: plugin that blocked the call, or changed its arguments last.
        args: arguments that run, as the last guard saw them.
        changed_by: handler that changed the arguments last.
        questions: questions for the approver.
        result: result in place of an execution, or ``UNSET``.
        terminate: a handler wants the run to end after the batch.
        guards: what handlers said, by plugin (:class:`ToolExecutionEndEvent`).
    """

    block: bool = False
    reason: str = ""
    plugin: str | None = None
    args: Mapping[str, Any] | None = None
    changed_by: str | None = None
    questions: tuple[Question, ...] = ()
    result: Any = UNSET
    terminate: bool = False
    guards: Mapping[str, str] = EMPTY


def merge_patch(target: Mapping[str, Any], patch: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``target`` with a JSON merge patch (RFC 7386): ``None`` removes a key, objects merge, other values replace."""
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
        self.event = event  # nobody else has it, each handler gets a copy
        self.answers: dict[
            HandlerRecord, ToolCallEventResult | None
        ] = {}  # in the order in which they were first asked
        self.changed_by: HandlerRecord | None = None
        self.blocks: list[tuple[str, str | None]] = []

    def shown(self) -> ToolCallEvent:
        """Return a copy of the event: whoever gets it changes neither what runs nor what others see."""
        return ToolCallEvent(**dict(zip(_FIELDS, _values(self.event), strict=True)) | {"args": copied(self.event.args)})

    async def ask(self, record: HandlerRecord) -> ToolCallEventResult | None:
        """Return a handler's answer. A failure of any kind is a block that names the handler (spec, section 4)."""
        try:
            answer: ToolCallEventResult | None = await self.bus.call(record, self.shown())
        except Exception as error:  # noqa: BLE001 - fails closed
            await self.bus.failed(record, self.event, error)
            reason = f"{record.label} failed, so the call is blocked: {in_words(error)}"
            self.blocks.append((reason, record.plugin))
            return None
        # an answer on the final arguments replaces the first one
        self.answers[record] = answer
        if answer is not None and answer.block:
            self.blocks.append((answer.reason or f"blocked by {record.label}", record.plugin))
        return answer

    def rewritten(self, answer: ToolCallEventResult | None) -> Mapping[str, Any] | None:
        """Return the arguments that an answer asks for, or ``None`` when the answer keeps them."""
        if answer is None or answer.args is None:
            return None
        now, wanted = self.event.args, answer.args
        args = wanted.args if isinstance(wanted, ReplaceArgs) else merge_patch(now, wanted)
        return None if same_json(args, now) else copied(args)

    async def before_guards(self, records: tuple[HandlerRecord, ...]) -> None:
        """Ask the handlers before the guards in turn. Each handler sees the changes of the earlier ones."""
        saw: dict[HandlerRecord, Mapping[str, Any]] = {}
        phase = 0
        for record in records:
            if record.phase >= GUARD or (self.blocks and record.phase != phase):
                break
            if record.filtered and not record.wants(self.event):
                continue
            phase = record.phase
            args = self.rewritten(await self.ask(record))
            if args is not None and not self.blocks:
                self.event = replace(self.event, args=args)
                self.changed_by = record
            saw[record] = self.event.args
        for record, args in saw.items():
            if self.blocks:
                return
            if record.alive and not same_json(args, self.event.args):
                await self.again(record)

    async def again(self, record: HandlerRecord) -> None:
        """Ask a handler that ran before the last change once more. A further change blocks the call."""
        if self.rewritten(await self.ask(record)) is not None and not self.blocks:
            self.blocks.append((f"{record.label} keeps changing the arguments (unstable)", record.plugin))

    async def guards(self, records: tuple[HandlerRecord, ...]) -> None:
        """Ask the guards, with the final arguments."""
        for record in records:
            if record.phase != GUARD or (record.filtered and not record.wants(self.event)):
                continue
            answer = await self.ask(record)
            if answer is not None and answer.args is not None:
                await self.bus.failed(record, self.event, TypeError("a guard may not change arguments"))
                self.blocks.append((f"{record.label} is a guard and may not change arguments", record.plugin))

    def decision(self) -> ToolCallDecision:
        """Return all answers as one: block over ask over substitute over allow."""
        answers = [(record, answer) for record, answer in self.answers.items() if answer is not None]
        if not (answers or self.blocks or self.changed_by):
            return ToolCallDecision(args=self.event.args)
        terminate = any(answer.terminate for _, answer in answers)
        if self.blocks:
            reasons = "; ".join(dict.fromkeys(reason for reason, _ in self.blocks))
            blocked = freeze({plugin or "application": "block" for _, plugin in self.blocks})
            first = self.blocks[0][1]
            return ToolCallDecision(True, reasons, first, self.event.args, terminate=terminate, guards=blocked)
        changed = self.changed_by
        said = {changed.plugin or "application": "change"} if changed is not None else {}
        for record, answer in answers:
            if answer.ask is not None or answer.result is not UNSET:
                said[record.plugin or "application"] = "substitute" if answer.ask is None else "ask"
        asked = [Question(a.ask, r.plugin, a.ask_key, a.ask_rule) for r, a in answers if a.ask is not None]
        return ToolCallDecision(
            args=self.event.args, changed_by=changed.label if changed is not None else None,
            plugin=changed.plugin if changed is not None else None, questions=tuple(asked),
            result=next((a.result for _, a in answers if a.result is not UNSET), UNSET), terminate=terminate,
            guards=freeze(said) if said else EMPTY,
        )  # fmt: skip


async def decide(bus: EventBus, event: ToolCallEvent, records: tuple[HandlerRecord, ...]) -> ToolCallDecision:
    """Ask the handlers of one call, and return their decision.

    The handlers before phase ``guard`` come first, and each sees the changes of the earlier ones. Handlers that ran before the
    last change are asked once more, and may not change the final arguments. The guards come last. After a block only the rest
    of its phase is asked, so that the reasons of the whole phase are known.
    """
    work = _Decider(bus, event)
    try:
        await work.before_guards(records)
        if not work.blocks:
            await work.guards(records)
    except BaseException:
        bus.tell(work.shown(), records)
        raise
    if records[-1].phase == OBSERVER:
        await bus.observed(work.shown(), records)
    return work.decision()
