"""The plugin in a run: what decides when a conversation is shortened."""

import asyncio
import base64
import json

import pytest
import skillkit_tokens.plugin
from hypothesis import given, strategies as st
from skillkit_tokens import Estimate, family_of
from skillkit_tokens.families import FAMILIES, table
from skillkit_tokens.images import size_of
from skillkit_tokens.pieces import PIECES, pieces
from skillkit_tokens.shape import PARTS

from skillkit_core import (
    AgentConfig,
    AgentRunner,
    AssistantMessage,
    CompactionResult,
    Compactor,
    Factory,
    ModelDefinition,
    Tool,
    ToolCall,
    UserMessage,
    hookimpl,
)
from skillkit_core.messages import DocumentBlock, ImageBlock, TextBlock
from skillkit_core.testing import Reply, ScriptedModel

PLUGIN = ("tokens", skillkit_tokens.plugin)
GPT = ModelDefinition("gpt-4o", "openai", "openai-responses")
CLAUDE = ModelDefinition("claude-sonnet-4-5", "anthropic", "anthropic-messages")
HEX = "0f8a91c3d7e2" * 40  # 480 characters: 120 tokens by their number, about 300 for a tokenizer


class Newest(Compactor):
    """Keeps the newest message."""

    async def compact(self, request):
        return CompactionResult("earlier", len(request.messages) - 1)


class Compactors:
    @hookimpl
    def register_compactors(self, register):
        register(Factory("newest", lambda host: Newest()))


@pytest.mark.parametrize(("plugins", "compactions"), [((), 0), ((PLUGIN,), 1)])
def test_the_estimate_decides_when_a_conversation_is_shortened(make_host, plugins, compactions):
    async def main():
        host = make_host(("compactors", Compactors()), *plugins)
        model = ModelDefinition("gpt-4o", "scripted", "scripted", context_window=600)
        host.adapters.register("scripted", ScriptedModel([Reply("ok", usage=None)], repeat=True))
        ends = []
        async with AgentRunner(AgentConfig(model=model, provider="scripted", reserve_tokens=100), host=host) as agent:
            agent.events.on("compaction_end", lambda event, ctx: ends.append((event.before_tokens, event.outcome)))
            await agent.chat(HEX)
            await agent.chat(HEX)
        assert len(ends) == compactions
        assert all(before > 500 and outcome == "completed" for before, outcome in ends)

    asyncio.run(main())


def test_tools_cost_what_the_hidden_prompt_of_their_family_costs():
    look = Tool("look", "Looks.", lambda: "", {"type": "object", "properties": {"at": {"type": "string"}}})
    cost = {m.id: Estimate(m).prompt("", (look,)) - Estimate(m).prompt("", ()) for m in (GPT, CLAUDE)}
    assert cost["gpt-4o"] < 60 and 400 < cost["claude-sonnet-4-5"] < 700


def test_a_message_is_the_sum_of_its_blocks_and_a_call_costs_more_than_its_text():
    estimate = Estimate(CLAUDE)
    call = AssistantMessage(content=(ToolCall("1", "look", {"at": "the sky"}),))
    said = AssistantMessage(content=(TextBlock('look\n{"at": "the sky"}'),))
    assert estimate.message(call) > estimate.message(said) >= estimate.text('look\n{"at": "the sky"}')
    two = UserMessage(content=(TextBlock("Some words."), ImageBlock("AAAA")))
    assert estimate.message(two) > 1_000


def test_images_count_by_their_size(tmp_path):
    def png(width, height):
        head = (
            b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + width.to_bytes(4, "big") + height.to_bytes(4, "big") + b"\x08\x02\0\0\0"
        )
        return UserMessage(content=(ImageBlock(base64.b64encode(head).decode()),))

    def cost(model, width, height, provider="openai"):
        of = Estimate(ModelDefinition(model, provider))
        return of.message(png(width, height)) - of.message(UserMessage(content=()))

    assert abs(cost("gpt-4o", 1024, 1024) - 765) < 2, "OpenAI's own example"
    assert abs(cost("gpt-4o", 2048, 4096) - 1105) < 2, "OpenAI's own example"
    assert abs(cost("gpt-4o-mini", 1, 1) - 8500) < 2
    assert abs(cost("claude-sonnet-4-5", 1000, 1000, "anthropic") - 1334) < 2, "Anthropic's own example"
    assert abs(cost("gemini-2.5-flash", 300, 300, "google") - 258) < 2, "Google's own example"


