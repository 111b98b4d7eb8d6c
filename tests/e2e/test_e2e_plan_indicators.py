"""The status line of the terminal UI shows the activity that planning knows and the network that the sandbox knows."""

from skillkit_frontend import Books
from skillkit_planning.activity import begin_planning, leave_planning
from skillkit_tui.status import Status

from skillkit_core import AgentConfig, AgentRunner, Host

POLICIES = {"out": {"network": "proxy", "domains": ["example.org"]}}


async def test_the_status_line_tells_activity_and_network(skillkit_home):
    def agent_with(**settings):
        host = Host(cwd=skillkit_home.cwd, settings={"sandbox.policies": POLICIES, **settings})
        return AgentRunner(AgentConfig(model="any"), host=host)

    async def shown(*, plans=False, **settings):
        async with agent_with(**settings) as agent:
            await agent.open()
            if plans:
                await begin_planning(agent)
            line = Status(Books(agent)).draw("INSERT", "", 200)[1].plain
            await leave_planning(agent)
            again = Status(Books(agent)).draw("INSERT", "", 200)[1].plain
            assert agent.host.problems == []
        await agent.host.aclose()
        return line, again

    assert [line.split("  ")[0] for line in await shown()] == ["[INSERT] [EXECUTE] [i:0 o:0 | i:0 o:0] [NET on]"] * 2
    (line, _) = await shown(**{"sandbox.commands": "out"})
    assert "[NET proxy]" in line
    line, again = await shown(plans=True, **{"tools.executor": "stdio", "executor.sandbox": "out"})
    assert "[PLAN]" in line and "[NET off]" in line
    assert "[EXECUTE]" in again and "[NET proxy]" in again
