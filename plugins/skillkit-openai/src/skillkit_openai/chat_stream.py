"""The conversion of Chat Completions, streamed or whole, into SkillKit's events: :data:`chat_table`.

Chunks carry no type of their own, so the events of the table are marked with the key ``type``: ``chunk`` (a parsed
``data:`` object), ``completion`` (the body of an answer that was not streamed), ``done`` (the ``[DONE]`` line) and ``eof``
(the connection ended). :func:`tag` sets it.

Blocks are in order of appearance: text that goes on after a tool call or after more thinking is a block of its own.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from skillkit_core.errors import ErrorKind, ProviderError
from skillkit_core.messages import RefusalBlock, StopReason
from skillkit_core.stream import StreamEvent, StreamTable

from .chat_blocks import (
    audio_block,
    call_end,
    cited_text,
    image_block,
    replayed_details,
    sources_of,
    stop_reason_of,
    thinking_block,
    with_citations,
)
from .chat_state import Call, ChatState, Rest, call_of, joined, longer, string
from .errors import minimax_error, protocol_error, reports_error, stream_error
from .usage import chat_usage

__all__ = ["broken", "chat_table", "tag"]

Converted: TypeAlias = tuple[Iterable[StreamEvent], ChatState]
Out: TypeAlias = list[StreamEvent]

chat_table: StreamTable[ChatState] = StreamTable()

_CALL_KEYS = frozenset({"index", "id", "type", "function"})


def tag(payload: Any) -> dict[str, Any]:
    """A parsed ``data:`` object as an event of the table."""
    if not isinstance(payload, dict):
        return {"type": "chunk", "error": {"message": "the server sent an event that is not a JSON object"}}
    if "choices" not in payload and reports_error(payload):
        return {"type": "chunk", "error": payload.get("error") or payload}  # an error of its own event, not a chunk
    payload["type"] = "chunk"
    return payload


@chat_table.on("chunk")
def chunk(event: Mapping[str, Any], acc: ChatState) -> Converted:
    """One ``chat.completion.chunk``, or the error object that some servers send instead."""
    if acc.rest.over:
        return (), acc
    out: Out = []
    choices = event.get("choices")
    for choice in choices or ():
        if choice.get("index") not in (0, None):
            continue  # n > 1: one message is one choice
        delta = choice.get("delta")
        if delta:
            acc = _delta(delta, acc, out)
        elif not acc.rest.next and choice.get("message"):  # a whole answer as the one event of a stream
            acc = _delta(choice["message"], acc, out)
        finish = choice.get("finish_reason")
        if finish and isinstance(finish, str):
            acc = _with(acc, acc.rest._replace(finish=finish))
            event = _with_error(event, choice)
    if event.get("usage") or event.get("x_groq") or event.get("error") or event.get("citations"):
        acc = _margin(event, acc, out)
    if not choices and "base_resp" in event and not acc.rest.over:
        acc = _refused(event, acc, out)
    if not acc.rest.response_id and event.get("id") and not acc.rest.over:  # Azure's first chunk has an empty id
        acc = _with(acc, acc.rest._replace(response_id=str(event["id"])))
    return out, acc


@chat_table.on("completion")
def completion(event: Mapping[str, Any], acc: ChatState) -> Converted:
    """The body of an answer that was not streamed: the same events, all at once."""
    out: Out = []
    choices = event.get("choices")
    choice = next((c for c in choices or () if c.get("index") in (0, None)), None)
    if choice is not None:
        acc = _delta(choice.get("message") or {}, acc, out)
        finish = choice.get("finish_reason")
        acc = _with(acc, acc.rest._replace(finish=finish if isinstance(finish, str) else None))
        event = _with_error(event, choice)
    acc = _margin(event, _with(acc, acc.rest._replace(response_id=str(event.get("id") or "") or None)), out)
    if acc.rest.over:
        return out, acc
    if choice is None:
        acc = _refused(event, acc, out)
        if acc.rest.over:
            return out, acc
        said = {k: v for k, v in event.items() if k != "type"}  # which is the table's own
        return [*out, _ended(protocol_error("the answer has no choices", said), acc)], _over(acc)
    return _finish(acc, out)


@chat_table.on("done")
def done(event: Mapping[str, Any], acc: ChatState) -> Converted:
    """The ``[DONE]`` line: the stream is whole, also without a finish reason (Snowflake sends none)."""
    return ((), acc) if acc.rest.over else _finish(acc, [])


@chat_table.on("eof")
def eof(event: Mapping[str, Any], acc: ChatState) -> Converted:
    """The connection ended. Some servers send no ``[DONE]``: a finish reason is enough."""
    if acc.rest.over:
        return (), acc
    if acc.rest.finish:
        return _finish(acc, [])
    return [_ended(protocol_error("the stream ended without a finish reason"), acc)], _over(acc)


def _with_error(event: Mapping[str, Any], choice: Mapping[str, Any]) -> Mapping[str, Any]:
    """OpenRouter puts the error of the provider behind it into the choice that it ended."""
    error = choice.get("error")
    return (
        {**event, "error": event.get("error") or error} if error and choice.get("finish_reason") == "error" else event
    )


def _refused(event: Mapping[str, Any], acc: ChatState, out: Out) -> ChatState:
    """MiniMax says in a field of its own why there are no choices."""
    error = minimax_error(event.get("base_resp"))
    if error is None:
        return acc
    out.append(_ended(error, acc))
    return _over(acc)


def _over(acc: ChatState) -> ChatState:
    return _with(acc, acc.rest._replace(over=True))


def _with(acc: ChatState, rest: Rest) -> ChatState:
    """``acc._replace(rest=rest)`` in a fifth of the time."""
    return ChatState(acc.text_block, acc.text, acc.thought_block, acc.thought, rest)


def _margin(event: Mapping[str, Any], acc: ChatState, out: Out) -> ChatState:
    """What stands beside the choices: usage, citations, errors."""
    rest = acc.rest
    groq = event.get("x_groq")
    usage = event.get("usage") or (groq.get("usage") if isinstance(groq, Mapping) else None)
    if isinstance(usage, Mapping) and usage:
        rest = rest._replace(usage=usage)
    sources = event.get("search_results") or event.get("citations")
    if isinstance(sources, list) and sources and not rest.sourced:  # Perplexity repeats them per chunk
        rest = rest._replace(citations=with_citations(rest.citations, sources_of(sources)), sourced=True)
    acc = _with(acc, rest)
    error = event.get("error")
    if error:
        out.append(_ended(stream_error({"error": error} if isinstance(error, str) else error), acc))
        acc = _over(acc)
    return acc


def _delta(delta: Mapping[str, Any], acc: ChatState, out: Out) -> ChatState:
    if len(delta) == 1:  # nearly all deltas: text and nothing else
        only = delta.get("content")
        if only and isinstance(only, str):
            return _text(only, acc, out)
    thought = delta.get("reasoning_content") or delta.get("reasoning")
    details = delta.get("reasoning_details") or delta.get("thinking_blocks")
    if thought or details:
        acc = _thinking(delta, thought if isinstance(thought, str) else "", details, acc, out)
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
        acc = _with(acc, rest._replace(citations=with_citations(rest.citations, annotations)))
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
            acc = _with(acc, acc.rest._replace(citations=with_citations(acc.rest.citations, (part,))))
    return acc


def _media(delta: Mapping[str, Any], acc: ChatState, out: Out) -> ChatState:
    """What is spoken (its transcript is text like any other), and images that are drawn (OpenRouter)."""
    audio = delta.get("audio")
    if isinstance(audio, Mapping) and any(audio.values()):
        said = string(audio.get("transcript"))
        if said:
            acc = _text(said, acc, out)
        acc = _with(acc, acc.rest._replace(audio=(audio, acc.rest.audio)))
    for image in delta.get("images") or ():
        acc = _image(image, acc, out)
    return acc


def _image(image: Mapping[str, Any], acc: ChatState, out: Out) -> ChatState:
    address = image.get("image_url") or {}
    block = image_block(string(address if isinstance(address, str) else address.get("url")))
    acc = _end_text(_end_thinking(acc, out), out)
    out.append(StreamEvent("block", index=acc.rest.next, block=block))
    return _with(acc, acc.rest._replace(next=acc.rest.next + 1))


def _text(text: str, acc: ChatState, out: Out) -> ChatState:
    index = acc.text_block
    if index < 0:
        acc = _end_thinking(acc, out)
        index = acc.rest.next
        acc = _with(acc, acc.rest._replace(next=index + 1))
        out.append(StreamEvent("text_start", index=index))
    out.append(StreamEvent("text_delta", text, index=index))
    return ChatState(index, longer(acc.text, text), acc.thought_block, acc.thought, acc.rest)


def _end_text(acc: ChatState, out: Out) -> ChatState:
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
        names = ("content[].thinking", "content[].reasoning", "reasoning_content", "reasoning")
        field = next((n for n in names if delta.get(n)), "reasoning_details")
        acc = _with(acc, rest._replace(field=field))
    if isinstance(details, list):
        if not text and acc.rest.field == "reasoning_details":
            text = "".join(string(d.get("text") or d.get("summary") or d.get("thinking")) for d in details)
        rest = acc.rest
        for detail in details:
            rest = rest._replace(details=(detail, rest.details))
        acc = _with(acc, rest)
    index = acc.thought_block
    if not text:
        return acc
    if index < 0:
        acc = _end_text(acc, out)
        index = acc.rest.next
        acc = acc._replace(rest=acc.rest._replace(next=index + 1), thought=None)
        out.append(StreamEvent("thinking_start", index=index))
    out.append(StreamEvent("thinking_delta", text, index=index))
    return ChatState(acc.text_block, acc.text, index, longer(acc.thought, text), acc.rest)


def _end_thinking(acc: ChatState, out: Out, last: bool = False) -> ChatState:
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
        acc = _end_text(_end_thinking(acc, out), out)
        rest = acc.rest
        index = rest.next
        rest = rest._replace(next=index + 1, refusal=index)
        out.append(StreamEvent("text_start", index=index))
    out.append(StreamEvent("text_delta", text, index=index))
    return _with(acc, rest._replace(refused=longer(rest.refused, text)))


def _call(raw: Mapping[str, Any], acc: ChatState, out: Out) -> ChatState:
    rest = acc.rest
    at = call_of(raw, rest.calls)
    new = at == len(rest.calls)
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
    if call.block < 0:
        if call.name:
            acc = _end_text(_end_thinking(acc, out), out)
            index = acc.rest.next
            rest = acc.rest._replace(next=index + 1)
            call = call._replace(block=index, id=call.id or f"call_{rest.response_id or 'x'}_{index}")
            out.append(StreamEvent("tool_call_start", tool_name=call.name, tool_call_id=call.id, index=index))
            if call.args is not None:
                out.append(_fragment(call, joined(call.args)))
    elif fragment:
        out.append(_fragment(call, fragment))
    return _with(acc, rest._replace(calls=(*rest.calls[:at], call, *rest.calls[at + 1 :])))


def _fragment(call: Call, text: str) -> StreamEvent:
    return StreamEvent("tool_call_delta", text, tool_name=call.name, tool_call_id=call.id, index=call.block)


def _finish(acc: ChatState, out: Out) -> Converted:
    """End every block, in order, and the message."""
    rest = acc.rest
    if rest.finish == "error":  # OpenRouter
        out.append(_ended(ProviderError("the provider ended the answer with an error", kind=ErrorKind.server), acc))
        return out, _over(acc)
    ends: Out = []
    _end_thinking(acc, ends, last=True)
    _end_text(acc, ends)
    if rest.refusal >= 0:
        ends.append(StreamEvent("text_end", index=rest.refusal, block=RefusalBlock(joined(rest.refused))))
    whole = stop_reason_of(rest.finish, False) is not StopReason.length
    calls = rest.calls
    if calls and rest.details is not None and acc.thought is None:
        # Reasoning without any text (signatures, encrypted): it stays with the first call, which needs it for replay.
        calls = (calls[0]._replace(extra={**calls[0].extra, **replayed_details(rest.details)}), *calls[1:])
    for call in calls:
        if call.block >= 0:
            ends.append(call_end(call, whole))
    if rest.audio is not None:
        ends.append(StreamEvent("block", index=rest.next, block=audio_block(rest.audio)))
    out.extend(sorted(ends, key=lambda e: e.index or 0))
    refused = rest.refusal >= 0 and acc.text_block < 0
    out.append(
        StreamEvent(
            "done",
            usage=None if rest.usage is None else chat_usage(rest.usage),
            stop_reason=stop_reason_of(rest.finish, any(c.block >= 0 for c in rest.calls), refused),
            raw_stop_reason=rest.finish,
            response_id=rest.response_id,
        )
    )
    return out, _over(acc)


def _ended(error: ProviderError, acc: ChatState) -> StreamEvent:
    rest = acc.rest
    return StreamEvent(
        "error",
        error=error,
        usage=None if rest.usage is None else chat_usage(rest.usage),
        raw_stop_reason=rest.finish,
        response_id=rest.response_id,
    )


def broken(acc: ChatState, error: ProviderError) -> StreamEvent:
    """The terminal event for a failure from outside the wire: the connection, a time-out, an abort."""
    return _ended(error, acc)
