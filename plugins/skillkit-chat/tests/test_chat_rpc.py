"""``skillkit rpc``: another program steers an agent, through the Python client, the TypeScript client and plain lines."""

import asyncio
import base64
import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from skillkit_chat.client import RpcClient, RpcError
from skillkit_chat.rpc import protocol as p
from skillkit_chat.rpc.schema import schema as made

PLUGIN = Path(__file__).parent / "support" / "guarded_plugin.py"
TYPESCRIPT = Path(__file__).parents[3] / "clients" / "typescript"
PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)


@pytest.fixture
def server(skillkit_cli, install_plugin):
    """``server(work, *options, **how)`` gives what ``await work(client)`` does against a server with the guarded plugin."""
    install_plugin("guarded", PLUGIN)
    argv = [*skillkit_cli.program, "-P", "guarded", "rpc", "--provider", "obeys"]
    # messages are counted here, also those that another plugin would add
    env = {**os.environ, "SKILLKIT_PLUGINS__DISABLED": "context"}

    def run(work, *options, **how):
        async def main():
            async with asyncio.timeout(60):
                async with RpcClient(options, argv=argv, cwd=skillkit_cli.home.cwd, env=env, **how) as client:
                    return await work(client)

        return asyncio.run(main())

    run.argv, run.env, run.cwd = argv, env, skillkit_cli.home.cwd
    return run


@pytest.fixture(params=[1, 2], ids=["version1", "version2"])
def rpc(server, request):
    """The server with a client of each version of the protocol."""

    def run(work, *options, **how):
        return server(work, *options, version=request.param, **how)

    run.argv, run.env, run.cwd = server.argv, server.env, server.cwd
    return run


def lines_of(rpc, *lines):
    """Send plain lines to a server and give its answers, without the events."""
    text = "".join(line if isinstance(line, str) else json.dumps({"jsonrpc": "2.0", **line}) + "\n" for line in lines)
    done = subprocess.run(rpc.argv, input=text, capture_output=True, text=True, cwd=rpc.cwd, env=rpc.env, timeout=60)
    assert done.returncode == 0, done.stderr
    found = [json.loads(line) for line in done.stdout.splitlines()]
    return [message for message in found if message.get("method") != "event"]


HELLO = {"id": 0, "method": "initialize", "params": {}}


@pytest.mark.smoke
def test_a_prompt_is_answered_and_every_event_is_told(rpc):
    events = []

    async def work(client):
        answer = await client.prompt("hello there")
        assert (await client.state()).messages == 2
        return answer

    answer = rpc(work, on_event=events.append)
    assert (answer.content, answer.outcome, answer.waiting) == ("You said: hello there", "completed", [])
    kinds = [event["type"] for event in events]
    for kind in ("agent_start", "turn_start", "message_update", "message_end", "turn_end", "agent_end"):
        assert kind in kinds
    assert [e["seq"] for e in events] == sorted(e["seq"] for e in events)


def test_the_client_decides_what_guards_ask(rpc):
    asked = []

    async def approve(call):
        asked.append((call.tool, call.args, call.questions[0].text, call.rememberable))
        return p.ApproveResult(decision="allow" if call.args["amount"] == 5 else "deny", reason="too much")

    async def work(client):
        return await client.prompt("pay 5 7")

    answer = rpc(work, on_approve=approve)
    assert sorted(asked, key=str) == [("pay", {"amount": n}, f"Pay {n} euros?", False) for n in (5, 7)]
    assert "paid 5" in answer.content and "too much" in answer.content
    assert (rpc.cwd / "paid").read_text() == "5\n"


def test_without_somebody_to_ask_what_would_be_asked_is_denied(rpc):
    async def work(client):
        return await client.prompt("pay 5"), await client.prompt("question 1")

    paid, asked = rpc(work)
    assert "answers no approvals" in paid.content and not (rpc.cwd / "paid").exists()
    assert asked.content.endswith("nobody said where to")


def test_questions_reach_the_person_and_wrong_answers_are_asked_again(rpc):
    surveys, notices = [], []

    async def ask(survey):
        surveys.append(survey)
        return {"city": "Paris" if len(surveys) == 1 else "Oslo"}

    async def work(client):
        return await client.prompt("question 1")

    answer = rpc(work, on_ask=ask, on_notify=lambda text, level: notices.append((text, level)))
    assert answer.content == "going to Oslo" and notices == [("off to Oslo", "warning")]
    assert "must be one of Rome, Oslo" in surveys[1]["text"]


def test_a_decision_that_is_put_off_suspends_and_is_taken_later(rpc):
    async def later(call):
        return p.ApproveResult(decision="defer")

    async def first(client):
        answer = await client.prompt("pay 5")
        return answer, await client.state()

    suspended, state = rpc(first, on_approve=later)
    assert suspended.outcome == "suspended" and [c.id for c in state.waiting] == ["call_5"]

    async def second(client):
        return await client.resume({"call_5": "allow"})

    assert rpc(second, "--session", state.session).content == "paid 5"


