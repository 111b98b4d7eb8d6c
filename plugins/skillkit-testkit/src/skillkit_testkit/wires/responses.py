"""OpenAI Responses: ``POST /v1/responses`` (https://platform.openai.com/docs/api-reference/responses)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from skillkit_core.messages import StopReason
from skillkit_core.models import TokenUsage

from ..decoder import Item, OfferedTool, calls_problem, text_of
from ..turns import Fail
from .base import CREATED, Answer, Wire, WireEvent, openai_error, sse

__all__ = ["OpenAIResponses"]

INCOMPLETE: dict[str, str] = {StopReason.length: "max_output_tokens", StopReason.refusal: "content_filter"}
COMPLETE = (StopReason.stop, StopReason.tool_calls)
_TEXT = ("input_text", "output_text", "text")


class _Stream:
    """Numbers the events."""

    def __init__(self) -> None:
        self.events: list[WireEvent] = []
        self.number = 0

    def add(self, kind: str, *, is_delta: bool = False, **fields: Any) -> None:
        """Add an event of this type."""
        self.events.append(sse({"type": kind, "sequence_number": self.number, **fields}, kind, delta=is_delta))
        self.number += 1


class OpenAIResponses(Wire):
    """The Responses wire."""

    api: ClassVar[str] = "openai-responses"
    path: ClassVar[str] = "/v1/responses"

    def items(self, body: Mapping[str, Any]) -> Iterator[Item]:
        """Instructions, then one item per input item; reasoning items are left out."""
        if body.get("instructions"):
            yield Item("system", str(body["instructions"]))
        given = body.get("input", "")
        if isinstance(given, str):
            yield Item("user", given)
            return
        for item in given:
            kind, role = item.get("type", "message"), item.get("role")
            if kind == "function_call":
                yield Item("call", name=str(item.get("name")), call_id=str(item.get("call_id")))
            elif kind == "function_call_output":
                yield Item("result", text_of(item.get("output"), *_TEXT), call_id=str(item.get("call_id")))
            elif kind == "message":
                text = text_of(item.get("content"), *_TEXT)
                if role in ("system", "developer"):
                    yield Item("system", text)
                else:
                    yield Item("assistant" if role == "assistant" else "user", text)

    def tools(self, body: Mapping[str, Any]) -> Iterator[OfferedTool]:
        """The function tools."""
        for tool in body.get("tools") or ():
            if tool.get("type") == "function":
                yield OfferedTool(str(tool.get("name")), str(tool.get("description", "")), tool.get("parameters") or {})

    def problem(self, body: Mapping[str, Any], headers: Mapping[str, str]) -> str | None:
        """The documented demands that a client can get wrong."""
        given = body.get("input")
        if not given:
            return "Missing required parameter: 'input'."
        if isinstance(given, list):
            for n, item in enumerate(given):
                following = given[n + 1].get("type", "message") if n + 1 < len(given) else None
                if item.get("type") == "reasoning" and following not in ("message", "function_call", "reasoning"):
                    return (
                        f"Item {item.get('id')!r} of type 'reasoning' was provided without its required following item."
                    )
        return calls_problem(self.items(body))

    def whole(self, answer: Answer) -> dict[str, Any]:
        """A ``response`` object."""
        return self._response(answer, [item for item, _ in self._output(answer)])

    def events(self, answer: Answer) -> list[WireEvent]:
        """``response.created`` to ``response.completed`` or ``response.incomplete``."""
        out = _Stream()
        started = self._response(answer, None)
        out.add("response.created", response=started)
        out.add("response.in_progress", response=started)
        if answer.reply.unknown:
            out.events.append(WireEvent(b": comment\n\n"))
            out.add("response.future_part.delta", output_index=0, delta="NO")
        output = list(self._output(answer))
        for index, (item, pieces) in enumerate(output):
            write = {"reasoning": _reasoning, "message": _message, "function_call": _call}[item["type"]]
            write(out, item, index, pieces)
            if answer.reply.unknown:
                out.add("response.output_item.pulse", output_index=index, delta="NO")
        final = self._response(answer, [item for item, _ in output])
        out.add(f"response.{final['status']}", response=final)
        return out.events

    def error(self, fail: Fail) -> dict[str, Any]:
        """``{"error": {"message", "type", "param", "code"}}``."""
        return {"error": openai_error(fail)}

    def error_events(self, fail: Fail, answer: Answer) -> list[WireEvent]:
        """An ``error`` event followed by ``response.failed``, as the provider sends them."""
        error = openai_error(fail)
        out = _Stream()
        out.number = 1000
        out.add("error", error=error)
        code = error["code"] or error["type"]
        failed = {**self._response(answer, None), "status": "failed", "error": {"code": code, "message": fail.message}}
        out.add("response.failed", response=failed)
        return out.events

    def _response(self, answer: Answer, output: list[dict[str, Any]] | None) -> dict[str, Any]:
        reason = answer.reply.stop_reason
        why = None if reason in COMPLETE else {"reason": INCOMPLETE.get(reason, str(reason))}
        usage = answer.reply.usage
        done = output is not None
        return {
            "id": answer.id("resp_"),
            "object": "response",
            "created_at": CREATED,
            "status": "in_progress" if not done else "incomplete" if why else "completed",
            "error": None,
            "incomplete_details": why if done else None,
            "instructions": answer.body.get("instructions"),
            "max_output_tokens": answer.body.get("max_output_tokens"),
            "metadata": {},
            "model": answer.model,
            "output": output or [],
            "parallel_tool_calls": True,
            "previous_response_id": None,
            "reasoning": {"effort": None, "summary": None},
            "store": bool(answer.body.get("store", True)),
            "temperature": 1.0,
            "text": {"format": {"type": "text"}},
            "tool_choice": "auto",
            "tools": list(answer.body.get("tools") or ()),
            "top_p": 1.0,
            "truncation": "disabled",
            "usage": _usage(usage) if done and usage is not None else None,
        }

    def _output(self, answer: Answer) -> Iterator[tuple[dict[str, Any], list[str]]]:
        """The finished output items, each with the pieces it is streamed in."""
        reply = answer.reply
        if reply.thinking:
            item: dict[str, Any] = {
                "id": answer.id("rs_"),
                "type": "reasoning",
                "summary": [{"type": "summary_text", "text": reply.thinking}],
            }
            if "reasoning.encrypted_content" in (answer.body.get("include") or ()):
                item["encrypted_content"] = reply.signature
            yield item, reply.split(reply.thinking)
        if reply.whole_text:
            part = {"type": "output_text", "text": reply.whole_text, "annotations": [], "logprobs": []}
            message = {"type": "message", "status": "completed", "role": "assistant", "content": [part]}
            yield {"id": answer.id("msg_"), **message}, reply.text_pieces
        for n, (call_id, call) in enumerate(answer.calls("call_"), 1):
            item = {"id": answer.id("fc_", n), "type": "function_call", "status": "completed"}
            yield (
                {**item, "arguments": call.raw_args, "call_id": call_id, "name": call.name},
                reply.split(call.raw_args),
            )


def _reasoning(out: _Stream, item: dict[str, Any], index: int, pieces: list[str]) -> None:
    at = {"item_id": item["id"], "output_index": index, "summary_index": 0}
    (part,) = item["summary"]
    out.add("response.output_item.added", output_index=index, item={**item, "summary": []})
    out.add("response.reasoning_summary_part.added", **at, part={**part, "text": ""})
    for piece in pieces:
        out.add("response.reasoning_summary_text.delta", is_delta=True, **at, delta=piece)
    out.add("response.reasoning_summary_text.done", **at, text=part["text"])
    out.add("response.reasoning_summary_part.done", **at, part=part)
    out.add("response.output_item.done", output_index=index, item=item)


def _message(out: _Stream, item: dict[str, Any], index: int, pieces: list[str]) -> None:
    at = {"item_id": item["id"], "output_index": index, "content_index": 0}
    (part,) = item["content"]
    out.add("response.output_item.added", output_index=index, item={**item, "status": "in_progress", "content": []})
    out.add("response.content_part.added", **at, part={**part, "text": ""})
    for piece in pieces:
        out.add("response.output_text.delta", is_delta=True, **at, delta=piece, logprobs=[])
    out.add("response.output_text.done", **at, text=part["text"], logprobs=[])
    out.add("response.content_part.done", **at, part=part)
    out.add("response.output_item.done", output_index=index, item=item)


def _call(out: _Stream, item: dict[str, Any], index: int, pieces: list[str]) -> None:
    at = {"item_id": item["id"], "output_index": index}
    out.add("response.output_item.added", output_index=index, item={**item, "status": "in_progress", "arguments": ""})
    for piece in pieces:
        out.add("response.function_call_arguments.delta", is_delta=True, **at, delta=piece)
    out.add("response.function_call_arguments.done", **at, name=item["name"], arguments=item["arguments"])
    out.add("response.output_item.done", output_index=index, item=item)


def _usage(u: TokenUsage) -> dict[str, Any]:
    """Input tokens include the cached ones, output tokens the reasoning."""
    given, said = u.input + u.cache_read + u.cache_write, u.output + u.reasoning
    return {
        "input_tokens": given,
        "input_tokens_details": {"cached_tokens": u.cache_read, "cache_write_tokens": u.cache_write},
        "output_tokens": said,
        "output_tokens_details": {"reasoning_tokens": u.reasoning},
        "total_tokens": given + said,
    }
