"""Agents with a scripted model and a tool that counts, for tests that record them."""

from __future__ import annotations

import asyncio
from typing import Any

from skillkit_core import AgentConfig, AgentRunner, Host, Tool
from skillkit_core.testing import ScriptedModel

__all__ = ["SECRET", "counting", "scripted"]

SECRET = "sk-very-secret-123456"
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


def counting(ran: list[int]) -> Tool:
    async def count(args: Any, ctx: Any) -> str:
        ran.append(args["n"])
        ctx.on_output(f"counting to {args['n']}\n")
        for _ in range(20 // args["n"]):  # the second of two is ready before the first
            await asyncio.sleep(0)
        return f"counted to {args['n']}"

    return Tool("count", "Count.", count, SCHEMA)


def scripted(*turns: Any, **options: Any) -> AgentRunner:
    agent = AgentRunner(AgentConfig(**options), host=Host(discover=False, environ={}))
    agent.set_adapter(ScriptedModel(turns))
    return agent
