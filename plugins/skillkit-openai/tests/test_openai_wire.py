"""Every recorded answer, through the official SDK over loopback HTTP, gives exactly what its case expects."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterable
from typing import Any

import pytest
from skillkit_openai import OpenAIAdapter, OpenAIResponsesAdapter
from skillkit_openai.wire import OpenAIWire
from skillkit_testkit.tally import Tally

from skillkit_core.contracts.adapter import LLMRequest
from skillkit_core.errors import ErrorKind, ProviderError
from skillkit_core.messages import (
    AssistantMessage,
    ProviderBlock,
    RefusalBlock,
    TextBlock,
    ThinkingBlock,
    ToolCall,
    UserMessage,
)
from skillkit_core.models import ModelDefinition
from skillkit_core.stream import MessageBuilder, StreamEvent

CANNOT: dict[str, str] = {}  # id of a case: why it cannot pass
ADAPTERS: dict[str, type[OpenAIWire]] = {"openai-chat": OpenAIAdapter, "openai-responses": OpenAIResponsesAdapter}


def request(stream: bool) -> LLMRequest:
    return LLMRequest(ModelDefinition("m"), [UserMessage(content="hi")], stream=stream)


async def play(url: str, case: Any, options: str = "", stream: bool | None = None) -> list[StreamEvent]:
    adapter = ADAPTERS[case.api](None, base_url=f"{url}/case/{case.id}{options}/v1")
    try:
        return [e async for e in adapter.stream(request(case.stream if stream is None else stream))]
    finally:
        await adapter.close()


async def play_all(url: str, jobs: Iterable[tuple[Any, str]]) -> list[tuple[Any, str, list[StreamEvent]]]:
    """Play many cases, a few at a time, with one adapter per wire and the case in a header."""
    adapters = {api: cls(None, base_url=f"{url}/v1") for api, cls in ADAPTERS.items()}
    gate = asyncio.Semaphore(16)

    async def one(case: Any, options: str) -> tuple[Any, str, list[StreamEvent]]:
        async with gate:
            asked = request(case.stream)
            asked.settings = type(asked.settings)(headers={"x-case": case.id + options})
            return case, options, [e async for e in adapters[case.api].stream(asked)]

    try:
        return await asyncio.gather(*(one(*job) for job in jobs))
    finally:
        for adapter in adapters.values():
            await adapter.close()


def fold(events: list[StreamEvent]) -> tuple[AssistantMessage, MessageBuilder]:
    builder = MessageBuilder()
    for event in events:
        builder.add(event)
    return builder.message(), builder


def joined(message: AssistantMessage, kind: type[Any], field: str) -> str:
    return "".join(getattr(b, field) for b in message.content if type(b) is kind)


def sequence(message: AssistantMessage) -> list[str]:
    out = []
    for block in message.content:
        if isinstance(block, TextBlock):
            out.append("text")
        elif isinstance(block, ThinkingBlock):
            out.append("thinking" if block.thinking else "thinking(empty)")
        elif isinstance(block, RefusalBlock):
            out.append("refusal")
        elif isinstance(block, ToolCall):
            out.append(f"tool_call:{block.name}")
        elif isinstance(block, ProviderBlock):
            out.append(f"provider:{block.kind}")
    return out


def legal(events: list[StreamEvent]) -> list[str]:
    """What is wrong with the order of a stream's events."""
    wrong = []
    open_blocks: dict[int | None, str] = {}
    ends = [e for e in events if e.terminal]
    if len(ends) != 1 or not events[-1].terminal:
        wrong.append("not exactly one terminal event at the end")
    for event in events:
        name, _, step = event.type.rpartition("_")
        if step == "start":
            if event.index in open_blocks:
                wrong.append(f"{event.type} twice for block {event.index}")
            open_blocks[event.index] = name
        elif step == "delta":
            if open_blocks.get(event.index) != name:
                wrong.append(f"{event.type} outside its block")
            if not event.content:
                wrong.append(f"empty {event.type}")
        elif step == "end" and open_blocks.pop(event.index, None) != name:
            wrong.append(f"{event.type} without a start")
    if open_blocks and events[-1].type == "done":
        wrong.append(f"blocks left open: {open_blocks}")
    return wrong


