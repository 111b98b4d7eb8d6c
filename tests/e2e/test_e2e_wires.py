"""The same requests through the official SDKs against a loopback server that speaks the real wires."""

import asyncio
import socket
import sys
from pathlib import Path
from urllib.parse import urlsplit

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

    def activate(request):
        assert name not in [tool.name for tool in request.tools]  # a bundled skill costs no request its definitions
        return Reply(tool_calls=[Call("activate_skill", {"name": plain.skill})])

    def call(request):
        assert name in [tool.name for tool in request.tools]
        return Reply(text="Let me look.", tool_calls=[Call(name, plain.args)])

    def answer(request):
        return Reply(text=request.tool_results[-1].text)

    return activate, call, answer


@pytest.mark.parametrize("step", [4, pytest.param(1, marks=pytest.mark.slow)], ids=["every fourth", "all"])
@pytest.mark.parametrize("wire", WIRES)
def test_every_plain_request_runs_over_a_real_wire_with_streaming_and_tool_calls(workspace, llm_server, wire, step):
    """One host, one client, a session for each request: as an application does it."""
    from skillkit_core import AgentConfig, AgentRunner, Host

    requests = REQUESTS[::step]
    provider, api, place = WIRES[wire]
    url = llm_server.url if place == "root" else f"{llm_server.url}/v1"
    config = AgentConfig(model="loop", provider=provider, api=api, base_url=url, api_key="sk-loopback-secret")

    async def ask_all():
        host = Host()
        try:
            for plain in requests:
                llm_server.script(*turns(plain))
                async with AgentRunner(config, host=host, session="new") as agent:
                    outcomes = []
                    agent.events.on(
                        "tool_execution_end", lambda e, seen=outcomes: seen.append((e.tool_name, e.outcome))
                    )
                    types = [event.type async for event in agent.chat_stream_events(plain.text)]
                    called = ["activate_skill", f"{plain.skill}__{plain.action}"]
                    assert outcomes == [(name, "ok") for name in called], plain.text
                    assert types.count("done") == 1 and types[-1] == "done"
                    assert {"text_delta", "tool_call_start", "tool_call_end", "tool_result"} <= set(types)
                    for word in plain.answer:
                        assert word in agent.messages[-1].text
                    assert agent.session.usage.total > 0
        finally:
            await host.aclose()

    asyncio.run(ask_all())
    assert len(llm_server.requests) == 3 * len(requests)
    assert all(request.stream for request in llm_server.requests)


@pytest.mark.parametrize("wire", WIRES)
def test_the_command_line_asks_over_a_real_wire(workspace, skillkit_cli, llm_server, wire):
    plain = REQUESTS[2]
    llm_server.script(*turns(plain))
    options, env = flags(llm_server, wire)
    result = skillkit_cli("run", "--json", *options, plain.text, env=env).ok().json
    assert [(c["tool"], c["outcome"]) for c in result["tool_calls"]] == [
        ("activate_skill", "ok"),
        ("csv-stats__summary", "ok"),
    ]
    assert "23.3333" in result["answer"]
    assert result["usage"]["total"] > 0


@pytest.mark.sample(1)
@pytest.mark.parametrize("wire", WIRES)
def test_the_same_without_streaming(workspace, skillkit_cli, llm_server, wire):
    plain = REQUESTS[0]
    llm_server.script(*turns(plain))
    options, env = flags(llm_server, wire)
    result = skillkit_cli("run", "--json", "--no-stream", *options, plain.text, env=env).ok().json
    assert "12" in result["answer"]
    assert [request.stream for request in llm_server.requests] == [False, False, False]


