"""The adapter: answers as a model would, with a tool call chosen by words, or with text."""

from __future__ import annotations

import json
import uuid
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any

from skillkit_core.contracts.adapter import LLMAdapter, LLMRequest
from skillkit_core.errors import ErrorKind, ProviderError
from skillkit_core.frozen import thaw
from skillkit_core.messages import LLMMessage, StopReason, ToolResultMessage, UserMessage
from skillkit_core.models import TokenUsage
from skillkit_core.skills import Skill
from skillkit_core.stream import StreamEvent
from skillkit_core.tools import Tool

from .answers import answer_of, refusal_of
from .choice import Choice, Verdict, choose
from .descriptors import skill_of

__all__ = ["OfflineAdapter"]

MANY = 200  # tools; more are not all compared with a request
FOUND = 40  # skills whose actions are compared then
_PART = 4_000  # characters of one text delta


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
        self._skills: tuple[tuple[Tool, ...], tuple[Skill, ...]] = ((), ())

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
        results = _closing_results(request.messages)
        if results:
            failed = any(r.is_error for r in results)
            yield from _said(answer_of(results), StopReason.refusal if failed else StopReason.stop)
            return
        text = next((m.text for m in reversed(request.messages) if isinstance(m, UserMessage)), "")
        tools, required = _allowed(request)
        choice = self.choice(text, tools, required=required)
        if choice.verdict is Verdict.run and choice.candidate is not None and choice.filled is not None:
            yield from _called(choice.candidate.tool, choice.filled.args)
        else:
            yield from _said(refusal_of(choice, tools), StopReason.refusal)

    def choice(self, text: str, tools: tuple[Tool, ...], *, required: bool = False) -> Choice:
        """Return the choice among ``tools`` for a request; ``required``: some tool has to be called."""
        cwd: Path | str | None = getattr(self.host, "cwd", None)
        folder = None if cwd is None else Path(cwd)
        near = self._near(text, tools)
        kept: Path | None = getattr(self.host, "cache_dir", None)
        cache = "" if kept is None or len(tools) > MANY else str(kept / "offline" / "terms.json")
        choice = choose(text, near, folder, required=required, cache=cache)
        if choice.verdict is Verdict.no_fit and near is not tools:
            choice = choose(text, tools, folder, required=required)  # numbers and files are in no index
        return choice

    def _near(self, text: str, tools: tuple[Tool, ...]) -> tuple[Tool, ...]:
        """Of very many tools the actions of the skills that the host's index finds for ``text``."""
        if len(tools) <= MANY or self.host is None:
            return tools
        from skillkit_skills import index_of

        if self._skills[0] is not tools:  # the index compares texts with its own only when it gets another tuple
            registry = self.host.skills
            named = dict.fromkeys(skill_of(t) for t in tools)
            self._skills = tools, tuple(registry.get(name) for name in named if name and registry.has(name))
        found = {one.skill.name for one in index_of(self.host).search(text, self._skills[1], FOUND)}
        return tuple(t for t in tools if skill_of(t) in found) or tools


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


def _called(tool: Tool, args: Mapping[str, Any]) -> Iterator[StreamEvent]:
    call = f"call_{uuid.uuid4().hex[:24]}"
    raw = json.dumps(thaw(args), ensure_ascii=False, allow_nan=False)
    yield StreamEvent("tool_call_start", tool_name=tool.name, tool_call_id=call, index=0)
    yield StreamEvent("tool_call_delta", raw, tool_name=tool.name, tool_call_id=call, index=0)
    yield StreamEvent("tool_call_end", tool_name=tool.name, tool_call_id=call, index=0)
    yield StreamEvent("done", stop_reason=StopReason.tool_calls, usage=TokenUsage())


def _said(text: str, reason: StopReason) -> Iterator[StreamEvent]:
    yield StreamEvent("text_start", index=0)
    for start in range(0, len(text), _PART):
        yield StreamEvent("text_delta", text[start : start + _PART], index=0)
    yield StreamEvent("text_end", index=0)
    yield StreamEvent("done", stop_reason=reason, usage=TokenUsage())
