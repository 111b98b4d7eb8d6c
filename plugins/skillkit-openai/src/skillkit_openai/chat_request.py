"""Messages in the form of Chat Completions, and the check that a server would accept them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from skillkit_transport import dumps

from skillkit_core.messages import (
    AssistantMessage,
    Block,
    DocumentBlock,
    ImageBlock,
    LLMMessage,
    RefusalBlock,
    TextBlock,
    ThinkingBlock,
    ToolCall,
    ToolResultMessage,
)

from .handover import Target, call_id, image_note, is_audio, is_empty, note, replays, text_of_document, wire_name

__all__ = ["ChatEncoder", "check_messages"]

_AUDIO = {
    "mpeg": "mp3",
    "x-wav": "wav",
    "wave": "wav",
    "vnd.wave": "wav",
    "mp4": "m4a",
    "x-m4a": "m4a",
    "x-flac": "flac",
}
_DETAILS = ("reasoning_details", "thinking_blocks")
# https://github.com/microsoft/vscode-copilot-chat, copilotChatEndpoint.ts: goes back on the message, beside reasoning_text
_OPAQUE = "reasoning_opaque"
_ID_LENGTH = 40  # OpenAI: "string too long. Expected a string with maximum length 40"


class ChatEncoder:
    """Writes one conversation for one target.

    Args:
        target: whom it is for.
        mistral_ids: ids of tool calls must be nine letters and digits.
        image_results: the server takes images in tool results; otherwise they follow in a user message.
        document_urls: the server fetches documents by their address.
    """

    def __init__(
        self, target: Target, *, mistral_ids: bool = False, image_results: bool = False, document_urls: bool = True
    ) -> None:
        self._target = target
        self._document_urls = document_urls
        self._mistral = mistral_ids
        self._image_results = image_results
        self._ids: dict[str, str] = {}
        self._media: list[dict[str, Any]] = []

    def add(self, message: LLMMessage) -> Iterable[dict[str, Any]]:
        """The wire's messages of ``message``."""
        if isinstance(message, ToolResultMessage):
            return [self._result(message)]
        out = list(self.tail())
        self._media = []
        if isinstance(message, AssistantMessage):
            wire = self._assistant(message)
            return [*out, wire] if wire else out
        parts = self._parts(message.content)
        return [*out, {"role": "user", "content": _plain(parts)}] if parts else out

    def tail(self) -> Iterable[dict[str, Any]]:
        """The images and recordings of the last tool results, which this wire takes from users only."""
        if self._media:
            what = "Images" if all(p["type"] == "image_url" for p in self._media) else "Attachments"
            yield {"role": "user", "content": [{"type": "text", "text": f"{what} of the tool results:"}, *self._media]}

    def _parts(self, blocks: Iterable[Block]) -> list[dict[str, Any]]:
        out: list[dict[str, Any]] = []
        for block in blocks:
            if isinstance(block, (TextBlock, RefusalBlock)):
                if block.text:
                    out.append({"type": "text", "text": block.text})
            elif isinstance(block, (ImageBlock, DocumentBlock)) and not is_empty(block):
                out.append(self._image(block) if isinstance(block, ImageBlock) else self._document(block))
        return out

    def _image(self, block: ImageBlock) -> dict[str, Any]:
        left_out = image_note(block, self._target)
        if left_out is not None:
            return {"type": "text", "text": left_out}
        url = block.url or f"data:{block.mime_type};base64,{block.data or ''}"
        return {"type": "image_url", "image_url": {"url": url}}

    def _document(self, block: DocumentBlock) -> dict[str, Any]:
        if is_audio(block):
            return self._audio(block)
        text = text_of_document(block)
        if text is not None:
            return {"type": "text", "text": text}
        if not self._target.documents:
            return {"type": "text", "text": note(block, self._target.model)}
        if block.url and not self._document_urls:
            why = "Chat Completions takes documents as part of the request, not by address; --api openai-responses does"
            return {"type": "text", "text": note(block, self._target.model, why)}
        data = block.url or f"data:{block.mime_type};base64,{block.data or ''}"
        return {"type": "file", "file": {"filename": block.title or "document.pdf", "file_data": data}}

    def _audio(self, block: DocumentBlock) -> dict[str, Any]:
        """https://platform.openai.com/docs/guides/audio (OpenAI takes ``wav`` and ``mp3``, other servers more)."""
        if not self._target.audio:
            return {"type": "text", "text": note(block, self._target.model)}
        if not block.data:
            why = "this API takes recordings as part of the request, not by address"
            return {"type": "text", "text": note(block, self._target.model, why)}
        kind = block.mime_type.removeprefix("audio/").partition(";")[0].strip().lower()
        return {"type": "input_audio", "input_audio": {"data": block.data, "format": _AUDIO.get(kind, kind)}}

    def _assistant(self, message: AssistantMessage) -> dict[str, Any] | None:
        own = self._target.wrote(message)
        wire: dict[str, Any] = {"role": "assistant"}
        text: list[str] = []
        thoughts: list[dict[str, Any]] = []
        calls: list[dict[str, Any]] = []
        for block in message.content:
            if isinstance(block, ThinkingBlock):
                if replays(block, message, self._target):
                    _replay(block, wire, thoughts)
                elif block.thinking.strip():
                    text.append(block.thinking.rstrip() + "\n\n")
            elif isinstance(block, (TextBlock, RefusalBlock)):
                text.append(block.text)
            elif isinstance(block, ToolCall):
                calls.append(self._call(block, own, wire))
        content = "".join(text)
        if thoughts:
            wire["content"] = [*thoughts, {"type": "text", "text": content}] if content else thoughts
        elif content.strip():
            wire["content"] = content
        if calls:
            wire["tool_calls"] = calls
        return wire if "content" in wire or calls else None

    def _call(self, call: ToolCall, own: bool, wire: dict[str, Any]) -> dict[str, Any]:
        longest = 512 if own else _ID_LENGTH
        id = self._ids[call.id] = call.id if own else call_id(call.id, longest, self._mistral)
        extra = dict(call.provider_data) if own else {}
        for name in (*_DETAILS, _OPAQUE):
            details = extra.pop(name, None)
            if details and name not in wire:
                wire[name] = details
        if extra.get("type") == "custom":
            return {**extra, "id": id, "custom": {"name": wire_name(call.name), "input": call.raw_args}}
        # Servers that render a template parse this text: it has to be an object.
        raw = call.raw_args if call.args is not None and call.raw_args.strip() else dumps(call.args or {})
        return {"type": "function", **extra, "id": id, "function": {"name": wire_name(call.name), "arguments": raw}}

    def _result(self, message: ToolResultMessage) -> dict[str, Any]:
        parts = self._parts(message.content)
        id = self._ids.get(message.tool_call_id)
        if id is None:
            id = call_id(message.tool_call_id, _ID_LENGTH, self._mistral)
        media = [p for p in parts if p["type"] != "text"]
        content: Any
        images = all(p["type"] == "image_url" for p in media)
        if media and images and self._image_results:
            content = parts
        else:
            self._media.extend(media)
            texts = [p["text"] for p in parts if p["type"] == "text"]
            below = f"(see the {'image' if images else 'attachment'} below)"
            content = "\n\n".join(texts) or (below if media else "(no output)")
        return {"role": "tool", "tool_call_id": id, "content": content}