def test_the_size_of_an_image_is_read_from_each_format():
    gif = b"GIF89a" + (320).to_bytes(2, "little") + (200).to_bytes(2, "little")
    exif = b"\xff\xe1\x00\x04ab"
    jpeg = (
        b"\xff\xd8" + exif + b"\xff\xc0\x00\x11\x08" + (200).to_bytes(2, "big") + (320).to_bytes(2, "big") + b"\0" * 9
    )
    webp = b"RIFF\0\0\0\0WEBPVP8X" + b"\0" * 8 + (319).to_bytes(3, "little") + (199).to_bytes(3, "little")
    assert size_of(gif) == size_of(jpeg) == size_of(webp) == (320, 200)
    assert size_of(b"no image") is size_of(b"\x89PNG\r\n\x1a\n") is None


def test_a_text_document_counts_as_text_and_a_pdf_by_its_pages():
    estimate = Estimate(GPT)

    def cost(data, kind):
        document = DocumentBlock(base64.b64encode(data).decode(), kind)
        return estimate.message(UserMessage(content=(document,))) - estimate.message(UserMessage(content=()))

    assert abs(cost(b"Some words. " * 50, "text/plain") - estimate.text("Some words. " * 50)) < 2
    assert cost(b"%PDF /Type /Pages /Type /Page /Type/Page ", "application/pdf") == 2 * cost(b"%PDF", "application/pdf")


@pytest.mark.parametrize(
    ("family", "model", "provider", "api"),
    [
        ("claude-4.5", "us.anthropic.claude-haiku-4-5-20251001-v1:0", "bedrock", "openai-chat"),
        ("claude-4.5", "anthropic/claude-4.6-sonnet-20260217", "openrouter", "openai-chat"),
        ("claude-new", "claude-opus-4-8", "anthropic", "anthropic-messages"),
        ("claude-4", "claude-3-7-sonnet", "anthropic", ""),
        ("gpt-5-chat", "gpt-5-mini", "openai", "openai-chat"),
        ("gpt-5", "gpt-5-mini", "openai", "openai-responses"),
        ("gpt-5", "o3-mini", "openrouter", "openai-chat"),
        ("gpt-cl100k", "gpt-4-0125-preview", "openai", "openai-chat"),
        ("gpt-4", "gpt-4.1-nano", "openai", "openai-chat"),
        ("gpt-oss", "openai/gpt-oss-20b", "groq", "openai-chat"),
        ("llama-3", "meta-llama/Llama-3.3-70B-Instruct", "together", "openai-chat"),
        ("qwen", "Qwen/Qwen3-0.6B", "vllm", "openai-chat"),
        ("other", "acme-1", "acme", ""),
    ],
)
def test_a_model_belongs_to_a_family(family, model, provider, api):
    assert family_of(model, provider, api) == family


def test_every_family_has_every_weight():
    weights = table()["weights"]
    assert set(weights) == {f[0] for f in FAMILIES} | {"other"}
    assert all(set(of) == {*PIECES, *PARTS} for of in weights.values())


ANY = st.text(st.characters(codec=None), max_size=200)


@given(ANY, ANY)
def test_the_pieces_of_a_text_are_those_of_its_parts(one, other):
    whole, parts = pieces(f"{one}\n{other}"), map(sum, zip(pieces(one), pieces(other), strict=True))
    expected = dict(zip(PIECES, parts, strict=True))
    expected["lines"] += 1
    assert dict(zip(PIECES, whole, strict=True)) == expected


@given(ANY, st.sampled_from([f[0] for f in FAMILIES]))
def test_a_text_never_counts_less_than_nothing_or_more_than_its_bytes(text, family):
    tokens = Estimate(ModelDefinition(family)).text(text)
    assert 0 <= tokens <= 2 + 1.5 * len(text.encode("utf-8", "surrogatepass"))


def test_the_table_of_errors_names_its_source_and_date():
    found = table()
    assert found["source"] and found["date"] >= "2026-01-01" and json.dumps(found["error"])