@pytest.mark.parametrize("wire", WIRES)
def test_the_key_reaches_no_child_no_session_and_no_output(workspace, skillkit_cli, llm_server, wire):
    from skillkit_testkit.turns import Call, Reply

    options, env = flags(llm_server, wire)
    key = env["ANTHROPIC_API_KEY" if wire == "anthropic" else "OPENAI_API_KEY"]
    (workspace / "leak.txt").write_text(f"found: {key}")
    llm_server.script(Reply(tool_calls=[Call("bash", {"command": "env; cat leak.txt"})]), Reply(text="done"))
    command = [
        "run",
        "--json",
        "--events",
        "--permit",
        "Bash(env)",
        "--permit",
        "Bash(cat:*)",
        *options,
        "show me the environment",
    ]
    result = skillkit_cli(*command, env=env).ok()
    answered = llm_server.requests[-1].tool_results[-1].text
    assert "PATH=" in answered and "found: ***" in answered and "API_KEY" not in answered
    session = Path(result.json_lines[-1]["session_path"]).read_text()
    assert key not in session + result.stdout + result.stderr


@pytest.mark.sample(1)
@pytest.mark.parametrize("wire", WIRES)
def test_the_configuration_says_how_often_a_request_is_made(workspace, skillkit_cli, skillkit_home, llm_server, wire):
    from skillkit_testkit.turns import Fail, Reply

    failures = [Fail(status=500), Fail(status=529, retry_after=1)]
    options, env = flags(llm_server, wire)
    skillkit_home.write_config("retry: {attempts: 2, base_delay: 0, max_server_delay: 0.5}\n")
    llm_server.script(failures[0], failures[0], Reply(text="too late"))
    assert skillkit_cli("run", *options, "hello", env=env).exit_code == 1
    assert len(llm_server.requests) == 2
    llm_server.script(failures[0], failures[0], Reply(text="in time"))
    more = {**env, "SKILLKIT_RETRY__ATTEMPTS": "3"}
    assert "in time" in skillkit_cli("run", *options, "hello", env=more).ok().stdout
    llm_server.script(failures[1], Reply(text="nobody waits"))
    assert skillkit_cli("run", *options, "hello", env=env).exit_code == 1
    assert len(llm_server.requests) == 6


def test_a_wrong_number_of_attempts_is_an_error_with_file_line_and_key(skillkit_cli, skillkit_home):
    skillkit_home.write_config("retry:\n  attempts: often\n")
    result = skillkit_cli("run", "hello")
    assert result.exit_code == 2
    assert "config.yaml:2: retry.attempts: input should be a valid integer" in result.stderr


def test_bash_is_no_tool_of_the_model_unless_it_is_allowed(workspace, skillkit_cli, llm_server):
    from skillkit_testkit.turns import Reply

    llm_server.script(Reply(text="one"), Reply(text="two"))
    options, env = flags(llm_server, "openai-chat")
    skillkit_cli("run", *options, "hello", env=env).ok()
    skillkit_cli("run", "--permit", "Bash", *options, "hello", env=env).ok()
    offered = [[tool.name for tool in request.tools] for request in llm_server.requests]
    assert "bash" not in offered[0]
    assert "bash" in offered[1]


@pytest.mark.sample(1, each="wire")
@pytest.mark.spec("9.19")
@pytest.mark.parametrize("raw", ['{"city": ', "Oslo", "[1]", '{"city": NaN}'])
@pytest.mark.parametrize("wire", WIRES)
def test_a_model_that_writes_broken_arguments_is_told_so(llm_server, wire, raw):
    from skillkit_testkit.turns import Call, Reply

    from skillkit_core import AgentConfig, AgentRunner, Host, Tool

    async def weather(args, ctx):
        raise AssertionError("it must not run")

    provider, api, place = WIRES[wire]
    url = llm_server.url if place == "root" else f"{llm_server.url}/v1"
    config = AgentConfig(
        model="loop", provider=provider, api=api, base_url=url, api_key="k", tools=(Tool("weather", "It.", weather),)
    )

    async def ask():
        host = Host()
        async with AgentRunner(config, host=host) as agent:
            await agent.chat("How warm is it?")
        await host.aclose()

    llm_server.script(Reply(tool_calls=[Call("weather", raw)]), Reply(text="Sorry."))
    asyncio.run(ask())
    (told,) = llm_server.requests[-1].tool_results
    assert "not a JSON object" in told.text and raw in told.text


