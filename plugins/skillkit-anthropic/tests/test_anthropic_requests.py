"""What is sent: settings, tools and media."""

from __future__ import annotations

import base64
from dataclasses import replace

import pytest
from anthropic_bodies import MODEL, SIGHTLESS, body, call, marks, result, said, tool, valid
from skillkit_anthropic.encode import strict_allowed

from skillkit_core.contracts.adapter import ModelSettings
from skillkit_core.errors import ErrorKind, ProviderError
from skillkit_core.messages import DocumentBlock, ImageBlock, TextBlock, UserMessage
from skillkit_core.models import ModelDefinition

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
    model = ModelDefinition("claude-3-5-haiku-20241022")  # newer ones take either a temperature or a top_p
    sent = valid([UserMessage(content="hi")], settings=chosen, tools=(tool("a"),), stream=False, model=model)
    assert sent["max_tokens"] == 100
    assert (sent["temperature"], sent["top_p"], sent["top_k"], sent["stop_sequences"]) == (0.5, 0.9, 5, ["END"])
    assert sent["tool_choice"] == {"type": "tool", "name": "a", "disable_parallel_tool_use": True}
    assert sent["metadata"] == {"user_id": "u"}
    assert sent["stream"] is False
    assert sent["model"] == model.id
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
        (ModelSettings(timeout=0), "timeout is 0; it must be more than 0 seconds"),
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


def test_a_temperature_is_refused_where_a_thinking_budget_is_sent_with_it_and_only_there():
    warm = ModelSettings(thinking="low", temperature=0.5)
    with pytest.raises(ProviderError, match=r"temperature is 0\.5 beside a thinking budget"):
        body(settings=warm, model=ModelDefinition("m", "anthropic"))
    forced = replace(warm, tool_choice="required")  # goes without thinking
    assert body(settings=forced, tools=(tool("a"),), model=ModelDefinition("m", "anthropic"))["temperature"] == 0.5
    assert body(settings=replace(warm, temperature=1.0), model=ModelDefinition("m", "anthropic"))["thinking"]


def test_a_top_p_beside_a_thinking_budget_is_not_small():
    with pytest.raises(ProviderError, match=r"top_p is 0\.5 beside a thinking budget; it must be at least 0\.95"):
        body(settings=ModelSettings(thinking="low", top_p=0.5))
    assert body(settings=ModelSettings(thinking="low", top_p=0.95))["thinking"]


@pytest.mark.parametrize(
    ("model", "chosen", "message"),
    [
        ("claude-sonnet-5", ModelSettings(temperature=0.0), "model 'claude-sonnet-5' does not take temperature; leave"),
        ("claude-opus-4-7", ModelSettings(top_p=0.9), "does not take top_p"),
        ("claude-haiku-4-5", ModelSettings(temperature=0.5, top_p=0.9), "temperature and top_p together; leave one"),
        (
            "claude-opus-5-5",
            ModelSettings(tool_choice="required"),
            "cannot be made to call a tool; leave tool_choice out",
        ),
        ("claude-sonnet-5-5", ModelSettings(tool_choice="a"), "cannot be made to call a tool"),
        ("claude-fable-5-1", ModelSettings(tool_choice="a"), "cannot be made to call a tool"),
    ],
)
def test_what_a_generation_of_claude_takes_no_more_is_named_before_anything_is_sent(model, chosen, message):
    with pytest.raises(ProviderError, match=message) as caught:
        body(settings=chosen, model=ModelDefinition(model), tools=(tool("a"),))
    assert caught.value.kind is ErrorKind.invalid_request


@pytest.mark.parametrize(
    ("model", "chosen"),
    [
        ("claude-sonnet-5", ModelSettings(temperature=1.0, tool_choice="a")),
        ("claude-sonnet-4-6", ModelSettings(temperature=0.2)),
        ("claude-haiku-5-5", ModelSettings(tool_choice="required")),
        ("claude-opus-5-5", ModelSettings(tool_choice="auto")),
    ],
)
def test_what_a_generation_of_claude_still_takes_is_sent(model, chosen):
    sent = valid([UserMessage(content="hi")], settings=chosen, model=ModelDefinition(model), tools=(tool("a"),))
    assert (sent.get("temperature"), "tool_choice" in sent) == (chosen.temperature, chosen.tool_choice is not None)


def test_a_chosen_tool_must_be_there():
    with pytest.raises(ProviderError, match="tool_choice names 'b'; name one of the tools"):
        body(settings=ModelSettings(tool_choice="b"), tools=(tool("a"),))
    theirs = ModelSettings(tool_choice="web_search", extra={"tools": [{"type": "web_search_1", "name": "web_search"}]})
    assert body(settings=theirs, tools=(tool("a"),))["tool_choice"]["name"] == "web_search"


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
