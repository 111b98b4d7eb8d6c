"""Responses in shapes that nobody recorded: what they become, what goes back, and what another wire makes of them."""

from __future__ import annotations

import asyncio
import json
from itertools import pairwise
from typing import Any

import pytest
from skillkit_openai import OpenAIAdapter, OpenAIResponsesAdapter
from skillkit_openai.responses_request import check_items

from skillkit_core.contracts.adapter import LLMRequest
from skillkit_core.frozen import freeze
from skillkit_core.messages import (
    AssistantMessage,
    LLMMessage,
    ProviderBlock,
    StopReason,
    TextBlock,
    ToolResultMessage,
    UserMessage,
)
from skillkit_core.models import ModelDefinition
from skillkit_core.stream import MessageBuilder, StreamEvent

MODEL = ModelDefinition("m")
HI = UserMessage(content="hi")
REASONING = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "E"}


def played(loopback: Any, *events: Any) -> tuple[AssistantMessage, list[StreamEvent]]:
    async def main() -> tuple[AssistantMessage, list[StreamEvent]]:
        builder = MessageBuilder()
        async with loopback() as server:
            server.sse(*events)
            adapter = OpenAIResponsesAdapter(None, base_url=server.url)
            seen = [e async for e in adapter.stream(LLMRequest(MODEL, [HI]))]
            await adapter.close()
        for event in seen:
            builder.add(event)
        return builder.message(provider="openai", api="openai-responses", model=MODEL.id), seen

    return asyncio.run(main())


def whole(*items: dict[str, Any], status: str = "completed") -> dict[str, Any]:
    return {"type": "response.completed", "response": {"id": "r", "status": status, "output": list(items)}}


def returned(message: AssistantMessage) -> list[dict[str, Any]]:
    """The input items that go back; both wires of this plugin take the message."""
    results = [ToolResultMessage(tool_call_id=c.id, tool_name=c.name, content="ok") for c in message.tool_calls]
    request = LLMRequest(MODEL, [HI, message, *results, UserMessage(content="go on")])
    assert list(OpenAIAdapter(None, base_url="http://127.0.0.1:1/v1").validate(request)) == []
    adapter = OpenAIResponsesAdapter(None, base_url="http://127.0.0.1:1/v1")
    assert list(adapter.validate(request)) == []
    items: list[dict[str, Any]] = json.loads(adapter.body(request))["input"]
    return items[1 : -1 - len(results)]


def said(text: str, id: str = "msg_1") -> dict[str, Any]:
    content = [{"type": "output_text", "text": text, "annotations": []}]
    return {"type": "message", "id": id, "role": "assistant", "status": "completed", "content": content}


def added(at: int, item: dict[str, Any]) -> dict[str, Any]:
    return {"type": "response.output_item.added", "output_index": at, "item": item}


def ended(at: int, item: dict[str, Any]) -> dict[str, Any]:
    return {"type": "response.output_item.done", "output_index": at, "item": item}


def spoken(at: int, text: str, part: int = 0) -> dict[str, Any]:
    return {"type": "response.output_text.delta", "output_index": at, "content_index": part, "delta": text}


def kinds(message: AssistantMessage) -> list[str]:
    return [b.type if not isinstance(b, ProviderBlock) else b.kind for b in message.content]


def test_an_item_that_the_terminal_event_leaves_out_does_not_double_the_ones_after_it(loopback: Any) -> None:
    stream = [added(0, REASONING), ended(0, REASONING), added(1, said("")), spoken(1, "Hello"), ended(1, said("Hello"))]

    message, _ = played(loopback, *stream, whole(said("Hello", id="other")))

    assert (kinds(message), message.text) == (["thinking", "text"], "Hello")


def test_a_terminal_event_that_sorts_its_items_says_nothing_twice(loopback: Any) -> None:
    call = {"type": "function_call", "id": "fc", "call_id": "c", "name": "look", "arguments": "{}"}
    first, second = said("one", "m1"), said("two", "m2")
    stream = [x for at, item in enumerate((first, call, second)) for x in (added(at, item), ended(at, item))]

    message, _ = played(loopback, *stream, whole(second, first, call))

    assert (kinds(message), message.text) == (["text", "tool_call", "text"], "onetwo")


