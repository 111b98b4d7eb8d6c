"""The network of an agent's tools is switched off and on again: ``/network``, and the key ``n`` of the terminal UI."""

import asyncio
import os

import pytest
from skillkit_chat.client import RpcClient, RpcError
from skillkit_commands import SlashCommands
from skillkit_frontend import Books
from skillkit_sandbox.box import BubblewrapBackend
from skillkit_sandbox_attacks import pass_as_an_ordinary_user
from skillkit_testkit import Call as WireCall, Reply as Wire
from skillkit_tui.app import TerminalUI
from skillkit_tui.status import Status

from skillkit_core import (
    AgentConfig,
    AgentRunner,
    ApprovalDecision,
    Approver,
    Host,
    Tool,
    ToolResultMessage,
    UsageError,
    hookimpl,
)
from skillkit_core.testing import Call, Reply, ScriptedModel

OPEN = {"write": ["."], "network": "on"}
STDIO = {"tools.executor": "stdio", "tools.allow": ["bash", "web_fetch"], "permissions.mode": "bypass"}


@pytest.fixture(autouse=True)
def _works():
    problem = BubblewrapBackend().problem()
    if problem and os.environ.get("CI") != "true" and not os.environ.get("SKILLKIT_REQUIRE_SANDBOX"):
        pytest.skip(problem)
    assert problem is None


class Tools:
    """Tools of this process: one changes nothing, one says nothing of itself, one says that it reaches nothing."""

    async def _run(self, args, ctx):
        return f"{ctx.tool_name} done"

    @hookimpl
    def register_tools(self, register):
        register(Tool("look", "Look.", self._run, annotations={"mutates": "none"}))
        register(Tool("odd", "Do.", self._run))
        register(Tool("server", "Ask.", self._run, annotations={"mutates": "none", "network": True}))
        register(Tool("alone", "Do.", self._run, annotations={"mutates": "world", "network": False}))


class Grants(Approver):
    """A person who agrees."""

    async def approve(self, request):
        return ApprovalDecision("allow")


def connects(url):
    port = int(url.split(":")[2].split("/")[0])
    code = f"import socket; socket.create_connection(('127.0.0.1', {port})).close()"
    return {"command": f'python3 -c "{code}" && echo connected; touch kept'}


@pytest.fixture
def agent_with(skillkit_home):
    def make(*turns, session="new", **settings):
        given = {key.replace("__", "."): value for key, value in settings.items()}
        host = Host(
            plugins=[("own", Tools())], cwd=skillkit_home.cwd, settings={"tui.leader_timeout": 60, **(given or STDIO)}
        )
        agent = AgentRunner(AgentConfig(cwd=skillkit_home.cwd), host=host, session=session)
        agent.set_adapter(ScriptedModel(list(turns)))
        return agent

    return make


async def typed(agent, line):
    commands = SlashCommands(agent)
    return await commands.run(commands.match(line))


def shown(agent):
    return Status(Books(agent)).draw("INSERT", "", 200)[1].plain


def last(agent):
    return [m.text for m in agent.messages if isinstance(m, ToolResultMessage)][-1]


