"""What is sent: caching, thinking, tools, settings, media, and histories from anywhere."""

from __future__ import annotations

import base64
import json
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from skillkit_anthropic import AnthropicAdapter
from skillkit_anthropic.encode import Target, assistant_blocks, strict_allowed, wire_id
from skillkit_anthropic.request import RequestEncoder
from skillkit_anthropic.validate import problems_of
from skillkit_anthropic.wire import message_events

from skillkit_core.contracts.adapter import LLMRequest, ModelSettings
from skillkit_core.errors import ErrorKind, ProviderError
from skillkit_core.frozen import thaw
from skillkit_core.messages import (
    AssistantMessage,
    DocumentBlock,
    ImageBlock,
    ProviderBlock,
    RefusalBlock,
    StopReason,
    TextBlock,
    ThinkingBlock,
    ToolCall,
    ToolResultMessage,
    UserMessage,
)
from skillkit_core.models import ModelDefinition
from skillkit_core.stream import MessageBuilder
from skillkit_core.tools import Tool

MODEL = ModelDefinition("claude-sonnet-4-5", "anthropic")
SIGHTLESS = ModelDefinition("claude-sonnet-4-5", "anthropic", context_window=200_000, max_output_tokens=64_000)
HERE = {"provider": "anthropic", "api": "anthropic-messages", "model": MODEL.id}


async def nothing(args: Any, ctx: Any) -> str:
    return ""


def tool(name: str, **fields: Any) -> Tool:
    return Tool(name, f"Does {name}.", nothing, **fields)


def encode(
    messages: list[Any], *, encoder: RequestEncoder | None = None, model: ModelDefinition = MODEL, **fields: Any
) -> bytes:
    request = LLMRequest(model, messages, **fields)
    return (encoder or RequestEncoder("anthropic")).encode(request).content


def body(messages: list[Any] | None = None, **fields: Any) -> dict[str, Any]:
    return json.loads(encode(messages or [UserMessage(content="hi")], **fields))


def valid(messages: list[Any], **fields: Any) -> dict[str, Any]:
    sent = body(messages, **fields)
    assert problems_of(sent) == []
    return sent


def call(call_id: str, name: str = "look", **args: Any) -> ToolCall:
    return ToolCall(call_id, name, args, json.dumps(args))


def said(*blocks: Any, **fields: Any) -> AssistantMessage:
    return AssistantMessage(content=blocks, **{**HERE, **fields})


def result(call_id: str, content: Any = "done", **fields: Any) -> ToolResultMessage:
    return ToolResultMessage(content=content, tool_call_id=call_id, tool_name="look", **fields)


def marks(value: Any, path: str = "") -> list[str]:
    """Where the cache breakpoints are."""
    out = []
    if isinstance(value, dict):
        if "cache_control" in value:
            out.append(path)
        for k, v in value.items():
            out += marks(v, f"{path}.{k}" if path else k)
    elif isinstance(value, list):
        for i, v in enumerate(value):
            out += marks(v, f"{path}.{i}")
    return out


def unmarked(content: bytes) -> bytes:
    return content.replace(b',"cache_control":{"type":"ephemeral"}', b"")


# ---------------------------------------------------------------- prompt caching and byte prefixes


def steps(n: int) -> list[Any]:
    out: list[Any] = [UserMessage(content="start")]
    for i in range(n):
        out += [said(TextBlock(f"step {i}"), call(f"c{i}", n=i)), result(f"c{i}", f"result {i}")]
    return out


def test_breakpoints_are_on_tools_system_and_the_two_last_user_messages():
    sent = valid(steps(3), tools=(tool("b"), tool("a")), system="Be brief.")
    assert marks(sent) == ["tools.1", "system.0", "messages.4.content.0", "messages.6.content.0"]
    assert sent["system"][0]["cache_control"] == {"type": "ephemeral"}
    hour = json.loads(encode(steps(1), encoder=RequestEncoder("anthropic", "1h"), system="s"))
    assert hour["system"][0]["cache_control"] == {"type": "ephemeral", "ttl": "1h"}


