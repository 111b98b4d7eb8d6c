"""Checks of an adapter's answers: folding, brackets, usage, stop reasons, whatever pieces the network delivers."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Set
from dataclasses import replace
from typing import Any

import pytest

from skillkit_core.messages import StopReason, TextBlock, ThinkingBlock, UserMessage, blocks_of
from skillkit_core.models import TokenUsage

from ..received import ReceivedRequest
from ..turns import Call, Framing, Reply
from .adapter_case import AdapterCase, Answered, Scripting, answer_of, comparable
from .lacking import needs
from .running import run

__all__ = ["AnswerChecks"]

FULL = Reply(
    text="It is cold in Zürich 🌨, says the weather.",
    tool_calls=(Call("weather", {"city": 'Zü"rich 🌨'}, "call_a1"), Call("clock", {"city": "Bern"}, "call_b2")),
    usage=TokenUsage(input=100, output=20, cache_read=50),
    pieces=5,
)


class AnswerChecks(AdapterCase):
    """What an answer becomes."""

    def test_text_comes_in_pieces_and_folds_to_the_whole(self, scripted: Scripting, stream: bool) -> None:
        """Deltas, blocks and message agree."""
        got = self.answer(scripted, Reply(text=("Cold ", "in ", "Zürich 🌨")), self.request(stream=stream))
        assert "".join(e.content for e in got.events if e.type == "text_delta") == "Cold in Zürich 🌨"
        assert comparable(got.message.content) == [TextBlock("Cold in Zürich 🌨")]
        assert got.message.stop_reason is StopReason.stop
        assert got.error is None

    @needs("tools")
    def test_tool_calls_keep_ids_names_and_arguments(self, scripted: Scripting, stream: bool) -> None:
        """Parallel calls, arguments in fragments, text before them."""
        got = self.answer(scripted, FULL, self.request(stream=stream, tools=self.tools))
        calls = [(c.id, c.name, c.args, c.incomplete) for c in got.message.tool_calls]
        assert calls == [
            ("call_a1", "weather", {"city": 'Zü"rich 🌨'}, False),
            ("call_b2", "clock", {"city": "Bern"}, False),
        ]
        assert got.message.text == FULL.text
        assert got.message.stop_reason is StopReason.tool_calls

    @needs("tools")
    def test_every_event_of_a_call_says_whose_it_is(self, scripted: Scripting, stream: bool) -> None:
        """Fragments of two calls are told apart by id and name."""
        got = self.answer(scripted, FULL, self.request(stream=stream, tools=self.tools))
        calls = got.message.tool_calls
        said = {(e.tool_call_id, e.tool_name) for e in got.events if e.type.startswith("tool_call")}
        assert said == {(call.id, call.name) for call in calls}
        for call in calls:
            raw = "".join(e.content for e in got.events if e.type == "tool_call_delta" and e.tool_call_id == call.id)
            assert raw == call.raw_args

    @needs("tools")
    def test_a_call_without_a_name_is_kept(self, scripted: Scripting, stream: bool) -> None:
        """The loop answers it with an error, and the model can do better."""
        turn = Reply(text="So.", tool_calls=[Call("", {"city": "Bern"}, "call_a1"), Call("clock", {}, "call_b2")])
        got = self.answer(scripted, turn, self.request(stream=stream, tools=self.tools))
        said = [(call.id, call.name, call.args) for call in got.message.tool_calls]
        assert sorted(said) == [("call_a1", "", {"city": "Bern"}), ("call_b2", "clock", {})]
        assert got.message.stop_reason is StopReason.tool_calls
        assert brackets(got) == 3

    @needs("tools")
    def test_a_call_without_arguments_has_none(self, scripted: Scripting, stream: bool) -> None:
        """An empty object is a complete call."""
        turn = Reply(tool_calls=[Call("clock", {})])
        (call,) = self.answer(scripted, turn, self.request(stream=stream, tools=self.tools)).message.tool_calls
        assert (call.args, call.incomplete) == ({}, False)
        assert call.id

    @needs("tools")
    def test_arguments_that_are_no_json_object_are_kept_as_text(self, scripted: Scripting) -> None:
        """The loop answers such a call with an error; the adapter neither guesses nor fails.

        The call is not incomplete, as one that was cut off is: the model meant it like that, and is told what is wrong.
        """
        turn = Reply(tool_calls=[Call("clock", '{"city": "Be')])
        got = self.answer(scripted, turn, self.request(tools=self.tools))
        (call,) = got.message.tool_calls
        assert (call.args, call.incomplete) == (None, False)
        assert call.raw_args == '{"city": "Be'

    @needs("thinking")
    def test_thinking_is_kept_with_its_proof(self, scripted: Scripting, stream: bool) -> None:
        """Thinking comes first, apart from the text."""
        got = self.answer(scripted, Reply(thinking="Let me see. Cold.", text="Cold."), self.request(stream=stream))
        thought, said = got.message.content
        assert isinstance(thought, ThinkingBlock)
        assert thought.thinking == "Let me see. Cold."
        assert said == TextBlock("Cold.")

    @needs("usage")
    def test_usage_is_counted_in_disjoint_buckets(self, scripted: Scripting, stream: bool) -> None:
        """I17: input without cached tokens; output and reasoning are disjoint or together in output."""
        reply = Reply(text="x", usage=TokenUsage(input=100, output=20, cache_read=50, reasoning=7))
        usage = self.answer(scripted, reply, self.request(stream=stream)).message.usage
        assert (usage.input, usage.cache_read) == (100, 50)
        assert usage.output + usage.reasoning == 27
        assert usage.total == 177

    def test_missing_usage_is_zero_and_no_error(self, scripted: Scripting, stream: bool) -> None:
        """Servers that do not count exist."""
        got = self.answer(scripted, Reply(text="x", usage=None), self.request(stream=stream))
        assert got.error is None
        assert got.message.usage.total == 0

    @needs("streaming", "whole")
    def test_the_whole_answer_is_the_same_message_as_the_stream(self, scripted: Scripting, lacking: Set[str]) -> None:
        """Asking without a stream changes nothing but the time it takes."""
        full = told(FULL, lacking)
        streamed, whole = (
            self.answer(scripted, full, self.request(stream=s, tools=self.tools)).message for s in (True, False)
        )
        assert comparable(whole.content) == comparable(streamed.content)
        assert whole.stop_reason == streamed.stop_reason
        assert whole.raw_stop_reason == streamed.raw_stop_reason
        assert whole.usage.to_dict() == streamed.usage.to_dict()
        assert bool(whole.response_id) == bool(streamed.response_id)

    def test_a_length_stop_is_length(self, scripted: Scripting, stream: bool) -> None:
        """The loop treats the calls of such an answer as truncated."""
        got = self.answer(scripted, Reply(text="cut sho", stop=StopReason.length), self.request(stream=stream))
        assert got.message.stop_reason is StopReason.length
        assert got.error is None

    def test_every_block_starts_once_and_ends_once(self, scripted: Scripting, stream: bool, lacking: Set[str]) -> None:
        """I8: brackets balance, deltas lie between them, an index belongs to one block."""
        reply = told(replace(FULL, thinking="Hm.", pieces=8), lacking)
        got = self.answer(scripted, reply, self.request(stream=stream, tools=self.tools))
        assert brackets(got) == len(got.message.content)

    @needs("streaming")
    @pytest.mark.parametrize("framing", ["whole", 1, 7])
    def test_pieces_of_the_network_do_not_matter(
        self, scripted: Scripting, framing: Framing, lacking: Set[str]
    ) -> None:
        """Writes cut lines, characters and JSON in two."""
        full = told(FULL, lacking)
        got = self.answer(scripted, replace(full, framing=framing), self.request(tools=self.tools)).message
        as_usual = self.answer(scripted, full, self.request(tools=self.tools)).message
        assert comparable(got.content) == comparable(as_usual.content)
        assert got.usage.to_dict() == as_usual.usage.to_dict()

    def test_unknown_events_fields_and_comments_are_ignored(self, scripted: Scripting) -> None:
        """A provider adds things; an adapter of today still works tomorrow."""
        got = self.answer(scripted, Reply(text="all the same", unknown=True), self.request())
        assert got.error is None
        assert got.message.text == "all the same"

    def test_response_headers_may_be_long(self, scripted: Scripting, stream: bool) -> None:
        """Gateways put tokens and policies there: 64 KiB are taken."""
        reply = Reply(text="ok", headers={"x-policy": "x" * 64_000})
        got = self.answer(scripted, reply, self.request(stream=stream))
        assert got.error is None
        assert got.message.text == "ok"

    def test_complete_gives_the_message(self, scripted: Scripting) -> None:
        """``complete`` is the fold of ``stream``."""

        async def work() -> str:
            adapter = scripted(Reply(text="whole"))
            try:
                message = await adapter.complete(self.request())
                assert (message.provider, message.api, message.model) == (adapter.provider, adapter.api, self.model.id)
                return message.text
            finally:
                await adapter.close()

        assert run(work()) == "whole"

    def test_prepare_works_in_a_thread_and_sends_nothing(self, scripted: Scripting) -> None:
        """A front end prepares the adapter while a person types the first request."""
        received = self.received(scripted)

        async def work() -> Answered:
            adapter = scripted(Reply(text="prepared"))
            try:
                await asyncio.gather(asyncio.to_thread(adapter.prepare), asyncio.to_thread(adapter.prepare))
                assert not received
                return await answer_of(adapter, self.request())
            finally:
                await adapter.close()

        assert run(work()).message.text == "prepared"

    def test_one_adapter_serves_requests_at_the_same_time(self, scripted: Scripting) -> None:
        """Nothing per request is kept in the adapter."""
        received = self.received(scripted)

        def echo(request: ReceivedRequest) -> Reply:
            return Reply(text=f"You said {request.user_text}", pieces=2)

        async def work() -> list[Answered]:
            adapter = scripted(*[echo] * 5)
            try:
                return await asyncio.gather(
                    *(
                        answer_of(adapter, self.request(UserMessage(content=blocks_of(f"number {n}"))))
                        for n in range(5)
                    ),
                )
            finally:
                await adapter.close()

        assert [a.message.text for a in run(work())] == [f"You said number {n}" for n in range(5)]
        assert len(received) == 5


def told(reply: Reply, lacking: Set[str]) -> Reply:
    """What of ``reply`` the wire can say."""
    without: dict[str, Any] = {"tools": {"tool_calls": ()}, "thinking": {"thinking": ""}}
    return replace(reply, **{k: v for name in lacking for k, v in without.get(name, {}).items()})


def brackets(got: Answered) -> int:
    """How many blocks an answer has; fails unless they start, grow and end in order."""
    open_kinds: dict[int | None, str] = {}
    starts: Counter[int | None] = Counter()
    for event in got.events:
        kind, _, step = event.type.rpartition("_")
        if event.type == "block":
            starts[event.index] += 1
        elif step == "start":
            assert event.index not in open_kinds, f"{event.type} for index {event.index}, which is open"
            open_kinds[event.index] = kind
            starts[event.index] += 1
        elif step == "delta":
            assert open_kinds.get(event.index) == kind, f"{event.type} outside its block"
        elif step == "end":
            assert open_kinds.pop(event.index, None) == kind, f"{event.type} without a start"
    assert not open_kinds, f"blocks that never end: {open_kinds}"
    assert set(starts.values()) <= {1}, f"an index is used for two blocks: {starts}"
    return len(starts)
