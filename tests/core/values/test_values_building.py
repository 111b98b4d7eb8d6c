"""Stream events become messages: tool arguments, the table of converters, the builder, the scripted model."""

from __future__ import annotations

import asyncio
import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from json_values import JSON, SCALARS

from skillkit_core import (
    AssistantMessage,
    ErrorKind,
    LLMRequest,
    ModelDefinition,
    ProviderError,
    StopReason,
    StreamEvent,
    StreamTable,
    TokenUsage,
)
from skillkit_core.frozen import FrozenDict
from skillkit_core.messages import RefusalBlock, TextBlock, ThinkingBlock, ToolCall
from skillkit_core.stream import MessageBuilder, parse_tool_args
from skillkit_core.testing import Call, Fail, Raw, Reply, ScriptedModel, VirtualClock

PROPERTY = settings(max_examples=200, deadline=None, derandomize=True)


E = StreamEvent


@PROPERTY
@given(st.dictionaries(st.text(max_size=3), JSON, max_size=3))
def test_arguments_are_read_as_json_and_cannot_be_changed(args: dict[str, Any]) -> None:
    found = parse_tool_args(json.dumps(args))
    assert found is not None
    assert json.dumps(found).encode() and type(found) is FrozenDict
    if not any("\\ud" in json.dumps(t) for t in (args,)):
        assert found == args


@pytest.mark.parametrize("raw", ["", "  ", "{}"])
def test_no_text_is_no_arguments(raw: str) -> None:
    assert parse_tool_args(raw) == {}


@pytest.mark.parametrize(
    "raw", ["{", "[]", "1", "null", '{"a": NaN}', '{"a": -Infinity}', '{"a": 1e400}', "{'a': 1}", "{}{}", "[" * 100_000]
)
def test_what_is_not_one_strict_object_is_refused(raw: str) -> None:
    assert parse_tool_args(raw) is None


def test_lone_surrogates_in_arguments_are_replaced_and_pairs_kept() -> None:
    found = parse_tool_args(r'{"a\ud800": ["\ud83d\ude00", {"b": "\udc00"}]}')
    assert found == {"a\ufffd": ["😀", {"b": "\ufffd"}]}
    json.dumps(found, ensure_ascii=False).encode()


def test_the_table_converts_by_type_and_keeps_the_accumulator_of_what_it_does_not_know() -> None:
    unknown: list[str] = []
    table: StreamTable[int] = StreamTable(on_unknown=unknown.append)

    @table.on("a", "b")
    def both(event: Any, acc: int) -> tuple[list[StreamEvent], int]:
        return [E("text_delta", event["t"], index=0)] * event.get("n", 1), acc + 1

    events, acc = table.replay(
        [{"type": "a", "t": "x"}, {"type": "z"}, {}, {"type": 5}, {"type": "b", "t": "y", "n": 2}], 0
    )
    assert [e.content for e in events] == ["x", "y", "y"] and acc == 2
    assert unknown == ["z", "None", "5"] and table.types == {"a", "b"}
    with pytest.raises(ValueError, match="'a' has a converter"):
        table.on("a")(both)


def test_the_table_reads_objects_and_other_keys() -> None:
    class Thing:
        kind = "k"

    table: StreamTable[None] = StreamTable(key="kind")
    table.on("k")(lambda event, acc: ([E("done")], acc))
    assert table.convert(Thing(), None)[0] == [E("done")]
    assert table.convert({"kind": "other"}, None) == ((), None)


@pytest.mark.parametrize("event", [{"type": "k"}, {"kind": 5}, {"kind": None}, object()])
def test_an_event_without_the_key_of_the_table_is_an_error_that_says_so(event: Any) -> None:
    table: StreamTable[None] = StreamTable(key="kind")
    table.on("k")(lambda event, acc: ([E("done")], acc))
    with pytest.raises(ProviderError, match="an event without 'kind'") as caught:
        table.convert(event, None)
    assert caught.value.kind is ErrorKind.protocol


def build(*events: StreamEvent) -> AssistantMessage:
    builder = MessageBuilder()
    for event in events:
        builder.add(event)
    return builder.message()


