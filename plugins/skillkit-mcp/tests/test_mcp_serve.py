"""``skillkit mcp serve`` and the SDK's client: tools through the guards, questions to the client's person."""

import asyncio
import os
import sys

import pytest
from mcp import Client, MCPError, StdioServerParameters
from mcp_types import ElicitResult
from skillkit_testkit import until_changed

SERVER = """
import asyncio
import skillkit_mcp.plugin
from skillkit_core import Host, Survey, SurveyQuestion, Tool, ToolCallEventResult, ToolOutput, hookimpl
from skillkit_mcp.serve import serve

async def add(args, ctx):
    print("to stdout, where the messages are")
    return str(args["a"] + args["b"])

async def slow(args, ctx):
    ctx.on_output("begun")
    try:
        await asyncio.sleep(60)
    finally:
        open("ended", "w").close()

async def ask(args, ctx):
    answers = await ctx.ui.ask(Survey("Lunch", "What to eat?", (SurveyQuestion("dish", "Which dish?"),)))
    return f"you said {answers['dish']}" if answers else "no answer"

async def guarded(args, ctx):
    return "guarded ran"

NUMBERS = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}, "required": ["a", "b"]}

class Plugin:
    @hookimpl
    def register_tools(self, register):
        register(Tool("add", "Add.", add, parameters=NUMBERS, annotations={"mutates": "none"}))
        register(Tool("slow", "Take long.", slow))
        register(Tool("ask", "Ask.", ask))
        register(Tool("guarded", "Be guarded.", guarded))
        register(Tool("blocked", "Be blocked.", guarded))
        register(Tool("mcp__other__tool", "Of another server.", guarded))
        register(Tool("secret", "Opt in.", guarded, opt_in=True))

    @hookimpl(phase="guard")
    def before_tool_call(self, event):
        if event.tool_name == "guarded":
            return ToolCallEventResult(ask="Really?")
        if event.tool_name == "blocked":
            return ToolCallEventResult(block=True, reason="never")

host = Host(plugins=[("mcp", skillkit_mcp.plugin), ("mine", Plugin())], discover=False)
asyncio.run(serve(host))
"""


@pytest.fixture
def server(skillkit_home):
    path = skillkit_home.cwd / "server.py"
    path.write_text(SERVER)
    return StdioServerParameters(command=sys.executable, args=[str(path)], env=dict(os.environ), cwd=skillkit_home.cwd)


def text(result):
    return "\n".join(part.text for part in result.content)


@pytest.mark.smoke
async def test_tools_run_through_the_guards_and_what_would_be_asked_is_denied(server):
    async with Client(server) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert set(tools) == {"add", "slow", "ask", "guarded", "blocked"}
        assert tools["add"].input_schema["required"] == ["a", "b"] and tools["add"].annotations.read_only_hint
        assert text(await client.call_tool("add", {"a": 2, "b": 3})) == "5"
        bad = await client.call_tool("add", {"a": "two"})
        assert bad.is_error and "do not fit" in text(bad)
        denied = await client.call_tool("guarded", {})
        assert denied.is_error and "this MCP client cannot ask: Really?" in text(denied)
        blocked = await client.call_tool("blocked", {})
        assert blocked.is_error and text(blocked) == "Blocked: never"
        assert text(await client.call_tool("ask", {})) == "no answer"
        for name in ("mcp__other__tool", "nothing"):
            try:
                assert (await client.call_tool(name, {})).is_error
            except MCPError as error:
                assert "there is no tool" in str(error)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_questions_go_to_the_person_at_the_client(server, mode):
    asked = []

    async def answer(context, params):
        asked.append(params.message)
        content = {"dish": "soup"} if "Lunch" in params.message else {"decision": "allow"}
        return ElicitResult(action="accept", content=content)

    async with Client(server, elicitation_callback=answer, mode=mode) as client:
        assert text(await client.call_tool("ask", {})) == "you said soup"
        assert text(await client.call_tool("guarded", {})) == "guarded ran"
        both = await asyncio.gather(*(client.call_tool("guarded", {}) for _ in range(3)))
        assert [text(result) for result in both] == ["guarded ran"] * 3
    assert asked[0] == "Lunch\nWhat to eat?" and asked[1] == "Really?\nguarded {}" and len(asked) == 5


async def test_a_refusal_is_a_denial(server):
    async def no(context, params):
        return ElicitResult(action="decline")

    async with Client(server, elicitation_callback=no) as client:
        denied = await client.call_tool("guarded", {})
        assert denied.is_error and "said no" in text(denied)


async def test_output_is_progress_and_a_cancelled_call_ends_the_tool(server, skillkit_home):
    seen = asyncio.Event()
    told = []

    async def progress(done, total, message):
        told.append(message)
        seen.set()

    async with Client(server) as client:
        call = asyncio.create_task(client.call_tool("slow", {}, progress_callback=progress))
        await asyncio.wait_for(seen.wait(), 20)
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)
        await asyncio.to_thread(until_changed, (skillkit_home.cwd / "ended").exists, skillkit_home.cwd)
        assert told == ["begun"]
        assert text(await client.call_tool("add", {"a": 1, "b": 1})) == "2"
