"""OpenAI Chat Completions: ``POST /v1/chat/completions`` (https://platform.openai.com/docs/api-reference/chat)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from skillkit_core.messages import StopReason
from skillkit_core.models import TokenUsage

from ..decoder import Item, OfferedTool, calls_problem, text_of
from ..turns import Fail
from .base import CREATED, Answer, Wire, WireEvent, openai_error, sse

__all__ = ["OpenAIChat"]

STOP: dict[str, str] = {
    StopReason.stop: "stop",
    StopReason.tool_calls: "tool_calls",
    StopReason.length: "length",
    StopReason.refusal: "content_filter",
}


class OpenAIChat(Wire):
    """The Chat Completions wire; thinking is ``reasoning_content``, as the reasoning servers that speak it do it."""

    api: ClassVar[str] = "openai-chat"
    path: ClassVar[str] = "/v1/chat/completions"

    def items(self, body: Mapping[str, Any]) -> Iterator[Item]:
        """One or more items per message."""
        for message in body.get("messages", ()):
            role, text = message.get("role"), text_of(message.get("content"), "text")
            if role in ("system", "developer"):
                yield Item("system", text)
            elif role == "user":
                yield Item("user", text)
            elif role == "tool":
                yield Item("result", text, call_id=str(message.get("tool_call_id")))
            else:
                if text:
                    yield Item("assistant", text)
                for call in message.get("tool_calls") or ():
                    name = call.get("function", {}).get("name", "")
                    yield Item("call", name=str(name), call_id=str(call.get("id")))

    def tools(self, body: Mapping[str, Any]) -> Iterator[OfferedTool]:
        """The function tools."""
        for tool in body.get("tools") or ():
            if tool.get("type") == "function":
                f = tool["function"]
                yield OfferedTool(str(f.get("name")), str(f.get("description", "")), f.get("parameters") or {})

    def problem(self, body: Mapping[str, Any], headers: Mapping[str, str]) -> str | None:
        """The documented demands that a client can get wrong."""
        messages = body.get("messages")
        if not isinstance(messages, list) or not messages:
            return "Missing required parameter: 'messages'."
        for n, message in enumerate(messages):
            role = message.get("role")
            if role not in ("system", "developer", "user", "assistant", "tool"):
                return f"Invalid value: {role!r} for 'messages[{n}].role'."
            if role == "assistant" and not message.get("content") and not message.get("tool_calls"):
                return f"messages[{n}]: an assistant message needs content or tool_calls"
        if "stream_options" in body and body.get("stream") is not True:
            return "The 'stream_options' parameter is only allowed when 'stream' is enabled."
        return calls_problem(self.items(body))

    def whole(self, answer: Answer) -> dict[str, Any]:
        """A ``chat.completion`` object."""
        reply = answer.reply
        message: dict[str, Any] = {"role": "assistant", "content": reply.whole_text or None, "refusal": None}
        if reply.thinking:
            message["reasoning_content"] = reply.thinking
        calls = [
            {"id": i, "type": "function", "function": {"name": c.name, "arguments": c.raw_args}}
            for i, c in answer.calls("call_")
        ]
        if calls:
            message["tool_calls"] = calls
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": self._stop(answer)}
        usage = {} if reply.usage is None else {"usage": _usage(reply.usage)}
        return {**self._base(answer, "chat.completion"), "choices": [choice], **usage}

    def events(self, answer: Answer) -> list[WireEvent]:
        """Chunks, then a usage chunk where the request asks for one, then ``[DONE]``."""
        reply = answer.reply
        base = self._base(answer, "chat.completion.chunk")
        if reply.unknown:
            base["future_field"] = {"text": "NO"}

        def chunk(delta: Mapping[str, Any], finish: str | None = None, *, content: bool = False) -> WireEvent:
            choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
            return sse({**base, "choices": [choice]}, delta=content)

        out = [chunk({"role": "assistant", "content": ""})]
        if reply.unknown:
            out += [WireEvent(b": comment\n\n"), sse({**base, "object": "future.chunk", "choices": []})]
        out += [chunk({"reasoning_content": p}, content=True) for p in reply.split(reply.thinking)]
        out += [chunk({"content": p}, content=True) for p in reply.text_pieces if p]
        for n, (call_id, call) in enumerate(answer.calls("call_")):
            start = {"index": n, "id": call_id, "type": "function", "function": {"name": call.name, "arguments": ""}}
            out.append(chunk({"tool_calls": [start]}))
            for piece in reply.split(call.raw_args):
                delta = {"tool_calls": [{"index": n, "function": {"arguments": piece}}]}
                out.append(chunk(delta, content=True))
        out.append(chunk({}, self._stop(answer)))
        options = answer.body.get("stream_options") or {}
        if reply.usage is not None and options.get("include_usage"):
            out.append(sse({**base, "choices": [], "usage": _usage(reply.usage)}))
        out.append(sse("[DONE]"))
        return out

    def error(self, fail: Fail) -> dict[str, Any]:
        """``{"error": {"message", "type", "param", "code"}}``."""
        return {"error": openai_error(fail)}

    def error_events(self, fail: Fail, answer: Answer) -> list[WireEvent]:
        """One chunk that is an error object."""
        return [sse(self.error(fail))]

    def _base(self, answer: Answer, kind: str) -> dict[str, Any]:
        return {"id": answer.id("chatcmpl-"), "object": kind, "created": CREATED, "model": answer.model}

    def _stop(self, answer: Answer) -> str:
        reason = answer.reply.stop_reason
        return STOP.get(reason, str(reason))


def _usage(u: TokenUsage) -> dict[str, Any]:
    """OpenAI's prompt tokens include the cached ones, its completion tokens the reasoning."""
    prompt, completion = u.input + u.cache_read + u.cache_write, u.output + u.reasoning
    cached = {"cached_tokens": u.cache_read, **({"cache_write_tokens": u.cache_write} if u.cache_write else {})}
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
        "prompt_tokens_details": cached,
        "completion_tokens_details": {"reasoning_tokens": u.reasoning},
    }
