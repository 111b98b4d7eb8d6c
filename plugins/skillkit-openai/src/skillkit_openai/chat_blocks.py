"""Blocks of a Chat Completions answer, from the pieces that were collected while it came."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from skillkit_core.frozen import freeze
from skillkit_core.messages import ImageBlock, ProviderBlock, StopReason, ThinkingBlock, ToolCall
from skillkit_core.stream import StreamEvent, parse_tool_args

__all__ = [
    "Call",
    "Calls",
    "audio_block",
    "call_end",
    "citation",
    "image_block",
    "merged_details",
    "replayed_details",
    "signed",
    "sources_of",
    "stop_reason_of",
    "string",
    "thinking_block",
]

# In lower case: servers in front of other APIs hand their words through (Gemini's in capitals). What is not here is a stop.
_WORDS = {
    StopReason.tool_calls: ("tool_calls", "function_call", "tool_use", "tool_call"),
    StopReason.length: (
        "length",
        "max_tokens",
        "model_length",
        "model_context_window_exceeded",  # Z.ai
        "insufficient_system_resource",  # DeepSeek: cut off, whatever for
        "time_limit",  # watsonx
        "abort",  # vLLM, SGLang
    ),
    StopReason.refusal: (
        "content_filter",
        "content_filtered",
        "refusal",
        "sensitive",  # Z.ai
        "safety",
        "recitation",
        "blocklist",
        "prohibited_content",
        "spii",
        "image_safety",
    ),
}
_OPAQUE = "reasoning_opaque"


@dataclass(slots=True)
class Call:
    """A tool call under way.

    Attributes:
        key: the wire's index.
        place: its place among the calls.
        block: the index of its block; -1 until the name is known, or the answer is over.
        args: the fragments of its arguments.
        extra: what else the wire says of it, which goes back with it.
    """

    key: Any
    place: int = 0
    block: int = -1
    id: str = ""
    name: str = ""
    args: list[str] = field(default_factory=list)
    extra: dict[str, Any] = field(default_factory=dict)


def string(value: Any) -> str:
    """Text, empty where there is none."""
    if value is not None and not isinstance(value, str):
        raise TypeError(f"{value!r} is not text")
    return value or ""


_STOP = {word: reason for reason, words in _WORDS.items() for word in words}


def stop_reason_of(finish: str | None, has_calls: bool, refused: bool = False) -> StopReason:
    """Why the message ended. Some servers say ``stop``, or nothing, where they mean tool calls.

    A reason may follow the word (Gemini's ``content_filter: SAFETY``).
    """
    reason = _STOP.get((finish or "stop").partition(":")[0].strip().lower(), StopReason.stop)
    if reason is StopReason.stop and has_calls:
        return StopReason.tool_calls
    if reason is StopReason.tool_calls and not has_calls:
        reason = StopReason.stop
    return StopReason.refusal if reason is StopReason.stop and refused else reason


def citation(value: Any) -> Any:
    """A citation as a block keeps it.

    Raises:
        TypeError: it is no object.
    """
    if not isinstance(value, Mapping):
        raise TypeError(f"{value!r} is no citation")
    return freeze(value)


def thinking_block(text: str, field: str, details: Sequence[Any]) -> ThinkingBlock:
    """Thinking with the name of the field that it came in, and with the details that go back with it."""
    data: dict[str, Any] = {"field": field}
    merged = merged_details(details)
    if field != "content[].reasoning":  # whose parts are made anew of text and signature
        data |= replayed_details(details)
    signature = next((s for d in merged if (s := d.get("signature")) and isinstance(s, str)), None)
    return ThinkingBlock(text, signature=signature, provider_data=freeze(data))


def signed(opaque: str) -> dict[str, Any]:
    """GitHub Copilot's signature of all the reasoning of a message, as a detail."""
    return {"type": _OPAQUE, "signature": opaque}


def replayed_details(details: Sequence[Any]) -> dict[str, Any]:
    """The fields of a message in which its reasoning goes back: OpenRouter's, LiteLLM's for Claude, GitHub Copilot's."""
    out: dict[str, Any] = {}
    for detail in merged_details(details):
        if detail.get("type") == _OPAQUE:
            out[_OPAQUE] = detail.get("signature")
            continue
        name = "thinking_blocks" if detail.get("type") in ("thinking", "redacted_thinking") else "reasoning_details"
        out.setdefault(name, []).append(detail)
    return out


def image_block(url: str) -> ImageBlock:
    """An image by its address, which may hold the image itself."""
    head, comma, data = url.partition(";base64,")
    return ImageBlock(data, head.removeprefix("data:")) if comma else ImageBlock(url=url)


def merged_details(details: Sequence[Any]) -> list[dict[str, Any]]:
    """The reasoning details as a message that is not streamed has them: the fragments of one detail joined."""
    out: list[dict[str, Any]] = []
    for detail in details:
        last = out[-1] if out else None
        if last is None or not _continues(detail, last):
            out.append(dict(detail))
            continue
        for name, value in detail.items():
            old = last.get(name)
            if name in ("text", "summary", "data", "thinking") and isinstance(old, str) and isinstance(value, str):
                last[name] = old + value
            elif value is not None:
                last[name] = value
    return out


def _continues(detail: Mapping[str, Any], last: Mapping[str, Any]) -> bool:
    """Whether ``detail`` goes on with ``last``: the same index, or without one thinking that has no signature yet."""
    if detail.get("type") != last.get("type"):
        return False
    if detail.get("type") == "thinking":
        return not last.get("signature")
    return detail.get("index") is not None and detail.get("index") == last.get("index")


def audio_block(pieces: Sequence[Any]) -> ProviderBlock:
    """The ``audio`` object of an answer, as one that is not streamed has it: transcripts and sound of the pieces joined.

    Each piece of sound is base64 of its own, so its bytes are joined and not its letters.
    """
    out: dict[str, Any] = {}
    sound: list[str] = []
    for piece in pieces:
        out |= {k: v for k, v in piece.items() if k not in ("data", "transcript") and v is not None}
        out["transcript"] = out.get("transcript", "") + string(piece.get("transcript"))
        if piece.get("data"):
            sound.append(string(piece["data"]))
    if sound:
        try:
            out["data"] = base64.b64encode(b"".join(base64.b64decode(s, validate=True) for s in sound)).decode()
        except ValueError:  # not base64: kept as it came
            out["data"] = "".join(sound)
    return ProviderBlock("audio", freeze(out))


def sources_of(sources: list[Any]) -> Iterable[Any]:
    """The sources of a whole answer (Perplexity) as citations."""
    return (source if isinstance(source, Mapping) else {"url": source} for source in sources)


def call_end(call: Call, whole: bool) -> StreamEvent:
    """The end of a call; ``whole``: the answer was not cut off at its longest."""
    raw = "".join(call.args)
    custom = call.extra.get("type") == "custom"
    args = None if custom else parse_tool_args(raw)
    cut = args is None and not whole and not custom
    block = ToolCall(call.id, call.name, args, raw, incomplete=cut, provider_data=freeze(call.extra))
    return StreamEvent("tool_call_end", tool_name=call.name, tool_call_id=call.id, index=call.block, block=block)


class Calls:
    """The calls of an answer in their order, each found by the wire's index or by its id without a look at the others.

    Servers that leave the index out, or give the same to every call, are told apart by id and name. An unknown id is a new
    call only beside a name: some servers make up an id for every fragment.
    """

    def __init__(self) -> None:
        self.all: list[Call] = []
        self._by_key: dict[Any, int] = {}  # the last call with an index, or with none
        self._first: dict[str, int] = {}  # the first call with an id
        self._last: dict[str, int] = {}  # the last one
        self._last_bare: dict[str, int] = {}  # the last one without an index

    def of(self, raw: Mapping[str, Any]) -> Call:
        """The call that a fragment belongs to, which may be a new one."""
        key = raw.get("index")
        key = repr(key) if isinstance(key, (dict, list)) else key
        at = self._place(key, raw.get("id"), raw.get("function") or raw.get("custom") or {})
        if at == len(self.all):
            self.all.append(Call(key, at))
            self._by_key[key] = at
        call = self.all[at]
        self.name(call, call.id or string(raw.get("id")))
        return call

    def name(self, call: Call, id: str) -> None:
        """Give a call its id, if it has none."""
        if not id or call.id:
            return
        call.id = id
        for places, best in ((self._first, min), (self._last, max), (self._last_bare, max))[
            : 3 if call.key is None else 2
        ]:
            places[id] = best(call.place, places.get(id, call.place))

    def _place(self, key: Any, id: Any, function: Mapping[str, Any]) -> int:
        known, new = id if isinstance(id, str) else "", len(self.all)
        same = self._by_key.get(key, -1) if key is not None else -1  # the last call with this index
        if not function.get("name"):
            at = max(same, self._by_key.get(None, -1)) if key is not None else new - 1
            if at < 0:
                return new
            return self._first.get(known, at) if id and id != self.all[at].id else at
        at = (self._last if key is None else self._last_bare).get(known, -1)
        if at > same:
            return at
        return new if same < 0 or _begins(function, id, self.all[same]) else same


def _begins(function: Mapping[str, Any], id: Any, call: Call) -> bool:
    """Whether a fragment that names a function begins another call than ``call``, which has the same index.

    Without an id the same name goes on with the call, unless its arguments are whole and others begin.
    """
    if not call.name:
        return False
    if id and call.id:
        return bool(id != call.id)
    if function["name"] != call.name:
        return True
    more = function.get("arguments")
    if not more or (isinstance(more, str) and not more.startswith("{")):
        return False
    try:
        return isinstance(json.loads("".join(call.args)), dict)
    except ValueError:
        return False
