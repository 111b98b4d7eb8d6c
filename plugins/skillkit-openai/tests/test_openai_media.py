"""Recordings and images: what is sent of them, what is left out with a note, and that nothing of an answer is lost."""

from __future__ import annotations

import asyncio
import base64
import itertools
import json
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from skillkit_openai import ChatReader, OpenAIAdapter, OpenAIResponsesAdapter, chat_table, tag

from skillkit_core.contracts.adapter import LLMRequest
from skillkit_core.messages import (
    AssistantMessage,
    Block,
    DocumentBlock,
    ImageBlock,
    LLMMessage,
    ProviderBlock,
    TextBlock,
    ToolCall,
    ToolResultMessage,
    UserMessage,
    message_from_dict,
    message_to_dict,
)
from skillkit_core.models import ModelDefinition
from skillkit_core.stream import MessageBuilder, StreamEvent

HEARS = ModelDefinition("gpt-audio", context_window=100_000, capabilities={"text", "audio"})
DEAF = ModelDefinition("gpt-text", context_window=100_000, capabilities={"text"})
UNKNOWN = ModelDefinition("house-model")
BOTH = pytest.mark.parametrize("cls", [OpenAIAdapter, OpenAIResponsesAdapter])
WAV = DocumentBlock("UklGRg==", "audio/wav")


def sent(model: ModelDefinition, *messages: LLMMessage, cls: Any = OpenAIAdapter) -> list[dict[str, Any]]:
    wire = cls(None, base_url="http://localhost:8080/v1")
    body = json.loads(wire.body(LLMRequest(model, messages)))
    found: list[dict[str, Any]] = body.get("messages") or body["input"]
    return found


def user(*blocks: Block) -> UserMessage:
    return UserMessage(content=blocks)


# ---------------------------------------------------------------- recordings in


@pytest.mark.parametrize(
    ("mime", "format"),
    [
        ("audio/wav", "wav"),
        ("audio/x-wav", "wav"),
        ("audio/mpeg", "mp3"),
        ("audio/mp3", "mp3"),
        ("audio/ogg; codecs=opus", "ogg"),
        ("audio/mp4", "m4a"),
        ("audio/FLAC", "flac"),
    ],
)
def test_a_recording_is_sent_as_input_audio(mime: str, format: str) -> None:
    (message,) = sent(HEARS, user(TextBlock("What is said?"), DocumentBlock("QUJD", mime)))
    assert message["content"] == [
        {"type": "text", "text": "What is said?"},
        {"type": "input_audio", "input_audio": {"data": "QUJD", "format": format}},
    ]


def test_it_is_sent_as_recorded_requests_sent_it(index: list[dict[str, Any]], wire: Any) -> None:
    """The recordings of servers that heard something have exactly this form."""
    seen = 0
    for case in index:
        body = json.loads((wire / case["id"] / "request.json").read_text(encoding="utf-8")).get("body") or {}
        parts = [
            p for m in body.get("messages", ()) for p in (m["content"] if isinstance(m.get("content"), list) else ())
        ]
        for part in parts:
            if part.get("type") == "input_audio":
                seen += 1
                recording = DocumentBlock(part["input_audio"]["data"], f"audio/{part['input_audio']['format']}")
                (message,) = sent(HEARS, user(TextBlock("x"), recording))
                assert message["content"][1] == part
    assert seen >= 4


def test_a_model_that_nobody_described_is_expected_to_hear() -> None:
    (message,) = sent(UNKNOWN, user(WAV))
    assert message["content"][0]["type"] == "input_audio"


@pytest.mark.parametrize(
    ("model", "block", "cls", "words"),
    [
        (DEAF, WAV, OpenAIAdapter, "[audio left out: gpt-text takes no audio]"),
        (HEARS, DocumentBlock(url="https://x/a.wav", mime_type="audio/wav"), OpenAIAdapter, "not by address"),
        (HEARS, WAV, OpenAIResponsesAdapter, "--api openai-chat does"),
    ],
)
def test_a_recording_that_cannot_be_sent_leaves_a_note(model: Any, block: Any, cls: Any, words: str) -> None:
    (message,) = sent(model, user(block), cls=cls)
    assert isinstance(message["content"], str)
    assert words in message["content"]


def test_a_recording_from_a_tool_follows_its_result() -> None:
    call = AssistantMessage(content=(ToolCall("c1", "record", {}, "{}"),))
    messages = sent(HEARS, user(TextBlock("go")), call, ToolResultMessage(tool_call_id="c1", content=(WAV,)))
    assert messages[-2] == {"role": "tool", "tool_call_id": "c1", "content": "(see the attachment below)"}
    assert messages[-1]["content"][0]["text"] == "Attachments of the tool results:"
    assert messages[-1]["content"][1]["type"] == "input_audio"


# ---------------------------------------------------------------- types of images


PIXELS = [ImageBlock("QUJD", f"image/{kind}") for kind in ("tiff", "BMP", "heic", "svg+xml")]
TAKEN = [ImageBlock("QUJD", f"image/{kind}") for kind in ("png", "jpeg", "jpg", "WebP", "gif")]


