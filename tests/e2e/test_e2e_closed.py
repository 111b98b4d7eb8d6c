"""Nothing keeps what is closed: agents with their transcripts, sessions and hosts are gone, with every plugin installed."""

from __future__ import annotations

import asyncio
import gc
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from skillkit_testkit import until
from skillkit_testkit.turns import Call, Hang, Reply

from skillkit_core import AgentConfig, AgentRunner, ApprovalDecision, Approver, Host, RunAborted, Session, Tool
from skillkit_core.agent.run import Run

KEPT = (AgentRunner, Session, Run, Host)
CALLS = [
    Call("read", {"path": "note.txt"}),
    Call("spawn_agent", {"task": "below: go"}),
    Call("write", {"path": "made.txt", "content": "x"}),
    Call("bash", {"command": "echo hello"}),
    Call("look", {}),
    Call("no_such_tool", {}),
]


class Yes(Approver):
    """Agrees to everything."""

    async def approve(self, request: Any) -> ApprovalDecision:
        return ApprovalDecision("allow", remember="session")


def alive() -> Counter[str]:
    gc.collect()
    return Counter(type(one).__name__ for one in gc.get_objects() if type(one) in KEPT)


def answers(request: Any) -> Reply:
    asked = next(item.text for item in request.items if item.kind == "user" and not item.text.startswith("<"))
    if request.tool_results or asked.startswith("below"):
        return Reply(text="done")
    return Reply(tool_calls=CALLS)


async def look(args: Any, ctx: Any) -> str:
    return type(await ctx.agent.host.find_runtime()).__name__


def _config(url: str) -> AgentConfig:
    where: dict[str, Any] = {
        "model": "any",
        "provider": "openai",
        "api": "openai-chat",
        "base_url": url,
        "api_key": "k",
    }
    return AgentConfig(**where, tools=(Tool("look", "Looks.", look),), approver=Yes())


async def one_agent(host: Host, url: str) -> None:
    async with AgentRunner(_config(url), host=host, session="new") as agent:
        assert (await agent.chat("do it all")).content == "done"
        await agent.fork()
        assert [event.type async for event in agent.chat_stream_events("again")][-1] == "done"
        await agent.switch("new")
        await agent.chat("once more")


async def test_closed_agents_sessions_runs_and_hosts_are_gone(skillkit_home: Any, llm_server: Any) -> None:
    Path(skillkit_home.cwd, "note.txt").write_text("a note")
    llm_server.always(answers)
    known = alive()
    for _ in range(2):
        host = Host()
        for _ in range(3):
            await one_agent(host, llm_server.openai_url)
            assert alive() - known == Counter(Host=1)
        await host.aclose()
        del host
        assert alive() - known == Counter()


async def test_agents_that_were_aborted_are_gone_at_once_with_the_agents_that_they_asked(
    skillkit_home: Any, llm_server: Any
) -> None:
    def answers(request: Any) -> Any:
        asked = next(item.text for item in request.items if item.kind == "user" and not item.text.startswith("<"))
        below = [Call("spawn_agent", {"task": f"below: {n}"}) for n in range(4)]
        return Hang() if asked.startswith("below") else Reply(tool_calls=below)

    llm_server.always(answers)
    known, host = alive(), Host()
    for _ in range(3):
        asked_before = len(llm_server.requests)
        async with AgentRunner(_config(llm_server.openai_url), host=host, session="new") as agent:
            task = asyncio.create_task(agent.chat("go"))
            await until(lambda before=asked_before: len(llm_server.requests) == before + 5)
            agent.abort()
            with pytest.raises(RunAborted):
                await task
        del agent, task
        for _ in range(10):  # turns of the loop, so that no timer gets its time
            await asyncio.sleep(0)
        assert alive() - known == Counter(Host=1)
    await host.aclose()
