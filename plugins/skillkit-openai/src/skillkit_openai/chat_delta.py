"""What a delta of Chat Completions says, as events of blocks: text, thinking, calls, refusals, sounds and images."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, TypeAlias

from skillkit_core.stream import StreamEvent

from .chat_blocks import cited_text, image_block, signed, thinking_block, with_citations
from .chat_state import Call, ChatState, Rest, call_of, joined, longer, state, string

__all__ = ["Out", "add_delta", "begin_nameless", "end_text", "end_thinking", "with_rest"]

Out: TypeAlias = list[StreamEvent]

_CALL_KEYS = frozenset({"index", "id", "type", "function"})


def with_rest(acc: ChatState, rest: Rest) -> ChatState:
    """``acc._replace(rest=rest)`` in a fifth of the time."""
    return ChatState(acc.text_block, acc.text, acc.thought_block, acc.thought, rest)


def add_delta(delta: Mapping[str, Any], acc: ChatState, out: Out) -> ChatState:
    """The state after ``delta``, which is that of a chunk or the message of a whole answer; ``out`` gets its events."""
    if len(delta) == 1 and acc.text_block >= 0:  # nearly all deltas: more text and nothing else
        only = delta.get("content")
        if only and isinstance(only, str):
            return _more(only, acc, out)
    thought = delta.get("reasoning_content") or delta.get("reasoning") or delta.get("reasoning_text")
    details = delta.get("reasoning_details") or delta.get("thinking_blocks")
    if thought or details:
        acc = _thinking(delta, thought if isinstance(thought, str) else "", details, acc, out)
    opaque = delta.get("reasoning_opaque")
    if opaque and isinstance(opaque, str):  # GitHub Copilot's signature, with or after the thinking or with the call
        acc = with_rest(acc, acc.rest._replace(details=(signed(opaque), acc.rest.details)))
    content = delta.get("content")
    if content:
        if isinstance(content, str):
            acc = _text(content, acc, out)
        else:
            acc = _parts([content] if isinstance(content, Mapping) else content, acc, out)
    refusal = delta.get("refusal")
    if refusal and isinstance(refusal, str):
        acc = _refusal(refusal, acc, out)
    annotations = delta.get("annotations")
    if annotations:
        rest = acc.rest
        acc = with_rest(acc, rest._replace(citations=with_citations(rest.citations, annotations)))
    for call in delta.get("tool_calls") or ():
        acc = _call(call, acc, out)
    if delta.get("audio") or delta.get("images"):
        acc = _media(delta, acc, out)
    legacy = delta.get("function_call")
    if legacy and (legacy.get("name") or (acc.rest.calls and legacy.get("arguments"))):
        acc = _call({"index": 0, "function": legacy}, acc, out)
    return acc


def _parts(parts: list[Any], acc: ChatState, out: Out) -> ChatState:
    """Content as a list: text, and thinking that is a list of its own (Mistral) or a summary with signatures (Databricks)."""
    for part in parts:
        if isinstance(part, str):
            part = {"type": "text", "text": part}
        kind = part.get("type")
        if kind in ("text", "output_text"):
            if part.get("text"):
                acc = _text(string(part["text"]), acc, out)
        elif kind == "image_url":
            acc = _image(part, acc, out)
        elif kind == "thinking":
            inner = part.get("thinking")
            text = inner if isinstance(inner, str) else "".join(string(p.get("text")) for p in inner or ())
            if text:
                acc = _thinking({"content[].thinking": True}, text, None, acc, out)
        elif kind == "reasoning":
            summary = part.get("summary") or ()
            text = "".join(string(p.get("text")) for p in summary)
            acc = _thinking({"content[].reasoning": True}, text, list(summary), acc, out)
        else:
            acc = with_rest(acc, acc.rest._replace(citations=with_citations(acc.rest.citations, (part,))))
    return acc


def _media(delta: Mapping[str, Any], acc: ChatState, out: Out) -> ChatState:
    """What is spoken (its transcript is text like any other), and images that are drawn (OpenRouter)."""
    audio = delta.get("audio")
    if isinstance(audio, Mapping) and any(audio.values()):
        said = string(audio.get("transcript"))
        if said:
            acc = _text(said, acc, out)
        acc = with_rest(acc, acc.rest._replace(audio=(audio, acc.rest.audio)))
    for image in delta.get("images") or ():
        acc = _image(image, acc, out)
    return acc


def _image(image: Mapping[str, Any], acc: ChatState, out: Out) -> ChatState:
    address = image.get("image_url") or {}
    block = image_block(string(address if isinstance(address, str) else address.get("url")))
    acc = end_text(end_thinking(acc, out), out)
    out.append(StreamEvent("block", index=acc.rest.next, block=block))
    return with_rest(acc, acc.rest._replace(next=acc.rest.next + 1))


def _text(text: str, acc: ChatState, out: Out) -> ChatState:
    if acc.text_block < 0:
        acc = end_thinking(acc, out)
        index = acc.rest.next
        acc = acc._replace(text_block=index, rest=acc.rest._replace(next=index + 1))
        out.append(StreamEvent("text_start", index=index))
    return _more(text, acc, out)


def _more(text: str, acc: ChatState, out: Out) -> ChatState:
    index, before, thought_block, thought, rest = acc
    out.append(StreamEvent("text_delta", text, None, None, None, index))  # by position: a quarter less
    return state((index, longer(before, text), thought_block, thought, rest))


def end_text(acc: ChatState, out: Out) -> ChatState:
    """Close the text block: something else begins, or the message ends."""
    index = acc.text_block
    if index < 0:
        return acc
    rest = acc.rest
    block = None
    if rest.citations:
        block = cited_text(acc.text, rest.citations)
        rest = rest._replace(citations=None, sourced=False)
    out.append(StreamEvent("text_end", index=index, block=block))
    return ChatState(-1, None, acc.thought_block, acc.thought, rest)


def _thinking(delta: Mapping[str, Any], text: str, details: Any, acc: ChatState, out: Out) -> ChatState:
    rest = acc.rest
    if not rest.field:
        names = ("content[].thinking", "content[].reasoning", "reasoning_content", "reasoning", "reasoning_text")
        field = next((n for n in names if delta.get(n)), "reasoning_details")
        acc = with_rest(acc, rest._replace(field=field))
    if isinstance(details, list):
        if not text and acc.rest.field == "reasoning_details":
            text = "".join(string(d.get("text") or d.get("summary") or d.get("thinking")) for d in details)
        rest = acc.rest
        for detail in details:
            rest = rest._replace(details=(detail, rest.details))
        acc = with_rest(acc, rest)
    index = acc.thought_block
    if not text:
        return acc
    if index < 0:
        acc = end_text(acc, out)
        index = acc.rest.next
        acc = acc._replace(rest=acc.rest._replace(next=index + 1, thinking=index), thought=None)
        out.append(StreamEvent("thinking_start", index=index))
    out.append(StreamEvent("thinking_delta", text, index=index))
    return ChatState(acc.text_block, acc.text, index, longer(acc.thought, text), acc.rest)


def end_thinking(acc: ChatState, out: Out, last: bool = False) -> ChatState:
    """Close the thinking block: at once when the answer begins, or with the message where signatures may still come."""
    index = acc.thought_block
    if index < 0 or (acc.rest.details is not None and not last):
        return acc
    block = thinking_block(acc.thought, acc.rest.field, acc.rest.details)
    out.append(StreamEvent("thinking_end", index=index, block=block))
    return acc._replace(thought_block=-1)


def _refusal(text: str, acc: ChatState, out: Out) -> ChatState:
    rest = acc.rest
    index = rest.refusal
    if index < 0:
        acc = end_text(end_thinking(acc, out), out)
        rest = acc.rest
        index = rest.next
        rest = rest._replace(next=index + 1, refusal=index)
        out.append(StreamEvent("text_start", index=index))
    out.append(StreamEvent("text_delta", text, index=index))
    return with_rest(acc, rest._replace(refused=longer(rest.refused, text)))


def _call(raw: Mapping[str, Any], acc: ChatState, out: Out) -> ChatState:
    rest = acc.rest
    at = call_of(raw, rest.calls, rest.numbered)
    new = at == len(rest.calls)
    if new and raw.get("index") != at:
        rest = rest._replace(numbered=False)
        acc = with_rest(acc, rest)
    call = Call(raw.get("index"), -1, "", "", None, {}) if new else rest.calls[at]
    function = raw.get("function") or raw.get("custom") or {}
    fragment = function.get("arguments", function.get("input"))
    if isinstance(fragment, Mapping):
        fragment = json.dumps(fragment, ensure_ascii=False)
    fragment = string(fragment)
    extra = {k: v for k, v in raw.items() if k not in _CALL_KEYS and v}
    if raw.get("type") not in (None, "", "function"):
        extra["type"] = raw["type"]
        extra.pop("custom", None)
    call = call._replace(
        id=call.id or string(raw.get("id")),
        name=call.name or string(function.get("name")),
        args=longer(call.args, fragment) if fragment else call.args,
        extra={**call.extra, **extra} if extra else call.extra,
    )
    if call.block >= 0:
        if fragment:
            out.append(_fragment(call, fragment))
    elif call.name:
        return _begin(at, call, acc, out)
    return with_rest(acc, rest._replace(calls=rest.calls.plus(at, call)))


def _begin(at: int, call: Call, acc: ChatState, out: Out) -> ChatState:
    """Begin the block of a call, with the arguments that have come already."""
    acc = end_text(end_thinking(acc, out), out)
    rest = acc.rest
    index = rest.next
    call = call._replace(block=index, id=call.id or f"call_{rest.response_id or 'x'}_{index}")
    out.append(StreamEvent("tool_call_start", tool_name=call.name, tool_call_id=call.id, index=index))
    if call.args is not None:
        out.append(_fragment(call, joined(call.args)))
    return with_rest(acc, rest._replace(next=index + 1, calls=rest.calls.plus(at, call)))


def begin_nameless(acc: ChatState, out: Out) -> ChatState:
    """Begin the calls whose names never came: the loop answers each with an error. A call without id and arguments is none."""
    for at, call in acc.rest.calls.items():
        if call.block < 0 and (call.id or call.args is not None):
            acc = _begin(at, call, acc, out)
    return acc


def _fragment(call: Call, text: str) -> StreamEvent:
    return StreamEvent("tool_call_delta", text, tool_name=call.name, tool_call_id=call.id, index=call.block)