@pytest.mark.spec("9.20")
@pytest.mark.parametrize("url", ["https://api.openai.com/v1", "https://r.openai.azure.com/openai/v1"])
@BOTH
def test_images_that_openai_does_not_take_leave_a_note(cls: Any, url: str) -> None:
    linked = ImageBlock(url="https://x.example/a.tiff", mime_type="image/tiff")
    call = AssistantMessage(content=(ToolCall("c1", "look", {}, "{}"),))
    result = ToolResultMessage(tool_call_id="c1", content=(TextBlock("seen"), PIXELS[0], TAKEN[0]))
    adapter = cls(None, base_url=url, api_key="k")
    request = LLMRequest(UNKNOWN, [user(TextBlock("look"), *PIXELS, *TAKEN, linked), call, result])
    assert list(adapter.validate(request)) == []
    body = adapter.body(request).decode()
    for kind in ("tiff", "bmp", "heic", "svg+xml"):
        assert f"[image left out: image/{kind} is not taken]" in body
    assert body.count("image/tiff is not taken") == 2
    assert "data:image/tiff" not in body
    assert "https://x.example/a.tiff" in body
    assert body.count(";base64,QUJD") == len(TAKEN) + 1


@BOTH
def test_compatible_servers_get_images_of_every_type(cls: Any, loopback: Any) -> None:
    """llama.cpp reads BMP, vLLM whatever Pillow reads, Gemini HEIC."""

    async def main() -> str:
        async with loopback() as server:
            server.json({}, 500)
            adapter = cls(None, base_url=server.url)
            async for _ in adapter.stream(LLMRequest(UNKNOWN, [user(*PIXELS)])):
                pass
            await adapter.close()
            return str(server.requests[0]["body"].decode())

    body = asyncio.run(main())
    assert all(f"data:{image.mime_type};base64,QUJD" in body for image in PIXELS)


# ---------------------------------------------------------------- spoken answers


def converted(*payloads: dict[str, Any]) -> tuple[list[StreamEvent], AssistantMessage]:
    events, _ = chat_table.replay([*map(tag, payloads), {"type": "done"}], ChatReader())
    builder = MessageBuilder()
    for event in events:
        builder.add(event)
    return events, builder.message()


def delta(**fields: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": fields, "finish_reason": None}]}


STOP: dict[str, Any] = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}


@settings(max_examples=80, deadline=None)
@given(
    sound=st.binary(min_size=1, max_size=60), words=st.text(max_size=20), cuts=st.lists(st.integers(0, 60), max_size=4)
)
def test_a_spoken_answer_is_its_transcript_and_its_sound_however_it_is_cut(
    sound: bytes, words: str, cuts: list[int]
) -> None:
    at = [0, *sorted({c % len(sound) for c in cuts}), len(sound)]
    pieces = [base64.b64encode(sound[a:b]).decode() for a, b in itertools.pairwise(at) if a < b]
    half = len(words) // 2
    events, message = converted(
        delta(role="assistant", content=None, audio={"id": "audio_1", "transcript": words[:half]}),
        *(delta(audio={"data": piece}) for piece in pieces),
        delta(audio={"transcript": words[half:]}),
        delta(audio={"expires_at": 1_700_000_000}),
        STOP,
    )
    assert "".join(e.content for e in events if e.type == "text_delta") == words
    spoken = message.content[-1]
    assert isinstance(spoken, ProviderBlock)
    whole = {
        "id": "audio_1",
        "transcript": words,
        "expires_at": 1_700_000_000,
        "data": base64.b64encode(sound).decode(),
    }
    assert (spoken.kind, dict(spoken.data)) == ("audio", whole)
    assert message.text == words
    assert message_from_dict(message_to_dict(message)) == message

    whole_answer = {"choices": [{"message": {"content": None, "audio": whole}, "finish_reason": "stop"}]}
    builder = MessageBuilder()
    for event in OpenAIAdapter(None, base_url="http://localhost/v1").whole(whole_answer, ChatReader())[0]:
        builder.add(event)
    assert builder.message().content == message.content


def test_sound_that_is_not_base64_is_kept_as_it_came() -> None:
    _, message = converted(delta(audio={"data": "a?"}), delta(audio={"data": "b!"}), STOP)
    assert message.content[0].data["data"] == "a?b!"  # type: ignore[union-attr]


def test_an_audio_field_without_anything_in_it_is_no_answer() -> None:
    empty = {"data": "", "expires_at": 0, "id": "", "transcript": ""}  # Snowflake
    _, message = converted(delta(content="4", audio=empty), STOP)
    assert message.content == (TextBlock("4"),)


def test_what_was_said_aloud_goes_back_as_text() -> None:
    wire = OpenAIAdapter(None, base_url="http://localhost:8080/v1")
    _, message = converted(delta(audio={"id": "a", "transcript": "Hello."}), delta(audio={"data": "QUJD"}), STOP)
    own = AssistantMessage(content=message.content, provider=wire.provider, api=wire.api, model=HEARS.id)
    assert sent(HEARS, user(TextBlock("hi")), own, user(TextBlock("and?")))[1] == {
        "role": "assistant",
        "content": "Hello.",
    }


def test_drawn_images_are_blocks_of_the_answer() -> None:
    data = {"type": "image_url", "image_url": {"url": "data:image/webp;base64,QUJD"}}
    linked = {"type": "image_url", "image_url": {"url": "https://x/y.png"}}
    events, message = converted(delta(content="Here: "), delta(images=[data, linked]), delta(content="done."), STOP)
    assert message.content == (
        TextBlock("Here: "),
        ImageBlock("QUJD", "image/webp"),
        ImageBlock(url="https://x/y.png"),
        TextBlock("done."),
    )
    assert [e.index for e in events if e.index is not None] == sorted(e.index for e in events if e.index is not None)
