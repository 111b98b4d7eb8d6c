"""The executor in the sandbox: what the kernel refuses, what a person may grant to one call, and that nothing is left."""

import asyncio
import json
import os
import signal
from pathlib import Path

import pytest
import skillkit_bash.plugin
import skillkit_executor.plugin
import skillkit_files.plugin
import skillkit_permissions.plugin
import skillkit_sandbox.plugin
from skillkit_sandbox.box import BubblewrapBackend
from skillkit_sandbox_attacks import pass_as_an_ordinary_user
from skillkit_testkit import Call as WireCall, Reply as Wire, until_ended, until_event

from skillkit_core import AgentConfig, AgentRunner, ApprovalDecision, Approver, RunAborted, ToolResultMessage
from skillkit_core.testing import Call, Reply, ScriptedModel

REQUIRED = os.environ.get("CI") == "true" or bool(os.environ.get("SKILLKIT_REQUIRE_SANDBOX"))
PLUGINS = [
    ("bash", skillkit_bash.plugin), ("files", skillkit_files.plugin), ("permissions", skillkit_permissions.plugin),
    ("sandbox", skillkit_sandbox.plugin), ("executor", skillkit_executor.plugin),
]  # fmt: skip


@pytest.fixture(autouse=True)
def _works():
    problem = BubblewrapBackend().problem()
    if problem and not REQUIRED:
        pytest.skip(problem)
    assert problem is None


@pytest.fixture
def work(skillkit_home):
    (skillkit_home.cwd / "sums.py").write_text("def add(a, b):\n    return a - b\n")
    return skillkit_home.cwd


@pytest.fixture
def outside(tmp_path):
    """A folder that policies show."""
    folder = tmp_path / "outside"
    folder.mkdir()
    return folder


@pytest.fixture
def agent_in(make_host, work, outside):
    def make(*turns, transport="stdio", approver=None, **settings):
        policies = {
            "mine": {"write": ["."], "read": ["/", str(outside)], "hide": ["~/.local/share/skillkit"]},
            "open": {"write": ["."], "read": ["/", str(outside)], "network": "on"},
            "wide": {"write": [".", str(outside)]},
        }
        given = {
            "tools.executor": transport, "tools.allow": ["bash"], "permissions.mode": "bypass",
            "executor.sandbox": "mine", "sandbox.policies": policies, **settings,
        }  # fmt: skip
        host = make_host(*PLUGINS, cwd=work, settings={k: v for k, v in given.items() if v is not None})
        agent = AgentRunner(AgentConfig(cwd=work, approver=approver), host=host, session="new")
        agent.model = ScriptedModel(list(turns))
        agent.set_adapter(agent.model)
        agent.live = []
        agent.events.on("tool_execution_update", lambda event: agent.live.append(event.output))
        return agent

    return make


def bash(command, **more):
    return Call("bash", {"command": command, **more})


def results(agent):
    return [m for m in agent.messages if isinstance(m, ToolResultMessage)]


