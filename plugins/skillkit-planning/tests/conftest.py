"""A host with the plugin, the file tools behind their guard, a session store, and tools with and without annotations."""

import pytest
import skillkit_commands.plugin
import skillkit_files.plugin
import skillkit_permissions.plugin
import skillkit_planning.plugin
import skillkit_sessions.plugin
import skillkit_subagents.plugin
from skillkit_commands import SlashCommands

from skillkit_core import AgentConfig, AgentRunner, Tool, hookimpl
from skillkit_core.testing import ScriptedModel

URL = {"type": "object", "properties": {"url": {"type": "string"}}, "required": ["url"]}


class Tools:
    """``look`` changes nothing, ``fetch`` uses the network, ``odd`` says nothing of itself, ``deploy`` changes the world."""

    def __init__(self):
        self.used = []

    async def _run(self, args, ctx):
        self.used.append(ctx.tool_name)
        return f"{ctx.tool_name} done"

    @hookimpl
    def register_tools(self, register):
        register(Tool("look", "Look.", self._run, annotations={"mutates": "none"}))
        register(Tool("fetch", "Fetch.", self._run, URL, annotations={"mutates": "none", "host": "url"}))
        register(Tool("odd", "Do.", self._run))
        register(Tool("deploy", "Deploy.", self._run, annotations={"mutates": "world"}))


@pytest.fixture
def own():
    return Tools()


@pytest.fixture
def agent_with(make_host, own, skillkit_home):
    def make(*turns, settings=None, session="new", **config):
        host = make_host(
            ("commands", skillkit_commands.plugin),
            ("permissions", skillkit_permissions.plugin),
            ("files", skillkit_files.plugin),
            ("sessions", skillkit_sessions.plugin),
            ("subagents", skillkit_subagents.plugin),
            ("planning", skillkit_planning.plugin),
            ("own", own),
            settings=settings or {},
        )
        agent = AgentRunner(AgentConfig(cwd=skillkit_home.cwd, **config), host=host, session=session)
        agent.model = ScriptedModel(list(turns))
        agent.set_adapter(agent.model)
        return agent

    return make


@pytest.fixture
def slash():
    async def run(agent, line):
        commands = SlashCommands(agent)
        return await commands.run(commands.match(line))

    return run
