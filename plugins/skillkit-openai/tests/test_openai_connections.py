"""Connections outlive runs, and keep nothing of them."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import weakref
from typing import Any

import pytest

from skillkit_core import AgentConfig, AgentRunner, Host, ModelSettings, Tool

CALL = {"id": "c1", "type": "function", "index": 0, "function": {"name": "look", "arguments": "{}"}}


def whole(**message: Any) -> dict[str, Any]:
    reason = "tool_calls" if "tool_calls" in message else "stop"
    return {"id": "c", "choices": [{"index": 0, "message": message, "finish_reason": reason}]}


def streamed(text: str) -> dict[str, Any]:
    return {"id": "c", "choices": [{"index": 0, "delta": {"content": text}, "finish_reason": "stop"}]}


class Witness:
    """What a tool holds."""


async def run(host: Host, url: str, stream: bool) -> list[weakref.ref[Any]]:
    """A run with a call of a tool; what must be gone after it."""
    witness = Witness()

    async def look(args: Any, ctx: Any) -> str:
        return type(witness).__name__

    tool = Tool("look", "Look.", look, {"type": "object"}, timeout=600.0)
    config = AgentConfig(
        model="m",
        provider="openai",
        base_url=url,
        api_key="sk-1",
        settings=ModelSettings(timeout=600.0),
        stream=stream,
        tools=(tool,),
        only_tools=frozenset(("look",)),
    )

    async def dawdle(event: Any) -> None:
        for _ in range(100):
            await asyncio.sleep(0)  # the answer comes in meanwhile, and fills what may be read ahead

    async with AgentRunner(config, host=host, session=None) as agent:
        agent.events.on("after_provider_response", dawdle)
        assert (await agent.chat("hi")).outcome == "completed"
        said = [m.role for m in agent.messages if m.role != "custom"]  # without facts of the environment
        assert said == ["user", "assistant", "tool_result", "assistant"]
        return [weakref.ref(thing) for thing in (agent, agent.session, witness)]


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("size", [2, 4_000_000], ids=["short", "so long that reading is paused"])
def test_an_open_connection_keeps_nothing_of_the_run_that_opened_it(loopback: Any, stream: bool, size: int) -> None:
    async def main() -> list[bool]:
        async with loopback() as server, contextlib.aclosing(Host()) as host:
            server.json(whole(tool_calls=[CALL]))
            if stream:
                server.sse(streamed("x" * size), b"data: [DONE]\n\n")
            else:
                server.json(whole(content="x" * size))
            refs = await run(host, server.url, stream)
            gc.collect()
            assert (server.open, len(server.requests)) == (1, 2)
            return [ref() is not None for ref in refs]

    assert asyncio.run(main()) == [False, False, False]
