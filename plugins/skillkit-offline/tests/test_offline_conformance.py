"""The testkit's contract suite, as far as a stand-in without a wire can be made to say what is scripted."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest
from skillkit_offline.adapter import OfflineAdapter
from skillkit_testkit import Reply
from skillkit_testkit.conformance import AdapterConformance

from skillkit_core.contracts.adapter import LLMAdapter, LLMRequest
from skillkit_core.messages import AssistantMessage, TextBlock, ToolCall, ToolResultMessage
from skillkit_core.models import TokenUsage
from skillkit_core.stream import StreamEvent


class Told(OfflineAdapter):
    """Meets a conversation whose last tool has said what is scripted, which is then its answer."""

    def __init__(self, text: str) -> None:
        super().__init__(None)
        self._text = text

    async def stream(self, request: LLMRequest) -> AsyncIterator[StreamEvent]:
        asked = AssistantMessage(content=(ToolCall("c", "clock"),))
        said = ToolResultMessage(tool_call_id="c", tool_name="clock", content=(TextBlock(self._text),))
        async for event in super().stream(replace(request, messages=(*request.messages, asked, said))):
            yield event


class Script:
    server = None

    def __call__(self, *turns: Any) -> LLMAdapter:
        (turn,) = turns
        if not isinstance(turn, Reply):
            pytest.skip("there is no server that could fail or hang")
        if turn.tool_calls or turn.thinking or turn.stop is not None:
            pytest.skip("calls are chosen by words, and it neither thinks nor is cut short")
        if turn.usage not in (None, Reply().usage, TokenUsage()):
            pytest.skip("it uses no tokens")
        return Told(turn.whole_text)


@pytest.mark.smoke
class TestOffline(AdapterConformance):
    """What can be checked of it; its own tests check the rest."""

    lacks = frozenset({"thinking"})

    @pytest.fixture
    def scripted(self) -> Any:
        return Script()
