"""Messages as input items of the Responses API, and the check that the server would accept them."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from typing import Any

from skillkit_transport import dumps

from skillkit_core.messages import (
    AssistantMessage,
    Block,
    DocumentBlock,
    ImageBlock,
    LLMMessage,
    ProviderBlock,
    RefusalBlock,
    TextBlock,
    ThinkingBlock,
    ToolCall,
    ToolResultMessage,
)

from .handover import Target, call_id, image_note, is_audio, is_empty, note, replays, wire_name

__all__ = ["ResponsesEncoder", "check_items"]

_ID_LENGTH = 64
_APPROVAL, _APPROVED = "mcp_approval_request", "mcp_approval_response"
_OUTPUTS = {
    "apply_patch_call": "apply_patch_call_output",
    "computer_call": "computer_call_output",
    "local_shell_call": "local_shell_call_output",
    "shell_call": "shell_call_output",
    "tool_search_call": "tool_search_output",
}


class ResponsesEncoder:
    """Writes one conversation for one target.

    Args:
        target: whom it is for.
        stored: the server keeps responses, so that a reasoning item without its encrypted content can be named.
    """

    def __init__(self, target: Target, *, stored: bool = False) -> None:
        self._target = target
        self._stored = stored
        self._ids: dict[str, str] = {}
        self._custom: set[str] = set()
        self._asked: list[dict[str, Any]] = []  # requests for approval that the next message may answer

    def add(self, message: LLMMessage) -> Iterable[dict[str, Any]]:
        """The input items of ``message``."""
        if isinstance(message, ToolResultMessage):
            return [self._result(message)]
        asked, self._asked = self._asked, []
        if isinstance(message, AssistantMessage):
            items, self._asked = _paired([*asked, *self._assistant(message)])
            return items
        parts = self._parts(message.content)
        return [{"role": "user", "content": _plain(parts)}] if parts else ()

    def tail(self) -> Iterable[dict[str, Any]]:
        """Nothing: tool results hold their images."""
        return ()

    def _parts(self, blocks: Iterable[Block]) -> list[dict[str, Any]]:
        out: list[dict[str, Any]] = []
        for block in blocks:
            if isinstance(block, (TextBlock, RefusalBlock)):
                if block.text:
                    out.append({"type": "input_text", "text": block.text})
            elif isinstance(block, (ImageBlock, DocumentBlock)) and not is_empty(block):
                out.append(self._image(block) if isinstance(block, ImageBlock) else self._document(block))
        return out

    def _image(self, block: ImageBlock) -> dict[str, Any]:
        left_out = image_note(block, self._target)
        if left_out is not None:
            return {"type": "input_text", "text": left_out}
        url = block.url or f"data:{block.mime_type};base64,{block.data or ''}"
        return {"type": "input_image", "detail": "auto", "image_url": url}

    def _document(self, block: DocumentBlock) -> dict[str, Any]:
        if is_audio(block):
            why = "the Responses API takes none; --api openai-chat does"
            return {"type": "input_text", "text": note(block, self._target.model, why)}
        if not self._target.documents:
            return {"type": "input_text", "text": note(block, self._target.model)}
        if block.url:
            return {"type": "input_file", "file_url": block.url}
        data = f"data:{block.mime_type};base64,{block.data or ''}"
        return {"type": "input_file", "filename": block.title or "document.pdf", "file_data": data}

    def _assistant(self, message: AssistantMessage) -> list[dict[str, Any]]:
        own = self._target.wrote(message)
        intact = own and all(self._keeps(b, message) for b in message.content if isinstance(b, ThinkingBlock))
        out: list[dict[str, Any]] = []
        for block in message.content:
            if isinstance(block, ThinkingBlock):
                if self._keeps(block, message):
                    out.append(_reasoning(block))
                elif block.thinking.strip():
                    out.append({"role": "assistant", "content": block.thinking})
            elif isinstance(block, (TextBlock, RefusalBlock)):
                if block.text.strip():
                    phase = block.provider_data.get("phase") if own and isinstance(block, TextBlock) else None
                    extra = {"phase": phase} if phase else {}
                    out.append({"role": "assistant", "content": block.text, **extra})
            elif isinstance(block, ToolCall):
                out.append(self._call(block, own, intact))
            elif isinstance(block, ProviderBlock) and intact and block.data.get("type") == block.kind:
                out.append(dict(block.data))
        return out

    def _keeps(self, block: ThinkingBlock, message: AssistantMessage) -> bool:
        """Whether the reasoning item goes back: a server that keeps nothing needs what was in it."""
        if not replays(block, message, self._target):
            return False
        item = block.provider_data.get("item") or {}
        return bool(block.data or item.get("content") or (self._stored and item.get("id")))

    def _call(self, call: ToolCall, own: bool, intact: bool) -> dict[str, Any]:
        id = self._ids[call.id] = call.id if own else call_id(call.id, _ID_LENGTH)
        extra = {k: v for k, v in call.provider_data.items() if k != "type"} if intact else {}
        if own and call.provider_data.get("type") == "custom_tool_call":
            self._custom.add(call.id)
            return {
                "type": "custom_tool_call",
                **extra,
                "call_id": id,
                "name": wire_name(call.name),
                "input": call.raw_args,
            }
        raw = call.raw_args if call.args is not None and call.raw_args.strip() else dumps(call.args or {})
        return {"type": "function_call", **extra, "call_id": id, "name": wire_name(call.name), "arguments": raw}

    def _result(self, message: ToolResultMessage) -> dict[str, Any]:
        id = self._ids.get(message.tool_call_id)
        if id is None:
            id = call_id(message.tool_call_id, _ID_LENGTH)
        kind = "custom_tool_call_output" if message.tool_call_id in self._custom else "function_call_output"
        parts = self._parts(message.content)
        return {"type": kind, "call_id": id, "output": _plain(parts) or "(no output)"}


def _reasoning(block: ThinkingBlock) -> dict[str, Any]:
    """The reasoning item as it came; what only answers hold is left out."""
    item = {k: v for k, v in (block.provider_data.get("item") or {}).items() if k != "status" and v is not None}
    item.setdefault("summary", [])
    return {"type": "reasoning", **item}


def _paired(items: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """``items`` as the server takes them, and what of them waits for an answer: requests for approval, their reasoning.

    Left out are calls of the provider's own tools that the client should have run, requests for approval that nobody
    answered, and reasoning that nothing follows: "No tool output found", "The following MCP approval requests do not have
    an approval", "without its required following item".
    """
    answered = _answers(items)
    out: list[dict[str, Any]] = []
    asked: list[dict[str, Any]] = []
    followed = asking = False
    for item in reversed(items):
        if unanswered(item, answered):
            followed, asking = False, item["type"] == _APPROVAL
        elif item.get("type") != "reasoning" or followed:
            out.append(item)
            followed, asking = True, False
        if asking:
            asked.append(item)
    out.reverse()
    asked.reverse()
    return out, asked


def _answers(items: Iterable[Mapping[str, Any]]) -> set[tuple[str, Any]]:
    """Type, and call or request, of the items that may answer another one."""
    return {(str(i.get("type")), i.get("approval_request_id") or i.get("call_id")) for i in items}


def unanswered(item: Mapping[str, Any], answered: Container[tuple[str, Any]]) -> bool:
    """Whether ``item`` waits for something of the client that is not among ``answered``, pairs of type and call."""
    kind = item.get("type", "")
    if kind == _APPROVAL:
        return (_APPROVED, item.get("id")) not in answered
    output = _OUTPUTS.get(kind)
    if output is None or (kind == "tool_search_call" and item.get("execution") != "client"):
        return False
    return (output, item.get("call_id")) not in answered


def _plain(parts: list[dict[str, Any]]) -> Any:
    if all(p["type"] == "input_text" for p in parts):
        return "\n\n".join(p["text"] for p in parts)
    return parts


def check_items(items: Iterable[Mapping[str, Any]]) -> list[str]:
    """Why the server would refuse these input items: outputs need calls, calls outputs, reasoning its next item."""
    problems: list[str] = []
    open_ids: dict[str, int] = {}
    seen: set[str] = set()
    before: Mapping[str, Any] = {}
    items = list(items)
    answered = _answers(items)
    asked = {i.get("id") for i in items if i.get("type") == _APPROVAL}
    for at, item in enumerate(items):
        kind = item.get("type") or "message"
        if before.get("type") == "reasoning" and item.get("role") not in (None, "assistant"):
            problems.append(f"input[{at - 1}]: reasoning item without the item that followed it")
        if kind in ("function_call", "custom_tool_call"):
            if item["call_id"] in seen:
                problems.append(f"input[{at}]: the call id {item['call_id']!r} is used twice")
            seen.add(item["call_id"])
            open_ids[item["call_id"]] = at
        elif kind in ("function_call_output", "custom_tool_call_output"):
            if open_ids.pop(item.get("call_id", ""), None) is None:
                problems.append(f"input[{at}]: output {item.get('call_id')!r} follows no open call")
        elif kind == _APPROVED and item.get("approval_request_id") not in asked:
            problems.append(f"input[{at}]: {kind} {item.get('approval_request_id')!r} answers no request")
        elif kind == _APPROVAL and unanswered(item, answered):
            problems.append(f"input[{at}]: {kind} {item.get('id')!r} has no answer")
        elif unanswered(item, answered):
            problems.append(f"input[{at}]: {kind} {item.get('call_id')!r} has no output")
        elif kind == "message" and not item.get("content"):
            problems.append(f"input[{at}]: message without content")
        before = item
    if not before:
        problems.append("input: at least one item is needed")
    if before.get("type") == "reasoning":
        problems.append("the last reasoning item has no item that follows it")
    problems.extend(f"input[{at}]: call {id!r} has no output" for id, at in open_ids.items())
    return problems
