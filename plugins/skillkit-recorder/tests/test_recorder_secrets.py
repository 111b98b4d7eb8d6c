"""No secret gets into a recording, however it was cut into pieces, and what is left replays."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from skillkit_recorder import Recorder, replay

from skillkit_core import (
    AgentConfig,
    AgentRunner,
    ApprovalDecision,
    ApprovalRequest,
    Approver,
    HandlerContext,
    Host,
    LLMRequest,
    StreamEvent,
    Tool,
    ToolCallEvent,
    ToolCallEventResult,
    ToolOutput,
    hookimpl,
)
from skillkit_core.testing import Call, Raw, Reply, ScriptedModel

SECRET = "ЖЩЫЭЮЯЦФ"  # letters that nothing else has: not even a piece of it may be found
SAYS = ["The key", " is", *" ЖЩЫЭЮЯЦФ", ", use", " it."]


class Later(Approver):
    """Puts every question off."""

    async def approve(self, request: ApprovalRequest) -> ApprovalDecision:
        return ApprovalDecision("defer")


class Asks:
    """Asks about calls of the second answer."""

    @hookimpl
    def before_tool_call(self, event: ToolCallEvent, ctx: HandlerContext) -> ToolCallEventResult | None:
        return ToolCallEventResult(ask="May it?") if len(ctx.session.messages) > 5 else None


class Slow(ScriptedModel):
    """Lets others work between two events."""

    async def stream(self, request: LLMRequest) -> AsyncIterator[StreamEvent]:
        async for item in super().stream(request):
            await asyncio.sleep(0)
            yield item


def thinks(text: str) -> list[StreamEvent]:
    deltas = [StreamEvent("thinking_delta", piece, index=0) for piece in text]
    return [StreamEvent("thinking_start", index=0), *deltas, StreamEvent("thinking_end", index=0)]


async def shows(args: Any, ctx: Any) -> str:
    for letter in SECRET:
        ctx.on_output(letter)
        ctx.on_output(letter, "stderr")
        await asyncio.sleep(0)
    return f"it is {SECRET}"


async def asks(args: Any, ctx: Any) -> str:
    """Two agents at once, each saying the secret and a tool of it showing it."""

    async def one() -> str:
        async with AgentRunner(AgentConfig(tools=(Tool("shows", "Show.", shows),))) as agent:
            agent.set_adapter(Slow([Reply(SAYS, calls=[Call("shows", id="inner")]), Reply(SAYS)]))
            return (await agent.chat("What is it?")).content

    return " and ".join(await asyncio.gather(one(), one()))


@pytest.mark.parametrize("waits", [False, True])
def test_a_secret_in_pieces_does_not_get_into_a_recording(tmp_path: Path, waits: bool) -> None:
    """``waits``: a handler that is told several pieces at once, and others than the provider sent."""
    path = tmp_path / "session.jsonl"

    async def main() -> None:
        tools = (Tool("shows", "Show.", shows), Tool("asks", "Ask.", asks))
        calls = [Call("shows", {"token": SECRET}), Call("asks")]
        host = Host(discover=False, environ={})
        async with AgentRunner(AgentConfig(tools=tools), host=host) as agent:
            host.remember_secret(SECRET)
            done = StreamEvent("done", stop_reason="stop")
            agent.set_adapter(Slow([Reply(SAYS, calls=calls), Raw([*thinks(f"Is it {SECRET}?"), done]), Reply(SAYS)]))

            async def slow(event: Any) -> None:
                for _ in range(3):
                    await asyncio.sleep(0)

            if waits:
                agent.events.on("message_update", slow)
            with Recorder(agent, path):
                await agent.chat(f"The key is {SECRET}. Look.")
                await agent.chat("Again.")
        await host.aclose()

    asyncio.run(main())
    text = path.read_text(encoding="utf-8")
    assert not set(SECRET) & set(text)
    assert text.count("***") > 20
    done = asyncio.run(replay(path))
    assert done.matches, done.report()


def test_a_recording_holds_no_key_that_json_writes_otherwise(tmp_path: Path) -> None:
    """Arguments, names, details, thinking, a suspension."""
    odd = 'sk-"odd"\\\\one/ünïcødé\'\\n12'
    path = tmp_path / "session.jsonl"

    async def look(args: Any, ctx: Any) -> ToolOutput:
        ctx.on_output(json.dumps(odd))
        return ToolOutput(json.dumps(odd), details={odd: [odd]})

    async def main() -> None:
        host = Host(discover=False, plugins=[("asks", Asks())], environ={})
        host.remember_secret(odd)
        calls = [Call("look", {"key": odd, odd: 1}), Call(f"no {odd}"), Call("look", raw=f"no JSON: {json.dumps(odd)}")]
        tool = Tool("look", "Look.", look, {"type": "object", "additionalProperties": True})
        config = AgentConfig(tools=(tool,), approver=Later())
        async with AgentRunner(config, host=host) as agent:
            agent.set_adapter(ScriptedModel([Reply(list(odd), calls=calls, thinking=odd), Reply(calls=calls[:1])]))
            with Recorder(agent, path):
                assert (await agent.chat(odd)).outcome == "suspended"
        await host.aclose()

    asyncio.run(main())
    text = path.read_text(encoding="utf-8")
    once = {odd, json.dumps(odd)[1:-1], json.dumps(odd, ensure_ascii=False)[1:-1]}
    twice = {json.dumps(s, ensure_ascii=ascii)[1:-1] for s in once for ascii in (True, False)}
    assert [s for s in once | twice if s in text] == [] and text.count("***") > 10
    done = asyncio.run(replay(path, plugins=[("asks", Asks())]))
    assert done.matches, done.report()
