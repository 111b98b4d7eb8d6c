"""What runs the cases of the corpus of odd servers against the plugin: an agent calls the tools, a person answers.

``check.py`` of the corpus imports this file; each case is a process of its own.
"""

from __future__ import annotations

import skillkit_mcp.plugin
from skillkit_mcp.manager import connections_of

from skillkit_core import AgentConfig, AgentRunner, ApprovalDecision, Approver, Host, UserInterface, thaw
from skillkit_core.testing import Call, Reply, ScriptedModel


class Everything(Approver):
    async def approve(self, request):
        return ApprovalDecision("allow")


class Person(UserInterface):
    def __init__(self, answer):
        self._answer = answer

    async def ask(self, survey):
        given = await self._answer(survey.text)
        if given["action"] != "accept":
            return None
        return survey.answer(given["content"])

    async def notify(self, text, level="info"):
        pass


class Adapter:
    def __init__(self, host, spec):
        self._host = host
        self._config = AgentConfig(
            approver=Everything(), ui=Person(spec["answer"]) if spec["answer"] is not None else None
        )

    async def offered(self):
        async with AgentRunner(self._config, host=self._host) as agent:
            await agent.open()
            return [
                {
                    "name": tool.name,
                    "server_name": tool.annotations["mcp"]["tool"],
                    "description": tool.description,
                    "schema": thaw(tool.parameters),
                }
                for tool in agent.tools
                if "mcp" in tool.annotations
            ]

    async def call(self, name, args, progress=False):
        async with AgentRunner(self._config, host=self._host) as agent:
            await agent.open()
            known = {t.annotations["mcp"]["tool"]: t.name for t in agent.tools if "mcp" in t.annotations}
            if name not in known:
                raise LookupError(f"there is no tool {name!r}")
            agent.set_adapter(ScriptedModel([Reply(calls=[Call(known[name], args)]), "done"]))
            await agent.chat("go")
            result = next(m for m in agent.messages if m.role == "tool_result")
        return {
            "is_error": result.is_error,
            "text": "\n".join(b.text for b in result.content if b.type == "text"),
            "kinds": [b.type for b in result.content],
        }

    async def close(self):
        await self._host.aclose()


async def open_client(spec):
    server = {"connectTimeout": spec["connect_timeout"], "callTimeout": spec["call_timeout"]}
    if spec.get("url"):
        server["url"] = spec["url"]
    else:
        server |= {"command": spec["command"], "args": spec["args"]}
    host = Host(plugins=[("mcp", skillkit_mcp.plugin)], discover=False, settings={"mcp.servers": {"odd": server}})
    connections = connections_of(host)
    await connections.start(60)
    made = await connections.connection(connections.named("odd"))
    if made.state != "ready":
        problem = made.problem
        await host.aclose()
        raise ConnectionError(problem)
    return Adapter(host, spec)
