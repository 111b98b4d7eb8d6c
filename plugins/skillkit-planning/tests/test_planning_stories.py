"""From a question to the executed plan: at a pseudo-terminal and through ``rpc``, under the kernel and without."""

import asyncio
import os
import re
import sys
import time

import pyte
import pytest
from skillkit_chat.client import RpcClient
from skillkit_chat.rpc.protocol import ApproveResult
from skillkit_sandbox_attacks import pass_as_an_ordinary_user
from skillkit_testkit import Call, Reply, Terminal, screen_text

PLAN = ".skillkit/plan.md"
EDITOR = "import pathlib, sys\np = pathlib.Path(sys.argv[1])\np.write_text(p.read_text() + '\\n2. say so')\n"


CONFIG = """
tools: {executor: stdio, allow: [bash]}
permissions: {mode: bypass}
planning: {commands: true}
"""


def story(*more):
    """The turns of the model: it asks, tries to write elsewhere, plans, and later carries out."""
    ask = Call("ask_user", {"question": "Which colour?", "options": ["red", "blue"]})
    return [
        Reply(tool_calls=[ask]),
        Reply(tool_calls=[Call("write", {"path": "paint.txt", "content": "too early"})]),
        *more,
        Reply(tool_calls=[Call("write", {"path": PLAN, "content": "1. paint it blue"})]),
        Reply(text="The plan is complete."),
        Reply(tool_calls=[Call("write", {"path": "paint.txt", "content": "blue"})]),
        Reply(text="Painted."),
    ]


def early(cwd):
    """A command that writes elsewhere, while the plan is made."""
    command = f"cat seen.txt; echo early > paint.txt; mv {PLAN} other; ls {cwd}"
    return Reply(tool_calls=[Call("bash", {"command": command})])


@pytest.fixture
def kernel(skillkit_home):
    """Tools run in another process, and a sandbox is there."""
    from skillkit_sandbox.box import BubblewrapBackend

    problem = BubblewrapBackend().problem()
    if problem and os.environ.get("CI") != "true" and not os.environ.get("SKILLKIT_REQUIRE_SANDBOX"):
        pytest.skip(problem)
    assert problem is None
    (skillkit_home.config_dir / "config.yaml").write_text(CONFIG)
    (skillkit_home.cwd / "seen.txt").write_text("a wall\n")


def check_kernel(llm_server, cwd):
    """What the model heard of the kernel: why a command could not write elsewhere, and how the plan was written."""
    heard = [request.tool_results[-1].text for request in llm_server.requests if request.tool_results]
    refused, wrote = heard[2], heard[3]
    assert refused.startswith("a wall\n") and "paint.txt: Read-only file system" in refused
    assert f"cannot move '{PLAN}'" in refused and "other" not in refused.split("[stderr]")[0].split()
    assert f"[This ran in the sandbox policy planning: it writes {cwd / PLAN}, network off." in refused
    assert f"[Written in place, because nothing can take its place here: {PLAN}]" in wrote
    del llm_server.requests[2]


def check(llm_server, cwd, *, steps="1. paint it blue"):
    """What the model heard: the answer, why a write was refused, and the plan as the end of a fresh context."""
    texts = [[r.text for r in request.tool_results][-1:] for request in llm_server.requests]
    assert texts[1] == ["The person answered: blue"]
    assert texts[2] == [f"Blocked: the activity is plan, so only {PLAN} may be written, and paint.txt is another file"]
    first, executed = llm_server.requests[0], llm_server.requests[4]
    assert "You are planning." in first.system and "bash" not in first.tool_names
    assert "web_fetch" not in first.tool_names and "write" in first.tool_names
    assert executed.system.endswith(f"## Plan\n\n{steps}") and "You are planning." not in executed.system
    assert [i.text for i in executed.items if i.kind == "user"][-1] == "Carry out the plan."
    assert all("colour" not in item.text for item in executed.items if item.kind != "system")
    assert (cwd / "paint.txt").read_text() == "blue"
    llm_server.check()


@pytest.fixture
def argv(llm_server):
    return ["--provider", "openai", "--api", "openai-chat", "--base-url", llm_server.openai_url, "-m", "any"]


@pytest.fixture
def env():
    return {**os.environ, "NO_COLOR": "1", "OPENAI_API_KEY": "key-of-the-tests"}


class Screen(Terminal):
    """A terminal that is emulated, and so high that nothing leaves its screen."""

    def __init__(self, argv, **options):
        super().__init__(argv, rows=200, columns=100, **options)
        self._screen = pyte.Screen(100, 200)
        self._stream, self._fed = pyte.ByteStream(self._screen), 0

    @property
    def screen(self):
        self._stream.feed(self.seen[self._fed :])
        self._fed = len(self.seen)
        return screen_text(self._screen)

    def expect(self, *texts, gone="\x1b"):
        until = time.monotonic() + 60
        while missing := [text for text in texts if text not in self.screen or gone in self.screen]:
            if not self._read() or time.monotonic() > until:
                raise AssertionError(f"{missing} never stood on the screen:\n{self.screen}")