@pytest.mark.sample(1)
@pytest.mark.parametrize("policy", [None, "open"])
def test_commands_lose_the_network_and_get_it_back_and_a_kept_session_remembers(
    policy, skillkit_cli, llm_server, skillkit_home, tmp_path
):
    (skillkit_home.config_dir / "config.yaml").write_text(
        "tools: {executor: stdio, allow: [bash, web_fetch]}\npermissions: {mode: bypass}\nweb: {private_hosts: [127.0.0.1]}\n"
        + (f"executor: {{sandbox: {policy}}}\nsandbox: {{policies: {{open: {{write: [.], network: on}}}}}}\n" * bool(policy))
    )  # fmt: skip
    away = tmp_path / "away"
    bash = WireCall("bash", {"command": f"{connects(llm_server.openai_url)['command']}; echo here >> {away}"})
    fetch = WireCall("web_fetch", {"url": llm_server.openai_url})
    done = Wire(text="done")
    llm_server.script(
        Wire(tool_calls=[bash]), done,
        Wire(tool_calls=[bash]), Wire(tool_calls=[fetch]),
        Wire(tool_calls=[WireCall("spawn_agent", {"task": "connect"})]), Wire(tool_calls=[bash]), done, done,
        Wire(tool_calls=[bash]), done,
        Wire(tool_calls=[bash]), done,
    )  # fmt: skip
    argv = ["--provider", "openai", "--api", "openai-chat", "--base-url", llm_server.openai_url, "-m", "any"]
    env = {**os.environ, "OPENAI_API_KEY": "key-of-the-tests"}

    async def main():
        def client(*more):
            how = {"argv": [*skillkit_cli.program, "rpc", *argv, *more], "cwd": skillkit_home.cwd, "env": env}
            return RpcClient((), **how)

        async with asyncio.timeout(120):
            async with client() as one:
                await one.prompt("go")
                told = [(await one.command(line)).text for line in ("/network", "/network off")]
                await one.prompt("go")
                session = (await one.state()).session
            async with client("--session", session) as two:
                told.append((await two.command("/network")).text)
                await two.prompt("go")
                told.append((await two.command("/network on")).text)
                await two.prompt("go")
                with pytest.raises(RpcError, match="does not know 'maybe'"):
                    await two.command("/network maybe")
        return told

    told = asyncio.run(main())
    on, off = "Network: on, as the policies of the sandbox say.", "Network: off for what tools do, until /network on."
    assert told == [on, off, off, on]
    heard = [r.tool_results[-1].text for r in llm_server.requests if r.tool_results]
    first, refused, fetched, below, spawned, resumed, again = heard
    assert "connected" in first and "connected" in again
    for text in (refused, below, resumed):
        assert "connected" not in text and "refused" in text
        assert f"[This ran in the sandbox policy {'open and ' * bool(policy)}network off: " in text
        assert ", network off.]" in text
    assert fetched.startswith("Blocked: the network is off, and no sandbox keeps web_fetch from it")
    assert "done" in spawned and (skillkit_home.cwd / "kept").exists()
    lines = away.read_text().splitlines() if away.exists() else []
    assert lines == ["here"] * (0 if policy else 5), "without a policy the files stay as they are"
    llm_server.check()


@pytest.mark.slow  # by day the executor's tests and the attacks of the sandbox run as this user
def test_the_network_of_an_ordinary_users_commands_is_switched():
    pass_as_an_ordinary_user(
        __file__, "test_commands_lose_the_network_and_get_it_back_and_a_kept_session_remembers[open]"
    )


async def test_calls_in_this_process_run_while_it_is_off_only_if_they_reach_nothing(agent_with):
    calls = [Call(name) for name in ("look", "odd", "server", "alone")]
    async with agent_with(Reply(calls=calls), "done") as agent:
        await typed(agent, "/network off")
        await agent.chat("go")
        told = {m.tool_name: m.text for m in agent.messages if isinstance(m, ToolResultMessage)}
    await agent.host.aclose()
    assert (told["look"], told["alone"]) == ("look done", "alone done")
    assert all(f"no sandbox keeps {name} from it" in told[name] for name in ("odd", "server"))


@pytest.mark.parametrize(
    ("settings", "why", "hint"),
    [
        ({"permissions__mode": "bypass"}, "tools run in this process", "tools.executor: stdio"),
        ({"sandbox__commands": "project"}, "tools run in this process", "tools.executor: stdio"),
        ({"tools__executor": "local"}, "'network off' must hold", "tools.executor: stdio"),
        ({"tools__executor": "http"}, "http cannot reach a process in the sandbox policy 'network off'", "stdio"),
        ({"tools__executor": "stdio", "sandbox__backend": "nobody"}, "unknown sandbox backend 'nobody'", "known"),
    ],
)  # fmt: skip
async def test_what_nothing_would_hold_is_refused_and_the_network_stays(agent_with, settings, why, hint):
    async with agent_with(**settings) as agent:
        before = shown(agent) if settings.get("sandbox__backend") is None else None
        with pytest.raises(UsageError) as caught:
            await typed(agent, "/network off")
        assert why in str(caught.value) and hint in str(caught.value.hint) and "\n" not in str(caught.value)
        assert before is None or shown(agent) == before
    await agent.host.aclose()


