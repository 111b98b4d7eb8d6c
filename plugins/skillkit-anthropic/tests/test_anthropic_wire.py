"""Every recorded answer of the Messages API, replayed through the official SDK over loopback HTTP."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from skillkit_anthropic import AnthropicAdapter

from skillkit_core.contracts.adapter import LLMRequest
from skillkit_core.errors import ErrorKind, ProviderError
from skillkit_core.messages import ProviderBlock, TextBlock, ThinkingBlock, ToolCall, UserMessage
from skillkit_core.models import ModelDefinition
from skillkit_core.stream import MessageBuilder, StreamEvent

MODEL = ModelDefinition("claude-sonnet-4-5", "anthropic")
USAGE = {
    "input": "input_tokens",
    "output": "output_tokens",
    "cache_read": "cache_read_input_tokens",
    "cache_write": "cache_creation_input_tokens",
}
CANNOT: dict[str, str] = {}  # id of a case: why it cannot pass
KINDS = {
    "not_found_error": ErrorKind.not_found,
    "authentication_error": ErrorKind.auth,
    "invalid_request_error": ErrorKind.invalid_request,
    "request_too_large": ErrorKind.overflow,
    "rate_limit_error": ErrorKind.rate_limit,
    "api_error": ErrorKind.server,
    "overloaded_error": ErrorKind.overloaded,
}


async def collect(adapter: AnthropicAdapter, *, stream: bool = True) -> list[StreamEvent]:
    request = LLMRequest(MODEL, [UserMessage(content="hello")], stream=stream)
    return [event async for event in adapter.stream(request)]


def fold(events: list[StreamEvent]) -> MessageBuilder:
    builder = MessageBuilder()
    for event in events:
        builder.add(event)
    return builder


def sequence(blocks: Any) -> list[str]:
    out = []
    for block in blocks:
        if isinstance(block, ToolCall):
            out.append(f"tool_call:{block.name}")
        elif isinstance(block, ProviderBlock):
            out.append(f"provider:{block.kind}")
        elif isinstance(block, ThinkingBlock):
            out.append("redacted_thinking" if block.redacted else "thinking" if block.thinking else "thinking(empty)")
        else:
            out.append(block.type)
    return out


def check_shape(events: list[StreamEvent]) -> None:
    """Exactly one terminal event, at the end; the events of a block nest; deltas say what the blocks hold."""
    assert [e.terminal for e in events].count(True) == 1
    assert events[-1].terminal
    open_blocks: dict[int, str] = {}
    for event in events[:-1]:
        name, _, step = event.type.rpartition("_")
        if event.type == "block":
            assert event.index not in open_blocks
        elif step == "start":
            assert event.index not in open_blocks
            open_blocks[event.index] = name
        elif step == "delta":
            assert open_blocks[event.index] == name
            assert event.content
        elif step == "end":
            assert open_blocks.pop(event.index) == name
    assert not open_blocks or events[-1].type == "error"


def differences(meta: dict[str, Any], events: list[StreamEvent]) -> list[str]:
    """Where the events are not what was expected, one line each."""
    check_shape(events)
    expected, built, last = meta["expected"], fold(events), events[-1]
    blocks = built.blocks()
    calls = [b for b in blocks if isinstance(b, ToolCall)]
    thoughts = [b for b in blocks if isinstance(b, ThinkingBlock)]
    found = {
        "text": "".join(b.text for b in blocks if isinstance(b, TextBlock)),
        "thinking": "".join(b.thinking for b in thoughts),
        "refusal": "",
        "sequence": sequence(blocks),
        "stop_reason": last.raw_stop_reason,
        "tool_calls": [
            {"id": c.id, "name": c.name, "arguments": None, "arguments_raw": c.raw_args, "incomplete": True}
            if c.incomplete
            else {"id": c.id, "name": c.name, "arguments": c.args}
            for c in calls
        ],
    }
    if "text_blocks" in expected:
        found["text_blocks"] = [b.text for b in blocks if isinstance(b, TextBlock)]
        expected = {
            **expected,
            "text_blocks": [b["text"] if isinstance(b, dict) else b for b in expected["text_blocks"]],
        }
    if "thinking_blocks" in expected:
        found["thinking_blocks"] = [
            {"type": "redacted_thinking", "data_len": len(t.data or "")}
            if t.redacted
            else {"type": "thinking", "text": t.thinking, "signature": t.signature}
            for t in thoughts
        ]
        expected = {
            **expected,
            "thinking_blocks": [
                b if b["type"] != "thinking" else {**b, "signature": b["signature"] or None}
                for b in expected["thinking_blocks"]
            ],
        }
    if "response_id" in expected:
        found["response_id"] = last.response_id
    server = [b.data for b in blocks if isinstance(b, ProviderBlock) and b.kind.endswith("_tool_use")]
    found["server_tool_calls"] = [
        {"id": s.get("id"), "name": s.get("name"), "type": s["type"], "arguments": s.get("input")} for s in server
    ]
    out = [f"{k}: {v!r} instead of {expected[k]!r}" for k, v in found.items() if v != expected[k]]
    raw = last.usage.raw if last.usage else {}
    numbers: dict[str, Any] = {k: raw.get(name) for k, name in USAGE.items()}
    numbers["reasoning"] = (raw.get("output_tokens_details") or {}).get("thinking_tokens")
    if numbers != expected["usage"]:
        out.append(f"usage: {numbers} instead of {expected['usage']}")
    out += _bucket_differences(expected["usage"], last)
    out += _error_differences(expected, last)
    return out


def _bucket_differences(expected: dict[str, Any], last: StreamEvent) -> list[str]:
    usage = last.usage
    if usage is None:
        return [] if all(v is None for v in expected.values()) else ["no usage"]
    paid = (usage.input, usage.output + usage.reasoning, usage.cache_read, usage.cache_write, usage.reasoning)
    want = tuple(expected[k] or 0 for k in ("input", "output", "cache_read", "cache_write", "reasoning"))
    return [] if paid == want else [f"buckets: {paid} instead of {want}"]


def _error_differences(expected: dict[str, Any], last: StreamEvent) -> list[str]:
    if "error" in expected:
        error, want = last.error, expected["error"]
        if last.type != "error" or not isinstance(error, ProviderError):
            return ["no error event"]
        found = (error.status, error.type, error.message, error.kind)
        wanted = (want["status"], want["type"], want["message"], KINDS[want["type"]])
        return [] if found == wanted else [f"error: {found} instead of {wanted}"]
    if expected.get("truncated"):
        kind = getattr(last.error, "kind", None)
        return [] if kind is ErrorKind.protocol else [f"a truncated stream ended as {last.type} {kind}"]
    return [] if last.type == "done" else [f"ended in {last.type}: {last.error!r}"]


@pytest.mark.parametrize("chunk", ["all", "rand:11"])
def test_every_case_gives_exactly_what_was_recorded(cases, replay, chunk, tally):
    """The table of servers and features comes after the tests; ``CANNOT`` names what cannot pass, and why."""
    failed: list[str] = []

    async def one(case):
        adapter = AnthropicAdapter(None, base_url=f"{replay}/case/{case.id};chunk={chunk}", api_key="test")
        events = await collect(adapter, stream=case.index["stream"])
        await adapter.close()
        found = differences(case.meta, events)
        if chunk == "all":
            rows = {"server": [case.index["provider"]], "feature": case.index["features"]}
            tally.add("anthropic-messages", rows, passed=not found)
        if found and case.id in CANNOT:
            tally.excuse(case.id, CANNOT[case.id])
        elif found:
            failed.append(f"{case.id}\n    " + "\n    ".join(found))
        elif case.id in CANNOT:
            failed.append(f"{case.id} passes: take it off the list of those that cannot")

    async def everything():
        gate = asyncio.Semaphore(16)

        async def gated(case):
            async with gate:
                await one(case)

        await asyncio.gather(*(gated(case) for case in cases))

    asyncio.run(everything())
    assert not failed, "\n".join(failed)


def test_the_comparison_notices_every_kind_of_difference(cases, replay):
    case = next(c for c in cases if c.id.startswith("am-s-anthropic-x-keepalive"))
    adapter = AnthropicAdapter(None, base_url=f"{replay}/case/{case.id}", api_key="test")

    async def run():
        try:
            return await collect(adapter)
        finally:
            await adapter.close()

    events = asyncio.run(run())
    assert differences(case.meta, events) == []
    for key, wrong in {
        "text": "other",
        "thinking": "thought",
        "tool_calls": [],
        "sequence": ["text"],
        "stop_reason": "end_turn",
        "usage": dict.fromkeys(case.meta["expected"]["usage"], 1),
        "server_tool_calls": [{"id": "x"}],
        "response_id": "msg_other",
        "error": {"status": 200, "type": "api_error", "message": "no"},
        "truncated": True,
    }.items():
        meta = case.meta
        meta["expected"][key] = wrong
        assert differences(meta, events), key
