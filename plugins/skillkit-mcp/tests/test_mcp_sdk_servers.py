"""A server written with the SDK, in the newest protocol, over both transports: structure, resources, changes of its tools."""

import asyncio
import socket
import subprocess
import sys

import pytest

SERVER = """
import sys
from mcp.server.mcpserver import Context, MCPServer

server = MCPServer("sdk")

@server.tool()
def facts(name: str) -> dict[str, int]:
    return {"letters": len(name)}

@server.tool()
async def grow(ctx: Context) -> str:
    server.add_tool(lambda: "grown", name="grown", description="New.")
    await ctx.notify_tools_changed()
    return "ok"

@server.resource("note://today")
def note() -> str:
    return "water the plants"

@server.prompt()
def review(topic: str) -> str:
    return f"Review {topic}."

if sys.argv[1:]:
    server.run("streamable-http", port=int(sys.argv[1]))
else:
    server.run("stdio")
"""


@pytest.fixture(params=["stdio", "http"])
def sdk_server(request, tmp_path):
    """What is configured for the server above, over either transport."""
    path = tmp_path / "sdk_server.py"
    path.write_text(SERVER)
    if request.param == "stdio":
        yield {"command": sys.executable, "args": [str(path)], "connectTimeout": 60}
        return
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    argv = [sys.executable, path, str(port)]
    with subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        assert any("running on" in line for line in process.stderr)
        yield {"url": f"http://127.0.0.1:{port}/mcp", "connectTimeout": 60}
        process.terminate()
        process.stderr.read()


async def test_a_server_of_the_sdk_works_over_both_transports(connect, sdk_server):
    client = connect({"sdk": sdk_server})
    facts, note = await client.calls(("mcp__sdk__facts", {"name": "Bern"}), ("mcp_resource", {"uri": "note://today"}))
    assert '"letters": 4' in facts.text and note.text == "water the plants"
    assert (await client.call("mcp__sdk__grow")).text == "ok"
    async with asyncio.timeout(60):
        while "mcp__sdk__grown" not in await client.tools():
            pass
    assert (await client.call("mcp__sdk__grown")).text == "grown"
    await client.host.aclose()