def test_caching_can_be_off_or_left_to_the_provider():
    off = json.loads(encode(steps(2), encoder=RequestEncoder("anthropic", "off"), tools=(tool("a"),), system="s"))
    assert marks(off) == []
    automatic = body(steps(2), system="s", settings=ModelSettings(extra={"cache_control": {"type": "ephemeral"}}))
    assert marks(automatic) == [""]


@pytest.mark.spec("I15")
def test_each_request_begins_with_the_bytes_of_the_one_before():
    encoder, history = RequestEncoder("anthropic"), steps(12)
    fields: dict[str, Any] = {
        "tools": (tool("a"), tool("b")),
        "system": "You are careful.",
        "settings": ModelSettings(),
    }
    before = b""
    for n in range(1, len(history) + 1, 2):
        now = encode(history[:n], encoder=encoder, **fields)
        assert now == encode(history[:n], **fields)  # nothing depends on what was kept
        if before:
            assert unmarked(now).startswith(unmarked(before).removesuffix(b"]}"))
        if n > 5:  # the marked bytes are shared up to the breakpoint before the last
            mark = b',"cache_control"'
            cut = before.rindex(mark, 0, before.rindex(mark))
            assert now[:cut] == before[:cut]
        before = now


def test_what_was_encoded_is_kept_while_the_history_only_grows(monkeypatch):
    encoder, history = RequestEncoder("anthropic"), steps(20)
    encode(history, encoder=encoder)
    counted = []
    import skillkit_anthropic.history as module

    real = module.dumps
    monkeypatch.setattr(module, "dumps", lambda value: counted.append(1) or real(value))
    longer = [*history, said(TextBlock("more")), UserMessage(content="on")]
    grown = encode(longer, encoder=encoder)
    assert len(counted) == 2
    changed = [UserMessage(content="other"), *longer[1:]]
    assert json.loads(encode(changed, encoder=encoder)) == body(changed)
    assert json.loads(encode(longer[:5], encoder=encoder)) == body(longer[:5])
    assert encode(longer, encoder=encoder) == grown


@pytest.mark.spec("I16", "9.46")
def test_the_same_tools_in_any_order_are_the_same_bytes():
    tools = [tool(n) for n in ("read", "bash", "write", "a-1")]
    expected = encode([UserMessage(content="x")], tools=tuple(tools))
    for seed in range(6):
        random.Random(seed).shuffle(tools)
        assert encode([UserMessage(content="x")], tools=tuple(tools)) == expected


# ---------------------------------------------------------------- settings


def test_the_plain_request():
    assert body() == {
        "model": MODEL.id,
        "max_tokens": 16_384,
        "stream": True,
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "hi", "cache_control": {"type": "ephemeral"}}]},
        ],
    }


def test_every_setting_has_its_place_in_the_body():
    chosen = ModelSettings(
        max_tokens=100,
        temperature=0.5,
        top_p=0.9,
        stop=("END",),
        tool_choice="a",
        parallel_tool_calls=False,
        extra={"metadata": {"user_id": "u"}, "top_k": 5, "model": "never", "messages": []},
    )
    sent = valid([UserMessage(content="hi")], settings=chosen, tools=(tool("a"),), stream=False)
    assert sent["max_tokens"] == 100
    assert (sent["temperature"], sent["top_p"], sent["top_k"], sent["stop_sequences"]) == (0.5, 0.9, 5, ["END"])
    assert sent["tool_choice"] == {"type": "tool", "name": "a", "disable_parallel_tool_use": True}
    assert sent["metadata"] == {"user_id": "u"}
    assert sent["stream"] is False
    assert sent["model"] == MODEL.id
    assert sent["messages"]


@pytest.mark.parametrize(
    ("wanted", "parallel", "choice"),
    [
        (None, None, None),
        ("auto", None, {"type": "auto"}),
        ("none", None, {"type": "none"}),
        ("none", False, {"type": "none"}),
        ("required", None, {"type": "any"}),
        ("a", True, {"type": "tool", "name": "a"}),
        (None, False, {"type": "auto", "disable_parallel_tool_use": True}),
    ],
)
def test_tool_choice(wanted, parallel, choice):
    chosen = ModelSettings(tool_choice=wanted, parallel_tool_calls=parallel)
    assert body(settings=chosen, tools=(tool("a"),)).get("tool_choice") == choice
    assert "tool_choice" not in body(settings=chosen)  # without tools there is nothing to choose


