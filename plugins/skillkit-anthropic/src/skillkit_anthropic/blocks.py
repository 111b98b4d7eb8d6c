"""Content blocks of the wire once they are whole: what ``content_block_start`` and the deltas said, as SkillKit blocks."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from skillkit_core.frozen import EMPTY, freeze
from skillkit_core.messages import ProviderBlock, TextBlock, ThinkingBlock, ToolCall
from skillkit_core.stream import StreamEvent, parse_tool_args

__all__ = ["Open", "call_delta", "finished", "text_in", "tool_call"]


class Open(NamedTuple):
    """A content block that has started.

    Attributes:
        type: its type on the wire.
        start: the block as ``content_block_start`` gave it.
        position: its place in the message. The wire's own index says the same, but some servers use one twice.
        call_id: of a tool call.
        name: of the called tool.
    """

    type: str
    start: Mapping[str, Any]
    position: int
    call_id: str | None = None
    name: str | None = None


def call_delta(opened: Open, text: str) -> StreamEvent:
    """A fragment of a call's arguments."""
    return StreamEvent("tool_call_delta", text, opened.name, opened.call_id, index=opened.position)


def text_in(value: Any) -> str:
    """``value`` where text must be; null is none.

    Raises:
        TypeError: it is something else.
    """
    if value.__class__ is str:
        return value
    if value is None:
        return ""
    raise TypeError(f"text expected, not {value!r:.80}")


def _joined(fragments: Iterable[tuple[str, Any]], kind: str) -> str:
    return "".join([f for k, f in fragments if k == kind])


def finished(opened: Open, fragments: list[tuple[str, Any]], *, cut: bool = True) -> Sequence[StreamEvent]:
    """The events that end a block.

    Args:
        opened: the block. fragments: its deltas in order: ``(kind of delta, what it carries)``.
        cut: arguments that are no whole JSON were cut off; otherwise the model wrote them like that.
    """
    start, index = opened.start, opened.position
    if opened.type == "text":
        citations = tuple(freeze(f) for k, f in fragments if k == "citations_delta" and isinstance(f, Mapping))
        text_block = TextBlock(_joined(fragments, "text_delta"), citations) if citations else None
        return (StreamEvent("text_end", index=index, block=text_block),)
    if opened.type == "thinking":
        signature = text_in(
            next((f for k, f in reversed(fragments) if k == "signature_delta" and f), start.get("signature"))
        )
        thinking = ThinkingBlock(_joined(fragments, "thinking_delta"), signature or None)
        return (StreamEvent("thinking_end", index=index, block=thinking),)
    if opened.type == "tool_use":
        raw = _joined(fragments, "input_json_delta")
        out: list[StreamEvent] = []
        if not raw and start.get("input"):
            given = start["input"]  # some gateways hand the text through
            raw = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False, separators=(",", ":"))
            out.append(call_delta(opened, raw))
        call = tool_call(start, raw, cut=cut)
        out.append(StreamEvent("tool_call_end", tool_name=call.name, tool_call_id=call.id, index=index, block=call))
        return out
    if opened.type == "redacted_thinking":
        return (StreamEvent("block", index=index, block=_redacted(start)),)
    data = dict(start)
    for kind, fragment in fragments:
        if kind == "input_json_delta":
            continue
        if isinstance(fragment, Mapping):
            _fold(data, fragment)
    raw = _joined(fragments, "input_json_delta")
    if raw:
        data["input"] = _json_or_text(raw)
    return (StreamEvent("block", index=index, block=ProviderBlock(opened.type, freeze(data))),)


def _fold(data: dict[str, Any], delta: Mapping[str, Any]) -> None:
    """Apply a delta of a kind this code does not know: strings are continued, everything else is replaced."""
    for key, value in delta.items():
        if key == "type" or value is None:
            continue
        old = data.get(key)
        data[key] = old + value if isinstance(old, str) and isinstance(value, str) else value


def _json_or_text(raw: str) -> Any:
    try:
        return json.loads(raw)
    except ValueError:
        return raw


def tool_call(start: Mapping[str, Any], raw: str, *, cut: bool = True) -> ToolCall:
    """A finished ``tool_use`` block. A whole text that is no JSON object is not incomplete, it is wrong (args ``None``)."""
    args = parse_tool_args(raw)
    extra = {k: v for k, v in start.items() if k not in ("type", "id", "name", "input") and v is not None}
    return ToolCall(
        str(start.get("id") or ""),
        str(start.get("name") or ""),
        args,
        raw,
        incomplete=cut and args is None and not _whole(raw),
        provider_data=freeze(extra) if extra else EMPTY,
    )


def _whole(raw: str) -> bool:
    """Whether ``raw`` is one JSON value (perhaps not an object, perhaps with a ``NaN``)."""
    try:
        json.loads(raw)
    except (ValueError, RecursionError):
        return False
    return True


def _redacted(start: Mapping[str, Any]) -> ThinkingBlock:
    return ThinkingBlock(redacted=True, data=str(start.get("data") or ""))
