"""Streams, server-sent events, retry-after, schemas, registries, models, frozen values."""

from __future__ import annotations

import asyncio
import copy
import json
import pickle
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import format_datetime
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from json_values import JSON, SCALARS

from skillkit_core import (
    AmbiguousName,
    AssistantMessage,
    ErrorKind,
    LLMRequest,
    ModelCost,
    ModelDefinition,
    ModelRegistry,
    ProviderError,
    Registry,
    StopReason,
    StreamEvent,
    StreamTable,
    TokenUsage,
    Tool,
    UnknownName,
)
from skillkit_core.frozen import FrozenDict, FrozenList, freeze, thaw
from skillkit_core.http import classify_status, parse_retry_after, redact_headers
from skillkit_core.messages import RefusalBlock, TextBlock, ThinkingBlock, ToolCall
from skillkit_core.schema import unchecked, validate
from skillkit_core.sse import SSEDecoder
from skillkit_core.stream import MessageBuilder, parse_tool_args
from skillkit_core.testing import Call, Fail, Raw, Reply, ScriptedModel, VirtualClock

PROPERTY = settings(max_examples=200, deadline=None, derandomize=True)
E = StreamEvent

# --- server-sent events ---------------------------------------------------------------------------------------------

LINES = st.lists(
    st.sampled_from(
        [
            b"data: {}", b"data: x", b"data:y", b"data", b"data:", b"event: ping", b"event:", b"event: \xff", b": comment",
            b"id: 7", b"retry: 9", b"", b"", b"", b"unknown: z", b"data:  two", "data: ä€😀".encode(), b" data: no",
        ]
    ),
    max_size=14,
)  # fmt: skip
ENDS = st.sampled_from([b"\n", b"\r\n", b"\r"])


@st.composite
def streams(draw: Any) -> bytes:
    start = draw(st.sampled_from([b"", b"\xef\xbb\xbf"]))
    return (
        start + b"".join(line + draw(ENDS) for line in draw(LINES)) + draw(st.sampled_from([b"", b"data: last", b"\r"]))
    )


def decode(*pieces: bytes) -> list[tuple[str, bytes]]:
    decoder = SSEDecoder()
    return [event for piece in pieces for event in decoder.feed(piece)] + decoder.close()


@settings(PROPERTY, max_examples=500)
@given(st.one_of(streams(), st.binary(max_size=60)), st.lists(st.integers(0, 200), max_size=12))
def test_any_cut_of_a_stream_gives_the_same_events(data: bytes, cuts: list[int]) -> None:
    places = sorted({0, len(data), *(c for c in cuts if c < len(data))})
    pieces = [data[a:b] for a, b in pairwise(places)]
    assert decode(*pieces) == decode(data) == decode(*(data[i : i + 1] for i in range(len(data))))


@PROPERTY
@given(streams())
def test_the_kind_of_line_ending_does_not_matter(data: bytes) -> None:
    plain = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    assert decode(data) == decode(plain) == decode(plain.replace(b"\n", b"\r\n")) == decode(plain.replace(b"\n", b"\r"))


def test_events_have_a_name_and_joined_data_and_the_rest_is_skipped() -> None:
    data = b"\xef\xbb\xbf: hi\nevent: a\ndata: 1\ndata: 2\nid: 9\n\nevent: lost\n\ndata:3\n\ndata: end"
    assert decode(data) == [("a", b"1\n2"), ("", b"3"), ("", b"end")]


def test_a_line_of_any_length_is_one_event_and_costs_what_it_is_long() -> None:
    """Section 13: an output line over 64 KiB is lost."""
    decoder, found = SSEDecoder(), []
    for piece in [b"data: ", *[b"x" * 1000] * 1000, b"\n\n"]:
        found += decoder.feed(piece)
    assert found == [("", b"x" * 1_000_000)]