@pytest.mark.parametrize(
    ("chosen", "names"),
    [
        (ModelSettings(temperature=1.5), "temperature"),
        (ModelSettings(top_p=-0.1), "top_p"),
        (ModelSettings(max_tokens=0), "max_tokens"),
        (ModelSettings(max_tokens=100_000), "max_tokens"),
        (ModelSettings(stop=(" ",)), "stop"),
        (ModelSettings(response_schema={"type": "object"}), "structured output"),
        (ModelSettings(temperature=0.5), "temperature"),
    ],
)
def test_settings_that_the_model_refuses_are_named_before_anything_is_sent(chosen, names):
    model = ModelDefinition(
        "m", "anthropic", max_output_tokens=64_000, options={"unsupported_parameters": ["temperature"]}
    )
    with pytest.raises(ProviderError, match=names) as caught:
        body(settings=chosen, model=model)
    assert caught.value.kind is ErrorKind.invalid_request
    assert not caught.value.retryable


def test_the_length_of_an_answer_follows_the_model():
    assert body(model=ModelDefinition("m", max_output_tokens=4_096))["max_tokens"] == 4_096
    assert body(model=ModelDefinition("m", max_output_tokens=128_000))["max_tokens"] == 32_000
    assert body(model=ModelDefinition("m", max_output_tokens=128_000), stream=False)["max_tokens"] == 21_333


def test_structured_output_goes_through_the_transformation_of_the_sdk():
    schema = {"type": "object", "properties": {"n": {"type": "integer", "minimum": 3}}, "required": ["n"]}
    sent = body(settings=ModelSettings(response_schema=schema))
    form = sent["output_config"]["format"]
    assert form["type"] == "json_schema"
    assert form["schema"]["additionalProperties"] is False
    assert "minimum" not in form["schema"]["properties"]["n"]


def test_strict_is_asked_for_where_the_provider_can_enforce_the_schema():
    closed = {"type": "object", "properties": {"n": {"type": "integer"}}, "additionalProperties": False}
    loose = {"type": "object", "properties": {"n": {"type": "integer", "minimum": 1}}}
    tools = (
        tool("a", parameters=closed, strict=True),
        tool("b", parameters=loose, strict=True),
        tool("c", parameters=closed),
    )
    assert [t.get("strict") for t in body(tools=tools)["tools"]] == [True, None, None]
    assert [t.get("strict") for t in body(tools=tools, model=SIGHTLESS)["tools"]] == [None, None, None]
    assert body(tools=tools)["tools"][1]["input_schema"] == loose


@pytest.mark.parametrize(
    ("schema", "allowed"),
    [
        ({"type": "object", "properties": {}, "additionalProperties": False}, True),
        ({"type": "object", "properties": {}}, False),
        ({"type": "object", "additionalProperties": False, "properties": {"a": {"$ref": "#"}}}, False),
        ({"type": "array", "items": {"type": "object", "properties": {}}}, False),
        ({"type": "array", "items": {"type": "string", "format": "email"}, "minItems": 1}, True),
        ({"type": "string", "pattern": "a+"}, False),
        ({"anyOf": [{"type": "null"}, {"type": "string", "maxLength": 3}]}, False),
    ],
)
def test_schemas_that_can_be_enforced(schema, allowed):
    assert strict_allowed(schema) is allowed


def test_server_side_tools_are_passed_on_after_ours():
    extra = {"tools": [{"type": "web_search_20250305", "name": "web_search"}]}
    sent = valid([UserMessage(content="hi")], tools=(tool("zoom"),), settings=ModelSettings(extra=extra))
    assert [t["name"] for t in sent["tools"]] == ["zoom", "web_search"]
    assert marks(sent)[0] == "tools.1"


# ---------------------------------------------------------------- thinking


