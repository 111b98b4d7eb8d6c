"""Cache breakpoints on Chat Completions: for whom, where, how many, and that what is before them stays as it is."""

from __future__ import annotations

import asyncio
import json
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from skillkit_openai import OpenAIAdapter, plugin
from skillkit_openai.config import OpenAISection
from skillkit_openai.wire import OpenAIWire

from skillkit_core.contracts.adapter import LLMRequest, ModelSettings
from skillkit_core.descriptors import load_object
from skillkit_core.messages import (
    AssistantMessage,
    ImageBlock,
    LLMMessage,
    TextBlock,
    ToolCall,
    ToolResultMessage,
    UserMessage,
)
from skillkit_core.models import ModelDefinition

OPENROUTER = "https://openrouter.ai/api/v1"
CLAUDE = ModelDefinition("anthropic/claude-sonnet-4.6", capabilities={"text", "image", "tool_use"})
MARK = {"type": "ephemeral"}
FIELD = b',"cache_control":{"type":"ephemeral"}'


def adapter(url: str = OPENROUTER, **options: Any) -> OpenAIWire:
    return OpenAIAdapter(None, base_url=url, api_key="k", **options)


def body(
    wire: OpenAIWire,
    messages: list[LLMMessage],
    model: ModelDefinition = CLAUDE,
    system: str = "Be brief.",
    **fields: Any,
) -> bytes:
    return wire.body(LLMRequest(model, messages, (), system, **fields))


def marked(raw: bytes) -> list[tuple[str, str, Any]]:
    """Role, text and value of each breakpoint."""
    return [
        (m["role"], part["text"], part["cache_control"])
        for m in json.loads(raw)["messages"]
        for part in (m["content"] if isinstance(m.get("content"), list) else [])
        if "cache_control" in part
    ]


def run_of_tools() -> list[LLMMessage]:
    """A question, two rounds of tools, the second with two results."""
    out: list[LLMMessage] = [UserMessage(content="How is the weather?")]
    for round, ids in enumerate((("a",), ("b", "c"))):
        calls = tuple(ToolCall(id, "look", {}, "{}") for id in ids)
        out.append(AssistantMessage(content=(TextBlock(f"Round {round}."), *calls)))
        out += [
            ToolResultMessage(tool_call_id=id, tool_name="look", content=(TextBlock(f"result {id}"),)) for id in ids
        ]
    return out


def test_breakpoints_are_on_the_system_message_and_the_last_two_of_user_and_tools() -> None:
    raw = body(adapter(), run_of_tools())
    assert marked(raw) == [("system", "Be brief.", MARK), ("tool", "result b", MARK), ("tool", "result c", MARK)]
    assert raw.count(b"cache_control") == 3
    assert marked(body(adapter(), run_of_tools()[:1])) == [
        ("system", "Be brief.", MARK),
        ("user", "How is the weather?", MARK),
    ]
    assert marked(body(adapter(), run_of_tools(), system="")) == [
        ("tool", "result b", MARK),
        ("tool", "result c", MARK),
    ]


@pytest.mark.parametrize(
    ("url", "model", "options", "expected"),
    [
        (OPENROUTER, "anthropic/claude-haiku-4.5:beta", {}, 3),
        (OPENROUTER, "google/gemini-2.5-flash", {}, 1),
        (OPENROUTER, "openai/gpt-5", {}, 0),
        (OPENROUTER, "anthropic/claude-haiku-4.5", {"cache_control": "off"}, 0),
        (OPENROUTER, "openai/gpt-5.6", {"cache_control": "5m"}, 3),
        ("https://api.openai.com/v1", "gpt-5", {}, 0),
        ("http://localhost:4000/v1", "anthropic/claude-sonnet-4.6", {}, 0),
        ("http://localhost:4000/v1", "claude", {"cache_control": "5m"}, 3),
        ("https://dashscope-intl.aliyuncs.com/compatible-mode/v1", "qwen3-max", {}, 0),
        ("https://dashscope-intl.aliyuncs.com/compatible-mode/v1", "qwen3-max", {"cache_control": "5m"}, 3),
    ],
)
def test_they_are_for_models_that_cache_by_them_unless_a_setting_decides(
    url: str, model: str, options: Any, expected: int
) -> None:
    raw = body(adapter(url, **options), run_of_tools(), ModelDefinition(model))
    assert len(marked(raw)) == raw.count(b"cache_control") == expected
    if expected == 1:
        assert marked(raw)[0][0] == "system"


