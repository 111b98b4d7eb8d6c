"""The adapter of the Responses API: :class:`OpenAIResponsesAdapter`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

from skillkit_transport import decode, encode

from skillkit_core.contracts.adapter import LLMRequest
from skillkit_core.errors import ProviderError
from skillkit_core.stream import StreamEvent
from skillkit_core.tools import Tool

from .errors import reports_error, stream_error
from .handover import Target
from .history import History, history_of
from .responses_request import ResponsesEncoder, check_items
from .responses_stream import ResponsesState, broken, responses_table
from .settings import add_extra, has_tools, problems_of, server_tools, strict_schema, thinking_value
from .wire import OpenAIWire

__all__ = ["OpenAIResponsesAdapter"]

# What the count of tokens takes (https://platform.openai.com/docs/api-reference/responses/input-tokens)
COUNTED = frozenset(
    ("model", "input", "instructions", "tools", "tool_choice", "text", "reasoning", "truncation", "parallel_tool_calls")
)


class OpenAIResponsesAdapter(OpenAIWire):
    """The Responses API (``openai-responses``).

    Conversations stay with the caller: at OpenAI, Azure and xAI the server is told to store nothing, and reasoning travels
    encrypted in the messages. Server-side tools go into ``settings.extra["tools"]`` and are added to the request's own.

    https://platform.openai.com/docs/api-reference/responses
    """

    api: ClassVar[str] = "openai-responses"
    path = "/responses"

    def body(self, request: LLMRequest) -> bytes:
        """The request's body. The input comes last, so that consecutive requests share their prefix (I15)."""
        fields = encode(self._fields(request))[1:-1]
        tools = self.tools_field(request)
        target = Target.of(self.provider, self.api, request.model, self.dialect.image_types)
        stored = bool(request.settings.extra.get("store", self.dialect.store is None))
        key = (target, stored)
        history = history_of(
            request.scratch, key, lambda: History(key, lambda: ResponsesEncoder(target, stored=stored))
        )
        return b"".join((b"{", fields, tools, b',"input":[', history.items(request.messages), b"]}"))

    def _fields(self, request: LLMRequest) -> dict[str, Any]:
        settings, dialect = request.settings, self.dialect
        out: dict[str, Any] = {"model": request.model.id, "stream": request.stream}
        if dialect.store is not None:
            out["store"] = dialect.store
        if settings.max_tokens is not None:
            out["max_output_tokens"] = settings.max_tokens
        for name in ("temperature", "top_p"):
            value = getattr(settings, name)
            if value is not None:
                out[name] = value
        out.update(self._thinking(request))
        if has_tools(request):
            if settings.parallel_tool_calls is not None:
                out["parallel_tool_calls"] = settings.parallel_tool_calls
            if settings.tool_choice is not None:
                out["tool_choice"] = _choice(settings.tool_choice, request)
        schema = settings.response_schema
        if schema is not None:
            strict = dialect.strict and strict_schema(schema)
            out["text"] = {"format": {"type": "json_schema", "name": "answer", "schema": schema, "strict": strict}}
        if dialect.cache_key and request.session_id:
            out["prompt_cache_key"] = request.session_id[:64]
        add_extra(out, settings.extra)
        if request.system:
            out["instructions"] = request.system
        return out

    def _thinking(self, request: LLMRequest) -> dict[str, Any]:
        value = thinking_value(request)
        if isinstance(value, dict):
            return dict(value)
        thinks = request.model.reasoning or value is not None
        out: dict[str, Any] = {}
        if thinks and self.dialect.store is False:
            out["include"] = ["reasoning.encrypted_content"]
        if value is not None:
            out["reasoning"] = {"effort": value, "summary": "auto"} if self.dialect.summaries else {"effort": value}
        return out

    def tool(self, tool: Tool) -> dict[str, Any]:
        """A tool as the wire describes it."""
        return {
            "type": "function",
            "name": tool.name,
            "description": tool.description,
            "parameters": tool.parameters,
            # Said in any case: this wire takes true for granted and would rewrite the schema.
            "strict": self.dialect.strict and tool.strict and strict_schema(tool.parameters),
        }

    def problems(self, request: LLMRequest) -> Sequence[str]:
        """Settings that the model or the wire refuses, one line each."""
        return problems_of(request, self.dialect, stops=False)

    def validate(self, request: LLMRequest) -> Sequence[str]:
        """Why this wire would refuse the request (I6)."""
        problems = self.problems(request)
        try:
            payload = decode(self.body(request))
        except ValueError as error:
            return [*problems, str(error)]
        return [*problems, *check_items(payload["input"])]

    async def count_tokens(self, request: LLMRequest) -> int | None:
        """The input tokens of ``request`` as ``/responses/input_tokens`` tells them; ``None`` where there is no such path.

        Raises:
            ProviderError: the server cannot be asked, or refuses the request.
        """
        payload = decode(self.body(request))
        return await self._count("/responses/input_tokens", {k: v for k, v in payload.items() if k in COUNTED}, request)

    def start(self) -> ResponsesState:
        """The accumulator of a new answer."""
        return ResponsesState()

    def convert(self, payload: Any, acc: ResponsesState) -> tuple[Iterable[StreamEvent], ResponsesState]:
        """The events of one event of the wire."""
        if not isinstance(payload, dict):
            payload = {"type": "error", "message": "the server sent an event that is not a JSON object"}
        elif "type" not in payload and reports_error(payload):
            payload["type"] = "error"
        return responses_table.convert(payload, acc)

    def whole(self, payload: Any, acc: ResponsesState) -> tuple[Iterable[StreamEvent], ResponsesState]:
        """The events of a body that was not streamed."""
        if isinstance(payload, dict) and payload.get("error") and "output" not in payload:
            return [broken(acc, stream_error(payload))], acc
        return responses_table.convert({"type": "body", "response": payload}, acc)

    def end(self, acc: ResponsesState, marked: bool) -> tuple[Iterable[StreamEvent], ResponsesState]:
        """The events of ``[DONE]``, which means nothing here, or of the end of the connection."""
        return responses_table.convert({"type": "done" if marked else "eof"}, acc)

    def broken(self, acc: ResponsesState, error: ProviderError) -> StreamEvent:
        """The terminal event of an answer that a failure cut short."""
        return broken(acc, error)


def _choice(choice: str, request: LLMRequest) -> Any:
    if choice in ("auto", "none", "required"):
        return choice
    if any(t.name == choice for t in request.tools):
        return {"type": "function", "name": choice}
    theirs = next((t for t in server_tools(request) if choice in (t.get("name"), t.get("type"))), {})
    return {name: theirs[name] for name in ("type", "name") if name in theirs}