@pytest.mark.parametrize(
    ("model", "level", "thinking", "effort"),
    [
        ("claude-sonnet-4-5", "off", {"type": "disabled"}, None),
        ("claude-sonnet-4-5", "minimal", {"type": "enabled", "budget_tokens": 1_024}, None),
        ("claude-sonnet-4-5-20250929", "high", {"type": "enabled", "budget_tokens": 16_384}, None),
        ("claude-opus-4-5", "xhigh", {"type": "enabled", "budget_tokens": 32_768}, None),
        ("claude-3-7-sonnet-20250219", "low", {"type": "enabled", "budget_tokens": 2_048}, None),
        ("claude-sonnet-4-20250514", "low", {"type": "enabled", "budget_tokens": 2_048}, None),
        ("claude-3-5-haiku-20241022", "high", None, None),
        ("claude-3-haiku-20240307", "off", None, None),
        ("claude-opus-4-6", "xhigh", {"type": "adaptive"}, "max"),
        ("claude-sonnet-4-6", "minimal", {"type": "adaptive"}, "low"),
        ("claude-opus-4-8", "xhigh", {"type": "adaptive", "display": "summarized"}, "xhigh"),
        ("claude-sonnet-5", "medium", {"type": "adaptive", "display": "summarized"}, "medium"),
        ("anthropic/claude-haiku-5-5", "high", {"type": "adaptive", "display": "summarized"}, "high"),
        ("MiniMax-M2", "medium", {"type": "enabled", "budget_tokens": 8_192}, None),
    ],
)
def test_levels_of_models_that_nobody_described(model, level, thinking, effort):
    sent = valid([UserMessage(content="hi")], model=ModelDefinition(model), settings=ModelSettings(thinking=level))
    assert sent.get("thinking") == thinking
    assert sent.get("output_config", {}).get("effort") == effort


def test_the_definition_of_a_model_decides_its_levels():
    levels = {
        "off": None,
        "low": 3_000,
        "medium": "medium",
        "high": {"thinking": {"type": "adaptive"}, "speed": "slow"},
    }
    model = ModelDefinition("m", thinking_levels=levels, max_output_tokens=64_000, reasoning=True)
    by = {n: body(model=model, settings=ModelSettings(thinking=n)) for n in ("off", "low", "medium", "high", "xhigh")}
    assert "thinking" not in by["off"]
    assert by["low"]["thinking"]["budget_tokens"] == 3_000
    assert by["medium"]["output_config"] == {"effort": "medium"}
    assert (by["high"]["thinking"], by["high"]["speed"]) == ({"type": "adaptive"}, "slow")
    assert by["xhigh"]["thinking"]["budget_tokens"] == 31_744 or by["xhigh"]["thinking"]["budget_tokens"] == 32_768
    plain = ModelDefinition("m", context_window=1000, max_output_tokens=500)
    assert "thinking" not in body(model=plain, settings=ModelSettings(thinking="high"))


def test_budget_and_length_fit_together():
    sent = valid([UserMessage(content="x")], settings=ModelSettings(thinking="xhigh"))
    assert sent["thinking"]["budget_tokens"] == 32_768
    assert sent["max_tokens"] > 32_768
    sent = valid([UserMessage(content="x")], settings=ModelSettings(thinking="high", max_tokens=4_096))
    assert (sent["thinking"]["budget_tokens"], sent["max_tokens"]) == (3_072, 4_096)
    assert "thinking" not in valid(
        [UserMessage(content="x")], settings=ModelSettings(thinking="high", max_tokens=1_500)
    )


def test_a_forced_tool_goes_without_a_thinking_budget():
    chosen = ModelSettings(thinking="high", tool_choice="required")
    assert "thinking" not in valid([UserMessage(content="x")], settings=chosen, tools=(tool("a"),))


def test_an_open_tool_loop_of_another_model_goes_without_a_thinking_budget():
    foreign = said(ThinkingBlock("hm", "sig"), call("c"), model="other")
    chosen = ModelSettings(thinking="high")
    assert "thinking" not in valid([UserMessage(content="x"), foreign, result("c")], settings=chosen)
    closed = [UserMessage(content="x"), foreign, result("c"), said(TextBlock("ok")), UserMessage(content="next")]
    assert "thinking" in valid(closed, settings=chosen)
    own = [
        UserMessage(content="x"),
        said(ThinkingBlock("hm", "sig"), call("c")),
        result("c"),
        said(call("d")),
        result("d"),
    ]
    assert "thinking" in valid(own, settings=chosen)


# ---------------------------------------------------------------- media


