"""Checks of what an adapter sends: hooks around the request, the conversation in the wire's own terms, legality."""

from __future__ import annotations

import re
from collections.abc import Mapping, Set
from typing import Any

import pytest

from skillkit_core.contracts.adapter import LLMAdapter
from skillkit_core.errors import ProviderError
from skillkit_core.messages import (
    AssistantMessage,
    LLMMessage,
    StopReason,
    TextBlock,
    ThinkingBlock,
    ToolCall,
    ToolResultMessage,
    UserMessage,
    blocks_of,
)

from ..turns import Fail, Gate, Hang, Reply
from .adapter_case import AdapterCase, Scripting
from .lacking import needs
from .running import run

__all__ = ["RequestChecks"]

FOREIGN_SIGNATURE = "Zm9yZWlnbi1zaWduYXR1cmU="
MARK = {"x-conformance": "yes"}
LONG_ID = "call_" + "x|" * 200


def history(call_id: str = "call_a1", **assistant: Any) -> tuple[LLMMessage, ...]:
    """A finished tool turn and a new question."""
    calls = (ToolCall(call_id, "weather", {"city": "Bern"}, '{"city": "Bern"}'), ToolCall("call_b2", "clock", {}, "{}"))
    return (
        UserMessage(content=blocks_of("How is the weather?")),
        AssistantMessage(
            content=(*assistant.pop("thoughts", ()), TextBlock("I look it up."), *calls),
            stop_reason=StopReason.tool_calls,
            **assistant,
        ),
        ToolResultMessage(tool_call_id=call_id, tool_name="weather", content=blocks_of("cold 🌨")),
        ToolResultMessage(tool_call_id="call_b2", tool_name="clock", content=blocks_of("no clock"), is_error=True),
        UserMessage(content=blocks_of("And tomorrow?")),
    )


