"""Anthropic Messages: ``POST /v1/messages`` (https://docs.anthropic.com/en/api/messages)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from skillkit_core.messages import StopReason
from skillkit_core.models import TokenUsage

from ..decoder import Item, OfferedTool, calls_problem, text_of
from ..turns import Fail
from .base import Answer, Wire, WireEvent, sse

__all__ = ["AnthropicMessages"]

STOP: dict[str, str] = {
    StopReason.stop: "end_turn",
    StopReason.tool_calls: "tool_use",
    StopReason.length: "max_tokens",
    StopReason.refusal: "refusal",
    StopReason.pause: "pause_turn",
}
ERROR = {
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
}
_ID = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")


class AnthropicMessages(Wire):
    """The Messages wire."""

    api: ClassVar[str] = "anthropic-messages"
    path: ClassVar[str] = "/v1/messages"
    statuses: ClassVar[Mapping[str, int]] = {"overflow": 400, "quota": 402}

    def items(self, body: Mapping[str, Any]) -> Iterator[Item]:
        """System, then the blocks of each message; a user message's results come before its text."""
        if system := text_of(body.get("system"), "text"):
            yield Item("system", system)
        for message in body.get("messages", ()):
            role, content = message.get("role"), message.get("content")
            blocks = [b for b in content if isinstance(b, Mapping)] if isinstance(content, list) else []
            text = text_of(content, "text")
            if role == "assistant":
                if text:
                    yield Item("assistant", text)
                for b in blocks:
                    if b.get("type") == "tool_use":
                        yield Item("call", name=str(b.get("name")), call_id=str(b.get("id")))
                continue
            for b in blocks:
                if b.get("type") == "tool_result":
                    said = text_of(b.get("content"), "text")
                    yield Item("result", said, call_id=str(b.get("tool_use_id")), is_error=b.get("is_error") is True)
            if text or any(b.get("type") not in ("tool_result", "text") for b in blocks):
                yield Item("user", text)

    def tools(self, body: Mapping[str, Any]) -> Iterator[OfferedTool]:
        """The tools with an ``input_schema``; the others are the provider's own."""
        for tool in body.get("tools") or ():
            if "input_schema" in tool:
                yield OfferedTool(str(tool.get("name")), str(tool.get("description", "")), tool["input_schema"])

    def problem(self, body: Mapping[str, Any], headers: Mapping[str, str]) -> str | None:
        """The documented demands that a client can get wrong."""
        if "anthropic-version" not in headers:
            return "anthropic-version: header is required"
        if not isinstance(body.get("max_tokens"), int):
            return "max_tokens: Field required"
        messages = body.get("messages")
        if not isinstance(messages, list) or not messages:
            return "messages: at least one message is required"
        if messages[0].get("role") != "user":
            return "messages.0: the first message must use the user role"
        for n, message in enumerate(messages):
            content = message.get("content")
            blocks = content if isinstance(content, list) else [{"type": "text", "text": content}]
            if any(b.get("type") == "text" and not b.get("text") for b in blocks):
                return f"messages.{n}: text content blocks must be non-empty"
            kinds = [b.get("type") == "tool_result" for b in blocks]
            if sorted(kinds, reverse=True) != kinds:
                return f"messages.{n}: tool_result blocks must come first"
            ids = [b.get("id", "") for b in blocks if b.get("type") == "tool_use"]
            if bad := [i for i in ids if not _ID.match(str(i))]:
                return f"messages.{n}: tool_use id {bad[0]!r} must match [a-zA-Z0-9_-]{{1,64}}"
        return calls_problem(self.items(body))

    def whole(self, answer: Answer) -> dict[str, Any]:
        """A ``message`` object."""
        blocks = [whole for whole, _, _ in self._blocks(answer)]
        return {
            **self._message(answer),
            "content": blocks,
            "stop_reason": self._stop(answer),
            "usage": _usage(answer.reply.usage),
        }

    def events(self, answer: Answer) -> list[WireEvent]:
        """``message_start``, the blocks, ``message_delta``, ``message_stop``."""
        usage = _usage(answer.reply.usage)
        start = {**self._message(answer), "usage": {**usage, "output_tokens": min(1, usage["output_tokens"])}}
        out = [_event("message_start", message=start)]
        unknown = answer.reply.unknown
        if unknown:
            out += [_event("ping"), _event("future_event", index=0, delta={"type": "text_delta", "text": "NO"})]
        for index, (_, empty, deltas) in enumerate(self._blocks(answer)):
            out.append(_event("content_block_start", index=index, content_block=empty))
            if unknown:
                out += [WireEvent(b": comment\n\n"), _event("content_block_pulse", index=index)]
            for delta in deltas:
                content = delta["type"] != "signature_delta"
                out.append(_event("content_block_delta", is_delta=content, index=index, delta=delta))
            out.append(_event("content_block_stop", index=index))
        out.append(
            _event("message_delta", delta={"stop_reason": self._stop(answer), "stop_sequence": None}, usage=usage)
        )
        out.append(_event("message_stop"))
        return out

    def error(self, fail: Fail) -> dict[str, Any]:
        """``{"type": "error", "error": {"type", "message"}, "request_id"}``."""
        kind = fail.type or ERROR.get(fail.status) or ("api_error" if fail.status >= 500 else "invalid_request_error")
        message = fail.message
        if kind == "overflow":
            kind, message = "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"
        elif kind == "quota":
            kind, message = "billing_error", "Your credit balance is too low to access the API."
        return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_scripted"}

    def error_events(self, fail: Fail, answer: Answer) -> list[WireEvent]:
        """One ``error`` event."""
        return [sse(self.error(fail), "error")]

    def _message(self, answer: Answer) -> dict[str, Any]:
        return {
            "id": answer.id("msg_"),
            "type": "message",
            "role": "assistant",
            "model": answer.model,
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
        }

    def _stop(self, answer: Answer) -> str:
        reason = answer.reply.stop_reason
        return STOP.get(reason, str(reason))

    def _blocks(self, answer: Answer) -> Iterator[tuple[dict[str, Any], dict[str, Any], list[dict[str, Any]]]]:
        """For each block: whole, as it starts, and its deltas."""
        reply = answer.reply
        if reply.thinking:
            empty: dict[str, Any] = {"type": "thinking", "thinking": "", "signature": ""}
            deltas = [{"type": "thinking_delta", "thinking": p} for p in reply.split(reply.thinking)]
            deltas.append({"type": "signature_delta", "signature": reply.signature})
            yield {**empty, "thinking": reply.thinking, "signature": reply.signature}, empty, deltas
        if reply.whole_text:
            deltas = [{"type": "text_delta", "text": p} for p in reply.text_pieces]
            yield {"type": "text", "text": reply.whole_text}, {"type": "text", "text": ""}, deltas
        for call_id, call in answer.calls("toolu_"):
            empty = {"type": "tool_use", "id": call_id, "name": call.name, "input": {}}
            deltas = [{"type": "input_json_delta", "partial_json": p} for p in ("", *reply.split(call.raw_args))]
            yield {**empty, "input": call.args}, empty, deltas


def _event(kind: str, *, is_delta: bool = False, **fields: Any) -> WireEvent:
    return sse({"type": kind, **fields}, kind, delta=is_delta)


def _usage(usage: TokenUsage | None) -> dict[str, Any]:
    """Anthropic counts disjoint, but its ``output_tokens`` include the thinking."""
    u = usage or TokenUsage()
    return {
        "input_tokens": u.input,
        "cache_creation_input_tokens": u.cache_write,
        "cache_read_input_tokens": u.cache_read,
        "output_tokens": u.output + u.reasoning,
        **({"output_tokens_details": {"thinking_tokens": u.reasoning}} if u.reasoning else {}),
    }