def test_images_and_documents():
    text = base64.b64encode("plain Ünïcode".encode()).decode()
    sent = valid(
        [
            UserMessage(
                content=(
                    TextBlock("look"),
                    ImageBlock("QUJD", "image/jpeg"),
                    ImageBlock(url="https://example.org/a.png"),
                    DocumentBlock("JVBERi0=", title="Paper"),
                    DocumentBlock(url="https://example.org/a.pdf"),
                    DocumentBlock(text, "text/markdown"),
                    ImageBlock(),
                )
            )
        ]
    )
    blocks = sent["messages"][0]["content"]
    assert [b["type"] for b in blocks] == ["text", "image", "image", "document", "document", "document"]
    assert blocks[1]["source"] == {"type": "base64", "media_type": "image/jpeg", "data": "QUJD"}
    assert blocks[2]["source"] == {"type": "url", "url": "https://example.org/a.png"}
    assert (blocks[3]["title"], blocks[3]["source"]["media_type"]) == ("Paper", "application/pdf")
    assert blocks[5]["source"] == {"type": "text", "media_type": "text/plain", "data": "plain Ünïcode"}


def test_media_of_types_that_the_wire_refuses():
    odd = (
        ImageBlock("QUJD", "image/jpg"),
        ImageBlock("QUJD", "image/bmp"),
        DocumentBlock("QUJD", "application/msword"),
        DocumentBlock("QUJD", "audio/wav"),
    )
    blocks = valid([UserMessage(content=odd)])["messages"][0]["content"]
    assert blocks[0]["source"]["media_type"] == "image/jpeg"
    assert [b.get("text") for b in blocks[1:]] == [
        "[image left out: image/bmp is not taken]",
        "[document left out: application/msword is not taken]",
        "[audio left out: the Messages API takes none]",
    ]


@pytest.mark.spec("9.20")
def test_a_model_without_eyes_is_told_what_was_left_out():
    sent = valid([UserMessage(content=(ImageBlock("QUJD"), DocumentBlock("JVBERi0=")))], model=SIGHTLESS)
    assert [b["type"] for b in sent["messages"][0]["content"]] == ["text", "text"]


def test_tool_results_carry_images_but_errors_carry_text_alone():
    history = [
        UserMessage(content="go"),
        said(call("a"), call("b")),
        result("a", (TextBlock("ok"), ImageBlock("QUJD"))),
    ]
    sent = valid([*history, result("b", (TextBlock("bad"), ImageBlock("QUJD")), is_error=True)])
    first, second, aside = sent["messages"][2]["content"]
    assert [b["type"] for b in first["content"]] == ["text", "image"]
    assert [b["type"] for b in second["content"]] == ["text"]
    assert second["is_error"] is True
    assert aside["type"] == "image"
    silent = valid([UserMessage(content="go"), said(call("a")), result("a", "", is_error=True)])
    assert silent["messages"][2]["content"][0]["content"][0]["text"] == "(no output)"


# ---------------------------------------------------------------- histories from anywhere


@pytest.mark.spec("I6")
def test_results_stand_first_in_the_next_user_message():
    sent = valid(
        [
            UserMessage(content="go"),
            said(call("a"), call("b")),
            result("a"),
            result("b", ""),
            UserMessage(content="and"),
        ]
    )
    assert [m["role"] for m in sent["messages"]] == ["user", "assistant", "user"]
    blocks = sent["messages"][2]["content"]
    assert [b["type"] for b in blocks] == ["tool_result", "tool_result", "text"]
    assert "content" not in blocks[1]


@pytest.mark.spec("I6")
def test_ids_and_names_of_other_providers_are_made_to_fit():
    long = "call_" + "x|y" * 150
    history = [
        UserMessage(content="go"),
        said(ToolCall(long, "functions.look up!", {}, "{}"), model="other"),
        result(long),
    ]
    sent = valid(history)
    use, answer = sent["messages"][1]["content"][0], sent["messages"][2]["content"][0]
    assert use["id"] == answer["tool_use_id"] == wire_id(long)
    assert use["name"] == "functions_look_up_"
    assert wire_id("toolu_01ABC-_") == "toolu_01ABC-_"
    assert wire_id(long) != wire_id(long + "z")
    assert wire_id("") != ""


