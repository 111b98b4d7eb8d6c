"""Repair: makes a history legal before a request sends it (spec, invariants I1 to I4 and I7).

Repair is deterministic, idempotent and free of clocks, and returns legal messages as the same objects. The passes, in order:

1. Drop messages that no model sees; turn plugin messages in the context into user messages.
2. Remove incomplete calls and unsigned thinking from cut-off answers, and add a note.
   This comes before 4, because a removed call needs no result.
3. Make repeated tool-call ids unique, in the results, too.
4. Give every call exactly one result, right after the answer, in the order of the calls; drop results without a call. Move
   messages between a call and its result behind the result; the next answer ends the search for results.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..messages import (
    AgentMessage,
    AssistantMessage,
    Block,
    CustomMessage,
    LLMMessage,
    Outcome,
    StopReason,
    TextBlock,
    ThinkingBlock,
    ToolCall,
    ToolResultMessage,
    UserMessage,
)

__all__ = ["INTERRUPTED", "NO_RESULT", "Repairer", "repair"]

INTERRUPTED = "[This answer was interrupted here.]"
NO_RESULT = "The call was interrupted; it is not known whether it had an effect."


def _visible(message: AgentMessage) -> LLMMessage | None:
    if isinstance(message, LLMMessage):
        return message
    if isinstance(message, CustomMessage) and message.in_context and message.content:
        return UserMessage(content=message.content, source=f"custom:{message.custom_type}", ts=message.ts)
    return None


def _uncut(message: AssistantMessage) -> AssistantMessage | None:
    """Return an answer without the parts of a cut-off answer that may not be sent; ``None`` when no part is left."""
    calls = [b for b in message.content if isinstance(b, ToolCall) and b.incomplete and b.args is None]
    cut = message.stop_reason in (StopReason.aborted, StopReason.error)
    if not cut and not (calls and message.stop_reason is not StopReason.length):
        return message if message.content else None
    kept: list[Block] = []
    for block in message.content:
        if isinstance(block, ToolCall) and block.incomplete and block.args is None:
            continue
        if cut and isinstance(block, ThinkingBlock) and not block.signature and not block.data:
            continue
        if isinstance(block, TextBlock) and not block.text.strip():
            continue
        kept.append(block)
    if not kept:
        return None
    if cut and kept[-1] != TextBlock(INTERRUPTED):
        position = next((i for i, b in enumerate(kept) if isinstance(b, ToolCall)), len(kept))
        if TextBlock(INTERRUPTED) not in kept:
            kept.insert(position, TextBlock(INTERRUPTED))
    content = tuple(kept)
    return message if content == message.content else replace(message, content=content)


def missing_result(call: ToolCall, ts: float) -> ToolResultMessage:
    """Return the result for a call without one."""
    return ToolResultMessage(
        tool_call_id=call.id, tool_name=call.name, content=(TextBlock(NO_RESULT),), is_error=True,
        outcome=Outcome.interrupted, ts=ts,
    )  # fmt: skip


class Repairer:
    """Repairs a growing history, each message once.

    Args:
        open_calls: the ids of calls that stay without a result, because a suspended run waits for a decision.
    """

    def __init__(self, open_calls: frozenset[str] = frozenset()) -> None:
        self.out: list[LLMMessage] = []
        self.changed = False
        self._seen: set[str] = set()
        self._renamed: dict[str, list[str]] = {}
        self._waiting: list[LLMMessage] = []
        self._calls: dict[str, ToolCall] = {}
        self._results: dict[str, ToolResultMessage] = {}
        self._ts = 0.0
        self._left_open = open_calls

    @property
    def settled(self) -> bool:
        """True when every call so far has its result."""
        return not self._calls

    def _close(self) -> None:
        """Append the results of the open calls in the order of the calls, then the messages that waited for them."""
        if list(self._results) != [call_id for call_id in self._calls if call_id in self._results]:
            self.changed = True
        for call_id, call in self._calls.items():
            result = self._results.get(call_id)
            if result is None:
                if call_id in self._left_open:
                    continue
                result = missing_result(call, self._ts)
                self.changed = True
            self.out.append(result)
        self._calls, self._results = {}, {}
        if self._waiting:
            self.out += self._waiting
            self._waiting = []

    def _unique(self, message: AssistantMessage) -> AssistantMessage:
        renamed: dict[int, ToolCall] = {}
        self._renamed = {}
        for i, block in enumerate(message.content):
            if not isinstance(block, ToolCall):
                continue
            call = block
            if not call.id or call.id in self._seen:
                base, n = call.id or "call", 2
                while f"{base}_{n}" in self._seen:
                    n += 1
                self._renamed.setdefault(call.id, []).append(f"{base}_{n}")
                call = replace(call, id=f"{base}_{n}")
                renamed[i] = call
            self._seen.add(call.id)
            self._calls[call.id] = call
        if not renamed:
            return message
        self.changed = True
        return replace(message, content=tuple(renamed.get(i, b) for i, b in enumerate(message.content)))

    def _take_result(self, message: ToolResultMessage) -> None:
        call_id = message.tool_call_id
        if (call_id not in self._calls or call_id in self._results) and self._renamed.get(call_id):
            call_id = self._renamed[call_id].pop(0)
            message = replace(message, tool_call_id=call_id)
        if call_id not in self._calls or call_id in self._results:
            self.changed = True  # a result without a call, or a second one
            return
        if self._waiting:
            self.changed = True
        self._results[call_id] = message
        if len(self._results) == len(self._calls):
            self._close()

    def extend(self, messages: Sequence[AgentMessage]) -> None:
        """Repair the messages that follow those of the last call."""
        for message in messages:
            seen = _visible(message)
            if seen is not message:
                self.changed = True
            if seen is None:
                continue
            if isinstance(seen, ToolResultMessage):
                self._take_result(seen)
                continue
            if not isinstance(seen, AssistantMessage):
                (self._waiting if self._calls else self.out).append(seen)
                continue
            whole = _uncut(seen)
            if whole is not seen:
                self.changed = True
            if whole is not None:
                self._close()
                self._ts = whole.ts
                self.out.append(self._unique(whole))

    def finish(self) -> list[LLMMessage]:
        """Give the open calls a result, and return the legal history; call nothing afterwards."""
        self._close()
        return self.out


def repair(messages: Sequence[AgentMessage], open_calls: frozenset[str] = frozenset()) -> Sequence[LLMMessage]:
    """Return ``messages`` as a legal history for a model; a legal history is returned as the same object."""
    worker = Repairer(open_calls)
    worker.extend(messages)
    out = worker.finish()
    if not worker.changed and len(out) == len(messages):
        return messages  # type: ignore[return-value]
    return tuple(out)
