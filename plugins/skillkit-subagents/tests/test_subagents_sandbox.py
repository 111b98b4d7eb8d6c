"""The sandbox of an agent that works for another: what both policies allow, by the kernel, and nothing without a sandbox."""

import os

import pytest
import skillkit_bash.plugin
import skillkit_executor.plugin
import skillkit_files.plugin
import skillkit_sandbox.plugin
from skillkit_sandbox.box import BubblewrapBackend
from skillkit_sandbox_attacks import pass_as_an_ordinary_user
from skillkit_testkit import Call, Reply

from skillkit_core import ToolResultMessage

REQUIRED = os.environ.get("CI") == "true" or bool(os.environ.get("SKILLKIT_REQUIRE_SANDBOX"))
TOOLS = (("bash", skillkit_bash.plugin), ("files", skillkit_files.plugin))
PLUGINS = (*TOOLS, ("sandbox", skillkit_sandbox.plugin), ("executor", skillkit_executor.plugin))


@pytest.fixture(autouse=True)
def _works():
    problem = BubblewrapBackend().problem()
    if problem and not REQUIRED:
        pytest.skip(problem)
    assert problem is None


@pytest.fixture
def settings(tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    policies = {
        "open": {"write": ["."], "read": ["/", str(outside)], "network": "on"},
        "offline": {"write": ["."]},
        "wide": {"write": [".", str(outside)], "network": "on"},
    }
    return {
        "tools": {"executor": "stdio", "allow": ["bash", "write"]}, "executor": {"sandbox": "open", "escalate": "wide"},
        "sandbox": {"policies": policies},
    }  # fmt: skip


def spawn(task, **args):
    return Call("spawn_agent", {"task": task, **args})


def results(agent):
    return [m for m in agent.messages if isinstance(m, ToolResultMessage)]


@pytest.mark.smoke
async def test_an_agent_runs_in_what_its_policy_and_that_of_its_parent_allow(
    agent_with, script, settings, skillkit_home, llm_server, tmp_path, own
):
    cwd = skillkit_home.cwd
    port = int(llm_server.openai_url.split(":")[2].split("/")[0])
    connect = f"python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", {port}))' && echo connected"

    def tries(who):
        command = f"{connect}; echo {who} > {tmp_path}/outside/{who}; echo {who} > {who}.sh.txt"
        return Reply(tool_calls=[Call("bash", {"command": command}),
                                 Call("write", {"path": f"{who}.txt", "content": who}), Call("look")])  # fmt: skip

    folder = skillkit_home.config_dir / "agents"
    folder.mkdir(parents=True)
    (folder / "reader.md").write_text("---\ndescription: Reads.\nsandbox: read-only\n---\nRead.")
    told = script(
        main=[
            tries("main"),
            Reply(tool_calls=[
                spawn("offline: go", policy={"sandbox": "offline"}),
                spawn("wide: go", policy={"sandbox": "wide"}),
                spawn("reader: go", agent="reader", policy={"sandbox": "wide"}),
            ]),
            tries("again"),
            Reply(text="heard"),
        ],
        offline=[tries("offline"), Reply(text="ok")],
        wide=[tries("wide"), Reply(text="ok")],
        reader=[tries("reader"), Reply(tool_calls=[spawn("below: go", policy={"sandbox": "open"})]), Reply(text="ok")],
        below=[tries("below"), Reply(text="ok")],
    )  # fmt: skip
    async with agent_with(*PLUGINS, settings=settings) as agent:
        await agent.chat("main: go")
    await agent.host.aclose()
    heard = {role: [i.text for i in told.requests[role][1].tool_results][:2] for role in told.requests}
    written = {path.name for path in cwd.iterdir() if path.suffix == ".txt"}
    assert written == {f"{who}{end}" for who in ("main", "offline", "wide", "again") for end in (".txt", ".sh.txt")}
    assert list((tmp_path / "outside").iterdir()) == []
    assert {who for who, (shell, _) in heard.items() if shell.startswith("connected")} == {"main", "wide"}
    assert "[This ran in the sandbox policy open and offline: " in heard["offline"][0]
    told_of = {who for who, (shell, _) in heard.items() if "asks the person to run exactly this call" in shell}
    assert told_of == {who for who in heard if "escalate" in told.requests[who][0].tool_names} == {"main"}
    assert (
        "[This ran in the sandbox policy open and read-only and wide: it writes nothing, network off"
        in heard["reader"][0]
    )
    assert all("Read-only file system" in text for who in ("reader", "below") for text in heard[who])
    assert {name for name, _ in own.used} == {"main", "agent", "reader"}  # a tool of this process that changes nothing


