"""A model that answers by script: the adapter contract without a wire."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from ..contracts.adapter import LLMAdapter, LLMRequest
from ..errors import ErrorKind, ProviderError
from ..messages import StopReason
from ..models import TokenUsage
from ..stream import StreamEvent


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call of an answer. ``raw`` replaces the JSON of ``args``."""

    name: str
    args: Mapping[str, Any] = field(default_factory=dict)
    id: str = ""
    raw: str | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer: thinking, text (in pieces), calls. ``fail`` is an error that ends the answer after everything else."""

    text: str | Sequence[str] = ""
    calls: Sequence[Call] = ()
    thinking: str = ""
    stop: StopReason | None = None
    usage: TokenUsage | None = field(default_factory=lambda: TokenUsage(input=10, output=5))
    fail: ProviderError | None = None
    before: Callable[[], Any] | None = None


@dataclass(frozen=True, slots=True)
class Fail:
    """A failure before the first event of an answer."""

    kind: ErrorKind = ErrorKind.server
    message: str = "scripted failure"
    retry_after: float | None = None
    status: int | None = 500


@dataclass(frozen=True, slots=True)
class Hang:
    """An answer that stops after ``text``, until the request is cancelled or aborted."""

    text: str = ""
    started: asyncio.Event | None = None


@dataclass(frozen=True, slots=True)
class Raw:
    """An answer of exactly these stream events. With ``hang`` it then stops until the request is cancelled or aborted.

    Without ``hang`` and without a terminal event the stream ends, like that of a broken connection.
    """

    events: Sequence[StreamEvent]
    hang: bool = False
    started: asyncio.Event | None = None


Answer: TypeAlias = Reply | Fail | Hang | Raw
Turn: TypeAlias = Answer | str | Callable[[LLMRequest], "Answer | str"]


class ScriptedModel(LLMAdapter):
    """Answers with ``turns``, one per request. The last turn repeats if ``repeat`` is set.

    ``requests`` has the last ``keep`` requests (``None``: all), because each holds its whole conversation.
    """

    api = "scripted"
    provider = "scripted"

    def __init__(self, turns: Iterable[Turn] = (), *, repeat: bool = False, keep: int | None = 100) -> None:
        self.turns = list(turns)
        self.repeat, self.keep = repeat, keep
        self.requests: list[LLMRequest] = []
        self._asked = self._calls = 0

    def _next(self, request: LLMRequest) -> Answer:
        index, self._asked = self._asked, self._asked + 1
        if index >= len(self.turns) and not (self.repeat and self.turns):
            return Fail(ErrorKind.invalid_request, f"the script has no turn {index + 1}", status=400)
        turn = self.turns[min(index, len(self.turns) - 1)]
        if callable(turn) and not isinstance(turn, (Reply, Fail, Hang, Raw, str)):
            turn = turn(request)
        return Reply(turn) if isinstance(turn, str) else turn

    async def stream(self, request: LLMRequest) -> AsyncIterator[StreamEvent]:
        """Play the next turn."""
        self.requests.append(request)
        if self.keep is not None:
            del self.requests[: max(0, len(self.requests) - self.keep)]
        turn = self._next(request)
        if isinstance(turn, Fail):
            error = ProviderError(turn.message, kind=turn.kind, status=turn.status, retry_after=turn.retry_after)
            yield StreamEvent("error", error=error)
            return
        if isinstance(turn, Hang):
            text = [StreamEvent("text_start", index=0), StreamEvent("text_delta", turn.text, index=0)]
            turn = Raw(text if turn.text else (), True, turn.started)
        if isinstance(turn, Raw):
            for event in turn.events:
                yield event
            if not turn.hang:
                return
            if turn.started is not None:
                turn.started.set()
            await request.signal.wait()
            yield StreamEvent("error", error=ProviderError("aborted", kind=ErrorKind.aborted))
            return
        if turn.before is not None:
            answer = turn.before()
            if asyncio.iscoroutine(answer):
                await answer
        for event in self._play(turn):
            yield event

    def _play(self, turn: Reply) -> Iterator[StreamEvent]:
        index = 0
        if turn.thinking:
            yield StreamEvent("thinking_start", index=index)
            yield StreamEvent("thinking_delta", turn.thinking, index=index)
            yield StreamEvent("thinking_end", index=index)
            index += 1
        pieces = [turn.text] if isinstance(turn.text, str) else list(turn.text)
        if any(pieces):
            yield StreamEvent("text_start", index=index)
            for piece in pieces:
                yield StreamEvent("text_delta", piece, index=index)
            yield StreamEvent("text_end", index=index)
            index += 1
        for call in turn.calls:
            self._calls += 1
            about: dict[str, Any] = {"tool_name": call.name, "tool_call_id": call.id or f"call_{self._calls}"}
            raw = json.dumps(dict(call.args)) if call.raw is None else call.raw
            yield StreamEvent("tool_call_start", index=index, **about)
            yield StreamEvent("tool_call_delta", raw, index=index, **about)
            yield StreamEvent("tool_call_end", index=index, **about)
            index += 1
        if turn.fail is not None:
            yield StreamEvent("error", error=turn.fail, usage=turn.usage)
            return
        stop = turn.stop or (StopReason.tool_calls if turn.calls else StopReason.stop)
        yield StreamEvent("done", usage=turn.usage, stop_reason=stop)
