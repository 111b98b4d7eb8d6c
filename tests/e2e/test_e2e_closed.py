"""Nothing keeps what is closed: agents with their transcripts, sessions and hosts are gone, with every plugin installed."""

from __future__ import annotations

import gc
from collections import Counter
from pathlib import Path
from typing import Any

from skillkit_testkit.turns import Call, Reply

from skillkit_core import AgentConfig, AgentRunner, ApprovalDecision, Approver, Host, Session, Tool
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


async def one_agent(host: Host, url: str) -> None:
    where: dict[str, Any] = {
        "model": "any",
        "provider": "openai",
        "api": "openai-chat",
        "base_url": url,
        "api_key": "k",
    }
    config = AgentConfig(**where, tools=(Tool("look", "Looks.", look),), approver=Yes())
    async with AgentRunner(config, host=host, session="new") as agent:
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
