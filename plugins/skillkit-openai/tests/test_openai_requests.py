"""What is sent: the body's bytes and their prefix, settings, thinking levels, tools, media, and histories from anywhere."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from skillkit_openai import OpenAIAdapter, OpenAIResponsesAdapter
from skillkit_openai.chat_request import check_messages
from skillkit_openai.responses_request import check_items
from skillkit_openai.settings import strict_schema
from skillkit_openai.wire import OpenAIWire

from skillkit_core.contracts.adapter import LLMRequest, ModelSettings
from skillkit_core.frozen import freeze
from skillkit_core.messages import (
    AssistantMessage,
    DocumentBlock,
    ImageBlock,
    LLMMessage,
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

FEW = settings(max_examples=100, deadline=None)
BOTH = pytest.mark.parametrize("adapter_class", [OpenAIAdapter, OpenAIResponsesAdapter])
MODEL = ModelDefinition("m")
CLOSED = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": False}
OPEN = {"type": "object", "properties": {"a": {"type": "integer"}}}


async def nothing(args: Any, ctx: Any) -> str:
    return ""


def tool(name: str, parameters: Any = OPEN, strict: bool = False) -> Tool:
    return Tool(name, f"About {name}.", nothing, parameters, strict=strict)


def local(cls: type[OpenAIWire] = OpenAIAdapter, **options: Any) -> OpenAIWire:
    return cls(None, base_url="http://localhost:8080/v1", **options)


def at_openai(cls: type[OpenAIWire] = OpenAIAdapter, **options: Any) -> OpenAIWire:
    return cls(None, base_url="https://api.openai.com/v1", api_key="k", **options)


def payload(adapter: OpenAIWire, messages: Sequence[LLMMessage] = (), **kwargs: Any) -> dict[str, Any]:
    request = LLMRequest(kwargs.pop("model", MODEL), messages or [UserMessage(content="hi")], **kwargs)
    value: dict[str, Any] = json.loads(adapter.body(request))
    return value


def said(adapter: OpenAIWire, *content: Any, model: str = "m", stop: StopReason = StopReason.stop) -> AssistantMessage:
    return AssistantMessage(content=content, provider=adapter.provider, api=adapter.api, model=model, stop_reason=stop)


def call(id: str, raw: str = '{"a": 1}', name: str = "add") -> ToolCall:
    return ToolCall(id, name, json.loads(raw), raw)


def result(id: str, *content: Any) -> ToolResultMessage:
    return ToolResultMessage(tool_call_id=id, tool_name="add", content=content or "3")  # type: ignore[arg-type]


# -- bytes ----------------------------------------------------------------------------------------------------------


def test_the_body_of_chat() -> None:
    request = LLMRequest(MODEL, [UserMessage(content="hi")], (tool("add"),), "Be brief.")
    assert local().body(request) == (
        b'{"model":"m","stream":true,"stream_options":{"include_usage":true},"tools":[{"type":"function","function":'
        b'{"name":"add","description":"About add.","parameters":{"type":"object","properties":{"a":{"type":"integer"}}}}}],'
        b'"messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"hi"}]}'
    )


def test_the_body_of_responses() -> None:
    request = LLMRequest(MODEL, [UserMessage(content="hi")], (tool("add"),), "Be brief.", stream=False)
    assert at_openai(OpenAIResponsesAdapter).body(request) == (
        b'{"model":"m","stream":false,"store":false,"instructions":"Be brief.","tools":[{"type":"function","name":"add",'
        b'"description":"About add.","parameters":{"type":"object","properties":{"a":{"type":"integer"}}},"strict":false}],'
        b'"input":[{"role":"user","content":"hi"}]}'
    )


@pytest.mark.spec("I16", "9.46")
@BOTH
def test_the_same_tools_in_any_order_give_the_same_bytes(adapter_class: Any) -> None:
    adapter = local(adapter_class)
    a, b, c = tool("a"), tool("b"), tool("c")
    bodies = {
        adapter.body(LLMRequest(MODEL, [UserMessage(content="hi")], order))
        for order in ((a, b, c), (c, b, a), (b, a, c), (b, c, a))
    }
    assert len(bodies) == 1


turns = st.lists(
    st.tuples(st.text(max_size=6), st.lists(st.tuples(st.text(max_size=4), st.booleans()), max_size=3), st.booleans()),
    min_size=1,
    max_size=6,
)


def history(plan: Any, adapter: OpenAIWire) -> list[list[LLMMessage]]:
    """The message lists of consecutive requests of a run."""
    messages: list[LLMMessage] = []
    out = []
    for number, (text, calls, own) in enumerate(plan):
        messages.append(UserMessage(content=text or "go"))
        out.append(list(messages))
        blocks: list[Any] = [ThinkingBlock("hm", provider_data=freeze({"field": "reasoning_content"}))] if own else []
        blocks += [TextBlock(text)] if text else []
        blocks += [call(f"{number}|{at}") for at in range(len(calls))]
        source = adapter if own else OpenAIAdapter(None, provider="else", base_url="http://localhost/v1")
        messages.append(said(source, *blocks))
        for at, (output, image) in enumerate(calls):
            messages.append(result(f"{number}|{at}", TextBlock(output), *([ImageBlock("QUJD")] if image else [])))
        out.append(list(messages))
    return out


@pytest.mark.spec("I15")
@BOTH
@FEW
@given(plan=turns)
def test_consecutive_requests_share_their_prefix_and_equal_fresh_ones(adapter_class: Any, plan: Any) -> None:
    adapter = local(adapter_class)
    model = ModelDefinition("m", capabilities={"text", "image", "tool_use"})
    scratch: dict[str, Any] = {}
    before = b""
    for messages in history(plan, adapter):
        request = LLMRequest(model, messages, (tool("add"),), "Be brief.", scratch=scratch)
        body = adapter.body(request)
        assert body == adapter.body(LLMRequest(model, messages, (tool("add"),), "Be brief."))
        assert body.startswith(before)
        assert adapter.validate(request) == []
        before = body[: -len(b"]}")]


@BOTH
def test_only_new_messages_are_serialised(adapter_class: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    import skillkit_openai.history as module

    written: list[Any] = []
    monkeypatch.setattr(module, "encode", lambda item, real=module.encode: (written.append(item), real(item))[1])
    adapter, scratch = local(adapter_class), {}
    messages: list[LLMMessage] = [UserMessage(content=str(i)) for i in range(50)]
    adapter.body(LLMRequest(MODEL, messages, scratch=scratch))
    assert len(written) == 50
    messages.append(UserMessage(content="new"))
    adapter.body(LLMRequest(MODEL, tuple(messages), scratch=scratch))
    assert len(written) == 51
    compacted = [UserMessage(content="summary"), *messages[40:]]
    assert adapter.body(LLMRequest(MODEL, compacted, scratch=scratch)) == adapter.body(LLMRequest(MODEL, compacted))


@BOTH
def test_a_rewritten_or_shortened_history_is_written_anew(adapter_class: Any) -> None:
    adapter, scratch = local(adapter_class), {}
    one, two, three = (UserMessage(content=c) for c in "abc")
    for messages in ([one, two], [one, three], [one], [two, one], [one, two, three]):
        assert adapter.body(LLMRequest(MODEL, messages, scratch=scratch)) == adapter.body(LLMRequest(MODEL, messages))


@BOTH
def test_lone_surrogates_are_replaced(adapter_class: Any) -> None:
    body = local(adapter_class).body(LLMRequest(MODEL, [UserMessage(content="a\ud83d b\ud83d\ude00")], system="\udc00"))
    assert "a\ufffd b\U0001f600" in body.decode()


# -- settings -------------------------------------------------------------------------------------------------------


def test_settings_of_chat_at_openai_and_elsewhere() -> None:
    given = ModelSettings(100, 0.5, 0.9, ("END",), tool_choice="add", parallel_tool_calls=False, extra={"seed": 7})
    common = {
        "temperature": 0.5,
        "top_p": 0.9,
        "stop": ["END"],
        "seed": 7,
        "parallel_tool_calls": False,
        "tool_choice": {"type": "function", "function": {"name": "add"}},
    }
    there = payload(at_openai(), settings=given, tools=(tool("add"),), session_id="s" * 80)
    assert there.items() >= {**common, "max_completion_tokens": 100, "prompt_cache_key": "s" * 64}.items()
    here = payload(local(), settings=given, tools=(tool("add"),), session_id="s-1")
    assert here.items() >= {**common, "max_tokens": 100}.items()
    assert "prompt_cache_key" not in here
    assert "stream_options" not in payload(OpenAIAdapter(None, provider="m", base_url="https://api.mistral.ai/v1"))


@BOTH
def test_further_fields_do_not_replace_what_the_request_says(adapter_class: Any) -> None:
    further = {"model": "other", "stream": False, "messages": [], "input": [], "seed": 7}
    got = payload(local(adapter_class), settings=ModelSettings(extra=further))
    assert (got["model"], got["stream"], got["seed"]) == ("m", True, 7)
    assert got.get("messages") or got.get("input")


def test_settings_of_responses() -> None:
    given = ModelSettings(
        100, 0.5, tool_choice="add", response_schema=CLOSED, extra={"tools": ({"type": "web_search"},)}
    )
    got = payload(at_openai(OpenAIResponsesAdapter), settings=given, tools=(tool("add", CLOSED, True),))
    assert got["max_output_tokens"] == 100
    assert got["tool_choice"] == {"type": "function", "name": "add"}
    assert got["text"]["format"] == {"type": "json_schema", "name": "answer", "schema": CLOSED, "strict": True}
    assert [t.get("name", t["type"]) for t in got["tools"]] == ["add", "web_search"]
    assert got["tools"][0]["strict"] is True


@pytest.mark.parametrize(
    ("adapter", "level", "expected"),
    [
        (at_openai(), "high", {"reasoning_effort": "high"}),
        (at_openai(), "off", {}),
        (local(), "xhigh", {"reasoning_effort": "xhigh"}),
        (local(thinking="reasoning"), "low", {"reasoning": {"effort": "low"}}),
        (local(thinking="switch"), "low", {"thinking": {"type": "enabled"}}),
        (local(thinking="switch"), "off", {"thinking": {"type": "disabled"}}),
        (local(thinking="none"), "low", {}),
        (
            at_openai(OpenAIResponsesAdapter),
            "low",
            {"reasoning": {"effort": "low", "summary": "auto"}, "include": ["reasoning.encrypted_content"]},
        ),
        (local(OpenAIResponsesAdapter), "low", {"reasoning": {"effort": "low"}}),
    ],
)
def test_thinking_levels_without_a_table(adapter: OpenAIWire, level: Any, expected: dict[str, Any]) -> None:
    got = payload(adapter, settings=ModelSettings(thinking=level))
    names = ("reasoning_effort", "reasoning", "thinking", "include")
    assert {k: v for k, v in got.items() if k in names} == expected


def test_thinking_levels_of_the_model_decide() -> None:
    levels = {"off": "none", "high": "max", "low": {"chat_template_kwargs": {"enable_thinking": True}}}
    model = ModelDefinition("m", context_window=1000, reasoning=True, thinking_levels=levels)
    assert payload(local(), model=model, settings=ModelSettings(thinking="high"))["reasoning_effort"] == "max"
    assert payload(local(), model=model, settings=ModelSettings(thinking="off"))["reasoning_effort"] == "none"
    kwargs = payload(local(), model=model, settings=ModelSettings(thinking="low"))["chat_template_kwargs"]
    assert kwargs == {"enable_thinking": True}
    plain = ModelDefinition("m", max_output_tokens=1000)  # known not to reason
    assert "reasoning_effort" not in payload(local(), model=plain, settings=ModelSettings(thinking="high"))
    problems = local().validate(
        LLMRequest(model, [UserMessage(content="hi")], settings=ModelSettings(thinking="medium"))
    )
    assert problems == ["model m has no thinking level 'medium'; known: off, low, high"]


def test_off_is_the_least_that_a_model_can_do() -> None:
    def effort(**levels: Any) -> Any:
        model = ModelDefinition("m", context_window=1000, reasoning=True, thinking_levels=levels)
        return payload(local(), model=model, settings=ModelSettings(thinking="off")).get("reasoning_effort")

    assert effort(minimal="low", high="high") == "low"
    assert effort(off="none", minimal="low") == "none"
    assert effort(off=None, minimal="low") is None


@BOTH
def test_a_setting_that_the_model_refuses_is_named_before_anything_is_sent(adapter_class: Any) -> None:
    model = ModelDefinition("m", max_output_tokens=10, options={"unsupported_parameters": ["temperature"]})
    wanted = ModelSettings(temperature=0.1, max_tokens=11, tool_choice="missing", top_p=3)
    problems = local(adapter_class).validate(LLMRequest(model, [UserMessage(content="hi")], settings=wanted))
    assert [p.split(";")[0] for p in problems] == [
        "model m does not take the setting temperature",
        "max_tokens is 11",
        "top_p is 3",
        "tool_choice names 'missing', which is not among the tools of the request",
    ]


@BOTH
def test_a_timeout_of_nothing_is_named_before_anything_is_sent(adapter_class: Any) -> None:
    request = LLMRequest(MODEL, [UserMessage(content="hi")], settings=ModelSettings(timeout=0))
    assert local(adapter_class).validate(request) == ["timeout is 0; it must be more than 0 seconds"]


def test_own_fields_join_what_the_settings_say() -> None:
    own = {"text": {"verbosity": "low"}, "reasoning": {"summary": "detailed"}, "include": ["web_search_call.results"]}
    wanted = ModelSettings(thinking="low", response_schema=CLOSED, extra=own)
    got = payload(at_openai(OpenAIResponsesAdapter), settings=wanted)
    assert (got["text"]["verbosity"], got["text"]["format"]["name"]) == ("low", "answer")
    assert got["reasoning"] == {"effort": "low", "summary": "detailed"}
    assert got["include"] == ["reasoning.encrypted_content", "web_search_call.results"]
    chat = payload(at_openai(), settings=ModelSettings(extra={"stream_options": {"include_obfuscation": False}}))
    assert chat["stream_options"] == {"include_usage": True, "include_obfuscation": False}


def test_a_server_side_tool_can_be_asked_for() -> None:
    searching = {"tools": [{"type": "web_search"}, {"type": "mcp", "server_label": "wiki", "server_url": "http://x"}]}

    def choice(wanted: str, *tools: Tool) -> Any:
        chosen = ModelSettings(tool_choice=wanted, extra=searching)
        assert not local(OpenAIResponsesAdapter).problems(LLMRequest(MODEL, [], tools=tools, settings=chosen))
        return payload(local(OpenAIResponsesAdapter), tools=tools, settings=chosen)["tool_choice"]

    assert choice("required") == "required"
    assert choice("web_search") == {"type": "web_search"}
    assert choice("add", tool("add")) == {"type": "function", "name": "add"}


def test_responses_has_no_stop_sequences() -> None:
    request = LLMRequest(MODEL, [UserMessage(content="hi")], settings=ModelSettings(stop=("x",)))
    assert "no stop sequences" in local(OpenAIResponsesAdapter).validate(request)[0]


def test_strict_is_asked_for_only_where_schema_and_server_allow_it() -> None:
    def strict(adapter: OpenAIWire, *tools: Tool) -> list[Any]:
        return [t["function"].get("strict") for t in payload(adapter, tools=tools)["tools"]]

    assert strict(at_openai(), tool("a", CLOSED, True), tool("b", OPEN, True), tool("c", CLOSED)) == [True, None, None]
    assert strict(local(), tool("a", CLOSED, True)) == [None]
    assert strict(local(strict=True), tool("a", CLOSED, True)) == [True]


@pytest.mark.parametrize(
    ("schema", "fits"),
    [
        (CLOSED, True),
        (OPEN, False),
        ({**CLOSED, "required": []}, False),
        ({"type": "array", "items": OPEN}, False),
        ({"anyOf": [CLOSED, {"type": "null"}]}, True),
        ({"oneOf": [CLOSED]}, False),
        ({**CLOSED, "$defs": {"x": OPEN}}, False),
        ({**CLOSED, "properties": {"a": {"type": "object"}}}, False),
    ],
)
def test_what_strict_mode_takes(schema: Any, fits: bool) -> None:
    assert strict_schema(freeze(schema)) is fits


# -- media ----------------------------------------------------------------------------------------------------------

BLIND = ModelDefinition("m", max_output_tokens=1000)
SEES = ModelDefinition("m", capabilities={"text", "image", "pdf", "tool_use"})
MEDIA = UserMessage(content=(TextBlock("look"), ImageBlock("QUJD", "image/jpeg"), DocumentBlock("REVG", title="a.pdf")))


def test_images_and_documents_of_chat() -> None:
    got = payload(local(), [MEDIA], model=SEES)["messages"][0]["content"]
    assert got == [
        {"type": "text", "text": "look"},
        {"type": "image_url", "image_url": {"url": "data:image/jpeg;base64,QUJD"}},
        {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,REVG"}},
    ]


def test_images_and_documents_of_responses() -> None:
    linked = UserMessage(content=(ImageBlock(url="https://x/i.png"), DocumentBlock(url="https://x/d.pdf")))
    got = payload(local(OpenAIResponsesAdapter), [MEDIA, linked], model=SEES)["input"]
    assert got[0]["content"] == [
        {"type": "input_text", "text": "look"},
        {"type": "input_image", "detail": "auto", "image_url": "data:image/jpeg;base64,QUJD"},
        {"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,REVG"},
    ]
    assert got[1]["content"][0]["image_url"] == "https://x/i.png"
    assert got[1]["content"][1] == {"type": "input_file", "file_url": "https://x/d.pdf"}


def test_documents_that_chat_does_not_take_are_text_or_a_note() -> None:
    plain = DocumentBlock(data=base64.b64encode(b"one,two").decode(), mime_type="text/csv", title="a.csv")
    linked = DocumentBlock(url="https://x/d.pdf")
    [text, left_out] = payload(at_openai(), [UserMessage(content=(plain, linked))])["messages"][0]["content"].split(
        "\n\n"
    )
    assert text == "a.csv:\none,two"
    assert left_out.startswith(
        "[document left out: Chat Completions takes documents as part of the request, not by address"
    )
    (elsewhere,) = payload(local(), [UserMessage(content=(linked,))])["messages"][0]["content"]
    assert elsewhere["file"]["file_data"] == "https://x/d.pdf"


@BOTH
def test_images_and_documents_that_hold_nothing_are_left_out(adapter_class: Any) -> None:
    empty = UserMessage(content=(ImageBlock(), DocumentBlock(), TextBlock("hi")))
    got = payload(local(adapter_class), [UserMessage(content=(ImageBlock(),)), empty])
    assert [m["content"] for m in got.get("messages") or got["input"]] == ["hi"]


@pytest.mark.spec("9.20")
@BOTH
def test_a_model_that_takes_no_images_gets_a_note(adapter_class: Any) -> None:
    text = adapter_class(None, base_url="http://localhost/v1").body(LLMRequest(BLIND, [MEDIA])).decode()
    assert "QUJD" not in text and "REVG" not in text
    assert "[image left out: m takes no images]" in text
    assert "[document 'a.pdf' left out: m takes no documents]" in text


@BOTH
def test_a_model_that_nobody_described_is_expected_to_see(adapter_class: Any) -> None:
    assert "QUJD" in local(adapter_class).body(LLMRequest(MODEL, [MEDIA])).decode()
    deaf = ModelDefinition("m", capabilities={"text"})
    assert "QUJD" not in local(adapter_class).body(LLMRequest(deaf, [MEDIA])).decode()


def test_images_of_tool_results_follow_all_results_of_the_batch_in_chat() -> None:
    adapter = local()
    talk = [
        UserMessage(content="go"),
        said(adapter, call("a"), call("b")),
        result("a", TextBlock("one"), ImageBlock("QQ==")),
        result("b", ImageBlock("Qg==")),
        said(adapter, TextBlock("done")),
    ]
    roles = [m["role"] for m in payload(adapter, talk, model=SEES)["messages"]]
    assert roles == ["user", "assistant", "tool", "tool", "user", "assistant"]
    inside = payload(local(image_results=True), talk, model=SEES)["messages"]
    assert [m["role"] for m in inside] == ["user", "assistant", "tool", "tool", "assistant"]
    assert inside[3]["content"][0]["type"] == "image_url"


# -- histories from anywhere ----------------------------------------------------------------------------------------


@pytest.mark.spec("I5")
def test_thinking_of_chat_goes_back_where_it_came_from_and_to_nobody_else() -> None:
    adapter = local()
    details = [{"type": "reasoning.text", "text": "hm", "signature": "sig", "index": 0}]
    talk = [
        UserMessage(content="go"),
        said(adapter, ThinkingBlock("hm", provider_data=freeze({"field": "reasoning_content"})), TextBlock("a")),
        said(
            adapter,
            ThinkingBlock("hm", "sig", provider_data=freeze({"field": "reasoning", "reasoning_details": details})),
            call("c"),
        ),
        result("c"),
        said(adapter, ThinkingBlock("hm", provider_data=freeze({"field": "content[].thinking"})), TextBlock("b")),
    ]
    own = payload(adapter, talk)["messages"]
    assert own[1] == {"role": "assistant", "reasoning_content": "hm", "content": "a"}
    assert (own[2]["reasoning"], own[2]["reasoning_details"]) == ("hm", details)
    assert own[4]["content"][0] == {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}
    for other in (payload(adapter, talk, model=ModelDefinition("n")), payload(local(provider="b"), talk)):
        foreign = other["messages"]
        assert foreign[1] == {"role": "assistant", "content": "hm\n\na"}
        assert "sig" not in json.dumps(foreign)
        assert "reasoning" not in json.dumps(foreign)


@pytest.mark.spec("I5")
@pytest.mark.parametrize("stop", [StopReason.aborted, StopReason.error])
def test_thinking_of_an_answer_that_was_cut_short_becomes_text(stop: StopReason) -> None:
    adapter = local()
    block = ThinkingBlock("hm", provider_data=freeze({"field": "reasoning_content"}))
    got = payload(adapter, [UserMessage(content="go"), said(adapter, block, TextBlock("a"), stop=stop)])
    assert got["messages"][1] == {"role": "assistant", "content": "hm\n\na"}


@pytest.mark.spec("I5")
@BOTH
def test_thinking_without_proof_of_its_origin_becomes_text_and_redacted_thinking_is_dropped(adapter_class: Any) -> None:
    adapter = local(adapter_class)
    message = said(adapter, ThinkingBlock("unsigned"), ThinkingBlock(redacted=True, data="secret"), TextBlock("a"))
    text = json.dumps(payload(adapter, [UserMessage(content="go"), message]))
    assert "unsigned" in text
    assert "secret" not in text
    assert '"reasoning' not in text


REASONING = {
    "id": "rs_1",
    "type": "reasoning",
    "summary": [{"type": "summary_text", "text": "hm"}],
    "encrypted_content": "EEE",
}


@pytest.mark.spec("I5", "I6")
def test_reasoning_items_go_back_byte_for_byte_before_their_item() -> None:
    adapter = at_openai(OpenAIResponsesAdapter)
    think = ThinkingBlock("hm", data="EEE", provider_data=freeze({"item": {**REASONING, "status": None}}))
    made = ToolCall("call_1", "add", {"a": 1}, '{"a":1}', provider_data=freeze({"id": "fc_1"}))
    search = ProviderBlock("web_search_call", freeze({"type": "web_search_call", "id": "ws_1"}))
    talk = [UserMessage(content="go"), said(adapter, think, search, made), result("call_1")]
    own = payload(adapter, talk)["input"]
    assert own[1] == REASONING
    assert own[2] == {"type": "web_search_call", "id": "ws_1"}
    assert own[3] == {
        "type": "function_call",
        "id": "fc_1",
        "call_id": "call_1",
        "name": "add",
        "arguments": '{"a":1}',
    }
    foreign = payload(adapter, talk, model=ModelDefinition("n"))["input"]
    assert [i.get("type", i.get("role")) for i in foreign] == [
        "user",
        "assistant",
        "function_call",
        "function_call_output",
    ]
    assert foreign[1] == {"role": "assistant", "content": "hm"}
    assert "id" not in foreign[2]


def test_reasoning_that_a_server_without_memory_cannot_read_is_left_out_with_the_ids_that_need_it() -> None:
    adapter = at_openai(OpenAIResponsesAdapter)
    item = {"id": "rs_1", "type": "reasoning", "summary": []}
    made = ToolCall("call_1", "add", {}, "{}", provider_data=freeze({"id": "fc_1"}))
    talk = [
        UserMessage(content="go"),
        said(adapter, ThinkingBlock(provider_data=freeze({"item": item})), made),
        result("call_1"),
    ]
    got = payload(adapter, talk)["input"]
    assert [i.get("type", i.get("role")) for i in got] == ["user", "function_call", "function_call_output"]
    assert "id" not in got[1]
    stored = payload(adapter, talk, settings=ModelSettings(extra={"store": True}))["input"]
    assert [i.get("type") for i in stored] == [None, "reasoning", "function_call", "function_call_output"]


def test_custom_tool_calls_go_back_as_such() -> None:
    adapter = local(OpenAIResponsesAdapter)
    made = ToolCall("call_1", "sql", None, "SELECT 1", provider_data=freeze({"type": "custom_tool_call", "id": "ct_1"}))
    got = payload(adapter, [UserMessage(content="go"), said(adapter, made), result("call_1")])["input"]
    assert got[1] == {"type": "custom_tool_call", "id": "ct_1", "call_id": "call_1", "name": "sql", "input": "SELECT 1"}
    assert got[2]["type"] == "custom_tool_call_output"


@BOTH
def test_ids_of_others_are_made_fit_and_results_follow(adapter_class: Any) -> None:
    adapter = local(adapter_class)
    other = OpenAIAdapter(None, provider="else", base_url="http://localhost/v1")
    ids = ["toolu_01", "call|fc_" + "x" * 450, "ä"]
    talk = [UserMessage(content="go"), said(other, *(call(i) for i in ids)), *(result(i) for i in ids)]
    request = LLMRequest(MODEL, talk)
    assert adapter.validate(request) == []
    text = adapter.body(request).decode()
    assert "toolu_01" in text
    assert "x" * 100 not in text
    assert adapter.body(LLMRequest(MODEL, talk)) == text.encode()


def test_mistral_gets_ids_of_nine_letters_and_digits() -> None:
    adapter = OpenAIAdapter(None, provider="mistral", base_url="https://api.mistral.ai/v1")
    talk = [UserMessage(content="go"), said(local(), call("call_abc")), result("call_abc")]
    id = payload(adapter, talk)["messages"][1]["tool_calls"][0]["id"]
    assert id.isalnum() and len(id) == 9
    assert adapter.validate(LLMRequest(MODEL, talk)) == []


@BOTH
def test_empty_messages_are_not_sent(adapter_class: Any) -> None:
    adapter = local(adapter_class)
    talk = [
        UserMessage(content="go"),
        said(adapter, stop=StopReason.aborted),
        said(adapter, TextBlock("")),
        UserMessage(content=""),
    ]
    got = payload(adapter, talk)
    assert len(got.get("messages") or got["input"]) == 1


@BOTH
def test_arguments_that_never_parsed_are_sent_as_an_empty_object(adapter_class: Any) -> None:
    adapter = local(adapter_class)
    broken = ToolCall("c", "add", None, '{"a": ', incomplete=True)
    text = adapter.body(LLMRequest(MODEL, [UserMessage(content="go"), said(adapter, broken), result("c")])).decode()
    assert '"arguments":"{}"' in text


def test_refusals_go_back_as_text() -> None:
    adapter = local()
    got = payload(adapter, [UserMessage(content="go"), said(adapter, RefusalBlock("No."), stop=StopReason.refusal)])
    assert got["messages"][1]["content"] == "No."


@pytest.mark.spec("I6")
def test_the_validators_find_what_servers_refuse() -> None:
    asked = {"role": "assistant", "tool_calls": [{"id": "a"}, {"id": "b"}]}
    answer = {"role": "tool", "tool_call_id": "a", "content": "1"}
    assert check_messages([asked, answer, {"role": "user", "content": "x"}]) == [
        "messages[2]: calls without a result: 'b'"
    ]
    assert check_messages([answer]) == ["messages[0]: tool result 'a' follows no open call"]
    assert check_messages([{"role": "user", "content": ""}]) == ["messages[0]: user message without content"]
    assert check_messages([]) == ["messages: at least one message is needed"]
    assert check_items([]) == ["input: at least one item is needed"]
    made = {"type": "function_call", "call_id": "a"}
    assert check_items([made]) == ["input[0]: call 'a' has no output"]
    assert check_items([{"type": "function_call_output", "call_id": "a"}]) == [
        "input[0]: output 'a' follows no open call"
    ]
    assert check_items([{"type": "reasoning"}, {"role": "user", "content": "x"}])[0].startswith(
        "input[0]: reasoning item"
    )


@pytest.mark.spec("I6")
def test_every_recorded_answer_can_be_sent_back_to_its_own_and_to_the_other_wire(cases: list[Any]) -> None:
    """Whatever a server said, the next request is one that servers take, and its own reasoning is in it unchanged."""
    adapters: dict[str, OpenAIWire] = {"openai-chat": local(), "openai-responses": local(OpenAIResponsesAdapter)}
    count = 0
    for case in cases:
        if case.stream or case.status != 200:
            continue
        adapter = adapters[case.api]
        try:
            events, _ = adapter.whole(json.loads(case.body), adapter.start())
        except ValueError:
            continue
        builder = MessageBuilder()
        for event in events:
            builder.add(event)
        if builder.error is not None:
            continue
        count += 1
        message = builder.message(provider="openai", api=case.api, model="m")
        results = [result(c.id) for c in message.tool_calls]
        talk = [UserMessage(content="go"), message, *results, UserMessage(content="go on")]
        for target in adapters.values():
            assert target.validate(LLMRequest(MODEL, talk)) == [], (case.id, target.api)
        sent = adapter.body(LLMRequest(MODEL, talk)).decode()
        for block in message.content:
            if isinstance(block, ThinkingBlock) and block.data:
                assert block.data in sent, case.id
    assert count > 600
