"""The adapter: answers as a model would, with a tool call chosen by words, or with text."""

from __future__ import annotations

import json
import uuid
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Any

from skillkit_core.contracts.adapter import LLMAdapter, LLMRequest
from skillkit_core.errors import ErrorKind, ProviderError
from skillkit_core.frozen import thaw
from skillkit_core.messages import LLMMessage, StopReason, ToolResultMessage, UserMessage
from skillkit_core.models import TokenUsage
from skillkit_core.stream import StreamEvent
from skillkit_core.tools import Tool

from .answers import answer_of, refusal_of
from .choice import Chooser, Verdict

__all__ = ["OfflineAdapter"]

_PART = 4_000  # characters of one text delta
_BESIDE = "custom:"  # how the source of a message begins that a plugin or a hook put beside the request


class OfflineAdapter(LLMAdapter):
    """A stand-in for a model: no key, no network, no state.

    It answers the newest user message with one call of a skill's deterministic action, and the result of that call with its
    text. Where nothing fits, or the action failed, it says so and ends with ``StopReason.refusal``, so that the run's exit
    code is 1. ``tool_choice`` is respected: ``none`` calls nothing, a name allows that tool alone, ``required`` asks for no
    minimum. Nothing is sent anywhere: ``on_request`` and ``on_response`` are never called, and the settings are unused.
    ``host`` gives the workspace (``host.cwd``), where file names are looked up.
    """

    api = "offline"
    progressive = False

    def __init__(
        self,
        host: Any = None,
        *,
        provider: str = "offline",
        base_url: str | None = None,
        api_key: str | None = None,
        headers: Mapping[str, str] | None = None,
        **options: Any,
    ) -> None:
        self.host = host
        self.provider = provider
        self._chooser = Chooser(host)

    async def stream(self, request: LLMRequest) -> AsyncIterator[StreamEvent]:
        """Answer the request; see the class. Ends with exactly one ``done``, or ``error`` when it was aborted."""
        try:
            for event in self._answer(request):
                if request.signal.aborted:
                    break
                yield event
                if event.terminal:
                    return
            error = ProviderError("aborted", kind=ErrorKind.aborted, provider=self.provider)
        except Exception as problem:  # noqa: BLE001 - the contract: a stream never raises
            error = ProviderError(f"{type(problem).__name__}: {problem}", provider=self.provider)
        reason = StopReason.aborted if error.kind is ErrorKind.aborted else StopReason.error
        yield StreamEvent("error", error=error, stop_reason=reason, usage=TokenUsage())

    def _answer(self, request: LLMRequest) -> Iterator[StreamEvent]:
        messages = [m for m in request.messages if not (isinstance(m, UserMessage) and m.source.startswith(_BESIDE))]
        results = _closing_results(messages)
        if results:
            failed = any(r.is_error for r in results)
            yield from _said(answer_of(results), StopReason.refusal if failed else StopReason.stop)
            return
        text = next((m.text for m in reversed(messages) if isinstance(m, UserMessage)), "")
        tools, required = _allowed(request)
        choice = self._chooser.choice(text, tools, required=required)
        if choice.verdict is Verdict.run and choice.candidate is not None and choice.filled is not None:
            yield from _called([(c.candidate.tool, c.filled.args) for c in choice.all if c.candidate and c.filled])
        else:
            yield from _said(refusal_of(choice, tools), StopReason.refusal)


def _closing_results(messages: Sequence[LLMMessage]) -> list[ToolResultMessage]:
    """The tool results at the end of the conversation, in order."""
    closing = takewhile(lambda m: isinstance(m, ToolResultMessage), reversed(messages))
    return [m for m in closing if isinstance(m, ToolResultMessage)][::-1]


def _allowed(request: LLMRequest) -> tuple[tuple[Tool, ...], bool]:
    choice = request.settings.tool_choice
    if choice in (None, "auto"):
        return request.tools, False
    if choice == "required":
        return request.tools, True
    return tuple(t for t in request.tools if t.name == choice), True


def _called(calls: Sequence[tuple[Tool, Mapping[str, Any]]]) -> Iterator[StreamEvent]:
    for index, (tool, args) in enumerate(calls):
        call = f"call_{uuid.uuid4().hex[:24]}"
        raw = json.dumps(thaw(args), ensure_ascii=False, allow_nan=False)
        yield StreamEvent("tool_call_start", tool_name=tool.name, tool_call_id=call, index=index)
        yield StreamEvent("tool_call_delta", raw, tool_name=tool.name, tool_call_id=call, index=index)
        yield StreamEvent("tool_call_end", tool_name=tool.name, tool_call_id=call, index=index)
    yield StreamEvent("done", stop_reason=StopReason.tool_calls, usage=TokenUsage())


def _said(text: str, reason: StopReason) -> Iterator[StreamEvent]:
    yield StreamEvent("text_start", index=0)
    for start in range(0, len(text), _PART):
        yield StreamEvent("text_delta", text[start : start + _PART], index=0)
    yield StreamEvent("text_end", index=0)
    yield StreamEvent("done", stop_reason=reason, usage=TokenUsage())
