"""A host with the plugin, a session store, the wire of OpenAI and a scripted server, and tools that say who used them."""

import pytest
import skillkit_commands.plugin
import skillkit_openai.plugin
import skillkit_sessions.plugin
import skillkit_subagents.plugin
from skillkit_testkit import Reply

from skillkit_core import AgentConfig, AgentRunner, TokenUsage, Tool, ToolCallEventResult, hookimpl

TEXT = {"type": "object", "properties": {"text": {"type": "string"}}}


class Tools:
    """Tools of the tests: ``look`` reads, ``pay`` asks first, ``boom`` raises."""

    def __init__(self):
        self.used = []

    async def _run(self, args, ctx):
        self.used.append((ctx.agent.name or "main", ctx.tool_name))
        if ctx.tool_name == "boom":
            raise RuntimeError("boom")
        return f"{ctx.tool_name} done"

    @hookimpl
    def register_tools(self, register):
        for name in ("look", "pay", "boom", "mcp__git__log"):
            register(Tool(name, f"The tool {name}.", self._run, TEXT, annotations={"mutates": "none"}))

    @hookimpl(phase="guard", tools=("pay",))
    def before_tool_call(self, event):
        return ToolCallEventResult(ask="Pay?")


class Script:
    """Answers by who asks: the role of an agent is the first word of what it was asked. Counts what it charged for."""

    def __init__(self, server, **roles):
        self.roles = {name: list(turns) for name, turns in roles.items()}
        self.charged, self.by_role, self.requests = TokenUsage(), {}, {}
        server.always(self.answer)

    def answer(self, request):
        asked = (i.text for i in request.items if i.kind == "user" and not i.text.startswith("<environment>"))
        role = next(asked).split()[0].strip(":")
        self.requests.setdefault(role, []).append(request)
        turn = self.roles[role].pop(0)
        if isinstance(turn, Reply):
            self.charged = self.charged + turn.usage
            self.by_role[role] = self.by_role.get(role, TokenUsage()) + turn.usage
        return turn


@pytest.fixture
def script(llm_server):
    return lambda **roles: Script(llm_server, **roles)


@pytest.fixture
def own():
    return Tools()


@pytest.fixture
def agent_with(make_host, llm_server, own, tmp_path):
    def make(*plugins, settings=None, session="new", **config):
        standard = (
            ("commands", skillkit_commands.plugin),
            ("sessions", skillkit_sessions.plugin),
            ("openai", skillkit_openai.plugin),
            ("subagents", skillkit_subagents.plugin),
        )
        host = make_host(*standard, ("own", own), *plugins, settings=settings or {})
        where = {"provider": "openai", "api": "openai-chat", "base_url": llm_server.openai_url, "api_key": "k"}
        return AgentRunner(AgentConfig(model="any", **where, **config), host=host, session=session)

    return make
