"""Hosts with MCP servers, and agents that call their tools."""

import fcntl
import os
import shutil
import subprocess
import sys

import pytest
import skillkit_mcp.plugin

from skillkit_core import AgentConfig, AgentRunner, ApprovalDecision, Approver
from skillkit_core.testing import Call, Reply, ScriptedModel

NPM = ("everything", "filesystem", "memory")


class Allow(Approver):
    """Allows what it is asked, or what a function says.

    Attributes:
        asked: the requests.
    """

    def __init__(self, decide):
        self.asked = []
        self._decide = decide

    async def approve(self, request):
        self.asked.append(request)
        return ApprovalDecision(self._decide(request))


class Client:
    """A host with servers, whose tools an agent calls.

    Attributes:
        approver: who is asked before a call.
        shown: live output of calls.
    """

    def __init__(self, host, ui, approver):
        self.host = host
        self.approver = approver
        self.ui = ui
        self.shown = []

    def agent(self):
        return AgentRunner(AgentConfig(approver=self.approver, ui=self.ui), host=self.host)

    async def call(self, name, /, **args):
        """Return the result of one call that a model makes."""
        return (await self.calls((name, args)))[0]

    async def calls(self, *calls):
        async with self.agent() as agent:
            agent.events.on("tool_execution_update", lambda event: self.shown.append(event.output))
            agent.set_adapter(ScriptedModel([*(Reply(calls=[Call(n, a)]) for n, a in calls), "done"]))
            await agent.chat("go")
            return [m for m in agent.messages if m.role == "tool_result"]

    async def tools(self):
        """Return the tools that a run offers, by name."""
        async with self.agent() as agent:
            model = ScriptedModel(["done"])
            agent.set_adapter(model)
            await agent.chat("go")
            return {tool.name: tool for tool in model.requests[0].tools}


@pytest.fixture
def connect(make_host):
    """``connect({"time": {"command": ...}})`` gives a :class:`Client`; its servers end with the test."""

    def make(servers, *, ui=None, decide=lambda request: "allow", settings=None, **options):
        chosen = {"mcp.servers": servers, **(settings or {})}
        host = make_host(("mcp", skillkit_mcp.plugin), settings=chosen, **options)
        return Client(host, ui, Allow(decide))

    return make


@pytest.fixture
def odd_server(tmp_path):
    """``odd_server("...Python...")`` gives what is configured for a raw server that runs this code for each message.

    The code sees ``m`` (the message), ``reply(result)``, ``send(message)``, ``tools`` (a list) and ``state`` (a dict).
    """
    made = []

    def make(code, **options):
        path = tmp_path / f"odd{len(made)}.py"
        made.append(path)
        body = "\n".join(f"    {line}" for line in code.strip().splitlines())
        path.write_text(RAW.replace("    #CODE", body))
        return {"command": sys.executable, "args": [str(path)], **options}

    return make


RAW = """
import json, os, sys, time
OBJ = {"type": "object", "properties": {}}
tools = [{"name": "ok", "description": "A tool.", "inputSchema": OBJ}]
state, caps = {}, {"tools": {"listChanged": True}}
def text(t, **kw): return {"content": [{"type": "text", "text": t}], **kw}
def send(o): sys.stdout.write(json.dumps(o) + chr(10)); sys.stdout.flush()
def handle(m):
    method, params = m.get("method"), m.get("params") or {}
    name, args = params.get("name"), params.get("arguments") or {}
    reply = lambda result: send({"jsonrpc": "2.0", "id": m["id"], "result": result})
    if method == "initialize":
        reply({"protocolVersion": "2025-06-18", "capabilities": caps, "serverInfo": {"name": "odd", "version": "1"}})
        return
    #CODE
    if method == "tools/list": reply({"tools": tools})
    elif method == "tools/call": reply(text("fine"))
    elif m.get("id") is not None and method: send({"jsonrpc": "2.0", "id": m["id"], "error": {"code": -32601, "message": "no"}})
for line in sys.stdin:
    handle(json.loads(line))
"""


@pytest.fixture(scope="session")
def npm_servers(tmp_path_factory):
    """The folder of the programs of the reference servers; skipped without npm, a failure where CI=true."""
    problem = None if shutil.which("npm") else "npm is not installed"
    root = tmp_path_factory.getbasetemp()
    folder = (root.parent if "PYTEST_XDIST_WORKER" in os.environ else root) / "npm"
    folder.mkdir(exist_ok=True)
    if problem is None:
        with (folder / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # another worker may install them at this moment
            if not (folder / "done").exists():
                packages = [f"@modelcontextprotocol/server-{name}" for name in NPM]
                command = ["npm", "install", "--no-audit", "--no-fund", "--silent", "--prefix", folder, *packages]
                run = subprocess.run(command, capture_output=True, text=True, timeout=240)
                (folder / "done").write_text(
                    "" if run.returncode == 0 else (run.stderr or run.stdout or "failed")[-500:]
                )
            problem = (folder / "done").read_text() or None
    if problem is not None:
        reason = f"the reference servers cannot be installed: {problem}"
        if os.environ.get("CI") == "true":
            pytest.fail(f"{reason} (required where CI=true)", pytrace=False)
        pytest.skip(reason)
    return folder / "node_modules" / ".bin"


@pytest.fixture
def alive():
    """``alive(text)`` gives the processes whose arguments hold a text."""

    def find(text):
        found = []
        for name in os.listdir("/proc"):
            if name.isdigit() and int(name) != os.getpid():
                try:
                    with open(f"/proc/{name}/cmdline", "rb") as file:
                        if text.encode() in file.read():
                            found.append(int(name))
                except OSError:
                    pass
        return found

    return find
