"""Chat Completions, streamed or whole, as SkillKit's events: :class:`ChatReader`, and :data:`chat_table` over it.

Chunks carry no type of their own, so the events of the table are marked with the key ``type``: ``chunk`` (a parsed
``data:`` object), ``completion`` (the body of an answer that was not streamed), ``done`` (the ``[DONE]`` line) and ``eof``
(the connection ended). :func:`tag` sets it.

Blocks are in order of appearance: text that goes on after a tool call or after more thinking is a block of its own.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from skillkit_core.errors import ErrorKind, ProviderError
from skillkit_core.messages import RefusalBlock, StopReason, TextBlock
from skillkit_core.stream import StreamEvent, StreamTable

from .chat_blocks import (
    Call,
    Calls,
    audio_block,
    call_end,
    citation,
    image_block,
    replayed_details,
    signed,
    sources_of,
    stop_reason_of,
    string,
    thinking_block,
)
from .errors import minimax_error, protocol_error, reports_error, stream_error
from .usage import chat_usage

__all__ = ["ChatReader", "chat_table", "tag"]

_CALL_KEYS = frozenset({"index", "id", "type", "function"})
_THINKING = ("content[].thinking", "content[].reasoning", "reasoning_content", "reasoning", "reasoning_text")


def tag(payload: Any) -> dict[str, Any]:
    """A parsed ``data:`` object as an event of the table."""
    if not isinstance(payload, dict):
        return {"type": "chunk", "error": {"message": "the server sent an event that is not a JSON object"}}
    if "choices" not in payload and reports_error(payload):
        return {"type": "chunk", "error": payload.get("error") or payload}  # an error of its own event, not a chunk
    payload["type"] = "chunk"
    return payload


class ChatReader:
    """Reads one answer: each method takes what came, and returns the events that follow from it.

    Attributes:
        over: the terminal event was returned; nothing follows.
    """

    def __init__(self) -> None:
        self.over = False
        self._out: list[StreamEvent] = []  # what follows from what is being read
        self._next = 0  # index of the next block
        self._text_at = self._thought_at = -1  # indices of the open blocks of text and thinking
        self._text: list[str] = []
        self._citations: list[Any] = []  # of the open text
        self._sourced = False  # the sources of the whole answer are among them
        self._thought: list[str] = []
        self._thinking_at = -1  # index of the last block of thinking, open or not
        self._field = ""  # name of the field in which thinking comes
        self._details: list[Any] = []
        self._refusal_at = -1
        self._refused: list[str] = []
        self._calls = Calls()
        self._audio: list[Any] = []
        self._finish: str | None = None
        self._usage: Mapping[str, Any] | None = None
        self._response_id: str | None = None

    # --- what comes ---------------------------------------------------------------------------------------------------

    def chunk(self, event: Mapping[str, Any]) -> list[StreamEvent]:
        """One ``chat.completion.chunk``, or the error object that some servers send instead."""
        if self.over:
            return []
        out = self._out = []
        choices = event.get("choices")
        for choice in choices or ():
            if choice.get("index"):
                continue  # n > 1: one message is one choice
            delta = choice.get("delta")
            if delta:
                self._delta(delta)
            elif not self._next and choice.get("message"):  # a whole answer as the one event of a stream
                self._delta(choice["message"])
            finish = choice.get("finish_reason")
            if finish and isinstance(finish, str):
                self._finish = finish
                event = _with_error(event, choice)
        if event.get("usage") or event.get("x_groq") or event.get("error") or event.get("citations"):
            self._margin(event)
        if not choices and "base_resp" in event:
            self._refuse(event)
        if not self._response_id and event.get("id") and not self.over:  # Azure's first chunk has an empty id
            self._response_id = str(event["id"])
        return out

    def completion(self, event: Mapping[str, Any]) -> list[StreamEvent]:
        """The body of an answer that was not streamed: the same events, all at once."""
        out = self._out = []
        choices = event.get("choices")
        choice = next((c for c in choices or () if c.get("index") in (0, None)), None)
        if choice is not None:
            self._delta(choice.get("message") or {})
            finish = choice.get("finish_reason")
            self._finish = finish if isinstance(finish, str) else None
            event = _with_error(event, choice)
        self._response_id = str(event.get("id") or "") or None
        self._margin(event)
        if choice is None:
            self._refuse(event)
            said = {k: v for k, v in event.items() if k != "type"}  # which is the table's own
            self._fail(protocol_error("the answer has no choices", said))
        elif not self.over:
            self._end()
        return out

    def done(self) -> list[StreamEvent]:
        """The ``[DONE]`` line: the stream is whole, also without a finish reason (Snowflake sends none)."""
        out = self._out = []
        if not self.over:
            self._end()
        return out

    def eof(self) -> list[StreamEvent]:
        """The connection ended. Some servers send no ``[DONE]``: a finish reason is enough."""
        if self._finish or self.over:
            return self.done()
        out = self._out = []
        self._fail(protocol_error("the stream ended without a finish reason"))
        return out

    def broken(self, error: ProviderError) -> StreamEvent:
        """The terminal event for a failure from outside the wire: the connection, a time-out, an abort."""
        return self._terminal("error", error=error)

    # --- what a delta says --------------------------------------------------------------------------------------------

    def _delta(self, delta: Mapping[str, Any]) -> None:
        """Read the delta of a chunk, or the message of a whole answer."""
        content = delta.get("content")
        if len(delta) == 1 and self._text_at >= 0 and content and isinstance(content, str):
            self._more(content)  # nearly all deltas: more text and nothing else
            return
        thought = delta.get("reasoning_content") or delta.get("reasoning") or delta.get("reasoning_text")
        details = delta.get("reasoning_details") or delta.get("thinking_blocks")
        if thought or details:
            self._think(delta, thought if isinstance(thought, str) else "", details)
        opaque = delta.get("reasoning_opaque")
        if opaque and isinstance(
            opaque, str
        ):  # GitHub Copilot's signature, with or after the thinking or with the call
            self._details.append(signed(opaque))
        if content:
            if isinstance(content, str):
                self._say(content)
            else:
                self._parts([content] if isinstance(content, Mapping) else content)
        refusal = delta.get("refusal")
        if refusal and isinstance(refusal, str):
            self._decline(refusal)
        self._citations += map(citation, delta.get("annotations") or ())
        for call in delta.get("tool_calls") or ():
            self._call(call)
        if delta.get("audio") or delta.get("images"):
            self._media(delta)
        legacy = delta.get("function_call")
        if legacy and (legacy.get("name") or (self._calls.all and legacy.get("arguments"))):
            self._call({"index": 0, "function": legacy})

    def _parts(self, parts: Iterable[Any]) -> None:
        """Content as a list: text, thinking that is a list of its own (Mistral), or a summary with signatures (Databricks)."""
        for part in parts:
            if isinstance(part, str):
                part = {"type": "text", "text": part}
            kind = part.get("type")
            if kind in ("text", "output_text"):
                if part.get("text"):
                    self._say(string(part["text"]))
            elif kind == "image_url":
                self._image(part)
            elif kind == "thinking":
                inner = part.get("thinking")
                text = inner if isinstance(inner, str) else "".join(string(p.get("text")) for p in inner or ())
                if text:
                    self._think({"content[].thinking": True}, text, None)
            elif kind == "reasoning":
                summary = part.get("summary") or ()
                text = "".join(string(p.get("text")) for p in summary)
                self._think({"content[].reasoning": True}, text, list(summary))
            else:
                self._citations.append(citation(part))

    def _say(self, text: str) -> None:
        if self._text_at < 0:
            self._end_thinking()
            self._text_at = self._begin()
            self._out.append(StreamEvent("text_start", index=self._text_at))
        self._more(text)

    def _more(self, text: str) -> None:
        self._out.append(
            StreamEvent("text_delta", text, None, None, None, self._text_at)
        )  # by position: a quarter less
        self._text.append(text)

    def _think(self, delta: Mapping[str, Any], text: str, details: Any) -> None:
        if not self._field:
            self._field = next((name for name in _THINKING if delta.get(name)), "reasoning_details")
        if isinstance(details, list):
            if not text and self._field == "reasoning_details":
                text = "".join(string(d.get("text") or d.get("summary") or d.get("thinking")) for d in details)
            self._details += details
        if not text:
            return
        if self._thought_at < 0:
            self._end_text()
            self._thought_at = self._thinking_at = self._begin()
            self._thought = []
            self._out.append(StreamEvent("thinking_start", index=self._thought_at))
        self._out.append(StreamEvent("thinking_delta", text, index=self._thought_at))
        self._thought.append(text)

    def _decline(self, text: str) -> None:
        if self._refusal_at < 0:
            self._close()
            self._refusal_at = self._begin()
            self._out.append(StreamEvent("text_start", index=self._refusal_at))
        self._out.append(StreamEvent("text_delta", text, index=self._refusal_at))
        self._refused.append(text)

    def _media(self, delta: Mapping[str, Any]) -> None:
        """What is spoken (its transcript is text like any other), and images that are drawn (OpenRouter)."""
        audio = delta.get("audio")
        if isinstance(audio, Mapping) and any(audio.values()):
            if said := string(audio.get("transcript")):
                self._say(said)
            self._audio.append(audio)
        for image in delta.get("images") or ():
            self._image(image)

    def _image(self, image: Mapping[str, Any]) -> None:
        address = image.get("image_url") or {}
        block = image_block(string(address if isinstance(address, str) else address.get("url")))
        self._close()
        self._out.append(StreamEvent("block", index=self._begin(), block=block))

    def _call(self, raw: Mapping[str, Any]) -> None:
        call = self._calls.of(raw)
        function = raw.get("function") or raw.get("custom") or {}
        fragment = function.get("arguments", function.get("input"))
        if isinstance(fragment, Mapping):
            fragment = json.dumps(fragment, ensure_ascii=False)
        fragment = string(fragment)
        extra = {k: v for k, v in raw.items() if k not in _CALL_KEYS and v}
        if raw.get("type") not in (None, "", "function"):
            extra["type"] = raw["type"]
            extra.pop("custom", None)
        call.extra |= extra
        call.name = call.name or string(function.get("name"))
        if fragment:
            call.args.append(fragment)
        if call.block < 0 and call.name:
            self._begin_call(call)
        elif call.block >= 0 and fragment:
            self._out.append(_fragment(call, fragment))

    # --- blocks that begin and end ------------------------------------------------------------------------------------

    def _begin(self) -> int:
        """The index of a new block."""
        self._next += 1
        return self._next - 1

    def _begin_call(self, call: Call) -> None:
        """Begin the block of a call, with the arguments that have come already."""
        self._close()
        call.block = self._begin()
        self._calls.name(call, f"call_{self._response_id or 'x'}_{call.block}")
        self._out.append(StreamEvent("tool_call_start", tool_name=call.name, tool_call_id=call.id, index=call.block))
        if call.args:
            self._out.append(_fragment(call, "".join(call.args)))

    def _close(self) -> None:
        """Something other than text and thinking begins."""
        self._end_thinking()
        self._end_text()

    def _end_text(self) -> None:
        """Close the text block: something else begins, or the message ends."""
        if self._text_at < 0:
            return
        block = TextBlock("".join(self._text), tuple(self._citations)) if self._citations else None
        self._out.append(StreamEvent("text_end", index=self._text_at, block=block))
        self._text_at, self._text = -1, []
        if block is not None:
            self._citations, self._sourced = [], False

    def _end_thinking(self, last: bool = False) -> None:
        """Close the thinking block: at once when the answer begins, or with the message where signatures may still come."""
        if self._thought_at < 0 or (self._details and not last):
            return
        block = thinking_block("".join(self._thought), self._field, self._details)
        self._out.append(StreamEvent("thinking_end", index=self._thought_at, block=block))
        self._thought_at = -1

    # --- beside the choices, and the end ------------------------------------------------------------------------------

    def _margin(self, event: Mapping[str, Any]) -> None:
        """What stands beside the choices: usage, citations, errors."""
        groq = event.get("x_groq")
        usage = event.get("usage") or (groq.get("usage") if isinstance(groq, Mapping) else None)
        if isinstance(usage, Mapping) and usage:
            self._usage = usage
        sources = event.get("search_results") or event.get("citations")
        if isinstance(sources, list) and sources and not self._sourced:  # Perplexity repeats them per chunk
            self._citations += map(citation, sources_of(sources))
            self._sourced = True
        error = event.get("error")
        if error:
            self._fail(stream_error({"error": error} if isinstance(error, str) else error))

    def _refuse(self, event: Mapping[str, Any]) -> None:
        """MiniMax says in a field of its own why there are no choices."""
        error = minimax_error(event.get("base_resp"))
        if error is not None:
            self._fail(error)

    def _end(self) -> None:
        """End every block, in order, and the message."""
        if self._finish == "error":  # OpenRouter
            self._fail(ProviderError("the provider ended the answer with an error", kind=ErrorKind.server))
            return
        out = self._out
        ends = self._out = []
        for call in self._calls.all:
            # The name never came: the loop answers such a call with an error. One without id and arguments is none.
            if call.block < 0 and (call.id or call.args):
                self._begin_call(call)
        refused, thinks = self._refusal_at >= 0 and self._text_at < 0, self._thought_at >= 0
        self._end_thinking(last=True)
        self._end_text()
        if self._refusal_at >= 0:
            ends.append(StreamEvent("text_end", index=self._refusal_at, block=RefusalBlock("".join(self._refused))))
        if self._details and self._calls.all and not self._thought:
            # Reasoning without any text (signatures, encrypted): it stays with the first call, which needs it for replay.
            self._calls.all[0].extra |= replayed_details(self._details)
        elif self._details and self._thought and not thinks:  # signed after its end
            block = thinking_block("".join(self._thought), self._field, self._details)
            ends.append(StreamEvent("block", index=self._thinking_at, block=block))
        whole = stop_reason_of(self._finish, False) is not StopReason.length
        calls = [call for call in self._calls.all if call.block >= 0]
        ends += [call_end(call, whole) for call in calls]
        if self._audio:
            ends.append(StreamEvent("block", index=self._begin(), block=audio_block(self._audio)))
        out.extend(sorted(ends, key=lambda e: e.index or 0))
        out.append(self._terminal("done", stop_reason=stop_reason_of(self._finish, bool(calls), refused)))
        self.over = True

    def _fail(self, error: ProviderError) -> None:
        """End with an error, unless the answer is over."""
        if not self.over:
            self._out.append(self.broken(error))
            self.over = True

    def _terminal(self, kind: Any, **values: Any) -> StreamEvent:
        usage = None if self._usage is None else chat_usage(self._usage)
        return StreamEvent(kind, usage=usage, raw_stop_reason=self._finish, response_id=self._response_id, **values)


def _with_error(event: Mapping[str, Any], choice: Mapping[str, Any]) -> Mapping[str, Any]:
    """OpenRouter puts the error of the provider behind it into the choice that it ended."""
    error = choice.get("error")
    if not error or choice.get("finish_reason") != "error":
        return event
    return {**event, "error": event.get("error") or error}


def _fragment(call: Call, text: str) -> StreamEvent:
    return StreamEvent("tool_call_delta", text, tool_name=call.name, tool_call_id=call.id, index=call.block)


chat_table: StreamTable[ChatReader] = StreamTable()
"""The reader by types of events, for those who meet this wire elsewhere. The accumulator is the reader, which changes."""


@chat_table.on("chunk")
def _chunk(event: Mapping[str, Any], acc: ChatReader) -> tuple[Iterable[StreamEvent], ChatReader]:
    return acc.chunk(event), acc


@chat_table.on("completion")
def _completion(event: Mapping[str, Any], acc: ChatReader) -> tuple[Iterable[StreamEvent], ChatReader]:
    return acc.completion(event), acc


@chat_table.on("done")
def _done(event: Mapping[str, Any], acc: ChatReader) -> tuple[Iterable[StreamEvent], ChatReader]:
    return acc.done(), acc


@chat_table.on("eof")
def _eof(event: Mapping[str, Any], acc: ChatReader) -> tuple[Iterable[StreamEvent], ChatReader]:
    return acc.eof(), acc
