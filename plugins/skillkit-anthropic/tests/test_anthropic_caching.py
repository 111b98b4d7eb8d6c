"""Prompt caching: where breakpoints are, and requests that begin with the bytes of the one before."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from anthropic_bodies import body, call, encode, marks, result, said, tool, unmarked, valid
from skillkit_anthropic.request import RequestEncoder

from skillkit_core.contracts.adapter import ModelSettings
from skillkit_core.messages import TextBlock, UserMessage


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


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        (0, ["tools.4", "system.0", "messages.4.content.0", "messages.6.content.0"]),
        (1, ["system.0", "messages.4.content.0", "messages.6.content.0"]),
        (2, ["messages.4.content.0", "messages.6.content.0"]),
        (3, []),
        (4, []),
    ],
)
def test_breakpoints_on_server_side_tools_take_the_place_of_ours(theirs, ours):
    tools = [{"type": "mcp", "name": f"t{n}"} | ({"cache_control": {}} if n < theirs else {}) for n in range(4)]
    chosen = ModelSettings(extra={"tools": tools})
    sent = valid(steps(3), tools=(tool("a"),), system="s", settings=chosen)
    assert marks(sent) == [f"tools.{n + 1}" for n in range(theirs)] + ours


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

    real = module.encode
    monkeypatch.setattr(module, "encode", lambda value: counted.append(1) or real(value))
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