def test_a_run_is_steered_and_aborted_while_it_goes_on(rpc):
    started = asyncio.Event()

    def seen(event):
        if event["type"] == "tool_execution_update":
            started.set()

    async def work(client):
        run = asyncio.create_task(client.prompt("linger 1"))
        await started.wait()
        assert (await client.state()).running
        item = await client.follow_up("and then?")
        assert await client.cancel(item) == "cancelled"
        await client.steer("stop it")
        with pytest.raises(RpcError) as busy:
            await client.prompt("another one")
        assert busy.value.code == p.BUSY
        unsaid = await client.abort("enough")
        with pytest.raises(RpcError) as ended:
            await run
        assert ended.value.code == p.ABORTED
        assert ended.value.data["response"]["outcome"] == "aborted"
        with pytest.raises(RpcError) as idle:
            await client.steer("too late")
        assert idle.value.code == p.IDLE
        return unsaid

    assert [m.text for m in rpc(work, on_event=seen)] == ["stop it"]


def test_sessions_are_listed_opened_forked_and_moved(rpc):
    async def work(client):
        await client.prompt("one")
        first = (await client.state()).session
        entries = (await client.entries()).entries
        moved = await client.move(next(e["parent_id"] for e in entries if e["type"] == "message"))
        assert moved.messages == 0
        await client.prompt("two")
        forked = await client.fork()
        assert forked.session != first and forked.messages == 2
        await client.open("new")
        back = await client.open(first[:-2])
        assert back.session == first
        titles = {row["id"]: row["title"] for row in await client.sessions()}
        assert titles[first] == titles[forked.session] == "one"
        return [m["content"][0]["text"] for m in await client.messages()]

    assert rpc(work) == ["two", "You said: two"]


def test_models_and_slash_commands(rpc):
    (rpc.cwd.parent / "home" / ".claude" / "commands").mkdir(parents=True)
    (rpc.cwd.parent / "home" / ".claude" / "commands" / "say.md").write_text("Say $ARGUMENTS")

    async def work(client):
        assert any("claude" in str(m) for m in await client.models("claude"))
        assert (await client.set_model("other", "obeys")).model == "other"
        assert {"model", "say"} <= {c.name for c in await client.commands()}
        assert [c.label for c in await client.complete("/sa")] == ["/say"]
        assert (await client.command("/session")).text.startswith("Session ")
        ran = await client.command("/say hi there")
        assert ran.run.content == "You said: Say hi there"
        with pytest.raises(RpcError, match="unknown slash command 'modle'"):
            await client.command("/modle")

    rpc(work)


def test_images_are_read_from_files_and_data(rpc):
    (rpc.cwd / "a.png").write_bytes(PNG)
    (rpc.cwd / "b.png").write_text("no image")

    async def work(client):
        data = base64.b64encode(PNG).decode()
        await client.prompt("look", [{"path": "a.png"}, {"data": data, "media_type": "image/png"}])
        kinds = [[b["type"] for b in m["content"]] for m in await client.messages()]
        with pytest.raises(RpcError, match="is no image that models take"):
            await client.prompt("look", [{"path": "b.png"}])
        return kinds[0]

    assert rpc(work) == ["text", "image", "image"]


def test_a_client_that_is_gone_aborts_the_run_and_the_session_keeps_what_was_said(server, skillkit_cli):
    process = subprocess.Popen(
        server.argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=server.cwd, env=server.env
    )
    for message in (HELLO, {"id": 1, "method": "prompt", "params": {"text": "linger 1"}}):
        process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    process.stdin.flush()
    while "tool_execution_update" not in process.stdout.readline():
        pass
    process.stdout.close()
    process.stdin.close()
    assert process.wait(30) == 0
    kept = skillkit_cli("sessions", "list", "--json").ok().json
    assert kept[0]["messages"] == 3, "what was said, the call, and the result that says that it was aborted"


def test_what_a_plugin_prints_does_not_reach_the_protocol(server):
    answers = lines_of(server, HELLO, {"id": 1, "method": "prompt", "params": {"text": "hello"}})
    assert [a["id"] for a in answers] == [0, 1]


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("line", "code", "words"),
    [
        ("nonsense\n", p.PARSE_ERROR, "no JSON"),
        ("[1]\n", p.INVALID_REQUEST, "must be an object"),
        ({"id": 1}, p.INVALID_REQUEST, "needs 'method'"),
        ({"id": 1, "method": "promt"}, p.METHOD_NOT_FOUND, "no method 'promt'"),
        ({"id": 1, "method": "prompt", "params": {"txt": "x"}}, p.INVALID_PARAMS, "prompt: text: Field required"),
        ({"id": 1, "method": "steer", "params": {"text": "x"}}, p.IDLE, "no run"),
        ({"id": 1, "method": "open", "params": {"session": "nowhere"}}, p.INVALID_PARAMS, "unknown session"),
    ],
)
def test_wrong_lines_are_answered_in_words_and_the_connection_lives(server, line, code, words):
    found = lines_of(server, HELLO, line, {"id": 9, "method": "state"})
    by_id = {message["id"]: message for message in found}
    assert "result" in by_id[9], "the connection lives on"
    wrong = next(m for m in found if "error" in m)
    assert wrong["error"]["code"] == code and words in wrong["error"]["message"]