async def test_a_session_whose_sandbox_is_gone_runs_no_command_while_it_is_off(agent_with, llm_server):
    bash = Call("bash", connects(llm_server.openai_url))
    async with agent_with() as agent:
        await typed(agent, "/network off")
        session = agent.session_id
    await agent.host.aclose()
    gone = {key: value for key, value in STDIO.items() if key != "tools.executor"}
    for settings in (gone, {**STDIO, "sandbox.backend": "nobody"}):
        async with agent_with(Reply(calls=[bash]), "done", session=session, **settings) as agent:
            await agent.chat("go")
            assert "Blocked: the network is off" in last(agent) and "connected" not in last(agent)
            await typed(agent, "/network off")
            assert "[NET off]" in shown(agent), "what is refused anew leaves it off"
        await agent.host.aclose()


async def test_a_command_that_a_person_grants_more_rights_has_no_network_either(agent_with, llm_server):
    calls = [Call("bash", connects(llm_server.openai_url)), Call("escalate")]
    settings = {**STDIO, "executor.escalate": "open", "sandbox.policies": {"open": OPEN}}
    async with agent_with(*(Reply(calls=[call]) for call in calls), "done", **settings) as agent:
        agent.configure(approver=Grants())
        await typed(agent, "/network off")
        await agent.chat("go")
        first, granted = [m.text for m in agent.messages if isinstance(m, ToolResultMessage)]
    await agent.host.aclose()
    assert "escalate" in first and "refused" in granted and "connected" not in granted


async def test_it_is_not_switched_off_while_a_tool_that_has_it_runs(agent_with, skillkit_home):
    for name in ("begun", "pipe"):
        os.mkfifo(skillkit_home.cwd / name)
    bash = Call("bash", {"command": "echo begun > begun; cat pipe"})
    async with agent_with(Reply(calls=[bash]), "done") as agent:
        run = asyncio.create_task(agent.chat("go"))
        assert await asyncio.to_thread((skillkit_home.cwd / "begun").read_text) == "begun\n"
        told = "the network stays as it is: a tool that has it runs; wait until it has ended, or stop its agent"
        with pytest.raises(UsageError, match=f"^{told}$"):
            await typed(agent, "/network off")
        assert "[NET on]" in shown(agent)
        (skillkit_home.cwd / "pipe").write_text("end\n")
        await run
        await typed(agent, "/network off")
        assert "[NET off]" in shown(agent)
    await agent.host.aclose()


async def test_it_follows_the_branch_and_never_widens_a_policy(agent_with):
    async with agent_with("one", "two", **STDIO, **{"executor.sandbox": "project"}) as agent:
        await agent.chat("first")
        before = agent.session.leaf_id
        await typed(agent, "/network off")
        assert "[NET off]" in shown(agent)
        assert await typed(agent, "/network on") == (
            "Network: off, as the policies of the sandbox say. No command widens them."
        )
        await typed(agent, "/network toggle")
        assert "until /network on" in await typed(agent, "/network")
        off = agent.session.leaf_id
        await agent.move_to(before)
        assert "as the policies" in await typed(agent, "/network")
        await agent.move_to(off)
        await agent.fork(None)
        assert "until /network on" in await typed(agent, "/network")
        await agent.fork()
        assert "until /network on" in await typed(agent, "/network")
        await agent.switch("new")
        assert "as the policies" in await typed(agent, "/network")
    await agent.host.aclose()


@pytest.mark.slow  # by day the story over rpc switches it by the command that the key runs
async def test_the_key_n_switches_it_in_the_terminal_ui(agent_with, llm_server):
    bash = Call("bash", connects(llm_server.openai_url))
    agent = agent_with(Reply(calls=[bash]), "done", Reply(calls=[bash]), "done", session=None)
    async with agent:
        await agent.open()
        ui = TerminalUI(agent, kept=False, theme="dark")
        async with asyncio.timeout(60), ui.run_test(size=(120, 24)) as pilot:

            async def leads_to(text):
                await pilot.press("space", "n")
                while text not in shown(agent) or ui.talk.busy:
                    await pilot.pause(0.02)

            async def runs():
                await pilot.press("i", "g", "o", "enter")
                while ui.talk.busy or not ui.record.main.state:
                    await pilot.pause(0.02)
                await pilot.press("escape")

            await pilot.press("escape")
            assert "[NET on]" in shown(agent)
            await leads_to("[NET off]")
            await runs()
            assert "connected" not in last(agent)
            await leads_to("[NET on]")
            await runs()
            assert "connected" in last(agent)
            await ui.talk.close()
    await agent.host.aclose()
