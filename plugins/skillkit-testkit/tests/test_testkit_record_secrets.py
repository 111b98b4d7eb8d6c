"""No secret gets into a recording, however it was cut into pieces, and what is left replays."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from skillkit_testkit import Recorder, replay

from skillkit_core import AgentConfig, AgentRunner, Host, LLMRequest, StreamEvent, Tool
from skillkit_core.testing import Call, Raw, Reply, ScriptedModel

SECRET = "ЖЩЫЭЮЯЦФ"  # letters that nothing else has: not even a piece of it may be found
SAYS = ["The key", " is", *" ЖЩЫЭЮЯЦФ", ", use", " it."]


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
