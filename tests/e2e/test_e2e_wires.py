"""The same requests through the official SDKs against a loopback server that speaks the real wires."""

import asyncio
from pathlib import Path

import pytest
from plain_requests import REQUESTS

WIRES = {
    "anthropic": ("anthropic", None, "root"),
    "openai-chat": ("openai", "openai-chat", "v1"),
    "openai-responses": ("openai", "openai-responses", "v1"),
}


def flags(server, wire):
    provider, api, place = WIRES[wire]
    url = server.url if place == "root" else f"{server.url}/v1"
    key = {"ANTHROPIC_API_KEY": "sk-ant-loopback-secret", "OPENAI_API_KEY": "sk-loopback-secret"}
    return ["--provider", provider, *(["--api", api] if api else []), "--base-url", url, "--model", "loop"], key


def turns(plain):
    from skillkit_testkit.turns import Call, Reply

    name = f"{plain.skill}__{plain.action}"

    def call(request):
        assert name in [tool.name for tool in request.tools]
        return Reply(text="Let me look.", tool_calls=[Call(name, plain.args)])

    def answer(request):
        return Reply(text=request.tool_results[-1].text)

    return call, answer


@pytest.mark.parametrize("wire", WIRES)
def test_every_plain_request_runs_over_a_real_wire_with_streaming_and_tool_calls(workspace, llm_server, wire):
    """One host, one client, a session for each request: as an application does it."""
    from skillkit_core import AgentConfig, AgentRunner, Host

    provider, api, place = WIRES[wire]
    url = llm_server.url if place == "root" else f"{llm_server.url}/v1"
    config = AgentConfig(model="loop", provider=provider, api=api, base_url=url, api_key="sk-loopback-secret")

    async def ask_all():
        host = Host()
        try:
            for plain in REQUESTS:
                llm_server.script(*turns(plain))
                async with AgentRunner(config, host=host, session="new") as agent:
                    outcomes = []
                    agent.events.on(
                        "tool_execution_end", lambda e, seen=outcomes: seen.append((e.tool_name, e.outcome))
                    )
                    types = [event.type async for event in agent.chat_stream_events(plain.text)]
                    assert outcomes == [(f"{plain.skill}__{plain.action}", "ok")], plain.text
                    assert types.count("done") == 1 and types[-1] == "done"
                    assert {"text_delta", "tool_call_start", "tool_call_end", "tool_result"} <= set(types)
                    for word in plain.answer:
                        assert word in agent.messages[-1].text
                    assert agent.session.usage.total > 0
        finally:
            await host.aclose()

    asyncio.run(ask_all())
    assert len(llm_server.requests) == 2 * len(REQUESTS)
    assert all(request.stream for request in llm_server.requests)


@pytest.mark.parametrize("wire", WIRES)
def test_the_command_line_asks_over_a_real_wire(workspace, skillkit_cli, llm_server, wire):
    plain = REQUESTS[2]
    llm_server.script(*turns(plain))
    options, env = flags(llm_server, wire)
    result = skillkit_cli("run", "--json", *options, plain.text, env=env).ok().json
    assert [(c["tool"], c["outcome"]) for c in result["tool_calls"]] == [("csv-stats__summary", "ok")]
    assert "23.3333" in result["answer"]
    assert result["usage"]["total"] > 0


@pytest.mark.parametrize("wire", WIRES)
def test_the_same_without_streaming(workspace, skillkit_cli, llm_server, wire):
    plain = REQUESTS[0]
    llm_server.script(*turns(plain))
    options, env = flags(llm_server, wire)
    result = skillkit_cli("run", "--json", "--no-stream", *options, plain.text, env=env).ok().json
    assert "12" in result["answer"]
    assert [request.stream for request in llm_server.requests] == [False, False]


@pytest.mark.parametrize("wire", WIRES)
def test_the_key_reaches_no_child_no_session_and_no_output(workspace, skillkit_cli, llm_server, wire):
    from skillkit_testkit.turns import Call, Reply

    options, env = flags(llm_server, wire)
    key = env["ANTHROPIC_API_KEY" if wire == "anthropic" else "OPENAI_API_KEY"]
    (workspace / "leak.txt").write_text(f"found: {key}")
    llm_server.script(Reply(tool_calls=[Call("bash", {"command": "env; cat leak.txt"})]), Reply(text="done"))
    command = ["run", "--json", "--events", "--allow-bash", *options, "show me the environment"]
    result = skillkit_cli(*command, env=env).ok()
    answered = llm_server.requests[-1].tool_results[-1].text
    assert "PATH=" in answered and "found: ***" in answered and "API_KEY" not in answered
    session = Path(result.json_lines[-1]["session_path"]).read_text()
    assert key not in session + result.stdout + result.stderr


def test_bash_is_no_tool_of_the_model_unless_it_is_allowed(workspace, skillkit_cli, llm_server):
    from skillkit_testkit.turns import Reply

    llm_server.script(Reply(text="one"), Reply(text="two"))
    options, env = flags(llm_server, "openai-chat")
    skillkit_cli("run", *options, "hello", env=env).ok()
    skillkit_cli("run", "--allow-bash", *options, "hello", env=env).ok()
    offered = [[tool.name for tool in request.tools] for request in llm_server.requests]
    assert "bash" not in offered[0]
    assert "bash" in offered[1]