def test_the_first_request_greets_and_an_unknown_version_is_refused(server):
    early, version = lines_of(server, {"id": 1, "method": "state"}, {**HELLO, "params": {"version": 99}})
    assert "must be 'initialize'" in early["error"]["message"]
    assert "version 1 of the protocol, not 99" in version["error"]["message"]


def test_the_published_schema_describes_what_is_sent(rpc, skillkit_cli):
    schema = skillkit_cli("rpc", "--schema").ok().json
    assert schema == json.loads(json.dumps(made())), "run python -m skillkit_chat.rpc.schema"
    assert set(schema["methods"]) == set(p.METHODS) and "tool_call_delta" not in schema["events"]
    events = []

    async def work(client):
        await client.prompt("pay 1")

    rpc(work, on_event=events.append)
    for event in events:
        known = schema["events"][event["type"]]["properties"]
        assert set(event) <= set(known), event


def test_the_typescript_types_are_those_of_the_schema():
    if not TYPESCRIPT.is_dir():
        pytest.skip("the client is in the checkout")
    subprocess.run([sys.executable, str(TYPESCRIPT / "generate.py"), "--check"], check=True)


@pytest.fixture
def client(tmp_path):
    """A copy of the client with what builds it, and the environment of npm."""
    if not TYPESCRIPT.is_dir():
        pytest.skip("the client is in the checkout")
    if shutil.which("npm") is None:
        pytest.skip("needs node and npm")
    client = tmp_path / "client"
    shutil.copytree(TYPESCRIPT, client, ignore=shutil.ignore_patterns("node_modules", "dist"))
    npm = {**os.environ, "npm_config_cache": str(Path(sys.prefix) / "npm-cache"), "npm_config_prefer_offline": "true"}
    fetch = ["npm", "install", "--silent", "--no-fund", "--ignore-scripts"]
    if subprocess.run(fetch, cwd=client, env=npm, capture_output=True).returncode and not os.environ.get("CI"):
        pytest.skip("needs a package index")
    return client, npm


def test_the_typescript_client_is_built_and_steers_an_agent(server, client):
    client, npm = client
    done = subprocess.run(["npm", "run", "--silent", "build"], cwd=client, env=npm, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    env = {**server.env, "SKILLKIT_ARGV": json.dumps(server.argv), "SKILLKIT_CWD": str(server.cwd)}
    built = ["node", "--test", "test/"]
    done = subprocess.run(built, cwd=client, env=env, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "# pass 7" in done.stdout, done.stdout


@pytest.mark.slow
def test_the_typescript_client_is_packed_and_installed_by_the_lines_of_the_guide_and_runs_its_example(
    server, client, tmp_path
):
    client, npm = client
    project = tmp_path / "project"
    guide = (TYPESCRIPT.parents[1] / "docs" / "how-to" / "steer-an-agent.md").read_text()
    section = guide.partition("## From Node")[2]
    lines, example = (section.partition(f"```{kind}\n")[2].partition("```")[0] for kind in ("sh", "typescript"))
    (project / "bin").mkdir(parents=True)
    lines = lines.replace("CHECKOUT/clients/typescript", str(client)).replace("PROJECT", str(project))
    done = subprocess.run(["sh", "-ec", lines], env=npm, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    _runs_the_example(example, project, server)


def _runs_the_example(example, project, rpc):
    """Run the example of the guide, with a ``skillkit`` on the path and without."""
    (project / "steer.mjs").write_text(example)
    program = project / "bin" / "skillkit"
    program.write_text(f'#!/bin/sh\nexec {shlex.join(rpc.argv[: rpc.argv.index("-P")])} "$@"\n')
    program.chmod(0o755)
    node = shutil.which("node")
    env = {**rpc.env, "PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run([node, "steer.mjs"], cwd=project, env=env, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (0, "15% of 80 = 12\n"), done.stderr
    env["PATH"] = str(project)
    done = subprocess.run([node, "steer.mjs"], cwd=project, env=env, capture_output=True, text=True, timeout=120)
    assert "Error: there is no program skillkit; install it (pip install skillkit-default), or name it" in done.stderr
