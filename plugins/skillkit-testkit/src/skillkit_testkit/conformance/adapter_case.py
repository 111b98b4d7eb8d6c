"""What the checks of an adapter share: the scripted scenario, the request, and what came of it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any, cast

import pytest

from skillkit_core.abort import AbortSignal
from skillkit_core.contracts.adapter import LLMAdapter, LLMRequest, ModelSettings
from skillkit_core.errors import ProviderError
from skillkit_core.messages import AssistantMessage, Block, LLMMessage, ThinkingBlock, ToolCall, UserMessage, blocks_of
from skillkit_core.models import ModelDefinition
from skillkit_core.stream import MessageBuilder, StreamEvent
from skillkit_core.tools import Tool, ToolOutput

from ..received import ReceivedRequest
from ..server import LLMServer
from ..turns import Turn
from ..wires.base import Wire
from .lacking import LACKS, skip_what_is_lacking, unknown_lacks
from .running import run

__all__ = ["AdapterCase", "Answered", "Scripting", "answer_of", "comparable", "make_tool"]


class Scripting:
    """Prepares an adapter whose next request meets a scripted turn: ``adapter = scripted(Reply(text="hi"))``.

    The standard one scripts the loopback server, which learns another wire by the class attribute ``wire`` of the suite.
    An adapter that is not asked over HTTP overrides the fixture ``scripted`` with a callable that produces the scenario
    its own way, and calls ``pytest.skip("reason")`` for turns that it cannot produce.

    Attributes:
        requests: what the adapter has sent, decoded, as a list that grows; the checks of requests look at it. ``None``
            where nothing can be looked at: those checks are skipped.
    """

    requests: Sequence[ReceivedRequest] | None

    def __init__(self, server: LLMServer, make_adapter: Callable[[str], LLMAdapter]) -> None:
        self.requests = server.requests
        self._server = server
        self._make_adapter = make_adapter

    def __call__(self, *turns: Turn) -> LLMAdapter:
        """The adapter, once the server has its script."""
        self._server.script(*turns)
        return self._make_adapter(self._server.url)


@dataclass(frozen=True)
class Answered:
    """Everything that came out of one stream."""

    events: Sequence[StreamEvent]
    message: AssistantMessage
    error: Exception | None

    @property
    def failure(self) -> ProviderError:
        """The error of an answer that must have failed with one."""
        assert self.events, "the stream ended without any event"
        assert self.events[-1].type == "error", f"expected an error event, the stream ended with {self.events[-1]}"
        assert isinstance(self.error, ProviderError), f"an error event carries a ProviderError, not {self.error!r}"
        return self.error


async def answer_of(adapter: LLMAdapter, request: LLMRequest) -> Answered:
    """Run one request to its end, and check what holds for every stream: one terminal event, at the end."""
    builder, events = MessageBuilder(), []
    async for event in adapter.stream(request):
        events.append(event)
        builder.add(event)
    terminal = [n for n, e in enumerate(events) if e.terminal]
    assert terminal == [len(events) - 1], f"exactly one terminal event, the last: {[e.type for e in events]}"
    message = builder.message(provider=adapter.provider, api=adapter.api, model=request.model.id)
    return Answered(events, message, builder.error)


def make_tool(name: str) -> Tool:
    """A tool with one string argument."""

    async def execute(args: Any, ctx: Any) -> ToolOutput:
        return ToolOutput(f"{name} was called")

    schema = {
        "type": "object",
        "properties": {"city": {"type": "string", "description": "Name of a city."}},
        "required": ["city"],
        "additionalProperties": False,
    }
    return Tool(name, f"The {name} of a city.", execute, schema)


def comparable(content: Sequence[Block]) -> list[Block]:
    """Blocks without the provider's own extras, which differ from answer to answer (item ids)."""
    out: list[Block] = []
    for block in content:
        if isinstance(block, ToolCall):
            out.append(replace(block, provider_data={}, raw_args=""))
        elif isinstance(block, ThinkingBlock):
            out.append(ThinkingBlock(block.thinking, block.signature, block.redacted, block.data))
        else:
            out.append(block)
    return out