def test_an_hour_is_said() -> None:
    raw = body(adapter(cache_control="1h"), run_of_tools())
    assert {json.dumps(value) for _, _, value in marked(raw)} == {'{"type": "ephemeral", "ttl": "1h"}'}


def test_a_request_that_asks_the_server_to_place_them_has_none_of_ours() -> None:
    raw = body(adapter(), run_of_tools(), settings=ModelSettings(extra={"cache_control": MARK}))
    assert marked(raw) == []
    assert json.loads(raw)["cache_control"] == MARK


def test_the_text_of_a_message_with_images_is_marked_and_images_alone_are_not() -> None:
    both = UserMessage(content=(TextBlock("see"), ImageBlock("QUJD")))
    alone = UserMessage(content=(ImageBlock("QUJD"),))
    assert marked(body(adapter(), [both, alone], system="")) == [("user", "see", MARK)]
    shown = [*run_of_tools()[:2], ToolResultMessage(tool_call_id="a", content=(TextBlock("seen"), ImageBlock("QUJD")))]
    assert marked(body(adapter(), shown, system="")) == [
        ("tool", "seen", MARK),
        ("user", "Images of the tool results:", MARK),
    ]


turns = st.lists(
    st.tuples(st.text(max_size=6), st.lists(st.tuples(st.text(max_size=4), st.booleans()), max_size=3)),
    min_size=1,
    max_size=5,
)


def requests(plan: Any) -> list[list[LLMMessage]]:
    """The message lists of the consecutive requests of a run."""
    messages: list[LLMMessage] = []
    out = []
    for number, (text, calls) in enumerate(plan):
        messages.append(UserMessage(content=text or "go"))
        out.append(list(messages))
        blocks = [TextBlock(text), *(ToolCall(f"{number}-{at}", "look", {}, "{}") for at in range(len(calls)))]
        messages.append(AssistantMessage(content=tuple(blocks)))
        for at, (output, image) in enumerate(calls):
            parts = (TextBlock(output), *((ImageBlock("QUJD"),) if image else ()))
            messages.append(ToolResultMessage(tool_call_id=f"{number}-{at}", tool_name="look", content=parts))
        out.append(list(messages))
    return out


def plainly(raw: bytes) -> Any:
    """What the body says, without breakpoints."""
    value = json.loads(raw)
    for message in value["messages"]:
        content = message.get("content")
        if isinstance(content, list):
            for part in content:
                part.pop("cache_control", None)
            if all(p["type"] == "text" for p in content) and len(content) == 1:
                message["content"] = content[0]["text"]
    return value


@settings(max_examples=150, deadline=None)
@given(plan=turns)
def test_everything_before_the_breakpoints_is_the_same_bytes_in_the_next_request(plan: Any) -> None:
    wire, off, scratch = adapter(), adapter(cache_control="off"), {}
    before = b""
    for messages in requests(plan):
        raw = body(wire, messages, scratch=scratch)
        assert raw == body(wire, messages), "kept text and fresh text are one"
        assert plainly(raw) == plainly(body(off, messages)), "breakpoints change nothing else"
        places = marked(raw)
        assert len(places) == raw.count(b"cache_control") <= 3
        assert all(text.strip() for _, text, _ in places)
        assert raw.startswith(before)
        # From the breakpoint before the last on, messages may be written anew: I15 with k of those.
        at = raw.find(b'"cache_control"', raw.find(b'{"role":"user"'))
        first = at if at > 0 else len(raw)
        before = raw[: raw.rfind(b'{"role":', 0, first)]
        assert wire.validate(LLMRequest(CLAUDE, messages)) == []


def loop(steps: int) -> list[list[LLMMessage]]:
    """The message lists of the requests of one run: calls, two at once, an image, a word of the user in between."""
    messages: list[LLMMessage] = [UserMessage(content="How is the weather?")]
    out = [list(messages)]
    for step in range(1, steps):
        ids = [f"{step}-{n}" for n in range(1 + step % 2)]
        messages.append(AssistantMessage(content=tuple(ToolCall(id, "look", {}, "{}") for id in ids)))
        for id in ids:
            image = (ImageBlock("QUJD"),) if step % 5 == 0 else ()
            messages.append(ToolResultMessage(tool_call_id=id, content=(TextBlock(f"result {id}"), *image)))
        if step % 4 == 0:
            messages.append(UserMessage(content=f"hurry {step}"))
        out.append(list(messages))
    return out