def test_a_builder_folds_text_thinking_and_calls_in_their_order() -> None:
    message = build(
        E("thinking_start", index=0), E("thinking_delta", "h", index=0), E("thinking_delta", "m", index=0),
        E("thinking_end", index=0, block=ThinkingBlock("hm", "sig")),
        E("tool_call_start", index=2, tool_name="t", tool_call_id="c"),
        E("text_start", index=1), E("text_delta", "te", index=1),
        E("tool_call_delta", '{"a"', index=2), E("text_delta", "xt", index=1), E("tool_call_delta", ": 1}", index=2),
        E("tool_call_end", index=2), E("text_end", index=1), E("block", block=RefusalBlock("no")),
        E("done", usage=TokenUsage(1, 2), stop_reason=StopReason.tool_calls, raw_stop_reason="tool_use", response_id="r"),
        E("text_delta", "too late", index=1), E("done", stop_reason=StopReason.stop),
    )  # fmt: skip
    assert message.content == (
        ThinkingBlock("hm", "sig"), TextBlock("text"), ToolCall("c", "t", {"a": 1}, '{"a": 1}'), RefusalBlock("no"),
    )  # fmt: skip
    assert message.stop_reason == "tool_calls" and message.raw_stop_reason == "tool_use"
    assert message.usage == TokenUsage(1, 2) and message.response_id == "r" and message.error is None


def test_a_builder_takes_streams_without_starts_ends_or_positions() -> None:
    assert build(E("text_delta", "a"), E("text_delta", "b"), E("done")).content == (TextBlock("ab"),)
    assert build(E("text_start"), E("text_delta", "a"), E("text_start"), E("text_delta", "b")).content == (
        TextBlock("a"), TextBlock("b"),
    )  # fmt: skip
    message = build(
        E("tool_call_start"), E("tool_call_delta", "{}"), E("tool_call_end", tool_name="t", tool_call_id="c"), E("done")
    )
    assert message.tool_calls == (ToolCall("c", "t", {}, "{}"),) and message.stop_reason == "tool_calls"


def test_what_is_unfinished_is_kept_as_far_as_it_got() -> None:
    builder = MessageBuilder()
    assert builder.empty and builder.message().content == ()
    for event in (
        E("text_delta", "te"),
        E("tool_call_start", index=1, tool_name="t", tool_call_id="c"),
        E("tool_call_delta", '{"a', index=1),
    ):
        builder.add(event)
    partial = builder.message()
    assert partial.stop_reason == "aborted" and builder.text == "te" and not builder.empty
    assert partial.tool_calls == (ToolCall("c", "t", None, '{"a', incomplete=True),)
    builder.add(E("error", error=ProviderError("aborted", kind=ErrorKind.aborted)))
    assert builder.message().stop_reason == "aborted"
    assert build(E("error", error=ProviderError("x"))).stop_reason == "error"


def test_an_emoji_cut_in_two_by_the_wire_is_one_again() -> None:
    message = build(E("text_delta", "a\ud83d"), E("text_delta", "\ude00b\ud800"), E("done"))
    assert message.text == "a😀b\ufffd"


@PROPERTY
@given(
    st.text(max_size=20),
    st.lists(st.integers(0, 20), max_size=5),
    st.text(max_size=5),
    st.dictionaries(st.text(max_size=3), SCALARS, max_size=2),
)
def test_pieces_of_any_size_give_the_same_message(
    text: str, cuts: list[int], thinking: str, args: dict[str, Any]
) -> None:
    """A scripted answer in pieces is what the adapter's ``complete`` collects."""
    places = sorted({0, len(text), *(c for c in cuts if c < len(text))})
    pieces = [text[a:b] for a, b in pairwise(places)]
    message = asyncio.run(
        ScriptedModel([Reply(pieces, [Call("t", args)], thinking)]).complete(LLMRequest(ModelDefinition("m"), ()))
    )
    assert message.text == text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    assert len(message.tool_calls) == 1 and message.usage == TokenUsage(10, 5)
    assert bool([b for b in message.content if isinstance(b, ThinkingBlock)]) == bool(thinking)


def test_a_scripted_model_keeps_its_requests_and_fails_when_the_script_is_over() -> None:
    async def main() -> None:
        model = ScriptedModel(["a", Fail(ErrorKind.auth), lambda r: f"{len(r.messages)} messages", Raw([E("done")])])
        request = LLMRequest(ModelDefinition("m"), ())
        assert (await model.complete(request)).text == "a"
        with pytest.raises(ProviderError):
            await model.complete(request)
        assert (await model.complete(request)).text == "0 messages"
        assert (await model.complete(request)).content == ()
        with pytest.raises(ProviderError, match="no turn 5"):
            await model.complete(request)
        assert len(model.requests) == 5

    asyncio.run(main())


def test_a_virtual_clock_moves_only_when_told() -> None:
    clock = VirtualClock(10.0)
    asyncio.run(clock.sleep(3.0))
    clock.advance(1.0)
    assert clock.time() == clock.monotonic() == 14.0 and clock.slept == [3.0]