def holding(*words):
    """The processes of the machine whose command line has all of these words."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            line = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            state = (folder / "stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            continue
        if state not in "ZX" and all(word in line for word in words):
            found.append(int(folder.name))
    return found


async def ended(*words):
    """Wait until all of these processes have ended."""
    while found := holding(*words):
        await asyncio.to_thread(until_ended, found[0])


@pytest.mark.parametrize(
    ("transport", "policy"), [pytest.param("stdio", "mine", marks=pytest.mark.smoke), ("http", "open")]
)
async def test_tools_work_inside_and_the_kernel_refuses_the_rest_and_says_why(
    transport, policy, agent_in, work, outside, monkeypatch, skillkit_home
):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-none-of-its-business")
    monkeypatch.setenv("FOR_TOOLS", "yes")
    monkeypatch.delenv("SKILLKIT_HOME")  # below the home its folders are hidden
    (skillkit_home.path / ".local" / "share" / "skillkit").mkdir(parents=True)
    (outside / "theirs.txt").write_text("theirs\n")
    (work / ".git" / "hooks").mkdir(parents=True)
    (work / ".git" / "config").write_text("[core]\n")
    marker = f"600.{os.getpid()}{len(transport)}"
    agent = agent_in(
        Reply(
            calls=[
                Call("read", {"path": "sums.py"}),
                Call("edit", {"path": "sums.py", "old": "a - b", "new": "a + b"}),
                Call("write", {"path": "new/file.txt", "content": "made inside"}),
                Call("grep", {"pattern": "add"}),
                bash("python3 -B -c 'import sums; print(sums.add(2, 3))'; echo done > ran.txt"),
                bash(f"echo mine > {outside}/theirs.txt; echo mine > {outside}/new.txt; cat {outside}/theirs.txt"),
                Call("write", {"path": ".git/hooks/pre-commit", "content": "mine"}),
                Call("edit", {"path": ".git/config", "old": "core", "new": "mine"}),
                bash("seq 200000"),
                bash("tr '\\0' '\\n' < /proc/$PPID/environ | sort; ls /proc | grep -c '^[0-9]'"),
            ]
        ),
        "done",
        Reply(calls=[bash(f"echo started; sleep {marker}")]),
        Reply(calls=[bash(f"echo started; (setsid sleep {marker} &); sleep {marker}")]),
        "I looked.",
        transport=transport,
        **{"executor.sandbox": policy, "executor.env": ["FOR_TOOLS"]},
    )
    async with agent:
        await agent.chat("go")
        read, edit, write, grep, ran, out, hook, config, long, env = results(agent)
        assert "return a - b" in read.text and not edit.is_error and "sums.py" in grep.text
        assert (work / "sums.py").read_text().endswith("a + b\n")
        assert not write.is_error and (work / "new" / "file.txt").read_text() == "made inside"
        assert ran.text == "5" and (work / "ran.txt").exists()
        assert "Read-only file system" in out.text and out.text.startswith("theirs")
        assert f"[This ran in the sandbox policy {policy}: it writes {work}, network" in out.text
        assert os.listdir(outside) == ["theirs.txt"] and (outside / "theirs.txt").read_text() == "theirs\n"
        for refused in (hook, config):  # the file tools, too, are checked by the kernel
            assert refused.is_error and "Read-only file system" in refused.text and "sandbox policy" in refused.text
        assert os.listdir(work / ".git" / "hooks") == [] and (work / ".git" / "config").read_text() == "[core]\n"
        assert "the whole stdout" in long.text  # the folders of SkillKit are hidden, so the rest is kept inside
        *variables, count = env.text.splitlines()
        assert "FOR_TOOLS=yes" in variables and not any(v.startswith("OPENAI_API_KEY") for v in variables)
        assert int(count) < 12  # processes of the machine are not in sight

        # nothing is left of an aborted call
        agent.live.clear()
        chat = asyncio.create_task(agent.chat("Wait."))
        await until_event(lambda: "started" in "".join(agent.live), agent.events)
        agent.abort()
        with pytest.raises(RunAborted):
            await chat
        await ended("sleep", marker)

        # nor of a process that is killed
        agent.live.clear()
        chat = asyncio.create_task(agent.chat("Wait again."))
        await until_event(lambda: "started" in "".join(agent.live), agent.events)
        executor = await agent.toolbox.executor()
        os.kill(executor.pid, signal.SIGKILL)
        assert (await chat).content == "I looked."
        assert "signal 9 ended it" in results(agent)[-1].text
        await ended("sleep", marker)
        await ended("skillkit_executor.child", str(work))
    await agent.host.aclose()


@pytest.mark.parametrize(
    "tests",
    [
        ["test_tools_work_inside_and_the_kernel_refuses_the_rest_and_says_why[stdio-mine]"],
        pytest.param(
            [
                "test_tools_work_inside_and_the_kernel_refuses_the_rest_and_says_why[http-open]",
                "test_one_call_runs_with_more_rights_where_a_person_agrees[allow]",
            ],
            marks=pytest.mark.slow,
        ),
    ],
    ids=["alone in it", "and with more rights"],
)
def test_an_ordinary_user_works_inside_as_root_does(tests):
    pass_as_an_ordinary_user(__file__, *tests)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"transport": "http"}, "http cannot reach a process in the sandbox policy 'mine', whose network is off"),
        ({"transport": "local"}, "tools run in this process (local), which no sandbox holds"),
        ({"transport": None}, "tools run in this process (local), which no sandbox holds"),
        ({"executor.sandbox": "nobody"}, "unknown sandbox policy 'nobody'"),
    ],
)
async def test_what_no_sandbox_holds_is_refused_and_nothing_runs(settings, words, agent_in, work):
    async with agent_in(Reply(calls=[bash("touch ran")]), "done", **settings) as agent:
        await agent.chat("go")
        assert words in results(agent)[0].text and not (work / "ran").exists()
        if "transport" in settings:
            assert "tools.executor: stdio" in results(agent)[0].text


def test_a_policy_that_nobody_defined_is_named_with_its_line(skillkit_cli, skillkit_home):
    config = skillkit_home.config_dir / "config.yaml"
    config.write_text("tools:\n  executor: stdio\nexecutor:\n  sandbox: nosuch\n")
    refused = skillkit_cli("--plugins", "bash,executor,sandbox", "executor", "status")
    assert refused.exit_code == 1
    assert "config.yaml:4: executor.sandbox: unknown sandbox policy 'nosuch'" in refused.stderr
    assert "config.yaml:4: executor.sandbox" in skillkit_cli("--plugins", "bash,executor", "executor", "status").stderr


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("config", "plugins", "message"),
    [
        (
            "executor: {sandbox: project}",
            "bash,executor,sandbox",
            "config.yaml:1: executor.sandbox: it names the policy 'project', and no tool runs in a process of its own",
        ),
        (
            "executor: {sandbox: nosuch}\ntools: {executor: stdio}",
            "bash,executor,sandbox",
            "config.yaml:1: executor.sandbox: unknown sandbox policy 'nosuch'",
        ),
        (
            "executor: {sandbox: project, escalate: nosuch}\ntools: {executor: stdio}",
            "bash,executor,sandbox",
            "config.yaml:1: executor.escalate: unknown sandbox policy 'nosuch'",
        ),
        (
            "executor: {sandbox: project}\ntools: {executor: http}",
            "bash,executor,sandbox",
            "tools.executor: http cannot reach a process in the sandbox policy 'project'",
        ),
        (
            "executor: {escalate: project}\ntools: {executor: stdio}",
            "bash,executor",
            "config.yaml:1: executor.escalate: it names the policy 'project', and no plugin brings sandboxes",
        ),
        ("executor: {sandbox: project, escalate: read-only}\ntools: {executor: stdio}", "bash,executor,sandbox", None),
    ],
)
def test_the_doctor_says_which_sandbox_holds_no_tool(config, plugins, message, skillkit_cli, skillkit_home):
    (skillkit_home.config_dir / "config.yaml").write_text(config + "\n")
    checks = skillkit_cli("--plugins", plugins, "doctor", "--json").json["checks"]
    found = next(check for check in checks if check["check"] == "configuration")
    assert (message or "") in found["message"]
    assert found["ok"] is (message is None)


async def test_what_holds_for_commands_holds_in_the_other_process(agent_in, work, outside):
    settings = {"executor.sandbox": None, "sandbox.commands": "mine"}
    async with agent_in(Reply(calls=[bash(f"touch in; touch {outside}/out")]), "done", **settings) as agent:
        await agent.chat("go")
        assert "Read-only file system" in results(agent)[0].text
        assert (work / "in").exists() and not (outside / "out").exists()


async def test_the_model_reads_why_whatever_language_the_person_speaks_and_by_the_names_of_errors(
    agent_in, work, outside, monkeypatch
):
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    monkeypatch.setenv("LANGUAGE", "de")
    connect = (
        "import errno, socket\ntry: socket.create_connection(('127.0.0.1', 9))\nexcept OSError as e: print(e.strerror)"
    )
    name = f"try: open('{outside}/x', 'w')\nexcept OSError as e: import errno; print('oh:', errno.errorcode[e.errno])"
    commands = [f"echo $LANGUAGE; touch {outside}/x", f'python3 -c "{name}"', f'python3 -c "{connect}"']
    async with agent_in(Reply(calls=[bash(c) for c in (*commands, "echo EROFSION; exit 1")]), "done") as agent:
        await agent.chat("go")
        said = [r.text for r in results(agent)]
    assert said[0].startswith("en\n") and "Read-only file system" in said[0] and said[1].startswith("oh: EROFS\n")
    assert ["[This ran in the sandbox policy mine: " in text for text in said] == [True, True, True, False]
    async with agent_in(Reply(calls=[bash(commands[2])]), "done", **{"executor.sandbox": "open"}) as agent:
        await agent.chat("go")
        assert "sandbox" not in results(agent)[0].text  # the network is on: whoever refused, it was not the sandbox


class Person(Approver):
    def __init__(self, decision):
        self.decision = decision
        self.asked = []

    async def approve(self, request):
        self.asked.append([question.text for question in request.questions])
        return ApprovalDecision(self.decision, f"the person said {self.decision}")


async def test_the_process_loads_the_runtime_that_is_chosen(agent_in, work, outside):
    turns = [Reply(calls=[Call("read", {"path": "sums.py"}), bash(f"touch in; touch {outside}/out")]), "done"]
    async with agent_in(*turns, **{"executor.sandbox": None, "runtime": "sandbox"}) as agent:
        await agent.chat("go")
        assert not results(agent)[0].is_error and results(agent)[1].is_error  # the runtime's policy is "project"
        assert (work / "in").exists() and not (outside / "out").exists()


@pytest.mark.parametrize("answer", ["allow", pytest.param("deny", marks=pytest.mark.slow), None])
async def test_one_call_runs_with_more_rights_where_a_person_agrees(answer, agent_in, work, outside):
    person = Person(answer) if answer is not None else None
    command = f"echo out > {outside}/out.txt; true"
    agent = agent_in(
        Reply(calls=[bash(command), bash("exit 3")]),
        Reply(calls=[Call("escalate", {"call": 1})]),
        Reply(calls=[bash(f"echo again > {outside}/again.txt")]),
        "done",
        approver=person,
        **{"executor.escalate": "wide", "permissions.deny": ["Bash(rm:*)"]},
    )
    async with agent:
        await agent.chat("go")
        refused, failed, escalated, again = results(agent)
        assert 'escalate {"call": 1} asks the person to run exactly this call with the policy wide.' in refused.text
        assert "escalate" not in failed.text  # the kernel refused nothing
        assert escalated.is_error == (answer != "allow")
        assert (outside / "out.txt").exists() == (answer == "allow")
        assert "Read-only file system" in again.text and not (outside / "again.txt").exists()
        assert not holding(
            "skillkit_sandbox.launcher", f'"write":["{work}","{outside}"]'
        )  # the process is gone, with its policy
        (note,) = agent.session.notes("executor.escalation")
        assert (note.data["policy"], note.data["instead_of"], note.data["tool"]) == ("wide", "mine", "bash")
        assert note.data["call"] == refused.tool_call_id and note.data["asked_by"] == escalated.tool_call_id
        if person is None:
            assert escalated.text.startswith("Denied: nobody can be asked") and note.data["decided_by"] == []
            assert note.data["decision"] == "deny"
        else:
            assert note.data["decision"] == answer and note.data["reason"] == f"the person said {answer}"
            assert note.data["decided_by"][0].endswith(":Person")
            shown = f"run again with the sandbox policy wide instead of mine, this once: bash {json.dumps({'command': command})}"
            assert person.asked == [[shown]]
        if answer == "deny":
            assert escalated.text == "Denied: the person said deny"
    await agent.host.aclose()


async def test_a_decision_that_comes_later_counts_for_the_call_that_was_shown(agent_in, work, outside):
    agent = agent_in(
        Reply(calls=[bash(f"echo out > {outside}/out.txt")]), Reply(calls=[Call("escalate")]), "done",
        approver=Person("defer"), **{"executor.escalate": "wide"},
    )  # fmt: skip
    async with agent:
        await agent.chat("go")
        (waits,) = agent.suspension.calls
        assert waits.name == "escalate" and not (outside / "out.txt").exists()
        await agent.resume({waits.id: ApprovalDecision("allow", "now")})
        assert (outside / "out.txt").read_text() == "out\n"
        assert [n.data["decision"] for n in agent.session.notes("executor.escalation")] == ["defer", "allow"]
    await agent.host.aclose()


CONFIG = """
tools: {executor: stdio, allow: [bash]}
permissions: {mode: bypass}
executor: {sandbox: mine, escalate: wide}
sandbox:
  policies:
    mine: {write: [.], read: [/, OUTSIDE]}
    wide: {write: [., OUTSIDE]}