@pytest.mark.spec("I15")
def test_between_two_requests_nothing_but_the_field_of_a_breakpoint_comes_and_goes(loopback: Any) -> None:
    runs = loop(12)

    async def main() -> list[bytes]:
        scratch: dict[str, Any] = {}
        async with loopback() as server:
            server.sse({"choices": [{"delta": {"content": "ok"}, "finish_reason": "stop"}]}, b"data: [DONE]\n\n")
            wire = adapter(server.url, cache_control="5m")
            for messages in runs:
                async for _ in wire.stream(LLMRequest(CLAUDE, messages, (), "Be brief.", scratch=scratch)):
                    pass
            await wire.close()
            return [bytes(seen["body"]) for seen in server.requests]

    sent = asyncio.run(main())

    assert len(sent) == 12
    assert {raw.count(FIELD) for raw in sent} == {2, 3}
    for one, two in pairwise(sent):
        assert two.replace(FIELD, b"").startswith(one.replace(FIELD, b"").removesuffix(b"]}"))
        same = next(n for n, (a, b) in enumerate(zip(one, two, strict=False)) if a != b)
        rest = one[same:]
        assert rest == b"]}" or (rest.startswith(FIELD) and rest.count(FIELD) <= 2), "only the last two have moved"


def test_only_messages_that_may_be_marked_are_lists_of_parts() -> None:
    def forms(url: str, model: str, **options: Any) -> dict[str, set[str]]:
        out: dict[str, set[str]] = {}
        for message in json.loads(body(adapter(url, **options), loop(5)[-1], ModelDefinition(model)))["messages"]:
            if "content" in message:
                out.setdefault(message["role"], set()).add(type(message["content"]).__name__)
        return out

    assert forms(OPENROUTER, CLAUDE.id) == {"system": {"list"}, "user": {"list"}, "tool": {"list"}}
    assert forms(OPENROUTER, "google/gemini-2.5-pro") == {"system": {"list"}, "user": {"str"}, "tool": {"str"}}
    assert forms(OPENROUTER, "openai/gpt-5") == {"system": {"str"}, "user": {"str"}, "tool": {"str"}}


def test_a_history_that_is_rewritten_is_marked_anew() -> None:
    wire, scratch = adapter(), {}
    one, two, three = (UserMessage(content=c) for c in "abc")
    for messages in ([one, two], [one, three], [], [one], [two, one], [one, two, three]):
        assert body(wire, messages, scratch=scratch) == body(wire, messages)
    assert body(wire, [one], ModelDefinition("openai/gpt-5"), scratch=scratch).count(b"cache_control") == 0
    assert marked(body(wire, [one], scratch=scratch))[1:] == [("user", "a", MARK)]


def providers(section: OpenAISection) -> dict[str, Any]:
    found: dict[str, Any] = {}
    host = SimpleNamespace(config=SimpleNamespace(section=lambda name, default: section))
    plugin.register_adapters(lambda p: found.__setitem__(p.name, p), host)
    return found


def test_the_configuration_turns_them_off_everywhere_or_sets_them_for_a_server(section: Any) -> None:
    raw = {
        "cache_control": "off",
        "servers": {
            "proxy": {"base_url": "http://localhost:4000/v1", "cache_control": "1h"},
            "b": {"base_url": "http://b/v1"},
        },
    }
    found = providers(section(raw))

    def dialect(name: str) -> Any:
        provider = found[name]
        make = load_object(next(iter(provider.apis.values())))
        return make(None, provider=name, base_url=provider.base_url or "http://x/v1", **provider.options).dialect

    assert dialect("openrouter").cache_control == "off"
    assert dialect("proxy").cache_control == "1h"
    assert dialect("b").cache_control == "off"
    assert "cache_control" not in providers(OpenAISection())["openrouter"].options


def test_it_is_sent_like_that(loopback: Any) -> None:
    async def main() -> None:
        async with loopback() as server:
            server.sse({"choices": [{"delta": {"content": "ok"}, "finish_reason": "stop"}]}, b"data: [DONE]\n\n")
            wire = adapter(server.url, cache_control="5m")
            events = [e async for e in wire.stream(LLMRequest(CLAUDE, run_of_tools(), (), "Be brief."))]
            await wire.close()
            assert events[-1].type == "done"
            assert [place[0] for place in marked(server.requests[0]["body"])] == ["system", "tool", "tool"]

    asyncio.run(main())