class RequestChecks(AdapterCase):
    """What leaves the house."""

    def test_on_request_may_change_what_is_sent(self, scripted: Scripting, stream: bool) -> None:
        """The payload and headers that it returns are the ones that are sent."""
        received, seen = self.received(scripted), []

        async def on_request(
            payload: Mapping[str, Any], headers: Mapping[str, str]
        ) -> tuple[Mapping[str, Any], Mapping[str, str]]:
            seen.append(len(received))
            return {**payload, "x_conformance": "yes"}, {**headers, "x-conformance": "yes"}

        got = self.answer(scripted, Reply(text="ok"), self.request(stream=stream, on_request=on_request))
        assert got.error is None
        assert seen == [0]
        assert received[-1].model == self.model.id
        assert received[-1].body.get("x_conformance") == "yes"
        assert received[-1].headers.get("x-conformance") == "yes"

    def test_nothing_is_sent_when_on_request_fails(self, scripted: Scripting) -> None:
        """A guard that raises stops the request (spec, section 4)."""
        received = self.received(scripted)

        async def on_request(payload: Any, headers: Any) -> Any:
            raise ProviderError("a guard says no")

        got = self.answer(scripted, Reply(text="not reached"), self.request(on_request=on_request))
        assert "a guard says no" in str(got.failure)
        assert not received

    @pytest.mark.parametrize("turn", [Reply(text="ok", headers=MARK), Fail(429, headers=MARK)], ids=["ok", "error"])
    def test_on_response_is_told_status_and_headers(self, scripted: Scripting, stream: bool, turn: Any) -> None:
        """Also of an error answer."""
        self.received(scripted)
        seen: list[tuple[int, Mapping[str, str]]] = []

        async def on_response(status: int, headers: Mapping[str, str]) -> None:
            seen.append((status, {k.lower(): v for k, v in headers.items()}))

        self.answer(scripted, turn, self.request(stream=stream, on_response=on_response))
        ((status, headers),) = seen
        assert status == (429 if isinstance(turn, Fail) else 200)
        assert headers["x-conformance"] == "yes"

    @needs("streaming")
    def test_on_response_comes_before_the_first_content(self, scripted: Scripting) -> None:
        """Latency is measured there: the body is still held back when it is called."""
        self.received(scripted)
        gate, seen = Gate(after_deltas=0), []

        async def on_response(status: int, headers: Mapping[str, str]) -> None:
            seen.append(status)
            gate.open()

        got = self.answer(scripted, Reply(text="ok", gate=gate), self.request(on_response=on_response))
        assert seen == [200]
        assert got.message.text == "ok"

    @needs("tools")
    def test_tools_go_out_sorted_and_with_their_schemas(self, scripted: Scripting) -> None:
        """I16: the same set is the same bytes."""
        received = self.received(scripted)
        sent = []
        for _ in range(2):
            self.answer(scripted, Reply(text="ok"), self.request(tools=self.tools))
            sent.append(received[-1].raw)
        assert received[-1].tool_names == tuple(sorted(t.name for t in self.tools))
        assert [t.description for t in received[-1].tools] == [t.description for t in self.tools]
        assert all("city" in t.parameters["properties"] for t in received[-1].tools)
        assert sent[0] == sent[1]

    def test_no_tools_is_no_tools_field(self, scripted: Scripting) -> None:
        """Some servers refuse an empty list."""
        received = self.received(scripted)
        self.answer(scripted, Reply(text="ok"), self.request())
        assert not received[-1].body.get("tools")
        assert "tools" not in received[-1].body

    def test_the_conversation_arrives(self, scripted: Scripting, stream: bool, lacking: Set[str]) -> None:
        """System prompt, texts, calls and results, in order; the strict server finds it legal.

        Where the wire has no tools, what they were asked and what they said goes along as text.
        """
        received = self.received(scripted)
        request = self.request(*history(), tools=self.tools, system="Be brief.", stream=stream)
        assert self.answer(scripted, Reply(text="ok"), request).error is None
        assert received[-1].stream is stream
        assert received[-1].model == self.model.id
        items = received[-1].items
        if "tools" in lacking:
            assert {i.kind for i in items} == {"system", "user", "assistant"}
            told = re.compile(
                "Be brief.*How is.*I look.*weather.*Bern.*clock.*cold 🌨.*no clock.*And tomorrow", re.DOTALL
            )
            assert told.search("\n".join(i.text for i in items)), items
            return
        assert [(i.kind, i.text or i.name) for i in items] == [
            ("system", "Be brief."),
            ("user", "How is the weather?"),
            ("assistant", "I look it up."),
            ("call", "weather"),
            ("call", "clock"),
            ("result", "cold 🌨"),
            ("result", "no clock"),
            ("user", "And tomorrow?"),
        ]

    @needs("tools")
    def test_ids_of_another_provider_are_made_legal(self, scripted: Scripting) -> None:
        """Spec, section 11: 450 characters with bars; call and result still agree."""
        received = self.received(scripted)
        foreign: dict[str, Any] = {"provider": "elsewhere", "api": "elsewhere", "model": "other"}
        request = self.request(*history(LONG_ID, **foreign), tools=self.tools)
        assert self.answer(scripted, Reply(text="ok"), request).error is None
        ids = {kind: [i.call_id for i in received[-1].items if i.kind == kind] for kind in ("call", "result")}
        assert ids["call"] == ids["result"]

    @needs("tools")
    def test_a_call_without_a_name_goes_back_as_the_wire_takes_it(self, scripted: Scripting) -> None:
        """The model left the name out, the loop answered with an error; both stay in the conversation."""
        received = self.received(scripted)
        messages = (
            UserMessage(content=blocks_of("How is the weather?")),
            AssistantMessage(content=(ToolCall("c1", "", {"city": "Bern"}, '{"city": "Bern"}'),)),
            ToolResultMessage(tool_call_id="c1", content=blocks_of("There is no tool ''."), is_error=True),
        )
        assert self.answer(scripted, Reply(text="ok"), self.request(*messages, tools=self.tools)).error is None
        call, result = received[-1].items[-2:]
        assert (call.kind, result.kind, result.text) == ("call", "result", "There is no tool ''.")
        assert call.call_id == result.call_id
        assert re.fullmatch(r"[A-Za-z0-9_-]{1,64}", call.name), f"a server refuses the name {call.name!r}"

    def test_thinking_of_another_model_is_never_sent_as_thinking(self, scripted: Scripting) -> None:
        """I5: its text may go along as text, its signature never does, redacted thinking not at all."""
        received = self.received(scripted)
        thoughts = (
            ThinkingBlock("I think of Bern.", FOREIGN_SIGNATURE),
            ThinkingBlock(redacted=True, data="cmVkYWN0ZWQ="),
        )
        foreign: dict[str, Any] = {"provider": "elsewhere", "api": "elsewhere", "model": "other", "thoughts": thoughts}
        request = self.request(*history(**foreign), tools=self.tools)
        assert self.answer(scripted, Reply(text="ok"), request).error is None
        raw = received[-1].raw.decode()
        assert FOREIGN_SIGNATURE not in raw
        assert "cmVkYWN0ZWQ=" not in raw

    def test_lone_surrogates_and_empty_texts_do_not_break_the_request(self, scripted: Scripting) -> None:
        """Edge case 20: what people paste, and a tool's output, may hold anything."""
        received = self.received(scripted)
        messages = (
            UserMessage(content=blocks_of("x\ud800y")),
            AssistantMessage(content=(TextBlock(""), ToolCall("c1", "clock", {}, "{}"))),
            ToolResultMessage(tool_call_id="c1", tool_name="clock"),
            UserMessage(content=(TextBlock(""), TextBlock("and?"))),
        )
        got = self.answer(scripted, Reply(text="ok"), self.request(*messages, tools=self.tools))
        assert got.error is None
        assert received[-1].user_text == "and?"

    def test_validate_accepts_legal_requests(self, scripted: Scripting) -> None:
        """I6."""
        assert list(self._validated(scripted, history())) == []

    @needs("tools")
    def test_validate_names_a_call_without_a_result(self, scripted: Scripting) -> None:
        """I1, in one line."""
        question, calls, *_ = history()
        problems = self._validated(scripted, (question, calls, UserMessage(content=blocks_of("And?"))))
        assert problems
        assert all(isinstance(p, str) and p and "\n" not in p for p in problems)

    def _validated(self, scripted: Scripting, messages: tuple[LLMMessage, ...]) -> Any:
        async def work() -> Any:
            adapter = scripted(Hang())
            try:
                if type(adapter).validate is LLMAdapter.validate:
                    pytest.skip("the adapter has no validator of its own")
                return adapter.validate(self.request(*messages, tools=self.tools))
            finally:
                await adapter.close()

        return run(work())
