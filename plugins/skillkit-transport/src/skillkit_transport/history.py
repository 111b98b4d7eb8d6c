"""A conversation in words that any wire can say: what becomes text, what is left out, ids and names that servers take."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from skillkit_core.contracts.adapter import LLMRequest
from skillkit_core.messages import (
    AssistantMessage,
    Block,
    DocumentBlock,
    ImageBlock,
    LLMMessage,
    RefusalBlock,
    StopReason,
    TextBlock,
    ThinkingBlock,
    ToolCall,
    ToolResultMessage,
)

__all__ = ["PlainMessage", "open_calls", "plain_history"]

_ID = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")
_CUT = (StopReason.aborted, StopReason.error)


@dataclass(frozen=True, slots=True)
class PlainMessage:
    """A message for a wire.

    Attributes:
        role: ``tool`` is the result of a call.
        text: never empty, but of an assistant that only calls, and of a tool that said nothing.
        calls: of the assistant; ids and names match ``[A-Za-z0-9_-]{1,64}``, ``raw_args`` is a JSON object.
        thinking: that this model wrote itself, to go back as thinking. Whoever leaves it out loses nothing else.
        call_id: of a result: the id of its call.
        name: of a result: the tool.
        is_error: of a result.
    """

    role: Literal["user", "assistant", "tool"]
    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    thinking: tuple[ThinkingBlock, ...] = ()
    call_id: str = ""
    name: str = ""
    is_error: bool = False


def plain_history(request: LLMRequest, provider: str, api: str, *, tools: bool = True) -> Iterator[PlainMessage]:
    """Yield the messages of ``request`` for a wire of texts and calls; what would be empty is left out.

    Images and documents become a note. Thinking of another provider, api or model becomes text, opaque thinking is left out.
    Lone surrogates stay: JSON of :func:`skillkit_transport.encode` replaces them.

    Args:
        request: its messages are a legal history.
        provider: of the adapter. api: of the adapter.
        tools: the wire has tools; without, calls and results become text of the assistant and of the user.
    """
    for message in request.messages:
        plain = _plain(message, request, provider, api)
        if not tools and (plain.calls or plain.role == "tool"):
            plain = _in_words(plain)
        if plain.text or plain.calls or plain.role == "tool":
            yield plain


def open_calls(request: LLMRequest) -> Iterator[str]:
    """Yield, in one line each, the calls of ``request`` without a result, and the results without a call."""
    waiting: dict[str, str] = {}
    for message in request.messages:
        if isinstance(message, ToolResultMessage):
            if waiting.pop(message.tool_call_id, None) is None:
                yield f"the result of {message.tool_call_id!r} has no call"
            continue
        yield from (f"tool call {id!r} ({name}) has no result" for id, name in waiting.items())
        calls = message.tool_calls if isinstance(message, AssistantMessage) else ()
        waiting = {call.id: call.name for call in calls}
    yield from (f"tool call {id!r} ({name}) has no result" for id, name in waiting.items())


def _plain(message: LLMMessage, request: LLMRequest, provider: str, api: str) -> PlainMessage:
    if isinstance(message, ToolResultMessage):
        return PlainMessage(
            "tool",
            _text(message.content, request),
            call_id=_id(message.tool_call_id),
            name=_name(message.tool_name),
            is_error=message.is_error,
        )
    if not isinstance(message, AssistantMessage):
        return PlainMessage("user", _text(message.content, request))
    own = (message.provider, message.api, message.model) == (provider, api, request.model.id)
    kept = own and message.stop_reason not in _CUT
    thinking = tuple(b for b in message.content if kept and isinstance(b, ThinkingBlock))
    calls = tuple(replace(c, id=_id(c.id), name=_name(c.name), raw_args=_object(c)) for c in message.tool_calls)
    return PlainMessage("assistant", _text([b for b in message.content if b not in thinking], request), calls, thinking)


def _text(content: tuple[Block, ...] | list[Block], request: LLMRequest) -> str:
    """All that can be read, images and documents as notes."""
    parts: list[str] = []
    apart = False
    for block in content:
        said, note = "", True
        if isinstance(block, (TextBlock, RefusalBlock)):
            said, note = block.text, False
        elif isinstance(block, ThinkingBlock):
            said = block.thinking
        elif isinstance(block, ImageBlock):
            said = f"[image left out: {request.model.id} takes no images]"
        elif isinstance(block, DocumentBlock):
            named = f" {block.title!r}" if block.title else ""
            said = f"[document{named} left out: {request.model.id} takes no documents]"
        if said:
            parts += ["\n\n", said] if parts and (note or apart) else [said]
            apart = note
    return "".join(parts)


def _in_words(plain: PlainMessage) -> PlainMessage:
    if plain.role == "tool":
        return PlainMessage("user", f"[{plain.name} {'failed' if plain.is_error else 'answered'}: {plain.text}]")
    called = [f"[called {call.name} with {call.raw_args}]" for call in plain.calls]
    return PlainMessage("assistant", "\n".join(filter(None, [plain.text, *called])), thinking=plain.thinking)


def _id(id: str) -> str:
    """An id that every server takes; the same id gives the same answer every time."""
    return id if _ID.match(id) else "call_" + hashlib.sha256(id.encode(errors="replace")).hexdigest()[:24]


def _name(name: str) -> str:
    return name if _ID.match(name) else (re.sub(r"[^A-Za-z0-9_-]", "_", name)[:64] or "_")


def _object(call: ToolCall) -> str:
    """The arguments as a JSON object; what the model wrote and was none is kept in one."""
    from .jsontext import encode

    return encode({"arguments": call.raw_args} if call.args is None else call.args).decode()