def test_a_plan_is_made_edited_and_carried_out_at_a_terminal(skillkit_cli, llm_server, argv, env, tmp_path):
    at_a_terminal(skillkit_cli, llm_server, argv, env, tmp_path)
    check(llm_server, skillkit_cli.home.cwd, steps="1. paint it blue\n2. say so")


@pytest.mark.slow  # by day the kernel keeps it through rpc, and a plan is carried out at a terminal without it
def test_the_kernel_keeps_a_plan_at_a_terminal(skillkit_cli, llm_server, argv, env, tmp_path, kernel):
    at_a_terminal(skillkit_cli, llm_server, argv, env, tmp_path, early(skillkit_cli.home.cwd), asks=False)
    check_kernel(llm_server, skillkit_cli.home.cwd)


def at_a_terminal(skillkit_cli, llm_server, argv, env, tmp_path, *more, asks=True):
    llm_server.script(*story(*more))
    (tmp_path / "editor.py").write_text(EDITOR)
    env["EDITOR"] = f"{sys.executable} {tmp_path / 'editor.py'}"
    cwd = skillkit_cli.home.cwd
    with skillkit_cli.terminal("plan", *argv, "paint the wall", kind=Screen, cwd=cwd, env=env) as chat:
        chat.expect("Which colour?", "red", "blue", "Something else")
        chat.send("\x1b[B")
        chat.send("\r")
        chat.expect("The plan is complete.")
        assert (cwd / PLAN).read_text() == "1. paint it blue" and not (cwd / "paint.txt").exists()
        chat.send("/plan edit\r")
        chat.expect("The plan has changed: 2 lines.")
        chat.send("/exec\r")
        if asks:
            chat.expect("Run write?")
            chat.send("y")
        chat.expect("Painted.")
        chat.send("\x04")
        assert chat.wait() == 0
    assert (cwd / "paint.txt").read_text() == "blue"
    shown = skillkit_cli("plan", "--show", "--json").ok().json
    assert (shown["activity"], shown["plan"]) == ("execute", "1. paint it blue\n2. say so")


def test_a_plan_is_made_and_carried_out_through_rpc(skillkit_cli, llm_server, argv, env):
    approvals = through_rpc(skillkit_cli, llm_server, argv, env)
    check(llm_server, skillkit_cli.home.cwd)
    assert approvals == [("write", "paint.txt")]  # the plan itself needs no question


def test_the_kernel_keeps_a_plan_through_rpc(skillkit_cli, llm_server, argv, env, kernel):
    assert through_rpc(skillkit_cli, llm_server, argv, env, early(skillkit_cli.home.cwd)) == []
    check_kernel(llm_server, skillkit_cli.home.cwd)


@pytest.mark.slow  # by day the executor's tests and the attacks of the sandbox run as this user
def test_the_kernel_keeps_a_plan_of_an_ordinary_user(kernel):
    pass_as_an_ordinary_user(__file__, "test_the_kernel_keeps_a_plan_through_rpc")


def through_rpc(skillkit_cli, llm_server, argv, env, *more):
    llm_server.script(*story(*more))
    surveys, approvals = [], []

    async def ask(survey):
        surveys.append(survey)
        return {"answer": "blue"}

    async def approve(call):
        approvals.append((call.tool, call.args["path"]))
        return ApproveResult(decision="allow")

    async def main():
        how = {"argv": [*skillkit_cli.program, "rpc", *argv], "cwd": skillkit_cli.home.cwd, "env": env}
        async with asyncio.timeout(60), RpcClient((), on_ask=ask, on_approve=approve, **how) as client:
            planned = await client.command("/plan paint the wall")
            assert planned.run.content == "The plan is complete."
            before = (await client.state()).session
            assert "Edit " in (await client.command("/plan edit")).text
            done = await client.command("/exec")
            assert done.run.content == "Painted." and (await client.state()).session != before

    asyncio.run(main())
    assert [s["questions"][0]["text"] for s in surveys] == ["Which colour?"]
    return approvals


def test_an_option_that_there_is_not_leads_to_the_help_of_the_command_that_was_typed(skillkit_cli, env):
    piped = skillkit_cli("plan", "--edit")
    assert piped.exit_code == 2
    assert piped.stderr == "Error: no such option --edit; see 'skillkit plan --help'; a request goes in quotes\n"
    assert "see 'skillkit run --help'" in skillkit_cli("run", "--edit").stderr
    with skillkit_cli.terminal("plan", "--edit", kind=Screen, env=env) as chat:
        chat.expect("No such option '--edit'.", "(see 'skillkit plan --help')")
        assert chat.wait() == 2


