"""Blocks of a Chat Completions answer, from the pieces that were collected while it came."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from typing import Any

from skillkit_core.frozen import freeze
from skillkit_core.messages import ImageBlock, ProviderBlock, StopReason, TextBlock, ThinkingBlock, ToolCall
from skillkit_core.stream import StreamEvent, parse_tool_args

from .chat_state import Call, Chain, joined, listed, string

__all__ = [
    "audio_block",
    "call_end",
    "cited_text",
    "image_block",
    "merged_details",
    "replayed_details",
    "signed",
    "sources_of",
    "stop_reason_of",
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


def cited_text(chain: Chain, citations: Chain) -> TextBlock:
    """Text with its sources."""
    return TextBlock(joined(chain), tuple(listed(citations)))


def with_citations(chain: Chain, more: Iterable[Any]) -> Chain:
    """``chain`` with citations behind it.

    Raises:
        TypeError: one of them is no object.
    """
    for citation in more:
        if not isinstance(citation, Mapping):
            raise TypeError(f"{citation!r} is no citation")
        chain = freeze(citation), chain
    return chain


def thinking_block(chain: Chain, field: str, details: Chain) -> ThinkingBlock:
    """Thinking with the name of the field that it came in, and with the details that go back with it."""
    data: dict[str, Any] = {"field": field}
    merged = merged_details(details)
    if field != "content[].reasoning":  # whose parts are made anew of text and signature
        data |= replayed_details(details)
    signature = next((s for d in merged if (s := d.get("signature")) and isinstance(s, str)), None)
    return ThinkingBlock(joined(chain), signature=signature, provider_data=freeze(data))


def signed(opaque: str) -> dict[str, Any]:
    """GitHub Copilot's signature of all the reasoning of a message, as a detail."""
    return {"type": _OPAQUE, "signature": opaque}


def replayed_details(chain: Any) -> dict[str, Any]:
    """The fields of a message in which its reasoning goes back: OpenRouter's, LiteLLM's for Claude, GitHub Copilot's."""
    out: dict[str, Any] = {}
    for detail in merged_details(chain):
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


def merged_details(chain: Any) -> list[dict[str, Any]]:
    """The reasoning details as a message that is not streamed has them: the fragments of one detail joined."""
    found: list[Any] = []
    while chain is not None:
        detail, chain = chain
        found.append(detail)
    out: list[dict[str, Any]] = []
    for detail in reversed(found):
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


def audio_block(chain: Chain) -> ProviderBlock:
    """The ``audio`` object of an answer, as one that is not streamed has it: transcripts and sound of the pieces joined.

    Each piece of sound is base64 of its own, so its bytes are joined and not its letters.
    """
    pieces: list[Any] = []
    while chain is not None:
        piece, chain = chain
        pieces.append(piece)
    out: dict[str, Any] = {}
    sound: list[str] = []
    for piece in reversed(pieces):
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
    raw = joined(call.args)
    custom = call.extra.get("type") == "custom"
    args = None if custom else parse_tool_args(raw)
    cut = args is None and not whole and not custom
    block = ToolCall(call.id, call.name, args, raw, incomplete=cut, provider_data=freeze(call.extra))
    return StreamEvent("tool_call_end", tool_name=call.name, tool_call_id=call.id, index=call.block, block=block)
