"""The conversion of Chat Completions, streamed or whole, into SkillKit's events: :data:`chat_table`.

Chunks carry no type of their own, so the events of the table are marked with the key ``type``: ``chunk`` (a parsed
``data:`` object), ``completion`` (the body of an answer that was not streamed), ``done`` (the ``[DONE]`` line) and ``eof``
(the connection ended). :func:`tag` sets it.

Blocks are in order of appearance: text that goes on after a tool call or after more thinking is a block of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from skillkit_core.errors import ErrorKind, ProviderError
from skillkit_core.messages import RefusalBlock, StopReason
from skillkit_core.stream import StreamEvent, StreamTable

from .chat_blocks import (
    audio_block,
    call_end,
    replayed_details,
    sources_of,
    stop_reason_of,
    thinking_block,
    with_citations,
)
from .chat_delta import Out, add_delta, begin_nameless, end_text, end_thinking, with_rest
from .chat_state import ChatState, joined
from .errors import minimax_error, protocol_error, reports_error, stream_error
from .usage import chat_usage

__all__ = ["broken", "chat_table", "tag"]

Converted: TypeAlias = tuple[Iterable[StreamEvent], ChatState]
chat_table: StreamTable[ChatState] = StreamTable()


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
    rest = acc.rest
    if rest.over:
        return (), acc
    out: Out = []
    choices = event.get("choices")
    for choice in choices or ():
        if choice.get("index"):
            continue  # n > 1: one message is one choice
        delta = choice.get("delta")
        if delta:
            acc = add_delta(delta, acc, out)
        elif not acc.rest.next and choice.get("message"):  # a whole answer as the one event of a stream
            acc = add_delta(choice["message"], acc, out)
        finish = choice.get("finish_reason")
        if finish and isinstance(finish, str):
            acc = with_rest(acc, acc.rest._replace(finish=finish))
            event = _with_error(event, choice)
    if event.get("usage") or event.get("x_groq") or event.get("error") or event.get("citations"):
        acc = _margin(event, acc, out)
    if not choices and "base_resp" in event and not acc.rest.over:
        acc = _refused(event, acc, out)
    if not rest.response_id and event.get("id") and not acc.rest.over:  # Azure's first chunk has an empty id
        acc = with_rest(acc, acc.rest._replace(response_id=str(event["id"])))
    return out, acc


@chat_table.on("completion")
def completion(event: Mapping[str, Any], acc: ChatState) -> Converted:
    """The body of an answer that was not streamed: the same events, all at once."""
    out: Out = []
    choices = event.get("choices")
    choice = next((c for c in choices or () if c.get("index") in (0, None)), None)
    if choice is not None:
        acc = add_delta(choice.get("message") or {}, acc, out)
        finish = choice.get("finish_reason")
        acc = with_rest(acc, acc.rest._replace(finish=finish if isinstance(finish, str) else None))
        event = _with_error(event, choice)
    acc = _margin(event, with_rest(acc, acc.rest._replace(response_id=str(event.get("id") or "") or None)), out)
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
    return with_rest(acc, acc.rest._replace(over=True))


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
    acc = with_rest(acc, rest)
    error = event.get("error")
    if error:
        out.append(_ended(stream_error({"error": error} if isinstance(error, str) else error), acc))
        acc = _over(acc)
    return acc


def _finish(acc: ChatState, out: Out) -> Converted:
    """End every block, in order, and the message."""
    if acc.rest.finish == "error":  # OpenRouter
        out.append(_ended(ProviderError("the provider ended the answer with an error", kind=ErrorKind.server), acc))
        return out, _over(acc)
    ends: Out = []
    acc = begin_nameless(acc, ends)
    rest = acc.rest
    end_thinking(acc, ends, last=True)
    end_text(acc, ends)
    if rest.refusal >= 0:
        ends.append(StreamEvent("text_end", index=rest.refusal, block=RefusalBlock(joined(rest.refused))))
    whole = stop_reason_of(rest.finish, False) is not StopReason.length
    calls = rest.calls
    if calls and rest.details is not None and acc.thought is None:
        # Reasoning without any text (signatures, encrypted): it stays with the first call, which needs it for replay.
        first = calls[0]
        calls = calls.plus(0, first._replace(extra={**first.extra, **replayed_details(rest.details)}))
    elif rest.details is not None and acc.thought is not None and acc.thought_block < 0:  # signed after its end
        block = thinking_block(acc.thought, rest.field, rest.details)
        ends.append(StreamEvent("block", index=rest.thinking, block=block))
    for call in calls.values():
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
            stop_reason=stop_reason_of(rest.finish, any(c.block >= 0 for c in rest.calls.values()), refused),
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
