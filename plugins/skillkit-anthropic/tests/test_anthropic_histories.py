"""Histories from anywhere become messages that the API takes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from anthropic_bodies import body, call, encode, result, said, tool, valid
from hypothesis import given, settings, strategies as st
from skillkit_anthropic.encode import Target, assistant_blocks, wire_id
from skillkit_anthropic.request import RequestEncoder
from skillkit_anthropic.validate import problems_of
from skillkit_anthropic.wire import message_events

from skillkit_core.contracts.adapter import ModelSettings
from skillkit_core.frozen import thaw
from skillkit_core.messages import (
    ImageBlock,
    ProviderBlock,
    RefusalBlock,
    StopReason,
    TextBlock,
    ThinkingBlock,
    ToolCall,
    UserMessage,
)
from skillkit_core.stream import MessageBuilder


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
@settings(deadline=None)
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