@pytest.mark.slow  # by day the executor's tests and the attacks of the sandbox run as this user
def test_an_agent_of_an_ordinary_user_runs_in_what_both_policies_allow():
    pass_as_an_ordinary_user(__file__, "test_an_agent_runs_in_what_its_policy_and_that_of_its_parent_allow")


async def test_tools_that_no_sandbox_holds_are_not_offered(agent_with, script, settings):
    from skillkit_core import Tool, hookimpl

    class Hands:
        @hookimpl
        def register_tools(self, register):
            async def run(args, ctx):
                return "done"

            facts = {
                "unsaid": {},
                "changes": {"mutates": "files", "paths": ["path"]},
                "fetches": {"mutates": "none", "host": "url"},
                "claims": {"mutates": "world", "remote": True},
                "looks": {"mutates": "none"},
            }
            for name, annotations in facts.items():
                register(Tool(name, name, run, annotations=annotations))

    told = script(
        main=[Reply(tool_calls=[spawn("held: go", policy={"sandbox": "offline"}), spawn("free: go")]), Reply(text="x")],
        held=[Reply(text="ok")],
        free=[Reply(text="ok")],
    )
    async with agent_with(*PLUGINS, ("hands", Hands()), settings=settings) as agent:
        await agent.chat("main: go")
    held, free = ({t.name for t in told.requests[who][0].tools} for who in ("held", "free"))
    assert (
        free - held == {"unsaid", "changes", "fetches", "claims", "escalate"}
        and {"bash", "write", "looks", "spawn_agent"} <= held
    )


def test_the_sandbox_of_an_agent_file_is_shown(skillkit_cli, skillkit_home):
    folder = skillkit_home.config_dir / "agents"
    folder.mkdir(parents=True)
    (folder / "reader.md").write_text("---\ndescription: Reads.\nsandbox: read-only\n---\nRead.")
    (folder / "broken.md").write_text("---\ndescription: Reads.\nsandbox: [a]\n---\nRead.")
    assert skillkit_cli("agents", "show", "reader", "--json").ok().json["sandbox"] == "read-only"
    assert "sandbox" in skillkit_cli("agents", "show", "reader").ok().stdout
    assert "sandbox must be the name of a sandbox policy" in skillkit_cli("agents").ok().stderr


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("changes", "plugins", "words"),
    [
        ({}, PLUGINS, "unknown sandbox policy 'nosuch'"),
        ({"executor": {}, "tools": {}}, PLUGINS, "nothing here holds an agent to a sandbox policy"),
        (
            {"tools": {"executor": "local"}, "executor": {}},
            PLUGINS,
            "tools run in this process (local), which no sandbox holds",
        ),
        ({"sandbox": {"backend": "nobody"}, "executor": {}}, PLUGINS, "unknown sandbox backend 'nobody'"),
        ({"executor": {}, "sandbox": None}, (*TOOLS, PLUGINS[-1]), "nothing here holds an agent to a sandbox policy"),
    ],
)
async def test_without_its_sandbox_an_agent_does_not_begin(
    changes, plugins, words, agent_with, script, settings, skillkit_home
):
    folder = skillkit_home.config_dir / "agents"
    folder.mkdir(parents=True)
    name = "nosuch" if not changes else "read-only"
    (folder / "reader.md").write_text(f"---\ndescription: Reads.\nsandbox: {name}\n---\nRead.")
    (folder / "broken.md").write_text("---\ndescription: Reads.\nsandbox: [a]\n---\nRead.")
    told = script(
        main=[
            Reply(tool_calls=[spawn("x: go", agent="reader"), spawn("x: go", policy={"sandbox": "nosuch"}),
                              spawn("x: go", agent="broken")]),
            Reply(text="heard"),
        ]
    )  # fmt: skip
    given = {key: value for key, value in (settings | changes).items() if value is not None}
    async with agent_with(*plugins, settings=given) as agent:
        await agent.chat("main: go")
        by_file, by_call, broken = results(agent)
    await agent.host.aclose()
    assert by_file.is_error and words in by_file.text
    assert by_call.is_error and "policy" in by_call.text
    assert broken.is_error and set(told.requests) == {"main"}
