"""A process that gives a task to the agent ``far``: ``python a2a_desk.py SESSION_FILE BASE WORDS``; nobody sits at it."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from skillkit_testkit.engines import installed

from skillkit_core import AgentConfig, AgentRunner, Host
from skillkit_core.testing import Call, Reply, ScriptedModel


async def main(file: Path, base: str, words: str) -> None:
    agents = {"far": {"url": base}}
    settings = {"a2a.client": {"allow": [base.removeprefix("http://")], "agents": agents}}
    host = Host(discover=False, plugins=[installed("sessions"), installed("a2a")], settings=settings)
    async with AgentRunner(AgentConfig(model="any"), host=host, session="new") as agent:
        call = Call("delegate_to_external_agent_tool", {"agent": "far", "message": words})
        agent.set_adapter(ScriptedModel([Reply(calls=[call])]))
        file.write_text((await agent.open()).id)
        response = await agent.chat("Go.")
        print(response.outcome)
    await host.aclose()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2], sys.argv[3]))