class AdapterCase:
    """Fixtures and helpers of the adapter suite.

    Attributes:
        model: what requests name; give your own where the adapter looks at it.
        lacks: what the wire has not, of ``tools``, ``thinking``, ``streaming`` (it answers whole only), ``whole`` (it answers
            in streams only), ``usage`` (it does not count cached tokens and thinking apart), ``overflow`` and ``quota`` (its
            server has no field for a conversation that is too long, or for an empty purse). The checks that need it are skipped,
            with the reason. Default: the attribute ``lacks`` of the adapter, if it has one.
        wire: the wire that the adapter speaks, where it is none of the three that the server knows.
        tools: the tools of the requests, sorted by name.
    """

    model = ModelDefinition(
        "scripted-model", "scripted", context_window=100_000, max_output_tokens=4_000, reasoning=True
    )
    lacks: Set[str] | None = None
    wire: Wire | None = None
    tools: tuple[Tool, ...] = (make_tool("clock"), make_tool("weather"))

    @pytest.fixture
    def make_adapter(self) -> Callable[[str], LLMAdapter]:
        """Override: a callable that makes an adapter for the server at ``http://127.0.0.1:PORT`` (without ``/v1``)."""
        raise NotImplementedError("give the fixture make_adapter: (server_url) -> LLMAdapter, or override scripted")

    @pytest.fixture
    def scripted(self, request: pytest.FixtureRequest) -> Scripting:
        """Override where the adapter is not asked over HTTP; see :class:`Scripting`."""
        server: LLMServer = request.getfixturevalue("llm_server")
        if self.wire is not None:
            server.wires[self.wire.path] = self.wire
        return Scripting(server, request.getfixturevalue("make_adapter"))

    @pytest.fixture
    def lacking(self, request: pytest.FixtureRequest) -> Set[str]:
        """What the wire lacks: what the suite says, else what the adapter says."""
        lacks: Set[str] = frozenset() if self.lacks is None else self.lacks
        if self.lacks is None:
            with contextlib.suppress(NotImplementedError):  # the fixture scripted is overridden in its place
                lacks = getattr(request.getfixturevalue("make_adapter")("http://127.0.0.1:9"), "lacks", lacks)
        assert not (problem := unknown_lacks(lacks)), problem
        return lacks

    @pytest.fixture(autouse=True)
    def _only_what_the_wire_has(self, request: pytest.FixtureRequest, lacking: Set[str]) -> None:
        skip_what_is_lacking(request.function, lacking)

    @pytest.fixture(params=[True, False], ids=["stream", "whole"])
    def stream(self, request: pytest.FixtureRequest, lacking: Set[str]) -> bool:
        """Whether the wire is asked for a stream."""
        need = "streaming" if request.param else "whole"
        if need in lacking:
            pytest.skip(LACKS[need])
        return bool(request.param)

    def request(self, *messages: LLMMessage, **changes: Any) -> LLMRequest:
        """A request; ``changes`` are fields of :class:`~skillkit_core.LLMRequest`."""
        given = messages or (UserMessage(content=blocks_of("How is the weather?")),)
        fields: dict[str, Any] = {"settings": ModelSettings(max_tokens=1000), "signal": AbortSignal(), **changes}
        return LLMRequest(self.model, given, **fields)

    def answer(self, scripted: Scripting, turn: Turn, request: LLMRequest) -> Answered:
        """Script one turn, run one request, close the adapter."""

        async def work() -> Answered:
            adapter = scripted(turn)
            try:
                return await answer_of(adapter, request)
            finally:
                await adapter.close()

        return run(work())

    def received(self, scripted: Scripting) -> Sequence[ReceivedRequest]:
        """What the adapter sends, as it comes; the check is skipped where that is not handed over."""
        requests = getattr(scripted, "requests", None)
        if requests is None:
            pytest.skip("the fixture scripted hands over no requests")
        return cast("Sequence[ReceivedRequest]", requests)

    async def asked(self, received: Sequence[ReceivedRequest]) -> ReceivedRequest:
        """Wait for a request."""
        while not received:  # noqa: ASYNC110 - the list grows in another thread
            await asyncio.sleep(0.005)
        return received[-1]