@pytest.mark.spec("I5")
def test_thinking_replays_byte_for_byte_to_its_own_model_only():
    thought = (
        ThinkingBlock("Let me   think\n", "c2ln+/="),
        ThinkingBlock("", "c2ln"),
        ThinkingBlock(redacted=True, data="b3BhcXVl"),
        TextBlock("So."),
    )
    own = valid([UserMessage(content="go"), said(*thought), UserMessage(content="on")])["messages"][1]["content"]
    assert own == [
        {"type": "thinking", "thinking": "Let me   think\n", "signature": "c2ln+/="},
        {"type": "thinking", "thinking": "", "signature": "c2ln"},
        {"type": "redacted_thinking", "data": "b3BhcXVl"},
        {"type": "text", "text": "So."},
    ]
    for foreign in ({"model": "claude-opus-5"}, {"provider": "other"}, {"api": "openai-chat"}):
        history = [UserMessage(content="go"), said(*thought, **foreign), UserMessage(content="on")]
        sent = valid(history)["messages"][1]["content"]
        assert sent == [{"type": "text", "text": "Let me   think\n"}, {"type": "text", "text": "So."}], foreign


@pytest.mark.spec("I5")
def test_unsigned_thinking_is_text_and_nothing_ends_in_thinking():
    aborted = said(ThinkingBlock("half a thou"), stop_reason=StopReason.aborted)
    cut = said(ThinkingBlock("whole", "sig"), ThinkingBlock(redacted=True, data="x"), stop_reason=StopReason.length)
    for message, text in ((aborted, "half a thou"), (cut, "whole")):
        sent = valid([UserMessage(content="go"), message, UserMessage(content="on")])
        assert sent["messages"][1]["content"] == [{"type": "text", "text": text}]


def test_nothing_empty_is_sent():
    empty = said(TextBlock(""), ThinkingBlock(""), TextBlock(" \n"), stop_reason=StopReason.aborted)
    sent = valid(
        [
            UserMessage(content="go"),
            empty,
            UserMessage(content=""),
            UserMessage(content=(TextBlock(" "), TextBlock("x"))),
        ]
    )
    assert [len(m["content"]) for m in sent["messages"]] == [2]


def test_arguments_that_never_became_an_object_are_shown_to_the_model():
    broken = ToolCall("c", "look", None, '{"a": ', incomplete=True)
    sent = valid([UserMessage(content="go"), said(broken), result("c", "not JSON", is_error=True)])
    assert sent["messages"][1]["content"][0]["input"] == {"invalid_arguments": '{"a": '}


def test_lone_surrogates_are_replaced_and_pairs_joined():
    sent = valid([UserMessage(content="a\ud800b \ud83d\ude00")], system="s\udfff")
    assert sent["messages"][0]["content"][0]["text"] == "a\ufffdb 😀"
    assert sent["system"][0]["text"] == "s\ufffd"


def test_refusals_are_text_and_a_history_may_begin_with_the_assistant():
    sent = valid([said(RefusalBlock("No.")), UserMessage(content="why")])
    assert [m["role"] for m in sent["messages"]] == ["user", "assistant", "user"]


def test_a_prefilled_answer_does_not_end_in_whitespace():
    sent = valid([UserMessage(content="go"), said(TextBlock("The answer is ("), TextBlock("a \n"))])
    assert sent["messages"][1]["content"][-1]["text"] == "a"