def _replay(block: ThinkingBlock, wire: dict[str, Any], thoughts: list[dict[str, Any]]) -> None:
    """Put thinking where the server had put it."""
    field = block.provider_data.get("field")
    if field == "content[].thinking":
        thoughts.append({"type": "thinking", "thinking": [{"type": "text", "text": block.thinking}]})
    elif field == "content[].reasoning":
        signed = {"signature": block.signature} if block.signature else {}
        thoughts.append({"type": "reasoning", "summary": [{"type": "summary_text", "text": block.thinking, **signed}]})
    elif field in ("reasoning_content", "reasoning", "reasoning_text"):
        wire[field] = wire.get(field, "") + block.thinking
    for name in _DETAILS:
        if block.provider_data.get(name):
            wire[name] = [*wire.get(name, ()), *block.provider_data[name]]
    if block.provider_data.get(_OPAQUE):
        wire[_OPAQUE] = block.provider_data[_OPAQUE]


def _plain(parts: list[dict[str, Any]]) -> Any:
    """Text alone as a string, which every server takes."""
    if all(p["type"] == "text" for p in parts):
        return "\n\n".join(p["text"] for p in parts)
    return parts


def check_messages(messages: Iterable[Mapping[str, Any]]) -> list[str]:
    """Why a server would refuse these wire messages: tool results must follow their calls at once, ids must agree."""
    problems: list[str] = []
    open_ids: list[str] = []
    at = -1
    for at, message in enumerate(messages):
        role = message.get("role")
        if role == "tool":
            id = message.get("tool_call_id")
            if id in open_ids:
                open_ids.remove(id)
            else:
                problems.append(f"messages[{at}]: tool result {id!r} follows no open call")
            continue
        if open_ids:
            problems.append(f"messages[{at}]: calls without a result: {', '.join(map(repr, open_ids))}")
        open_ids = [c["id"] for c in message.get("tool_calls") or ()]
        if len(set(open_ids)) != len(open_ids):
            problems.append(f"messages[{at}]: two calls share an id")
        if not message.get("content") and not open_ids:
            problems.append(f"messages[{at}]: {role} message without content")
    if at < 0:
        problems.append("messages: at least one message is needed")
    if open_ids:
        problems.append(f"calls without a result at the end: {', '.join(map(repr, open_ids))}")
    return problems