def usage_differs(message: AssistantMessage, want: dict[str, Any], failed: bool) -> list[str]:
    got = message.usage
    if all(v is None for v in want.values()):
        # A chunk that holds an error and the usage so far: the expectation stops at the error, the books do not.
        return [] if not got.total or failed else [f"usage {got} where none was sent"]
    wrong = []
    names = ("prompt_tokens", "completion_tokens") if "prompt_tokens" in got.raw else ("input_tokens", "output_tokens")
    for name, key in zip(names, ("input", "output"), strict=True):
        if (got.raw.get(name) or 0) != (want[key] or 0):
            wrong.append(f"usage.raw[{name}] {got.raw.get(name)} != {want[key]}")
    for key in ("cache_read", "cache_write", "reasoning"):
        if want[key] is not None and getattr(got, key) != want[key]:
            wrong.append(f"usage.{key} {getattr(got, key)} != {want[key]}")
    asked, cached = want["input"] or 0, got.cache_read + got.cache_write
    if got.raw.get("prompt_audio_seconds"):  # Mistral counts a recording beside the prompt: in the total alone
        asked = got.raw["total_tokens"] - (want["output"] or 0)
    if got.input + cached != asked and cached <= asked:
        wrong.append(f"input buckets {got} do not add up to {asked}")
    if (want["output"] or 0) not in (got.output, got.output + got.reasoning):
        wrong.append(f"output buckets {got} do not add up to {want['output']}")
    return wrong


def calls_differ(message: AssistantMessage, want: list[dict[str, Any]]) -> list[str]:
    got = message.tool_calls
    if len(got) != len(want):
        return [f"{len(got)} tool calls, expected {len(want)}"]
    wrong = []
    for call, w in zip(got, want, strict=True):
        if w["id"] and call.id != w["id"]:
            wrong.append(f"call id {call.id} != {w['id']}")
        if not call.id or call.name != w["name"] or call.raw_args != (w["arguments_raw"] or ""):
            wrong.append(f"{call} != {w}")
        parsed = w.get("arguments") if w["arguments_raw"] else {}  # no text is no arguments
        if call.args != parsed or call.incomplete != w.get("incomplete", False):
            wrong.append(f"args {call.args} incomplete={call.incomplete} != {w}")
    return wrong


def error_differs(case: Any, events: list[StreamEvent]) -> list[str]:
    want, last = case.expected.get("error"), events[-1]
    fails = want is not None or case.expected.get("truncated") or "invalid-response" in case.id
    if not fails:
        return [] if last.type == "done" else [f"failed: {last.error!r}"]
    if last.type != "error" or not isinstance(last.error, ProviderError):
        return ["expected an error event"]
    error = last.error
    if want is None or want.get("type") == "non_json_body":
        return [] if error.kind is ErrorKind.protocol else [f"kind {error.kind}"]
    wrong = []
    if error.message != want["message"]:
        wrong.append(f"message {error.message!r} != {want['message']!r}")
    if error.status != want["status"]:
        wrong.append(f"status {error.status} != {want['status']}")
    word = want.get("code") or want.get("type")
    if word not in (None, "error") and error.type != str(word):
        wrong.append(f"type {error.type!r} != {want}")
    if want["status"] >= 400 and error.kind is ErrorKind.unknown:
        wrong.append("unknown kind")
    return wrong


def differs(case: Any, events: list[StreamEvent]) -> list[str]:
    """Everything in which the events differ from what the case expects."""
    want = case.expected
    message, builder = fold(events)
    wrong = [*legal(events), *error_differs(case, events), *calls_differ(message, want["tool_calls"])]
    for kind, field, name in (
        (TextBlock, "text", "text"),
        (ThinkingBlock, "thinking", "thinking"),
        (RefusalBlock, "text", "refusal"),
    ):
        if joined(message, kind, field) != want[name]:
            wrong.append(f"{name} {joined(message, kind, field)[:80]!r} != {want[name][:80]!r}")
    got = sequence(message)
    if want.get("thinking_field") == "reasoning_details" and case.stream:
        got = [s for s in got if s != "thinking"]  # the recorded sequences do not count thinking of this field
    if got != want["sequence"]:
        wrong.append(f"sequence {got} != {want['sequence']}")
    if "text_blocks" in want and [b.text for b in message.content if isinstance(b, TextBlock)] != want["text_blocks"]:
        wrong.append("text blocks")
    if builder.raw_stop_reason != want["stop_reason"]:
        wrong.append(f"stop reason {builder.raw_stop_reason!r} != {want['stop_reason']!r}")
    if (builder.response_id or "") != (want.get("response_id") or ""):
        wrong.append(f"response id {builder.response_id!r} != {want['response_id']!r}")
    wrong.extend(usage_differs(message, want["usage"], "error" in want))
    wrong.extend(_items_differ(message, want))
    return wrong


