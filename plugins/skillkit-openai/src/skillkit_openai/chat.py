"""The adapter of Chat Completions: :class:`OpenAIAdapter`, for OpenAI and every server that speaks its wire."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

from skillkit_transport import decode, encode

from skillkit_core.contracts.adapter import LLMRequest
from skillkit_core.errors import ProviderError
from skillkit_core.stream import StreamEvent
from skillkit_core.tools import Tool

from .chat_request import ChatEncoder, check_messages
from .chat_stream import ChatReader, tag
from .dialect import NO_THINKING, THINKING, Dialect
from .handover import Target
from .history import History, history_of
from .marks import MarkedHistory, Marks, marks_for
from .settings import add_extra, has_tools, problems_of, strict_schema, thinking_value
from .wire import OpenAIWire

__all__ = ["OpenAIAdapter"]


class OpenAIAdapter(OpenAIWire):
    """Chat Completions (``openai-chat``, also called ``openai-compatible``).

    ``OpenAIAdapter(None, base_url="http://localhost:8080/v1")`` talks to a server that wants no key. The arguments are
    those of :class:`~skillkit_openai.wire.OpenAIWire`.

    https://platform.openai.com/docs/api-reference/chat
    """

    api: ClassVar[str] = "openai-chat"
    path = "/chat/completions"
    _last: tuple[Any, tuple[bytes, bytes]] | None = None

    def body(self, request: LLMRequest) -> bytes:
        """The request's body. Messages come last, so that consecutive requests share their prefix (I15)."""
        fields, system = self._head(request)
        tools = self.tools_field(request)
        target = Target.of(self.provider, self.api, request.model, self.dialect.image_types)
        marks = marks_for(self.dialect, request)
        key = (target, self.dialect, marks)
        items = history_of(request.scratch, key, lambda: self._history(key)).items(request.messages)
        if system and marks is not None:
            system = encode({"role": "system", "content": marks.system(request.system)})
        comma = b"," if system and items else b""
        return b"".join((b"{", fields, tools, b',"messages":[', system, comma, items, b"]}"))

    def _head(self, request: LLMRequest) -> tuple[bytes, bytes]:
        """The fields before the messages, and the system message; those of the last request where nothing else is said."""
        settings, last = request.settings, self._last
        session = request.session_id if self.dialect.cache_key else None
        key = (settings, request.model, request.stream, bool(request.tools), session, request.system)
        if last is None or last[0] != key or settings.extra or settings.response_schema:  # which a caller could change
            system = encode({"role": "system", "content": request.system}) if request.system else b""
            last = self._last = (key, (encode(self._fields(request))[1:-1], system))
        return last[1]

    def _history(self, key: tuple[Target, Dialect, Marks | None]) -> History:
        target, dialect, marks = key

        def encoder() -> ChatEncoder:
            mistral = dialect.call_ids == "mistral"
            return ChatEncoder(
                target,
                mistral_ids=mistral,
                image_results=dialect.image_results,
                document_urls=dialect.document_urls,
            )

        return History(key, encoder) if marks is None else MarkedHistory(key, encoder, marks)

    def _fields(self, request: LLMRequest) -> dict[str, Any]:
        settings, dialect = request.settings, self.dialect
        out: dict[str, Any] = {"model": request.model.id, "stream": request.stream}
        if request.stream and dialect.stream_usage:
            out["stream_options"] = {"include_usage": True}
        if settings.max_tokens is not None:
            out[dialect.max_tokens_field] = settings.max_tokens
        for name in ("temperature", "top_p"):
            value = getattr(settings, name)
            if value is not None:
                out[name] = value
        if settings.stop:
            out["stop"] = list(settings.stop)
        out.update(self._thinking(request))
        if has_tools(request):
            if settings.parallel_tool_calls is not None:
                out["parallel_tool_calls"] = settings.parallel_tool_calls
            if settings.tool_choice is not None:
                out["tool_choice"] = _choice(settings.tool_choice)
        schema = settings.response_schema
        if schema is not None:
            form: dict[str, Any] = {"name": "answer", "schema": schema}
            if dialect.strict and strict_schema(schema):
                form["strict"] = True
            out["response_format"] = {"type": "json_schema", "json_schema": form}
        if dialect.cache_key and request.session_id:
            out["prompt_cache_key"] = request.session_id[:64]
        add_extra(out, settings.extra)
        return out

    def _thinking(self, request: LLMRequest) -> dict[str, Any]:
        value, form = thinking_value(request), self.dialect.thinking
        if isinstance(value, dict):
            return dict(value)
        if request.settings.thinking == "off" and form in NO_THINKING:
            return dict(NO_THINKING[form])
        return {} if value is None else THINKING[form](value)

    def tool(self, tool: Tool) -> dict[str, Any]:
        """A tool as the wire describes it."""
        function: dict[str, Any] = {
            "name": tool.name,
            "description": tool.description,
            "parameters": tool.parameters,
        }
        if self.dialect.strict and tool.strict and strict_schema(tool.parameters):
            function["strict"] = True
        return {"type": "function", "function": function}

    def problems(self, request: LLMRequest) -> Sequence[str]:
        """Settings that the model refuses, one line each."""
        return problems_of(request, self.dialect)

    def validate(self, request: LLMRequest) -> Sequence[str]:
        """Why this wire would refuse the request (I6)."""
        problems = self.problems(request)
        try:
            payload = decode(self.body(request))
        except ValueError as error:
            return [*problems, str(error)]
        return [*problems, *check_messages(payload["messages"])]

    def start(self) -> ChatReader:
        """The reader of a new answer."""
        return ChatReader()

    def convert(self, payload: Any, acc: ChatReader) -> tuple[Iterable[StreamEvent], ChatReader]:
        """The events of one chunk."""
        return acc.chunk(payload if type(payload) is dict and "choices" in payload else tag(payload)), acc

    def whole(self, payload: Any, acc: ChatReader) -> tuple[Iterable[StreamEvent], ChatReader]:
        """The events of a body that was not streamed."""
        if isinstance(payload, list) and payload:  # how Google's compatible endpoint reports errors
            payload = payload[0]
        return acc.completion(payload if isinstance(payload, dict) else {}), acc

    def end(self, acc: ChatReader, marked: bool) -> tuple[Iterable[StreamEvent], ChatReader]:
        """The events of ``[DONE]``, or of the end of the connection."""
        return acc.done() if marked else acc.eof(), acc

    def broken(self, acc: ChatReader, error: ProviderError) -> StreamEvent:
        """The terminal event of an answer that a failure cut short."""
        return acc.broken(error)


def _choice(choice: str) -> Any:
    return choice if choice in ("auto", "none", "required") else {"type": "function", "function": {"name": choice}}
