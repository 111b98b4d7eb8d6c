"""Servers of one agent alone: offered to it and to agents below it, ended with the block."""

import pytest
import skillkit_mcp
import skillkit_mcp.plugin

from skillkit_core import AgentConfig, AgentRunner, Tool, UsageError
from skillkit_core.testing import Call, Reply, ScriptedModel


def agent_of(client):
    return AgentRunner(AgentConfig(approver=client.approver), host=client.host)


async def offered(agent):
    """Return the names of the tools that a run of an agent offers."""
    model = ScriptedModel(["done"])
    agent.set_adapter(model)
    await agent.chat("go")
    return {tool.name for tool in model.requests[0].tools}


async def called(agent, name):
    agent.set_adapter(ScriptedModel([Reply(calls=[Call(name)]), "done"]))
    await agent.chat("go")
    return next(m for m in reversed(agent.messages) if m.role == "tool_result")


async def test_the_tools_of_a_server_of_one_agent_are_offered_to_no_other(connect, odd_server, alive):
    client = connect({"shared": odd_server("")})
    server = odd_server("")
    async with agent_of(client) as one, agent_of(client) as other:
        async with skillkit_mcp.connect(one, {"own": server}) as problems:
            assert problems == {}
            assert {"mcp__own__ok", "mcp__shared__ok"} <= await offered(one)
            assert "mcp__own__ok" not in await offered(other)
            assert (await called(one, "mcp__own__ok")).text == "fine"
        assert "mcp__own__ok" not in await offered(one)
        assert not alive(server["args"][0])
    await client.host.aclose()


async def test_an_agent_below_has_the_servers_of_the_agent_that_asks_it(connect, odd_server):
    client = connect({})
    async with agent_of(client) as one:

        async def below(args, ctx):
            async with AgentRunner(AgentConfig(), host=ctx.agent.host) as child:
                return (await called(child, "mcp__own__ok")).text

        one.configure(tools=(Tool("below", "Asks another agent.", below),))
        async with skillkit_mcp.connect(one, {"own": odd_server("")}):
            assert (await called(one, "below")).text == "fine"
    await client.host.aclose()


async def test_a_server_of_the_agent_hides_one_of_the_host_with_the_same_name(connect, odd_server):
    theirs = odd_server('if method == "tools/call": reply(text("the host\'s")); return')
    mine = odd_server('if method == "tools/call": reply(text("mine")); return')
    client = connect({"same": theirs})
    async with agent_of(client) as one:
        async with skillkit_mcp.connect(one, {"same": mine}):
            assert (await called(one, "mcp__same__ok")).text == "mine"
        assert (await called(one, "mcp__same__ok")).text == "the host's"
    await client.host.aclose()


async def test_who_connects_a_server_cannot_let_its_tools_run_without_a_question(connect, odd_server):
    client = connect({}, decide=lambda request: "deny")
    async with agent_of(client) as one:
        async with skillkit_mcp.connect(one, {"own": odd_server("", alwaysAllow=["*"])}):
            result = await called(one, "mcp__own__ok")
    assert result.outcome == "denied" and len(client.approver.asked) == 1
    assert any("code that connects it cannot decide alwaysAllow" in str(p) for p in client.host.problems)
    await client.host.aclose()


async def test_a_server_that_cannot_be_used_is_named_and_the_others_work(connect, odd_server):
    client = connect({})
    servers = {"bad": {"command": "nope-xyz"}, "odd": {"neither": 1}, "own": odd_server("")}
    async with agent_of(client) as one:
        async with skillkit_mcp.connect(one, servers) as problems:
            assert set(problems) == {"bad", "odd"} and "command not found: nope-xyz" in problems["bad"]
            assert "mcp__own__ok" in await offered(one)
            with pytest.raises(UsageError, match="has MCP servers of its own already"):
                async with skillkit_mcp.connect(one, {}):
                    pass
    await client.host.aclose()


async def test_closing_the_host_ends_the_servers_of_its_agents(connect, odd_server, alive):
    client = connect({})
    server = odd_server("")
    agent = agent_of(client)
    context = skillkit_mcp.connect(agent, {"own": server})
    await context.__aenter__()
    assert alive(server["args"][0])
    await client.host.aclose()
    assert not alive(server["args"][0])
    await context.__aexit__(None, None, None)