def test_items_that_share_an_index_are_told_apart_by_their_ids(loopback: Any) -> None:
    call = {"type": "function_call", "id": "fc", "call_id": "c", "name": "look", "arguments": "{}"}
    stream = [
        added(0, said("", "m1")),
        spoken(0, "Hello"),
        ended(0, said("Hello", "m1")),
        added(0, call),
        ended(0, call),
    ]

    message, _ = played(loopback, *stream, whole(said("Hello", "m1"), call))

    assert (kinds(message), message.text) == (["text", "tool_call"], "Hello")


def test_parts_that_are_counted_from_elsewhere_are_not_said_twice(loopback: Any) -> None:
    """vLLM counts the parts of a message on from those of the reasoning before it."""
    stream = [added(0, said("")), spoken(0, "Hel", part=1), spoken(0, "lo", part=1), ended(0, said("Hello"))]

    message, _ = played(loopback, *stream, whole(said("Hello")))

    assert message.content == (TextBlock("Hello"),)


def test_arguments_that_are_an_object_are_written_as_text(loopback: Any) -> None:
    call = {"type": "function_call", "id": "fc", "call_id": "c", "name": "look", "arguments": {"a": 1}}

    message, _ = played(loopback, added(0, {**call, "arguments": ""}), ended(0, call), whole(call))

    assert message.tool_calls[0].args == {"a": 1}
    assert returned(message)[0]["arguments"] == '{"a":1}'


@pytest.mark.parametrize(
    "item",
    [
        {"type": "local_shell_call", "id": "l", "call_id": "c", "action": {"type": "exec", "command": ["ls"]}},
        {"type": "shell_call", "id": "s", "call_id": "c", "action": {"commands": ["ls"]}},
        {"type": "computer_call", "id": "cu", "call_id": "c", "action": {"type": "screenshot"}},
        {"type": "apply_patch_call", "id": "a", "call_id": "c", "operation": {"type": "delete_file", "path": "x"}},
        {"type": "tool_search_call", "id": "t", "call_id": "c", "execution": "client", "arguments": {}},
    ],
    ids=lambda item: item["type"],
)
def test_a_call_that_nobody_ran_stays_in_the_session_and_is_not_sent(item: dict[str, Any], loopback: Any) -> None:
    """The server would refuse it, and the reasoning that led to it: no tool output found."""
    message, _ = played(loopback, whole(REASONING, item, said("Hello")))

    assert kinds(message) == ["thinking", item["type"], "text"]
    assert [i.get("type", i.get("role")) for i in returned(message)] == ["assistant"]


APPROVAL = {"type": "mcp_approval_request", "id": "mcpr_1", "server_label": "s", "name": "n", "arguments": "{}"}
LISTED = {"type": "mcp_list_tools", "id": "m", "server_label": "s", "tools": []}


def sent_after(loopback: Any, items: list[dict[str, Any]], *later: LLMMessage) -> list[dict[str, Any]]:
    """The input of the request that follows an answer of ``items``, without the message that was answered."""

    async def main() -> list[dict[str, Any]]:
        async with loopback() as server:
            server.sse(whole(*items))
            adapter = OpenAIResponsesAdapter(None, base_url=server.url)
            scratch: dict[str, Any] = {}
            builder = MessageBuilder()
            async for event in adapter.stream(LLMRequest(MODEL, [HI], scratch=scratch)):
                builder.add(event)
            answer = builder.message(provider=adapter.provider, api=adapter.api, model=MODEL.id)
            talk: list[LLMMessage] = [HI, answer]
            for message in later:
                talk.append(message)
                request = LLMRequest(MODEL, talk, scratch=scratch)
                assert list(adapter.validate(request)) == []
                assert [e.type async for e in adapter.stream(request)][-1] == "done"
            await adapter.close()
            bodies = [seen["body"] for seen in server.requests]
            assert all(two.startswith(one.removesuffix(b"]}")) for one, two in pairwise(bodies))
            sent: list[dict[str, Any]] = json.loads(bodies[-1])["input"]
            return sent[1:]

    return asyncio.run(main())