# --- retry-after, statuses, headers ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"Retry-After": "7"}, 7.0),
        ({"retry-after": " 1.5 "}, 1.5),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after-ms": "2500", "retry-after": "9"}, 2.5),
        ({"retry-after-ms": "x", "retry-after": "9"}, 9.0),
        ({"retry-after": format_datetime(datetime.fromtimestamp(1_700_000_060, UTC), usegmt=True)}, 60.0),
        ({"retry-after": format_datetime(datetime.fromtimestamp(1_600_000_000, UTC), usegmt=True)}, 0.0),
    ],
)
def test_retry_after_is_read_in_all_its_forms(headers: dict[str, str], seconds: float | None) -> None:
    assert parse_retry_after(headers, now=1_700_000_000.0) == seconds


@PROPERTY
@given(st.text(max_size=30) | st.floats().map(str) | st.datetimes().map(str) | st.datetimes().map(format_datetime))
def test_no_retry_after_can_break_or_give_a_senseless_wait(value: str) -> None:
    seconds = parse_retry_after({"retry-after": value, "retry-after-ms": value}, now=0.0)
    assert seconds is None or 0.0 <= seconds < float("inf")


@given(st.integers(100, 999))
def test_every_status_has_a_class(status: int) -> None:
    kind = classify_status(status)
    if status >= 500 or status in (408, 409, 425, 429):
        assert ProviderError("x", kind=kind).retryable
    else:
        assert not ProviderError("x", kind=kind).retryable


def test_credentials_in_headers_are_hidden() -> None:
    assert redact_headers({"Authorization": "Bearer x", "X-API-Key": "y", "Accept": "z"}) == {
        "Authorization": "***", "X-API-Key": "***", "Accept": "z",
    }  # fmt: skip


# --- tool arguments -------------------------------------------------------------------------------------------------


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


# --- the table and the builder --------------------------------------------------------------------------------------


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
    assert table.convert({"type": "k"}, None) == ((), None)


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


# --- schemas --------------------------------------------------------------------------------------------------------