def test_server_tools_replay_whole_or_not_at_all():
    use = ProviderBlock(
        "server_tool_use", {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
    )
    found = ProviderBlock(
        "web_search_tool_result", {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
    )
    cited = TextBlock("said", ({"type": "web_search_result_location", "url": "u"},))

    def kinds(*blocks: Any, **fields: Any) -> list[str]:
        sent = valid([UserMessage(content="go"), said(*blocks, **fields), UserMessage(content="on")])
        return [b["type"] + ("+" if "citations" in b else "") for b in sent["messages"][1]["content"]]

    assert kinds(use, found, cited) == ["server_tool_use", "web_search_tool_result", "text+"]
    assert kinds(use, found, cited, model="claude-opus-5") == ["server_tool_use", "web_search_tool_result", "text+"]
    assert kinds(use, found, cited, provider="other") == ["text"]
    assert kinds(TextBlock("x"), use, stop_reason=StopReason.aborted) == ["text"]
    assert kinds(found, TextBlock("x")) == ["text"]
    assert kinds(TextBlock("x"), use, raw_stop_reason="pause_turn", stop_reason=StopReason.pause) == [
        "text",
        "server_tool_use",
    ]


def test_a_paused_turn_goes_on_in_the_next_message():
    use = ProviderBlock(
        "server_tool_use", {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
    )
    found = ProviderBlock(
        "web_search_tool_result", {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
    )
    paused = said(use, raw_stop_reason="pause_turn", stop_reason=StopReason.pause)
    sent = body([UserMessage(content="go"), paused, said(found, TextBlock("x")), UserMessage(content="on")])
    assert [b["type"] for m in sent["messages"][1:3] for b in m["content"]] == [
        "server_tool_use",
        "web_search_tool_result",
        "text",
    ]


def test_recorded_answers_replay_as_they_came(cases):
    """What a model said goes back block for block, signatures, citations, server tools and callers included."""
    compared = 0
    for case in cases:
        if case.index["stream"] or case.index["status"] != 200:
            continue
        message = json.loads(case.body)
        builder = MessageBuilder()
        for event in message_events(message)[0]:
            builder.add(event)
        answer = builder.message(provider="anthropic", api="anthropic-messages", model="m")
        sent = [thaw(b) for b in assistant_blocks(answer, Target("anthropic", "m"), set())]
        want = [{k: v for k, v in b.items() if v is not None or k == "content"} for b in message["content"]]
        want = [b for b in want if b["type"] != "text" or b["text"].strip()]
        want = [
            {"type": "text", "text": b["thinking"]} if b["type"] == "thinking" and not b.get("signature") else b
            for b in want
        ]
        for block in want:
            if block.get("citations") == []:
                del block["citations"]
        if want and want[-1]["type"] in ("thinking", "redacted_thinking"):
            continue
        known = {b.get("id") for b in want}
        if any(b.get("tool_use_id", None) not in {None, *known} for b in want):
            continue  # the call is in an earlier message
        compared += len(want)
        got = [{k: v for k, v in b.items() if v is not None or k == "content"} for b in sent]
        assert got == want, case.id
    assert compared > 250


# ---------------------------------------------------------------- any legal history passes the validator


ids = st.text(min_size=1, max_size=80)
pieces = st.text(max_size=12)
plain_blocks = st.one_of(st.builds(TextBlock, pieces), st.builds(RefusalBlock, pieces))
thoughts = st.one_of(
    st.builds(ThinkingBlock, pieces, st.none() | st.just("sig")),
    st.builds(ThinkingBlock, redacted=st.just(True), data=st.none() | st.just("data")),
)
origins = st.sampled_from(
    [{}, {"model": "claude-opus-5"}, {"provider": "openai", "api": "openai-responses", "model": "gpt"}]
)


@st.composite
def histories(draw: Any) -> list[Any]:
    """Histories that are legal by I1 and I2, otherwise as odd as they come."""
    out: list[Any] = []
    used: set[str] = set()
    for _ in range(draw(st.integers(1, 5))):
        for text in draw(st.lists(pieces, max_size=2)):
            out.append(UserMessage(content=text))
        for _ in range(draw(st.integers(0, 3))):
            blocks = list(draw(st.lists(plain_blocks | thoughts, max_size=3)))
            fresh = [i for i in draw(st.lists(ids, max_size=3, unique=True)) if i not in used]
            used.update(fresh)
            blocks += [ToolCall(i, draw(pieces), {"x": draw(pieces)}, "") for i in fresh]
            out.append(said(*blocks, **draw(origins)))
            for i in fresh:
                content = draw(
                    st.one_of(pieces, st.just((ImageBlock("QUJD"),)), st.just((TextBlock(""), TextBlock("t"))))
                )
                out.append(result(i, content, is_error=draw(st.booleans())))
    return [*out, UserMessage(content="go on")]


@pytest.mark.spec("I6")
@settings(max_examples=150, deadline=None)
@given(history=histories(), level=st.sampled_from([None, "off", "low", "high"]))
def test_any_legal_history_passes_the_validator(history, level):
    encoder = RequestEncoder("anthropic")
    chosen = ModelSettings(thinking=level)
    fields: dict[str, Any] = {"tools": (tool("a"),), "system": "s", "settings": chosen}
    for n in range(1, len(history) + 1):
        if isinstance(history[n - 1], UserMessage) and history[n - 1].text.strip():
            sent = encode(history[:n], encoder=encoder, **fields)
            assert problems_of(json.loads(sent)) == []
            assert sent == encode(history[:n], **fields)


# ---------------------------------------------------------------- the validator


BAD: list[tuple[str, Any]] = [
    ("at least one message", []),
    ("first message", [{"role": "assistant", "content": [{"type": "text", "text": "x"}]}]),
    ("must not be empty", [{"role": "user", "content": []}]),
    ("text must not be empty", [{"role": "user", "content": [{"type": "text", "text": ""}]}]),
    ("neither", [{"role": "system", "content": [{"type": "text", "text": "x"}]}]),
    ("no call", [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "x"}]}]),
    (
        "JPEG",
        [{"role": "user", "content": [{"type": "image", "source": {"type": "base64", "media_type": "image/bmp"}}]}],
    ),
]


@pytest.mark.parametrize(("says", "wire_messages"), BAD)
def test_the_validator_refuses(says, wire_messages):
    assert any(says in p for p in problems_of({"max_tokens": 1, "messages": wire_messages}))


USER = {"role": "user", "content": [{"type": "text", "text": "x"}]}


def spoken(*blocks: dict[str, Any], after: Any = USER) -> list[Any]:
    return [USER, {"role": "assistant", "content": list(blocks)}, after]


USE = {"type": "tool_use", "id": "a", "name": "n", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "a"}


@pytest.mark.parametrize(
    ("says", "wire_messages"),
    [
        ("no result", spoken(USE)),
        ("used twice", spoken(USE, USE, after={"role": "user", "content": [RESULT]})),
        ("more than one", spoken(USE, after={"role": "user", "content": [RESULT, RESULT]})),
        ("come before", spoken(USE, after={"role": "user", "content": [USER["content"][0], RESULT]})),
        (
            "does not match",
            spoken({**USE, "id": "a|b"}, after={"role": "user", "content": [{**RESULT, "tool_use_id": "a|b"}]}),
        ),
        ("say something", spoken(USE, after={"role": "user", "content": [{**RESULT, "is_error": True}]})),
        ("must be an object", spoken({**USE, "input": "x"}, after={"role": "user", "content": [RESULT]})),
        ("signature", spoken({"type": "thinking", "thinking": "x"}, USER["content"][0])),
        ("may not be thinking", spoken({"type": "thinking", "thinking": "x", "signature": "s"})),
        ("whitespace", spoken({"type": "text", "text": "x "})[:2]),
        ("breakpoints", [{"role": "user", "content": [{**USER["content"][0], "cache_control": {}}] * 5}]),
    ],
)
def test_the_validator_refuses_conversations(says, wire_messages):
    assert any(says in p for p in problems_of({"max_tokens": 1, "messages": wire_messages}))


def test_validate_of_the_adapter_answers_for_a_request():
    adapter = AnthropicAdapter(None, api_key="k")
    good = LLMRequest(MODEL, [UserMessage(content="hi")])
    assert list(adapter.validate(good)) == []
    open_call = LLMRequest(MODEL, [UserMessage(content="hi"), said(call("c")), UserMessage(content="x")])
    assert any("no result" in p for p in adapter.validate(open_call))
    wrong = LLMRequest(MODEL, [UserMessage(content="hi")], settings=ModelSettings(temperature=9.0))
    assert any("temperature" in p for p in adapter.validate(wrong))


def test_recorded_requests_are_what_the_validator_calls_fine(cases):
    """The validator is neither stricter than the provider: requests that were answered with 200 pass it."""
    checked = 0
    for case in cases:
        request = case.request
        sent = request.get("body")
        if case.index["status"] != 200 or not isinstance(sent, dict) or request.get("known") is False:
            continue
        if case.index["provider"] != "anthropic" or any(m["role"] == "system" for m in sent["messages"]):
            continue  # a beta
        checked += 1
        assert problems_of(sent) == [], case.id
    assert checked > 100
