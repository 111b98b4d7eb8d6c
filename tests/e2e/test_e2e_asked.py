"""Questions of tools over ``kill -9``: kept before they are asked, shown and answered in another process, and asked once."""

import asyncio
import json
import os
import signal
import sys

import pytest
from skillkit_chat.client import RpcClient
from skillkit_live.protocol import ApproveResult
from skillkit_testkit import Call, Reply

COLOUR = Call("ask_user", {"question": "Which colour?", "options": ["red", "blue"]}, "call_ask")
BOOK = Call("mcp__desk__book", {"city": "Oslo"}, "call_book")
DONE = "It is done."

DESK = '''
"""An MCP server whose tool asks how many first, and books then."""
import json, sys
def send(o): print(json.dumps({"jsonrpc": "2.0", **o}), flush=True)
FORM = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
TOOL = {"name": "book", "inputSchema": {"type": "object", "properties": {"city": {"type": "string"}}}}
call = None
for line in sys.stdin:
    m = json.loads(line)
    if m.get("method") == "initialize":
        info = {"name": "desk", "version": "1"}
        send({"id": m["id"], "result": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": info}})
    elif m.get("method") == "tools/list":
        send({"id": m["id"], "result": {"tools": [TOOL]}})
    elif m.get("method") == "tools/call":
        call = m
        send({"id": "q", "method": "elicitation/create", "params": {"message": "How many?", "requestedSchema": FORM}})
    elif m.get("id") == "q":
        said, city = m["result"], call["params"]["arguments"]["city"]
        if said["action"] == "accept":
            open(sys.argv[1], "a").write(f"{city} {said['content']['n']}\\n")
        text = f"{said['action']} {json.dumps(said.get('content'))}"
        send({"id": call["id"], "result": {"content": [{"type": "text", "text": text}]}})
    elif "method" in m and "id" in m:
        send({"id": m["id"], "error": {"code": -32601, "message": "there is no such method"}})
'''


class Seen(list):
    """The messages of a client, and a wait for one of them."""

    def __init__(self):
        super().__init__()
        self.news = asyncio.Event()

    def __call__(self, message):
        self.append(message)
        self.news.set()

    async def until(self, kind):
        place = 0
        while True:
            for message in self[place:]:
                if kind in (message["type"], message.get("event", {}).get("type")):
                    return message
            place = len(self)
            self.news.clear()
            await self.news.wait()


@pytest.fixture
def booked(skillkit_home):
    """A file in which the MCP server writes what it booked."""
    (skillkit_home.path / "desk.py").write_text(DESK)
    path = skillkit_home.path / "booked"
    path.touch()
    server = {"command": sys.executable, "args": [str(skillkit_home.path / "desk.py"), str(path)], "alwaysAllow": ["*"]}
    skillkit_home.config_dir.mkdir(parents=True, exist_ok=True)
    (skillkit_home.config_dir / "mcp.json").write_text(json.dumps({"mcpServers": {"desk": server}}))
    return path


@pytest.fixture
def client(skillkit_cli, llm_server, monkeypatch, booked):
    """``client(*options)`` is a client of ``skillkit rpc`` with the messages that it has seen."""
    monkeypatch.setenv("OPENAI_API_KEY", "#of-the-tests")
    monkeypatch.setenv("NO_COLOR", "1")
    wire = ["--provider", "openai", "--api", "openai-chat", "--base-url", llm_server.openai_url, "--model", "loop"]

    def make(*options):
        seen = Seen()
        argv = [*skillkit_cli.program, "rpc"]
        made = RpcClient([*wire, *options], argv=argv, cwd=skillkit_cli.home.cwd, on_message=seen)
        made.seen = seen
        return made

    make.wire = wire
    return make


async def killed(client, call, server):
    """Have a process asked, and end it; return its session and the question."""
    server.script(Reply(tool_calls=[call]), Reply(text=DONE))
    async with client() as first:
        session = first.started.state.session
        await first.say("go")
        question = (await first.seen.until("question"))["question"]
        os.kill(first._process.pid, signal.SIGKILL)
        await first.ended.wait()
    return session, question


def run(work):
    async def main():
        async with asyncio.timeout(60):
            return await work

    return asyncio.run(main())


@pytest.mark.parametrize(
    ("call", "answers", "told"),
    [
        (COLOUR, {"answer": "blue"}, "The person answered: blue"),
        (COLOUR, None, "Denied: declined"),
        (BOOK, {"n": "2"}, 'accept {"n": 2}'),
    ],
)
def test_a_question_of_a_tool_is_answered_in_another_process(client, llm_server, booked, call, answers, told):
    async def work():
        session, question = await killed(client, call, llm_server)
        async with client("--session", session) as second:
            shot = await second.seen.until("snapshot")
            assert shot["state"] == "suspended"
            assert [(q["id"], q["survey"]) for q in shot["questions"]] == [(question["id"], question["survey"])]
            assert [w.question["id"] for w in await second.inbox()] == [question["id"]]
            assert (await second.answer(question["id"], answers=answers)).outcome == "taken"
            await second.seen.until("agent_settled")
            assert (await second.answer(question["id"], answers=answers)).outcome == "late"
            assert [m for m in second.seen if m["type"] == "question"] == [], "nobody is asked again"
            (result,) = [m for m in await second.messages() if m["role"] == "tool_result"]
            assert result["content"][0]["text"] == told

    run(work())
    assert booked.read_text() == ("Oslo 2\n" if call is BOOK else "")
    llm_server.check()


@pytest.mark.parametrize("version", [1, 2])
def test_a_program_that_answers_approvals_has_the_tools_of_a_terminal_and_sees_what_a_call_would_do(
    client, skillkit_cli, llm_server, version
):
    (skillkit_cli.home.cwd / "a.txt").write_text("one\ntwo\n")
    edit = Call("edit", {"path": "a.txt", "old": "two", "new": "three"}, "call_edit")
    llm_server.script(Reply(tool_calls=[Call("read", {"path": "a.txt"})]), Reply(tool_calls=[edit]), Reply(text=DONE))
    asked = []

    async def approve(call):
        asked.append(call)
        return ApproveResult(decision="deny")

    async def work():
        argv = [*skillkit_cli.program, "rpc"]
        how = {"on_approve": approve, "argv": argv, "cwd": skillkit_cli.home.cwd, "version": version}
        async with RpcClient(client.wire, **how) as program:
            await program.prompt("go")

    run(work())
    assert {"bash", "web_fetch", "web_search"} <= {tool.name for tool in llm_server.requests[0].tools}
    assert [call.tool for call in asked] == ["edit"]
    assert "-two" in asked[0].preview and "+three" in asked[0].preview


def test_a_program_that_answers_no_approvals_has_no_tool_that_would_be_asked_about(client, skillkit_cli, llm_server):
    llm_server.script(Reply(text=DONE))

    async def work():
        async with RpcClient(client.wire, argv=[*skillkit_cli.program, "rpc"], cwd=skillkit_cli.home.cwd) as program:
            await program.prompt("go")

    run(work())
    assert not {"bash", "web_fetch"} & {tool.name for tool in llm_server.requests[0].tools}