def decided(*ids: str) -> AssistantMessage:
    """How a program answers requests for approval: with a block of the same provider."""
    answers = [{"type": "mcp_approval_response", "approval_request_id": id, "approve": True} for id in ids]
    blocks = tuple(ProviderBlock(a["type"], freeze(a)) for a in answers)
    return AssistantMessage(content=blocks, provider="openai", api="openai-responses", model=MODEL.id)


def shapes(items: list[dict[str, Any]]) -> list[str]:
    return [i.get("id") or i.get("role") or i["type"] for i in items]


def test_a_request_for_approval_that_nobody_answered_is_not_sent(loopback: Any) -> None:
    """OpenAI: 400, the following MCP approval requests do not have an approval."""
    later = (UserMessage(content="never mind"), UserMessage(content="or so"))

    items = sent_after(loopback, [LISTED, REASONING, APPROVAL], *later)

    assert shapes(items) == ["m", "user", "user"]


def test_a_request_for_approval_goes_back_with_its_answer(loopback: Any) -> None:
    items = sent_after(loopback, [LISTED, REASONING, APPROVAL], decided("mcpr_1"))

    assert items[:3] == [LISTED, REASONING, APPROVAL]
    assert shapes(items[3:]) == ["mcp_approval_response"]


def test_an_answer_may_come_after_the_results_of_the_calls_beside_it(loopback: Any) -> None:
    call = {"type": "function_call", "id": "fc", "call_id": "c", "name": "look", "arguments": "{}"}
    ran = ToolResultMessage(tool_call_id="c", tool_name="look", content="ok")

    items = sent_after(loopback, [call, REASONING, APPROVAL], ran, decided("mcpr_1"), UserMessage(content="go on"))

    kinds_sent = [i.get("type", i.get("role")) for i in items]
    assert kinds_sent[:2] == ["function_call", "function_call_output"]
    assert items[2:4] == [REASONING, APPROVAL]
    assert kinds_sent[4:] == ["mcp_approval_response", "user"]


def test_of_two_requests_for_approval_the_answered_one_goes_back(loopback: Any) -> None:
    other = {**APPROVAL, "id": "mcpr_2"}

    for answered, id in ((APPROVAL, "mcpr_1"), (other, "mcpr_2")):
        items = sent_after(loopback, [REASONING, APPROVAL, other], decided(id), UserMessage(content="go on"))
        assert [i for i in items if i.get("type") == "mcp_approval_request"] == [answered]
        assert shapes(items)[-2:] == ["mcp_approval_response", "user"]


def test_the_validator_knows_requests_for_approval_without_an_answer_and_answers_without_a_request() -> None:
    answer = {"type": "mcp_approval_response", "approval_request_id": "mcpr_1", "approve": False}

    assert check_items([APPROVAL, answer]) == []
    assert check_items([APPROVAL]) == ["input[0]: mcp_approval_request 'mcpr_1' has no answer"]
    assert check_items([answer]) == ["input[0]: mcp_approval_response 'mcpr_1' answers no request"]


@pytest.mark.parametrize(
    "items",
    [
        ({"type": "shell_call", "id": "s", "call_id": "c"}, {"type": "shell_call_output", "id": "o", "call_id": "c"}),
        ({"type": "tool_search_call", "id": "t", "call_id": "c", "execution": "server"},),
        ({"type": "web_search_call", "id": "w", "status": "completed", "action": {"type": "search", "query": "x"}},),
        ({"type": "image_generation_call", "id": "i", "status": "completed", "result": "QUJD"},),
        ({"type": "code_interpreter_call", "id": "i", "code": "1", "container_id": "c", "outputs": None},),
        ({"type": "mcp_list_tools", "id": "m", "server_label": "s", "tools": []},),
        ({"type": "mcp_call", "id": "m", "server_label": "s", "name": "n", "arguments": "{}", "output": "x"},),
        ({"type": "compaction", "id": "c", "encrypted_content": "E"},),
        ({"type": "an_item_of_next_year", "id": "n", "x": [1]},),
    ],
    ids=lambda items: items[0]["type"],
)
def test_what_ran_at_the_provider_goes_back_as_it_came(items: tuple[dict[str, Any], ...], loopback: Any) -> None:
    message, events = played(loopback, whole(REASONING, *items, said("Hello")))

    assert events[-1].type == "done"
    assert returned(message)[1 : 1 + len(items)] == list(items)