def test_piped_a_plan_is_made_shown_and_carried_out(skillkit_cli, llm_server, argv, env):
    turns = story()
    llm_server.script(*turns[2:])
    key = {"OPENAI_API_KEY": "key-of-the-tests"}
    assert skillkit_cli("plan", "--show").exit_code == 2
    assert skillkit_cli("plan").stderr == 'Error: there is no request; write it in quotes: skillkit plan "..."\n'
    assert skillkit_cli("plan", *argv, "paint the wall", env=key).ok().stdout.strip() == "The plan is complete."
    assert skillkit_cli("plan", "--show").ok().stdout.strip() == "1. paint it blue"
    done = skillkit_cli("plan", "--exec", *argv, "--permit", "Write", "--json", env=key).ok().json
    assert done["answer"] == "Painted." and (skillkit_cli.home.cwd / "paint.txt").read_text() == "blue"
    planned = next(r for r in skillkit_cli("sessions", "list", "--json").ok().json if r["id"] != done["session"])
    path = skillkit_cli("sessions", "show", done["session"], "--json").ok().json
    assert path["session"]["parent_session"] == planned["id"]


def test_what_is_carried_out_is_said_and_the_plan_of_another_session_is_refused(skillkit_cli, llm_server, argv):
    def planned(text):
        return [Reply(tool_calls=[Call("write", {"path": PLAN, "content": text})]), Reply(text="It is planned.")]

    def run(*words):
        return skillkit_cli(*words, *argv, env={"OPENAI_API_KEY": "key-of-the-tests"})

    look, done = Reply(tool_calls=[Call("read", {"path": PLAN})]), Reply(text="Done.")
    llm_server.script(*planned("1. the first"), look, done, done, look, *planned("1. the second"), *[done] * 3)
    file, first = skillkit_cli.home.cwd / PLAN, run("plan", "--json", "first").ok().json["session"]
    other = run("plan", "--json", "only look").ok().json["session"]
    refused = run("plan", "--exec")
    assert refused.exit_code == 2 and refused.stderr == (
        f"Error: the plan in {PLAN} is of session {first}, not of {other}; "
        f"skillkit plan --exec --from {first} carries it out\n"
    )
    taken = run("plan", "--exec", "--from", first).ok()
    day = time.strftime("%Y-%m-%d", time.localtime(file.stat().st_mtime))
    assert re.fullmatch(rf"Plan: {PLAN} of {day} \d\d:\d\d, made in session {first}\.", taken.stderr.split("\n")[0])
    second = run("plan", "--json", "second").ok().json["session"]
    assert f"Plan: the one of {day}" in run("plan", "--exec", "--from", first).ok().stderr
    assert llm_server.last.system.endswith("## Plan\n\n1. the first")
    file.write_text("1. by hand")
    for who in (f"changed since session {second} made it", f"made in session {second}"):
        assert f", {who}.\n" in run("plan", "--exec", "--from", second).ok().stderr
    assert llm_server.last.system.endswith("## Plan\n\n1. by hand")


def test_a_conversation_says_where_it_plans_and_which_plan_it_carries_out(skillkit_cli, llm_server, argv, env):
    llm_server.script(Reply(text="I plan it."), Reply(text="And so on."), Reply(text="Done."))
    cwd = skillkit_cli.home.cwd
    with skillkit_cli.terminal("chat", *argv, kind=Screen, cwd=cwd, env=env) as chat:
        chat.expect("/help shows commands and keys", "\n›")
        chat.send("/plan paint the wall\r")
        chat.expect(
            f"\nPlanning: nothing but {PLAN} is changed. /exec carries it out, /plan off ends planning.\n", "I plan it."
        )
        chat.expect("\nPLAN · any · ", gone="Esc interrupts")
        chat.send("/plan and the door\r")
        chat.expect("And so on.", gone="Esc interrupts")
        assert chat.screen.count("Planning: ") == 1, "it had begun"
        chat.send("/exec\r")
        chat.expect("Error: there is no plan in session ", f"and none in {PLAN}")
        chat.send("\x03")
        (cwd / ".skillkit").mkdir(exist_ok=True)
        (cwd / PLAN).write_text("1. paint")
        chat.expect("in the history")
        chat.send("/exec\r")
        chat.expect(f"Plan: {PLAN} of ", "which no session made.", "Done.")
        chat.expect("\nany · ", gone="PLAN")
        chat.send("\x04")
        assert chat.wait() == 0


@pytest.mark.sample(2)
@pytest.mark.parametrize("word", ["show", "exec"])
@pytest.mark.parametrize("more", [(), ("0198abcd",), ("--json",)])
def test_a_word_that_is_an_option_without_its_dashes_is_no_request(skillkit_cli, word, more):
    done = skillkit_cli("plan", word, *more)
    assert done.exit_code == 2 and f"skillkit plan --{word}" in done.stderr