PERSON: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 1, "maxLength": 5, "pattern": "^[a-z]+$"},
        "age": {"type": ["integer", "null"], "minimum": 0, "exclusiveMaximum": 150},
        "tags": {"type": "array", "items": {"enum": ["a", "b", 1, True]}, "maxItems": 2, "uniqueItems": True},
        "child": {"$ref": "#"},
        "size": {"anyOf": [{"type": "number", "multipleOf": 0.5}, {"const": "auto"}]},
        "pair": {"prefixItems": [{"type": "string"}, {"type": "integer"}], "items": False},
    },
    "patternProperties": {"^x-": {"type": "string"}},
    "required": ["name"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ({"name": "bob"}, None),
        ({"name": "bob", "age": None, "tags": ["a", 1], "size": 1.5, "x-y": "z"}, None),
        ({"name": "bob", "age": 3.0, "size": "auto", "pair": ["a", 1]}, None),
        ({"name": "bob", "child": {"name": "al"}}, None),
        ({}, "'name' is missing"),
        ([], "must be an object, not []"),
        ({"name": 5}, "name: must be a string, not 5"),
        ({"name": ""}, "name: must have at least 1 characters, not 0"),
        ({"name": "toolong"}, "name: must have at most 5 characters, not 7"),
        ({"name": "Bob"}, "name: must match '^[a-z]+$', not 'Bob'"),
        ({"name": "bob", "age": True}, "age: must be an integer or null, not True"),
        ({"name": "bob", "age": 1.5}, "age: must be an integer or null, not 1.5"),
        ({"name": "bob", "age": -1}, "age: must be at least 0, not -1"),
        ({"name": "bob", "age": 150}, "age: must be less than 150, not 150"),
        ({"name": "bob", "tags": ["c"]}, "tags[0]: must be one of 'a', 'b', 1, True, not 'c'"),
        ({"name": "bob", "tags": ["a", "a"]}, "tags: has an item twice"),
        ({"name": "bob", "tags": [1, True]}, None),
        ({"name": "bob", "tags": [1, 1.0]}, "tags: has an item twice"),
        ({"name": "bob", "child": {"name": 1}}, "child.name: must be a string, not 1"),
        ({"name": "bob", "size": 1.3}, "size: fits none of the allowed forms: "),
        ({"name": "bob", "size": float("inf")}, "size: fits none of the allowed forms: "),
        ({"name": "bob", "pair": ["a", 1, 2]}, "pair[2]: is not allowed"),
        ({"name": "bob", "more": 1}, "'more' is not an argument; known: age, child, name, pair, size, tags"),
        ({"name": "bob", "x-y": 1}, "x-y: must be a string, not 1"),
    ],
)
def test_the_first_problem_is_told_with_its_path(value: Any, problem: str | None) -> None:
    found = validate(PERSON, value)
    assert found == problem or (problem is not None and problem.endswith(": ") and str(found).startswith(problem))


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        ({"oneOf": [{"type": "integer"}, {"minimum": 5}]}, 3, 7),
        ({"not": {"type": "string"}}, 1, "x"),
        ({"allOf": [{"minimum": 1}, {"maximum": 3}]}, 2, 4),
        ({"items": [{"type": "string"}], "additionalItems": False}, ["a"], ["a", "b"]),
        ({"type": "string", "nullable": True}, None, 5),
        ({"multipleOf": 3}, 10**40 * 3, 10**40 * 3 + 1),
        ({"multipleOf": 0.1}, 0.3, 0.35),
        ({"minProperties": 1, "maxProperties": 1, "propertyNames": {"pattern": "^a"}}, {"ab": 1}, {"b": 1}),
        ({"const": {"a": [1]}}, {"a": [1.0]}, {"a": [True]}),
        ({"enum": [[0]]}, [0], [False]),
        (True, 5, None),
    ],
)
def test_further_keywords(schema: Any, good: Any, bad: Any) -> None:
    assert validate(schema, good) is None
    assert validate(schema, bad) is not None or schema is True


@pytest.mark.parametrize(
    "schema",
    [
        {"pattern": "("}, {"patternProperties": {"(": {}}}, {"$ref": "#/nowhere"}, {"$ref": "#"}, {"$ref": "#/a/5"},
        {"allOf": [{"$ref": "#"}]}, {"multipleOf": 0}, False,
    ],
)  # fmt: skip
@pytest.mark.parametrize("value", ["x", {"k": 1}, [1], 10**400, float("nan"), None])
def test_a_broken_schema_is_a_problem_and_never_an_exception(schema: Any, value: Any) -> None:
    assert validate(schema, value) is None or isinstance(validate(schema, value), str)


@PROPERTY
@given(JSON)
def test_any_value_fits_the_schema_that_its_own_shape_gives(value: Any) -> None:
    def shape(v: Any) -> dict[str, Any]:
        if isinstance(v, dict):
            return {
                "type": "object",
                "properties": {k: shape(x) for k, x in v.items()},
                "required": list(v),
                "additionalProperties": False,
            }
        if isinstance(v, list):
            return {"type": "array", "prefixItems": [shape(x) for x in v], "items": False, "minItems": len(v)}
        return {"const": v}

    schema = shape(value)
    assert validate(schema, value) is None and unchecked(schema) == set()
    assert validate(schema, freeze(value)) is None
    assert validate(schema, [value]) is not None or value == []


def test_keywords_that_are_not_checked_are_named() -> None:
    schema = {
        "type": "object",
        "properties": {"if": {"dependentRequired": {}}},
        "if": {},
        "x-note": 1,
        "enum": [{"unknown": 1}],
    }
    assert unchecked(schema) == {"dependentRequired", "if"}


def test_ten_thousand_unique_items_are_checked_without_comparing_all_with_all() -> None:
    assert validate({"uniqueItems": True}, [{"n": n} for n in range(10_000)]) is None
    assert validate({"uniqueItems": True}, [*range(10_000), 0]) == "has an item twice"


