"""Servers over HTTP that pack, cut, mix up and redirect what they send, forget sessions, or are not there."""

import gzip
import json

from skillkit_testkit import Raw


def answer(call, text, **headers):
    return Raw(json.dumps(call.reply(text)).encode(), headers={k.replace("_", "-"): v for k, v in headers.items()})


async def test_what_breaks_one_answer_ends_one_call_and_the_session_lives(connect, mcp_server):
    mcp_server.tool(lambda call: "fine", "ok")

    @mcp_server.tool
    def cut(call):
        return Raw(answer(call, "x").body[:20], headers={"Content-Length": "5000"})

    @mcp_server.tool
    def bomb(call):
        return Raw(gzip.compress(answer(call, "a" * 60_000_000).body), headers={"Content-Encoding": "gzip"})

    @mcp_server.tool
    def twice(call):
        return Raw(gzip.compress(gzip.compress(b"x" * 1000)), headers={"Content-Encoding": "gzip, gzip"})

    @mcp_server.tool
    def packed(call):
        return Raw(gzip.compress(answer(call, "packed but small").body), headers={"Content-Encoding": "gzip"})

    @mcp_server.tool
    def foreign(call):
        return [{**call.reply("WRONG"), "id": 4711}, call.reply("right")]

    @mcp_server.tool
    def only_foreign(call):
        return [{**call.reply("WRONG"), "id": 4711}]

    @mcp_server.tool
    def latin(call):
        return Raw(answer(call, "caf?").body.replace(b"?", b"\xe9"))

    @mcp_server.tool
    def away(call):
        return Raw(status=302, headers={"Location": "http://192.0.2.1/elsewhere"})

    client = connect({"site": {"url": mcp_server.url, "headers": {"X-Team": "bees"}, "callTimeout": 20}})
    wanted = {
        "cut": "peer closed connection", "bomb": "longer than 16,000,000 bytes", "twice": "packed as gzip, gzip",
        "only_foreign": "ended without a response", "away": "192.0.2.1",
    }  # fmt: skip
    for name, said in wanted.items():
        bad, good = await client.calls((f"mcp__site__{name}", {}), ("mcp__site__ok", {}))
        assert bad.is_error and said in bad.text and "WRONG" not in bad.text, (name, bad.text)
        assert good.text == "fine"
    read = await client.calls(*[(f"mcp__site__{n}", {}) for n in ("packed", "foreign", "latin")])
    assert tuple(result.text for result in read) == ("packed but small", "right", "caf\N{REPLACEMENT CHARACTER}")
    assert all(asked.headers["x-team"] == "bees" for asked in mcp_server.asked if asked.method == "POST")
    assert mcp_server.methods().count("initialize") == 1
    await client.host.aclose()


async def test_a_server_that_forgot_the_session_is_asked_again_in_a_new_one(connect, mcp_server):
    seen = []

    @mcp_server.tool
    def once(call):
        seen.append(call.headers["mcp-session-id"])
        return Raw(b"gone", 404, "text/plain") if len(seen) == 1 else "there"

    client = connect({"site": {"url": mcp_server.url}})
    result = await client.call("mcp__site__once")
    assert result.text == "there" and len(set(seen)) == 2
    await client.host.aclose()


async def test_a_server_that_nobody_reaches_is_said_with_its_address(connect):
    client = connect({"site": {"url": "http://127.0.0.1:9/mcp"}})
    assert await client.tools() == {}
    assert any("127.0.0.1:9 cannot be reached" in str(problem) for problem in client.host.problems)
    await client.host.aclose()