"""


@pytest.mark.parametrize("answer", ["--allow", pytest.param("--deny", marks=pytest.mark.slow)])
def test_a_decision_in_another_process_counts_for_the_call_that_was_shown(
    answer, skillkit_cli, skillkit_home, llm_server, outside
):
    (skillkit_home.config_dir / "config.yaml").write_text(CONFIG.replace("OUTSIDE", str(outside)))
    write = {"command": f"echo out >> {outside}/out.txt"}
    llm_server.script(
        Wire(tool_calls=[WireCall("bash", {"command": f"echo other > {outside}/x"})]),
        Wire(tool_calls=[WireCall("bash", write)]),
        Wire(tool_calls=[WireCall("escalate", {})]),
        Wire(tool_calls=[WireCall("escalate", {"call": 1})]),
        Wire(text="done"),
    )
    argv = ["--provider", "openai", "--api", "openai-chat", "--base-url", llm_server.openai_url, "-m", "any"]
    env = {"OPENAI_API_KEY": "key-of-the-tests"}
    waits = skillkit_cli("run", *argv, "--approvals", "defer", "--json", "go", env=env).json
    assert f"echo out >> {outside}/out.txt" in json.dumps(waits["waiting"]) and list(outside.iterdir()) == []
    more = [*argv, "--approvals", "deny", "--json"]
    done = skillkit_cli("sessions", "resume", waits["session"], answer, "all", *more, env=env).ok().json
    assert done["answer"] == "done"
    result, later = (request.tool_results[-1].text for request in llm_server.requests[3:])
    assert "no call with this number failed in the sandbox" in later  # numbers do not outlive the process
    assert (outside / "out.txt").exists() == (answer == "--allow") and not (outside / "x").exists()
    assert result.startswith("Denied") == (answer == "--deny") and "Blocked" not in result
    entries = skillkit_cli("sessions", "show", waits["session"], "--json").ok().stdout
    assert entries.count('"executor.escalation"') == 2


@pytest.mark.parametrize("first", ["escalate", pytest.param("ask", marks=pytest.mark.slow)])
async def test_a_call_that_waits_behind_another_one_has_the_same_note_as_the_first(first, agent_in, work, outside):
    calls = [bash(f"echo one > {outside}/one.txt"), bash(f"echo two > {outside}/two.txt")]
    earlier = Call("escalate", {"call": 1}) if first == "escalate" else bash("echo asked")
    agent = agent_in(
        Reply(calls=calls), Reply(calls=[earlier, Call("escalate", {"call": 2})]), "done",
        approver=Person("defer"), **{"executor.escalate": "wide", "permissions.ask": ["Bash(echo asked)"]},
    )  # fmt: skip
    async with agent:
        await agent.chat("go")
        before, behind = agent.suspension.calls
        notes = [n.data for n in agent.session.notes("executor.escalation")]
        (second,) = [note for note in notes if note["asked_by"] == behind.id]
        assert (second["decision"], second["reason"]) == ("defer", "an earlier call waits for a decision")
        assert all(set(note) == set(second) and note["policy"] == "wide" for note in notes)
        assert [note["asked_by"] for note in notes] == [call.id for call in (before, behind) if call.name == "escalate"]
        await agent.resume({call.id: ApprovalDecision("allow", "now") for call in (before, behind)})
        assert (outside / "two.txt").read_text() == "two\n"
        assert [note.data["decision"] for note in agent.session.notes("executor.escalation")][-1] == "allow"
    await agent.host.aclose()


@pytest.mark.slow  # each half holds by day: another process decides one call, and two calls wait behind each other in this one
@pytest.mark.parametrize("answer", ["--allow", "--deny"])
def test_a_decision_in_another_process_counts_for_a_call_that_waits_behind_another_one(
    answer, skillkit_cli, skillkit_home, llm_server, outside
):
    (skillkit_home.config_dir / "config.yaml").write_text(CONFIG.replace("OUTSIDE", str(outside)))
    llm_server.script(
        Wire(tool_calls=[WireCall("bash", {"command": f"echo {word} > {outside}/{word}"}) for word in ("one", "two")]),
        Wire(tool_calls=[WireCall("escalate", {"call": 1}), WireCall("escalate", {"call": 2})]),
        Wire(text="done"),
    )
    argv = ["--provider", "openai", "--api", "openai-chat", "--base-url", llm_server.openai_url, "-m", "any"]
    env = {"OPENAI_API_KEY": "key-of-the-tests"}
    waits = skillkit_cli("run", *argv, "--approvals", "defer", "--json", "go", env=env).json
    assert len(waits["waiting"]) == 2 and list(outside.iterdir()) == []
    more = [*argv, "--approvals", "deny", "--json"]
    done = skillkit_cli("sessions", "resume", waits["session"], answer, "all", *more, env=env).ok().json
    assert done["answer"] == "done"
    assert sorted(path.name for path in outside.iterdir()) == (["one", "two"] if answer == "--allow" else [])
    told = [result.text for result in llm_server.last.tool_results[-2:]]
    assert not any("Blocked" in text for text in told)
    assert all(text.startswith("Denied") == (answer == "--deny") for text in told)


async def test_no_guard_is_missed_and_no_project_names_the_wider_policy(agent_in, work, outside, skillkit_home):
    project = work / ".skillkit" / "config.yaml"
    project.parent.mkdir()
    project.write_text("executor: {escalate: open}\n")
    person = Person("allow")
    turns = [Reply(calls=[bash(f"rm {outside}/x")]), Reply(calls=[Call("escalate")]), "done"]
    async with agent_in(*turns, approver=person) as agent:
        assert "escalate" not in {tool.name for tool in agent.tools}
    (outside / "x").touch()
    async with agent_in(*turns, approver=person, **{"executor.escalate": "wide"}) as agent:
        # a rule that comes meanwhile counts for the call that runs again
        agent.events.on("tool_execution_end", lambda e: agent.host.configure({"permissions.deny": ["Bash(rm:*)"]}))
        await agent.chat("go")
        assert "Read-only file system" in results(agent)[0].text
        assert "Blocked: bash: permissions:" in results(agent)[1].text and person.asked == []
    assert (outside / "x").exists()
    async with agent_in(Reply(calls=[Call("escalate", {"call": 7})]), "x", **{"executor.escalate": "wide"}) as agent:
        await agent.chat("go")
        assert "no call with this number failed in the sandbox" in results(agent)[0].text
