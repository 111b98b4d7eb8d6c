"""One story with every transport: an agent reads, edits, runs tests, is aborted, and its executor is killed in a call."""

import asyncio
import os
import signal

import pytest
import skillkit_bash.plugin
import skillkit_executor.plugin
import skillkit_files.plugin
import skillkit_openai.plugin
import skillkit_permissions.plugin
from skillkit_testkit import Call, Reply, until_ended, until_event

from skillkit_core import AgentConfig, AgentRunner, RunAborted, ToolResultMessage

PLUGINS = [
    ("openai", skillkit_openai.plugin), ("bash", skillkit_bash.plugin), ("files", skillkit_files.plugin),
    ("permissions", skillkit_permissions.plugin), ("executor", skillkit_executor.plugin),
]  # fmt: skip
WAITS = "echo $$ > pid; echo started; sleep 600"


@pytest.fixture
def work(skillkit_home):
    cwd = skillkit_home.cwd
    (cwd / "sums.py").write_text("def add(a, b):\n    return a - b\n")
    (cwd / "test_sums.py").write_text("from sums import add\n\nassert add(2, 3) == 5, add(2, 3)\nprint('all passed')\n")
    (cwd / "secret.txt").write_text("def hidden(): ...\n")
    (cwd / "json.py").write_text(
        "open('taken', 'w')\nfrom decimal import *\n"
    )  # a module of the folder is not the process's
    return cwd


@pytest.mark.parametrize(
    "transport", [None, "local", *(pytest.param(how, marks=pytest.mark.smoke) for how in ("stdio", "http"))]
)
async def test_an_agent_works_the_same_with_every_transport(transport, work, make_host, llm_server):
    settings = {
        "permissions.allow": ["Bash", "Edit"],  # a rule offers the tool, as in most configurations
        "permissions.deny": ["Read(secret.txt)", "Bash(rm:*)"],
    }
    if transport is not None:
        settings["tools.executor"] = transport
    host = make_host(*PLUGINS, cwd=work, settings=settings)
    tests = "python3 -B test_sums.py"  # a compiled file of the same second would be taken for the new one
    llm_server.script(
        Reply(
            tool_calls=[
                Call("read", {"path": "sums.py"}),
                Call("grep", {"pattern": "def "}),
                Call("read", {"path": "secret.txt"}),
            ]
        ),
        Reply(tool_calls=[Call("bash", {"command": tests}), Call("bash", {"command": "rm -r ."}), Call("bash", {})]),
        Reply(tool_calls=[Call("edit", {"path": "sums.py", "old": "a - b", "new": "a + b"})]),
        Reply(tool_calls=[Call("bash", {"command": tests})]),
        Reply(text="It adds now."),
        Reply(tool_calls=[Call("bash", {"command": WAITS})]),
    )
    config = AgentConfig(model="any", provider="openai", base_url=llm_server.openai_url, api_key="k")
    live = []
    async with AgentRunner(config, host=host) as agent:
        agent.events.on("tool_execution_update", lambda event: live.append(event.output))
        answer = await agent.chat("Make the tests pass.")
        results = [m for m in agent.messages if isinstance(m, ToolResultMessage)]
        assert answer.content == "It adds now."
        assert [r.outcome.value for r in results] == ["ok", "ok", "blocked", "error", "blocked", "error", "ok", "ok"]
        assert "return a - b" in results[0].text
        assert "sums.py" in results[1].text and "secret" not in results[1].text
        assert "AssertionError: -1" in results[3].text and "all passed" in results[7].text
        assert "all passed" in "".join(live)
        assert (work / "sums.py").read_text().endswith("a + b\n") and (work / "secret.txt").exists()
        (note,) = [e.data for e in agent.session.entries if e.data.get("custom_type") == "files.change"]
        assert note["files"][0]["before"]["kept"] and note["root"] == str(work)

        # an abort ends the command
        chat = asyncio.create_task(agent.chat("Wait."))
        await until_event(lambda: "started" in "".join(live), agent.events)
        agent.abort()
        with pytest.raises(RunAborted):
            await chat
        assert agent.messages[-1].outcome.value == "interrupted"
        await asyncio.to_thread(until_ended, int((work / "pid").read_text()))

        # so does the end of the process that runs tools
        if transport not in ("stdio", "http"):
            return
        live.clear()
        llm_server.script(
            Reply(tool_calls=[Call("bash", {"command": WAITS})]),
            Reply(tool_calls=[Call("bash", {"command": "echo back"})]),
            Reply(text="I looked."),
        )
        chat = asyncio.create_task(agent.chat("Wait again."))
        await until_event(lambda: "started" in "".join(live), agent.events)
        os.kill((await host.find_executor()).pid, signal.SIGKILL)
        assert (await chat).content == "I looked."
        lost, back = [m for m in agent.messages if isinstance(m, ToolResultMessage)][-2:]
        assert lost.is_error and "signal 9 ended it" in lost.text and "not made again" in lost.text
        assert back.text == "back"
        await asyncio.to_thread(until_ended, int((work / "pid").read_text()))
        pid = (await host.find_executor()).pid
    await host.aclose()
    until_ended(pid)
    assert not (work / "taken").exists()