def _items_differ(message: AssistantMessage, want: dict[str, Any]) -> list[str]:
    wrong = []
    kept = [b for b in message.content if isinstance(b, ThinkingBlock)]
    for block, w in zip(kept, want.get("thinking_blocks") or (), strict=False):
        item = block.provider_data.get("item") or {}
        if item.get("id") != w["id"] or bool(block.data) != w["encrypted"]:
            wrong.append(f"reasoning item {item.get('id')} encrypted={bool(block.data)} != {w['id']} {w['encrypted']}")
        if [p["text"] for p in item.get("summary") or ()] != w["summary"]:
            wrong.append("summary parts")
    mine = [b.data.get("id") for b in message.content if isinstance(b, ProviderBlock)]
    wrong.extend(f"server tool call {s['id']} is missing" for s in want["server_tool_calls"] if s["id"] not in mine)
    return wrong


@pytest.mark.parametrize("api", sorted(ADAPTERS))
def test_every_recorded_case_gives_exactly_what_it_expects(
    api: str, replay: str, cases: list[Any], tally: Tally
) -> None:
    """The table of servers and features comes after the tests; ``CANNOT`` names what cannot pass, and why."""
    problems = []
    for case, _, events in asyncio.run(play_all(replay, [(c, "") for c in cases if c.api == api])):
        wrong = differs(case, events)
        tally.add(api, {"server": [case.provider], "feature": case.features}, passed=not wrong)
        if wrong and case.id in CANNOT:
            tally.excuse(case.id, CANNOT[case.id])
        elif wrong:
            problems.append(f"{case.id}: " + "; ".join(wrong))
        elif case.id in CANNOT:
            problems.append(f"{case.id} passes: take it off the list of those that cannot")
    assert not problems, "\n".join(problems)


def streams(cases: list[Any], api: str) -> list[Any]:
    return [c for c in cases if c.api == api and c.stream and c.status == 200]


def same(a: list[StreamEvent], b: list[StreamEvent]) -> bool:
    return [(e, str(e.error)) for e in map(_bare, a)] == [(e, str(e.error)) for e in map(_bare, b)]


def _bare(event: StreamEvent) -> StreamEvent:
    """The event with its error as text: errors compare by identity."""
    from dataclasses import replace

    return replace(event, error=None if event.error is None else str(event.error))  # type: ignore[arg-type]


@pytest.mark.sample(1, each="api")
@pytest.mark.parametrize("api", sorted(ADAPTERS))
@pytest.mark.parametrize("chunk", ["event", "rand:1", pytest.param("rand:2", marks=pytest.mark.slow), "64;gzip=1"])
def test_the_same_bytes_in_other_pieces_give_the_same_events(
    api: str, chunk: str, replay: str, cases: list[Any]
) -> None:
    chosen = [c for c in streams(cases, api) if len(c.body) < 30_000 or chunk == "event"]
    whole = asyncio.run(play_all(replay, [(c, "") for c in chosen]))
    pieces = asyncio.run(play_all(replay, [(c, f";chunk={chunk}") for c in chosen]))
    print(f"\n{api}: {len(chosen)} streams in pieces by {chunk}")
    bad = [c.id for (c, _, a), (_, _, b) in zip(whole, pieces, strict=True) if not same(a, b)]
    assert len(chosen) > 100
    assert not bad


@pytest.mark.sample(1, each="api")
@pytest.mark.parametrize("api", sorted(ADAPTERS))
@pytest.mark.parametrize("mode", ["fin", "rst", "clean"])
def test_a_connection_cut_anywhere_gives_a_legal_partial_message_and_one_error(
    api: str, mode: str, replay: str, cases: list[Any]
) -> None:
    rng = random.Random(f"{api} {mode}")
    jobs = []
    for case in rng.sample(streams(cases, api), 60):
        ends = _whole_at(case)
        jobs += [(case, f";cut={rng.randrange(0, ends)};cut_mode={mode};run={n}") for n in range(2)]
    print(f"\n{api}: {len(jobs)} connections cut ({mode})")
    for case, option, events in asyncio.run(play_all(replay, jobs)):
        where = f"{case.id}{option}"
        assert legal(events) == [], where
        last = events[-1]
        assert last.type == "error", where
        assert isinstance(last.error, ProviderError), where
        partial, _ = fold(events)
        text = "".join(e.content for e in events if e.type == "text_delta")
        assert (case.expected["text"] + case.expected["refusal"]).startswith(text), where
        assert all(c.args is not None or c.incomplete or c.provider_data.get("type") for c in partial.tool_calls), where


def _whole_at(case: Any) -> int:
    """How many bytes may be cut off at most so that the answer is not whole: up to its end marker."""
    marks = (
        b'"finish_reason":"',
        b'"finish_reason": "',
        b"[DONE]",
        b"event: response.completed",
        b'"type":"response.completed',
    )
    marks += (b"response.incomplete", b"response.failed", b"event: error", b'"error":{')
    found = [case.body.find(m) for m in marks]
    return min([f for f in found if f > 0], default=len(case.body))
