"""A person's own shell line, ``!command``, in chat and at the terminal UI: it runs, is shown, and is read later."""

import asyncio

import pytest
import skillkit_bash.plugin
import skillkit_permissions.plugin
from front_ends import open_front

from skillkit_core import Tool
from skillkit_core.testing import Call, Reply

BASH = ("bash", skillkit_bash.plugin)
PERMISSIONS = ("permissions", skillkit_permissions.plugin)


@pytest.fixture(params=["chat", "tui"])
def front(request, skillkit_home):
    """``async with front(turns, ...) as on``, in a folder with one file."""
    (skillkit_home.cwd / "a.txt").write_text("one\ntwo\n")

    def open_(turns=(), plugins=(BASH,), **how):
        return open_front(request.param, skillkit_home, turns, plugins=list(plugins), **how)

    open_.home, open_.name = skillkit_home, request.param
    return open_


def test_a_shell_line_is_shown_asks_no_model_and_is_read_with_the_next_request(front):
    async def story():
        async with front(["two lines"]) as on:
            await on.say("!cat a.txt; echo wrong >&2; exit 3")
            await on.sees("! cat a.txt", "one", "two", "wrong", "exit code 3")
            await on.idle()
            assert not on.model.requests and not on.agent.running
            await on.say("how many?")
            await on.sees("two lines")
            first, asked = on.model.requests[0].messages
            assert first.role == "user" and first.text.endswith(
                "$ cat a.txt; echo wrong >&2; exit 3\none\ntwo\nwrong\n[exit code 3]"
            )
            assert asked.text == "how many?"

    asyncio.run(story())


@pytest.mark.sample(1, each="front")
@pytest.mark.parametrize("how", ["interrupt", "leave"])
def test_a_shell_line_is_shown_as_it_comes_and_is_stopped(front, how):
    async def story():
        async with front(["I see"]) as on:
            await on.say("!echo begun; exec sleep 1000")
            await on.sees("begun")
            assert on.busy
            if how == "leave":
                return
            await on.interrupt()
            await on.sees("stopped by the user")
            await on.idle()
            await on.say("well?")
            await on.sees("I see")
            assert on.model.requests[0].messages[0].text.endswith("begun\n[stopped by the user]")

    asyncio.run(story())


def test_a_shell_line_gets_no_secret_by_its_environment_and_shows_none(front, monkeypatch):
    secret = "sk-" + "q7" * 20
    monkeypatch.setenv("OPENAI_API_KEY", secret)
    (front.home.cwd / "key.txt").write_text(secret)

    async def story():
        async with front(["nothing"]) as on:
            on.agent.host.remember_secret(secret)
            await on.say("!echo key=$OPENAI_API_KEY.; cat key.txt")
            await on.sees("key=.", "***")
            await on.idle()
            await on.say("what is it?")
            await on.sees("nothing")
            assert secret not in on.seen and secret not in on.model.requests[0].messages[0].text

    asyncio.run(story())


def test_of_a_long_output_both_ends_are_read(front):
    async def story():
        async with front(["I counted"]) as on:
            await on.say("!seq 200000")
            await on.sees("[the output was cut; the whole is in")
            await on.idle()
            await on.say("what is it?")
            await on.sees("I counted")
            text = on.model.requests[0].messages[0].text
            assert "\n1\n2\n" in text and "\n200000\n" in text and len(text) < 300_000

    asyncio.run(story())


def test_a_denied_command_does_not_run_and_comes_back_and_one_that_asks_runs(front):
    front.home.write_config("permissions: {deny: ['Bash(cat:*)'], ask: ['Bash(touch:*)']}")

    async def story():
        async with front(plugins=(BASH, PERMISSIONS)) as on:
            await on.say("!cat a.txt")
            await on.sees("the command did not run", "Bash(cat:*)")
            await on.until(lambda: on.line == "!cat a.txt")
            await on.clear()
            await on.say("!touch made")
            await on.sees("no output")
            await on.idle()
            assert (front.home.cwd / "made").exists()

    asyncio.run(story())


def test_a_shell_line_waits_for_the_end_of_a_run_and_comes_back(front):
    going = asyncio.Event()

    async def wait(args, ctx):
        ctx.on_output("waiting\n")
        await going.wait()
        return "waited"

    tool = Tool("wait", "Wait.", wait, {"type": "object"})

    async def story():
        async with front([Reply(calls=[Call("wait")]), "done"], tools=[tool]) as on:
            await on.say("wait")
            await on.sees("waiting")
            await on.say("!ls")
            await on.sees("has to wait for the end")
            await on.until(lambda: on.line == "!ls")
            going.set()
            await on.sees("done")

    asyncio.run(story())


def test_without_a_runtime_a_shell_line_says_so(front):
    async def story():
        async with front(plugins=()) as on:
            await on.say("!ls")
            await on.sees("no runtime is installed")
            await on.until(lambda: on.line == "!ls")

    asyncio.run(story())


def test_a_session_that_goes_on_shows_its_shell_lines(front):
    async def story():
        async with front(["hello"], kept=True) as on:
            await on.say("!cat a.txt")
            await on.sees("one", "two")
            await on.idle()
            await on.say("hi")
            await on.sees("hello")
            await on.idle()
            session = on.agent.session.id
        async with front(session=session, kept=True) as on:
            await on.sees("! cat a.txt", "hello")
            assert "The user ran" not in on.seen

    asyncio.run(story())