@pytest.mark.parametrize(
    "noise",
    [
        {"type": "keepalive", "sequence_number": 3},
        {"type": "response.queued", "response": {"id": "r", "status": "queued"}},
        {"type": "response.image_generation_call.partial_image", "output_index": 0, "partial_image_b64": "QUJD"},
        {"type": "response.mcp_call.failed", "output_index": 0, "item_id": "m"},
        {"type": "response.compaction.compacting", "output_index": 0, "item_id": "c"},
        {"type": "response.audio.delta", "delta": "QUJD"},
        {"type": "response.an_event_of_next_year", "output_index": 7, "delta": {"x": 1}},
    ],
    ids=lambda noise: noise["type"],
)
def test_events_that_say_nothing_of_the_message_change_nothing(noise: dict[str, Any], loopback: Any) -> None:
    stream = [added(0, said("")), noise, spoken(0, "Hello"), noise, ended(0, said("Hello"))]

    message, events = played(loopback, *stream, whole(said("Hello")))

    assert (message.content, message.stop_reason, events[-1].response_id) == (
        (TextBlock("Hello"),),
        StopReason.stop,
        "r",
    )


@pytest.mark.parametrize("streamed", [True, False])
def test_every_message_goes_back_with_its_phase(streamed: bool, loopback: Any) -> None:
    """OpenAI: preserve and resend it on all assistant messages, dropping it can degrade performance."""
    first, last = {**said("Looking.", "m1"), "phase": "commentary"}, {**said("Found.", "m2"), "phase": "final_answer"}
    plain = said("Bye.", "m3")
    items = (first, last, plain)
    stream = [x for at, item in enumerate(items) for x in (added(at, {**item, "content": []}), ended(at, item))]

    message, events = played(loopback, *(stream if streamed else []), whole(*items))

    assert [e for e in events if e.type == "block"] == []
    assert [(i["content"], i.get("phase")) for i in returned(message)] == [
        ("Looking.", "commentary"),
        ("Found.", "final_answer"),
        ("Bye.", None),
    ]


@pytest.mark.parametrize("streamed", [True, False])
def test_a_refusal_is_a_refusal_in_every_form(streamed: bool, loopback: Any) -> None:
    part = {"type": "refusal", "refusal": "I cannot."}
    item = {**said(""), "content": [part]}
    stream = [
        added(0, {**item, "content": []}),
        {"type": "response.content_part.added", "output_index": 0, "content_index": 0, "part": {**part, "refusal": ""}},
        {"type": "response.refusal.delta", "output_index": 0, "content_index": 0, "delta": "I can"},
        {"type": "response.refusal.delta", "output_index": 0, "content_index": 0, "delta": "not."},
        {"type": "response.refusal.done", "output_index": 0, "content_index": 0, "refusal": "I cannot."},
        ended(0, item),
    ]

    message, _ = played(loopback, *(stream if streamed else []), whole(item))

    assert (kinds(message), message.stop_reason) == (["refusal"], StopReason.refusal)
    assert returned(message)[0]["content"] == "I cannot."


def test_a_message_whose_content_is_text_alone_is_read(loopback: Any) -> None:
    message, _ = played(loopback, whole({**said(""), "content": "Hello"}))

    assert message.content == (TextBlock("Hello"),)


@pytest.mark.parametrize("kind", [{"x": 1}, [1], None, 7])
def test_an_event_whose_type_is_no_text_is_passed_over(kind: Any, loopback: Any) -> None:
    message, events = played(loopback, {"type": kind, "x": 1}, whole(said("Hello")))

    assert (message.text, events[-1].type) == ("Hello", "done")