async def test_the_process_gets_no_key_and_asks_the_person_for_a_secret(work, make_host, monkeypatch):
    from skillkit_core.testing import Call, Reply, ScriptedModel, ScriptedUser

    monkeypatch.setenv("OPENAI_API_KEY", "sk-none-of-its-business")
    monkeypatch.setenv("FOR_TOOLS", "yes")
    host = make_host(*PLUGINS, cwd=work, settings={
        "tools.executor": "stdio", "tools.allow": ["bash"], "permissions.mode": "bypass", "executor.env": ["FOR_TOOLS"],
    })  # fmt: skip
    async with AgentRunner(AgentConfig(ui=ScriptedUser({"TOKEN": "hush-4711"})), host=host) as agent:
        command = "tr '\\0' '\\n' < /proc/$PPID/environ | sort; echo ${#TOKEN}"
        agent.set_adapter(
            ScriptedModel([Reply(calls=[Call("bash", {"command": command, "secrets": ["TOKEN"]})]), "done"])
        )
        await agent.chat("go")
        (result,) = [m for m in agent.messages if isinstance(m, ToolResultMessage)]
    assert "OPENAI_API_KEY" not in result.text and "FOR_TOOLS=yes" in result.text
    assert result.text.rstrip().endswith("\n9")
    await host.aclose()


@pytest.mark.sample(1)
@pytest.mark.parametrize("first", ["write", "bash"])
async def test_whichever_tool_is_called_first_all_plugins_are_there_with_their_settings(first, work, make_host):
    from skillkit_core.testing import Call, Reply, ScriptedModel

    host = make_host(*PLUGINS, cwd=work, settings={
        "tools.executor": "stdio", "tools.allow": ["bash"], "permissions.mode": "bypass", "bash.max_output": 100,
    })  # fmt: skip
    calls = [Call("write", {"path": "new.txt", "content": "x"}), Call("bash", {"command": "seq 1000"})]
    async with AgentRunner(AgentConfig(), host=host) as agent:
        agent.set_adapter(ScriptedModel([Reply(calls=calls if first == "write" else calls[::-1]), "done"]))
        await agent.chat("go")
        results = {m.tool_name: m for m in agent.messages if isinstance(m, ToolResultMessage)}
    await host.aclose()
    assert not results["write"].is_error, results["write"].text
    assert "\n500\n" not in results["bash"].text


def test_the_command_says_which_tool_runs_where_and_what_is_missing(skillkit_cli, skillkit_home):
    (skillkit_home.config_dir / "config.yaml").write_text("tools: {executor: stdio, allow: [bash]}\n")
    plugins = ("--plugins", "bash,files,executor,web-tools")
    found = skillkit_cli(*plugins, "executor", "status", "--json", "--start").ok().json
    rows = {row["name"]: row for row in found["tools"]}
    assert found["executor"] == "stdio" and found["process"].endswith("works") and found["problem"] is None
    assert rows["read"]["runs"] == rows["bash"]["runs"] == "in a child process"
    project = skillkit_home.cwd / ".skillkit" / "config.yaml"
    project.parent.mkdir()
    (skillkit_home.config_dir / "config.yaml").write_text("tools: {executor: stdio}\nexecutor: {sandbox: project}\n")
    refused = skillkit_cli(*plugins, "executor", "status")
    assert refused.exit_code == 1 and "no plugin brings sandboxes" in refused.stderr