@pytest.mark.sample(1)
@pytest.mark.parametrize("wire", WIRES)
def test_the_work_of_an_answer_grows_straight_with_its_tool_calls(llm_server, wire):
    """Counted in calls of functions, from the first byte of the answer to the last result in the session."""
    from skillkit_testkit.turns import Call, Reply

    from skillkit_core import AgentConfig, AgentRunner, Host, Tool

    async def add(args, ctx):
        return str(args["a"] + args["b"])

    provider, api, place = WIRES[wire]
    url = llm_server.url if place == "root" else f"{llm_server.url}/v1"
    tool = Tool("add", "Add.", add, {"type": "object"})
    config = AgentConfig(
        model="loop",
        provider=provider,
        api=api,
        base_url=url,
        api_key="k",
        tools=(tool,),
        only_tools=frozenset({"add"}),
    )

    async def work(host, count):
        calls = [Call("add", {"a": n, "b": 1}) for n in range(count)]
        llm_server.script(Reply(tool_calls=calls, framing="whole"), Reply(text="done"))
        steps = 0

        def step(frame, event, argument):
            nonlocal steps
            steps += 1

        async with AgentRunner(config, host=host, session="new") as agent:
            sys.setprofile(step)
            try:
                response = await agent.chat("Add them.")
            finally:
                sys.setprofile(None)
        assert [result.text for result in llm_server.requests[-1].tool_results] == [str(n + 1) for n in range(count)]
        assert response.content == "done"
        return steps

    async def all_of_them():
        host = Host()
        counts = [await work(host, count) for count in (5, 20, 80, 320)]
        await host.aclose()
        return counts

    _, few, more, many = asyncio.run(all_of_them())
    assert (many - more) / (more - few) < 6, "four times the calls; 16 if each looked at each other one"


@pytest.mark.sample(1)
@pytest.mark.parametrize("wire", WIRES)
def test_the_models_of_an_endpoint_are_listed_on_demand(skillkit_cli, llm_server, wire):
    llm_server.models = ("gpt-5-mini", "house-7b")
    options, env = flags(llm_server, wire)
    asked = [*options[: options.index("--model")], "--remote"]
    found = skillkit_cli("models", "list", "--json", *asked, env=env).ok().json["models"]
    assert [m["id"] for m in found] == ["gpt-5-mini", "house-7b"]
    known = WIRES[wire][0] == "openai"
    assert bool(found[0]["context_window"]) is known, "what the catalog knows is shown with it"
    assert "house-7b" in skillkit_cli("models", "list", "HOUSE", *asked, env=env).ok().stdout
    assert skillkit_cli("models", "list", "nothing-like-it", *asked, env=env).exit_code == 1
    assert {(r.method, r.path) for r in llm_server.requests} == {("GET", "/v1/models")}


@pytest.mark.sample(1, each="wire")
@pytest.mark.parametrize("body", [b"null", b'{"error": {"message": "no"}}', b'{"data": {"a": 1}}'])
@pytest.mark.parametrize("wire", WIRES)
def test_an_answer_that_lists_no_models_is_said_to_be_none(skillkit_cli, wire, body):
    from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
    from threading import Thread
    from types import SimpleNamespace

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever).start()
        options, env = flags(SimpleNamespace(url=f"http://127.0.0.1:{server.server_port}"), wire)
        result = skillkit_cli("models", "list", "--remote", *options[: options.index("--model")], env=env)
        server.shutdown()
    assert result.exit_code == 1
    assert f"the server answered with no list of models: {body.decode()}; check base_url" in result.stderr