# --- registries -----------------------------------------------------------------------------------------------------


def test_a_registry_finds_by_name_and_by_address() -> None:
    registry: Registry[str] = Registry(lambda source: f"{source} (dist-{source} 1.0)")
    registry.register("x", "A", "a")
    assert registry.get("x") == registry.get("x@a") == "A" and "x" in registry and "x@b" not in registry
    registry.register("x", "B", "b")
    registry.register("y", "Y")
    assert registry.list() == ["x@a", "x@b", "y"] and list(registry) == registry.list() and len(registry) == 3
    with pytest.raises(AmbiguousName) as caught:
        registry.get("x")
    assert "a (dist-a 1.0)" in str(caught.value) and "'x@b'" in str(caught.value)
    registry.prefer["x"] = "b"
    assert registry.get("x") == "B" and registry.get("x@a") == "A"
    registry.unregister_by_source("b")
    assert registry.get("x") == "A" and registry.clashes() == {}
    registry.unregister("x")
    with pytest.raises(UnknownName, match="unknown item 'x'"):
        registry.get("x")


def test_the_same_source_replaces_and_a_first_wins_registry_takes_the_first() -> None:
    registry: Registry[int] = Registry(first_wins=True)
    before = registry.version
    registry.register("x", 1, "a")
    registry.register("x", 2, "b")
    registry.register("x", 3, "a")
    assert registry.get("x") == 3 and registry.list() == ["x", "x@b"] and registry.version > before


NAMES = st.sampled_from(["x", "y", "z"])
SOURCES = st.sampled_from(["a", "b", None])


@PROPERTY
@given(st.lists(st.tuples(st.sampled_from(["add", "drop"]), NAMES, SOURCES, st.integers()), max_size=20))
def test_unregister_by_source_is_exact_whatever_was_registered(steps: list[tuple[str, str, str | None, int]]) -> None:
    registry: Registry[int] = Registry()
    model: dict[tuple[str, str | None], int] = {}
    for step, name, source, item in steps:
        if step == "add":
            registry.register(name, item, source)
            model[name, source] = item
        elif source is not None:
            registry.unregister_by_source(source)
            model = {k: v for k, v in model.items() if k[1] != source}
    assert {(e.name, e.source): e.item for e in registry.entries()} == model
    for (name, source), item in model.items():
        owners = [k for k in model if k[0] == name]
        if len(owners) == 1 or (name, None) in owners:
            assert registry.get(name) == model.get((name, None), item)
        else:
            with pytest.raises(AmbiguousName):
                registry.get(name)
        if source is not None:
            assert registry.get(f"{name}@{source}") == item


# --- models ---------------------------------------------------------------------------------------------------------


def models() -> ModelRegistry:
    registry = ModelRegistry()
    registry.register(ModelDefinition("gpt-4o", "openai", aliases=("4o",), cost=ModelCost(2.5, 10.0, 1.25)))
    registry.register(ModelDefinition("gpt-4o-mini", "openai", display_name="GPT-4o mini"))
    registry.register(ModelDefinition("claude-sonnet-4", "anthropic"))
    registry.register(ModelDefinition("gpt-4o", "azure"))
    return registry


def test_models_are_found_by_address_id_and_alias_and_unknown_ones_are_none() -> None:
    registry = models()
    for name in ("gpt-4o", "openai/gpt-4o", "4o", "openai/4o"):
        found = registry.get(name)
        assert found is not None and (found.provider, found.id) == ("openai", "gpt-4o")
    azure = registry.get("azure/gpt-4o")
    assert azure is not None and azure.provider == "azure"
    assert registry.get("gpt-5") is None and registry.get("") is None
    assert [m.id for m in registry.list_by_provider("openai")] == ["gpt-4o", "gpt-4o-mini"]


