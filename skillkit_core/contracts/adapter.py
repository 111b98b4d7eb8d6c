"""The adapter contract: one request in, one stream of events out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal, TypeAlias

from ..abort import AbortSignal
from ..fields import Schema, Seconds, check_fields
from ..frozen import EMPTY
from ..messages import AssistantMessage, LLMMessage
from ..models import ModelDefinition
from ..stream import MessageBuilder, StreamEvent
from ..tools import Tool

__all__ = ["LLMAdapter", "LLMRequest", "ModelSettings", "OnRequest", "OnResponse", "ThinkingLevel"]

ThinkingLevel: TypeAlias = Literal["off", "minimal", "low", "medium", "high", "xhigh"]
OnRequest: TypeAlias = Callable[
    [Mapping[str, Any], Mapping[str, str]], Awaitable[tuple[Mapping[str, Any], Mapping[str, str]]]
]
OnResponse: TypeAlias = Callable[[int, Mapping[str, str]], Awaitable[None]]


def _is_sequence(value: Any) -> bool:
    return isinstance(value, (tuple, list))


def _has_tools(extra: Mapping[str, Any]) -> bool:
    tools = extra.get("tools", ())
    return isinstance(tools, (tuple, list)) and all(isinstance(tool, Mapping) for tool in tools)


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """Settings of an answer. ``None`` leaves the choice to the provider.

    Attributes:
        max_tokens: most tokens of the answer.
        temperature: share of chance in the answer, in the provider's range.
        top_p: share of the likeliest tokens that are considered, 0 to 1.
        stop: texts that end the answer.
        thinking: how hard the model should think.
        tool_choice: ``auto``, ``none``, ``required``, or the name of a tool.
        parallel_tool_calls: whether one message may hold several calls.
        response_schema: JSON Schema that the answer's text must fit (structured output).
        timeout: seconds until the first event must have come.
        headers: extra HTTP headers.
        extra: further fields of the request's body, passed through unchanged. They do not replace the fields of the request
            itself (model, messages, stream).

    Raises:
        UsageError: a value is of a wrong type, or ``thinking`` is no level. The adapter of a wire refuses values out of range.
    """

    max_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    stop: Annotated[tuple[str, ...], "a tuple or list of str", _is_sequence] = ()
    thinking: ThinkingLevel | None = None
    tool_choice: str | None = None
    parallel_tool_calls: bool | None = None
    response_schema: Schema | None = None
    timeout: Seconds | None = None
    headers: Mapping[str, str] = EMPTY
    extra: Annotated[Mapping[str, Any], "a mapping, and tools in it a list of mappings", _has_tools] = EMPTY

    def __post_init__(self) -> None:
        check_fields(self)


@dataclass(slots=True)
class LLMRequest:
    """Everything an adapter needs for one answer.

    Attributes:
        model: the model; ``model.id`` is the wire's name of the model.
        messages: the conversation, legal by invariants I1 and I2, oldest first. Between requests of a session the
            sequence usually grows at its end only and keeps the identity of its messages, so that an adapter can keep
            serialised messages in ``scratch``.
        tools: tools that may be called, sorted by name. The same set is the identical tuple.
        system: the system prompt.
        settings: how the model should answer.
        stream: ask the wire for a stream. The events are the same either way.
        signal: set when the run is aborted: close the connection at once, and end with an ``error`` event of kind ``aborted``.
        on_request: awaited with the final payload and headers before they are sent, and returns those to send instead.
        on_response: awaited with status and headers when they arrive.
        scratch: a dict that lives as long as the session, for this adapter's caches alone.
        session_id: the session, if there is one.
    """

    model: ModelDefinition
    messages: Sequence[LLMMessage]
    tools: tuple[Tool, ...] = ()
    system: str = ""
    settings: ModelSettings = field(default_factory=ModelSettings)
    stream: bool = True
    signal: AbortSignal = field(default_factory=AbortSignal)
    on_request: OnRequest | None = None
    on_response: OnResponse | None = None
    scratch: dict[str, Any] = field(default_factory=dict)
    session_id: str | None = None


class LLMAdapter(ABC):
    """Code that speaks one wire protocol (``api``) to one endpoint. Registered by ``register_adapters``.

    Implement :meth:`stream`; the rest has defaults. An adapter classifies errors and never retries, because the loop retries.
    One adapter serves many sessions at the same time and keeps nothing per session outside ``request.scratch``. The host
    makes it as ``Adapter(host, *, provider=, base_url=None, api_key=None, headers=None, **options)``.

    Attributes:
        api: the wire protocol. provider: its name. progressive: the model learns of more tools by a tool, else all are offered.
    """

    api: ClassVar[str] = ""
    progressive: ClassVar[bool] = True
    provider: str = ""

    @abstractmethod
    def stream(self, request: LLMRequest) -> AsyncIterator[StreamEvent]:
        """Ask the model and yield the events of its answer.

        A started stream never raises (only cancellation passes): every failure, also one before the first byte, is a final
        ``error`` event whose ``error`` is a :class:`~skillkit_core.errors.ProviderError`. Exactly one terminal event (``done``
        or ``error``) ends the stream and carries ``stop_reason`` and ``usage`` as far as known. A stream that stops without
        the wire's own end marker is an error of kind ``protocol``.
        """

    async def complete(self, request: LLMRequest) -> AssistantMessage:
        """Return the collected answer of :meth:`stream`.

        Raises:
            ProviderError: the stream ended in an error event.
        """
        builder = MessageBuilder()
        async for event in self.stream(request):
            builder.add(event)
        if builder.error is not None:
            raise builder.error
        return builder.message(provider=self.provider, api=self.api, model=request.model.id)

    def validate(self, request: LLMRequest) -> Sequence[str]:
        """Return why this wire would refuse the request (I6), one line for each reason. For tests and ``--debug``."""
        return ()

    async def list_models(self) -> Sequence[ModelDefinition]:
        """Return the models that the endpoint lists. The default returns none."""
        return ()

    async def count_tokens(self, request: LLMRequest) -> int | None:
        """Return the input tokens of ``request`` as the endpoint counts them, ``None`` where it cannot; never asked during a run.

        Raises:
            ProviderError: the endpoint was asked and refused.
        """
        return None

    def prepare(self) -> None:
        """Import what the first request needs. Front ends call it in a thread while a person types. The default does nothing."""

    def remark(self) -> str:
        """Return what ``skillkit doctor`` adds to the name of the provider. Nothing is sent. The default returns nothing."""
        return ""

    async def close(self) -> None:
        """Close connections. The adapter is not used afterwards."""