def test_asking_an_endpoint_needs_to_know_which(skillkit_cli):
    for options, words in ((["--remote"], "--provider"), (["--base-url", "http://x"], "--remote")):
        result = skillkit_cli("models", "list", *options)
        assert result.exit_code == 2
        assert words in result.stderr
    result = skillkit_cli("models", "list", "--remote", "--provider", "opnai")
    assert result.exit_code == 2
    assert "openai" in result.stderr


def failures():
    from skillkit_testkit.turns import Fail, Raw

    page = b"<html><title>Welcome</title></html>"
    return {
        "a wrong key": (Fail(401, message="bad key"), "check {key}"),
        "a rate limit of hours": (Fail(429, retry_after=18000), "the server asks to wait 5 h"),
        "an empty purse": (Fail(type="quota"), "waiting does not help"),
        "a page": (Raw(page, content_type="text/html"), "an HTML page (Welcome)"),
        "a wrong path": (Raw(b'{"detail": "Not Found"}', 404), "check base_url"),
        "a redirect": (Raw(status=307, headers={"location": "https://elsewhere.invalid/x"}), "is not followed"),
    }


@pytest.mark.sample(1, each="wire")
@pytest.mark.parametrize(
    "name", ["a wrong key", "a rate limit of hours", "an empty purse", "a page", "a wrong path", "a redirect"]
)
@pytest.mark.parametrize("wire", WIRES)
def test_a_failure_is_one_line_that_says_where_and_what_to_do_and_is_not_tried_again(
    skillkit_cli, llm_server, wire, name
):
    turn, words = failures()[name]
    llm_server.script(turn)
    options, env = flags(llm_server, wire)
    key = "ANTHROPIC_API_KEY" if wire == "anthropic" else "OPENAI_API_KEY"
    result = skillkit_cli("run", *options, "hello", env=env)
    assert result.exit_code == 1
    (line,) = [text for text in result.stderr.splitlines() if "127.0.0.1" in text]
    assert words.format(key=key) in line
    assert f"{WIRES[wire][0]} (127.0.0.1:" in line
    assert "Traceback" not in result.stderr
    assert env[key] not in result.stdout + result.stderr
    assert len(llm_server.requests) == 1


def test_a_server_that_is_not_there_is_named(skillkit_cli, llm_server):
    options, env = flags(llm_server, "openai-chat")
    url = options[options.index("--base-url") + 1]
    llm_server.stop()
    with socket.socket() as nobody:  # who has the port, so that no other server gets it, and does not listen
        nobody.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        nobody.bind(("127.0.0.1", urlsplit(url).port))
        result = skillkit_cli("run", *options, "hello", env={**env, "SKILLKIT_RETRY__BASE_DELAY": "0"})
    assert result.exit_code == 1
    assert f"nothing listens at {url.split('/')[2]}" in result.stderr
    assert "start the server" in result.stderr


TRACER = """
import {package}

plain = {package}.{client}.post


async def post(self, *args, **named):
    return await plain(self, *args, **named)


{package}.{client}.post = post
"""


@pytest.mark.parametrize(("package", "client"), [("openai", "AsyncOpenAI"), ("anthropic", "AsyncAnthropic")])
def test_the_doctor_says_when_somebody_wraps_the_sdk(skillkit_cli, install_plugin, tmp_path, package, client):
    key = {f"{package.upper()}_API_KEY": "sk-loopback-secret"}

    def said():
        checks = skillkit_cli("doctor", "--json", env=key).ok().json["checks"]
        return next(row["message"] for row in checks if row["check"] == "provider")

    assert said() == f"a bare run asks '{package}'"
    module = tmp_path / "tracing_plugin.py"
    module.write_text(TRACER.format(package=package, client=client))
    install_plugin("tracing", module)
    assert said() == (
        f"a bare run asks '{package}'; {package}: {client}.post was wrapped; each request takes the SDK's own, longer way"
    )
