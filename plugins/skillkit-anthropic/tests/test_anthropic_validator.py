"""The validator knows what the API refuses, and refuses no more than that."""

from __future__ import annotations

from typing import Any

import pytest
from anthropic_bodies import MODEL, call, said
from skillkit_anthropic import AnthropicAdapter
from skillkit_anthropic.validate import problems_of

from skillkit_core.contracts.adapter import LLMRequest, ModelSettings
from skillkit_core.messages import UserMessage

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