@pytest.mark.parametrize(
    ("query", "first"),
    [("gpt-4o-mini", "gpt-4o-mini"), ("GPT-4O MINI", "gpt-4o-mini"), ("claude", "claude-sonnet-4"), ("mini", "gpt-4o-mini"),
     ("sonet-4", "claude-sonnet-4"), ("anthropic sonnet", "claude-sonnet-4"), ("4o", "gpt-4o")],
)  # fmt: skip
def test_find_puts_the_best_match_first(query: str, first: str) -> None:
    assert models().find(query)[0].id == first


def test_find_gives_nothing_for_nonsense() -> None:
    assert models().find("zzzzzzzzzz") == []


def test_cost_is_per_million_tokens_and_never_guessed() -> None:
    registry = models()
    usage = TokenUsage(input=1_000_000, output=100_000, cache_read=2_000_000, reasoning=100_000)
    assert registry.calculate_cost("4o", usage) == pytest.approx(2.5 + 2.0 + 2.5)
    with pytest.raises(UnknownName):
        registry.calculate_cost("nope", usage)
    with pytest.raises(ValueError, match="not known"):
        registry.calculate_cost("claude-sonnet-4", usage)


USAGES = st.builds(TokenUsage, *[st.integers(0, 10**9)] * 5)


@PROPERTY
@given(st.lists(USAGES, max_size=5))
def test_usages_add_up_bucket_by_bucket_and_so_does_their_price(usages: list[TokenUsage]) -> None:
    total = sum(usages, TokenUsage())
    assert total.total == sum(u.total for u in usages)
    assert {**total.to_dict()}["input"] == sum(u.input for u in usages)
    model = ModelDefinition("m", cost=ModelCost(1, 2, 3, 4))
    costs = [model.cost_of(u) for u in usages]
    assert model.cost_of(total) == pytest.approx(sum(c for c in costs if c is not None), abs=1e-6)


# --- frozen values and tools ----------------------------------------------------------------------------------------


@PROPERTY
@given(JSON)
def test_frozen_values_equal_thaw_pickle_and_serialise_as_what_they_were(value: Any) -> None:
    frozen = freeze(value)
    assert (frozen == value and thaw(frozen) == value and freeze(frozen) is frozen) or not isinstance(
        value, (dict, list)
    )
    assert json.dumps(frozen) == json.dumps(value)
    assert pickle.loads(pickle.dumps(frozen)) == frozen == copy.deepcopy(frozen)


def test_nothing_changes_a_frozen_value_in_place() -> None:
    d, items = FrozenDict({"a": 1}), FrozenList([1, 2])
    for change in (
        lambda: d.__setitem__("a", 2), lambda: d.update(b=1), lambda: d.pop("a"), lambda: d.clear(), lambda: d.setdefault("b"),
        lambda: d.__ior__({"b": 1}), lambda: d.__delitem__("a"), lambda: items.append(1), lambda: items.sort(),
        lambda: items.__setitem__(0, 9), lambda: items.__iadd__([1]), lambda: items.reverse(), lambda: items.pop(),
    ):  # fmt: skip
        with pytest.raises(TypeError, match="immutable"):
            change()
    assert d == {"a": 1} and items == [1, 2] and isinstance(d | {"b": 2}, Mapping)
    assert hash(d) == hash(FrozenDict({"a": 1})) and copy.copy(items) is items


def test_a_tool_needs_a_name_that_every_wire_takes_and_an_object_schema() -> None:
    for name in ("", "a b", "ä", "x" * 65, "a\n"):
        with pytest.raises(ValueError, match="must match"):
            Tool(name, "d", "m:f")
    with pytest.raises(ValueError, match="object schema"):
        Tool("ok", "d", "m:f", {"type": "string"})
    with pytest.raises(TypeError):
        Tool("ok", "d", "m:f", {"type": "object"}).parameters["x"] = 1  # type: ignore[index]
