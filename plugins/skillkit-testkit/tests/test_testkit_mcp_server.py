"""The MCP and the OAuth server speak as real ones do, and do what the test says."""

import json
import subprocess
import threading
import urllib.error
import urllib.request

import pytest
from skillkit_testkit import MCPServer, OAuthServer, Raw


def post(url, message, **headers):
    """Return the status, the type and the text of an answer."""
    request = urllib.request.Request(url, json.dumps(message).encode(), {"Content-Type": "application/json", **headers})
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.status, answer.headers["Content-Type"], answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.headers["Content-Type"], error.read().decode()


def call(number, name, **arguments):
    return {
        "jsonrpc": "2.0",
        "id": number,
        "method": "tools/call",
        "params": {"name": name, "arguments": arguments, "_meta": {"progressToken": "t"}},
    }


def asked(number, method, **params):
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


@pytest.fixture
def wire(mcp_server, request):
    """A function that sends a message and returns the messages that answer it, over a wire."""
    if request.param == "http":

        def send(message, many=1):
            status, kind, text = post(mcp_server.url, message)
            assert status == 200
            return (
                [json.loads(t.removeprefix("data: ")) for t in text.split("\r\n\r\n") if t]
                if "event" in kind
                else [json.loads(text)]
            )

        yield send
        return
    server = mcp_server.stdio()
    with subprocess.Popen(
        [server["command"], *server["args"]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:

        def say(message, many=1):
            process.stdin.write(json.dumps(message) + "\n")
            process.stdin.flush()
            return [json.loads(process.stdout.readline()) for _ in range(many)]

        yield say
        process.stdin.close()


both = pytest.mark.parametrize("wire", ["http", "stdio"], indirect=True)


@both
@pytest.mark.smoke
def test_tools_resources_and_prompts_are_listed_and_answer(mcp_server, wire):
    mcp_server.tool(lambda call: f"{call.arguments['city']} is fine", "weather", description="How it is.")
    mcp_server.resources["note://today"] = "water the plants"
    mcp_server.prompt("review", lambda args: f"Review {args['topic']}.")
    (hello,) = wire(asked(1, "initialize", protocolVersion="2025-06-18"))
    assert set(hello["result"]["capabilities"]) == {"tools", "resources", "prompts"}
    assert [t["name"] for t in wire(asked(2, "tools/list"))[0]["result"]["tools"]] == ["weather"]
    assert wire(call(3, "weather", city="Bern"))[0]["result"]["content"][0]["text"] == "Bern is fine"
    assert "plants" in wire(asked(4, "resources/read", uri="note://today"))[0]["result"]["contents"][0]["text"]
    assert "Review it." in str(wire(asked(5, "prompts/get", name="review", arguments={"topic": "it"})))
    assert wire(call(6, "nothing"))[0]["error"] == {"code": -32601, "message": "there is no tool 'nothing'"}
    assert mcp_server.methods()[0] == "initialize"


@both
def test_progress_and_odd_messages_come_before_the_answer(mcp_server, wire):
    @mcp_server.tool
    def slow(call):
        call.progress(1, 2)
        return [{**call.reply("WRONG"), "id": 4711}, call.reply("right")]

    progress, foreign, right = wire(call(1, "slow"), 3)
    assert progress["params"] == {"progressToken": "t", "progress": 1, "total": 2} and foreign["id"] == 4711
    assert right["id"] == 1 and "right" in str(right)


def test_a_tool_asks_the_person_at_the_client(mcp_server):
    said = []
    mcp_server.tool(lambda call: said.append(call.ask("How many?", {"type": "object"})) or "thanks", "order")
    server = mcp_server.stdio()
    with subprocess.Popen(
        [server["command"], *server["args"]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        process.stdin.write(json.dumps(call(1, "order")) + "\n")
        process.stdin.flush()
        question = json.loads(process.stdout.readline())
        assert question["method"] == "elicitation/create" and question["params"]["message"] == "How many?"
        answer = {"jsonrpc": "2.0", "id": question["id"], "result": {"action": "accept", "content": {"n": 3}}}
        process.stdin.write(json.dumps(answer) + "\n")
        process.stdin.flush()
        assert "thanks" in process.stdout.readline()
        mcp_server.notify("notifications/tools/list_changed")
        assert json.loads(process.stdout.readline())["method"] == "notifications/tools/list_changed"
        process.stdin.close()
    assert said == [{"action": "accept", "content": {"n": 3}}]


def test_bytes_go_out_as_they_are_and_a_failing_function_fails_the_test():
    with MCPServer() as server:
        server.tool(lambda call: Raw(b"gone", 404, "text/plain"), "lost")
        server.tool(lambda call: 1 / 0, "broken")
        assert post(server.url, call(1, "lost")) == (404, "text/plain", "gone")
        assert "division by zero" in post(server.url, call(2, "broken"))[2]
    with pytest.raises(AssertionError, match="tools/call: ZeroDivisionError"):
        server.check()


def test_a_call_can_be_held_back_until_the_test_goes_on(mcp_server):
    reached, go = threading.Event(), threading.Event()
    mcp_server.tool(lambda call: reached.set() or (go.wait(20) and "gone on"), "held")
    answers = []
    client = threading.Thread(target=lambda: answers.append(post(mcp_server.url, call(1, "held"))))
    client.start()
    assert reached.wait(20) and answers == []
    go.set()
    client.join(20)
    assert "gone on" in answers[0][2]


@pytest.mark.smoke
def test_a_protected_server_wants_a_token_and_says_where_there_are_some(oauth_server):
    with MCPServer(oauth=oauth_server) as server:
        assert post(server.url, asked(1, "ping"))[0] == 401
        oauth_server.valid.add("sesame")
        assert post(server.url, asked(1, "ping"), Authorization="Bearer sesame")[0] == 200
        where = f"{server.base}/.well-known/oauth-protected-resource/mcp"
        with urllib.request.urlopen(where, timeout=20) as answer:
            assert json.load(answer)["authorization_servers"] == [oauth_server.base]


def test_what_no_client_may_send_is_refused_and_fails_the_test():
    with OAuthServer("known") as server:
        url = f"{server.base}/authorize?client_id=other&redirect_uri=http://127.0.0.1:1/&response_type=code"
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(url, timeout=20)
        assert json.load(refused.value)["error"] == "invalid_client"
    with pytest.raises(AssertionError, match="the client 'other' is not known"):
        server.check()
