"""``skillkit attach`` and ``chat --session``: a person at a session that another process has open."""

import asyncio
import json
import os
import socket
import subprocess
from pathlib import Path

import pytest
from skillkit_chat.attaching import attend
from skillkit_live import RpcClient, RpcError
from skillkit_testkit import Terminal

from skillkit_core import SkillKitError

PLUGIN = Path(__file__).parent / "support" / "guarded_plugin.py"


@pytest.fixture
def house(skillkit_cli, install_plugin):
    """``house(work)`` awaits ``work(client)`` with the client of a process that has a session open."""
    install_plugin("guarded", PLUGIN)
    argv = [*skillkit_cli.program, "-P", "guarded"]
    env = {**os.environ, "SKILLKIT_PLUGINS__DISABLED": "context", "NO_COLOR": "1"}

    def run(work):
        async def main():
            how = {"argv": [*argv, "rpc", "--provider", "obeys"], "cwd": skillkit_cli.home.cwd, "env": env}
            async with asyncio.timeout(60), RpcClient(on_message=lambda _: None, **how) as client:
                await work(client, client.started.state.session)

        asyncio.run(main())

    run.argv, run.env, run.cwd = argv, env, skillkit_cli.home.cwd
    return run


class Person:
    """A process, and what it prints."""

    def __init__(self, house, *words):
        self.process = subprocess.Popen(
            [*house.argv, *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=house.cwd,
            env=house.env,
        )

    async def reads(self, text):
        """Wait until a line with the text is printed."""

        def work():
            seen = []
            while line := self.process.stdout.readline():
                seen.append(line)
                if text in line:
                    return line
            raise AssertionError(f"{text!r} is not in {seen}")

        return await asyncio.to_thread(work)

    def types(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    async def leaves(self):
        self.process.stdin.close()
        code = await asyncio.to_thread(self.process.wait, 30)
        self.process.stdout.close()
        return code


@pytest.mark.smoke
def test_a_person_attaches_speaks_decides_and_leaves(house):
    async def work(client, session):
        await client.prompt("hello")
        person = Person(house, "attach", session[:-2])
        await person.reads(f"Session {session}")
        await person.reads("> hello")
        await person.reads("You said: hello")
        person.types("pay 5")
        await person.reads("Pay 5 euros? [y/n]")
        person.types("y")
        await person.reads("allow, by attach-")
        await person.reads("paid 5")
        await client.prompt("and now?")
        await person.reads("> and now?")
        assert await person.leaves() == 0
        assert (await client.state()).messages == 8

    house(work)
    assert (house.cwd / "paid").read_text() == "5\n"


def test_what_is_typed_at_once_answers_the_question_that_waits_and_a_lone_yes_is_never_said(house):
    async def work(client, session):
        client_sees = asyncio.ensure_future(client.prompt("pay 5"))
        first = Person(house, "attach", session)
        await first.reads("[y/n]")
        person = Person(house, "attach", session)
        person.types("y")  # before the process has begun to read
        await person.reads("allow, by attach-")
        await client_sees
        person.types("y")
        await person.reads("No question waits: this was not said.")
        assert [await first.leaves(), await person.leaves()] == [0, 0]
        said = [m for m in await client.messages() if m["role"] == "user"]
        assert len(said) == 1

    house(work)
    assert (house.cwd / "paid").read_text() == "5\n"


def test_a_survey_is_answered_a_question_a_line(house):
    async def work(client, session):
        done = asyncio.ensure_future(client.prompt("question 1"))
        person = Person(house, "attach", session)
        await person.reads("2. Oslo")
        person.types("Bergen")
        await person.reads("2. Oslo")
        person.types("2")
        await person.reads("going to Oslo")
        await done
        assert await person.leaves() == 0

    house(work)


def test_a_person_is_told_that_the_session_was_closed_there(house):
    people = []

    async def work(client, session):
        people.append(Person(house, "attach", session))
        await people[0].reads(f"Session {session}")

    house(work)
    asyncio.run(people[0].reads("The session was closed there."))
    assert asyncio.run(people[0].leaves()) == 0


def test_a_program_speaks_the_protocol_through_attach(house):
    async def work(client, session):
        argv = [*house.argv, "attach", "--lines", session]
        async with RpcClient(argv=argv, cwd=house.cwd, env=house.env) as second:
            assert second.started.state.session == session
            assert (await second.prompt("hello")).content == "You said: hello"

    house(work)


def test_a_conversation_in_an_open_session_attaches_to_it(house):
    async def work(client, session):
        with Terminal([*house.argv, "chat", "--session", session], cwd=house.cwd, env=house.env) as terminal:
            await asyncio.to_thread(terminal.wait_for, f"Session {session}")
            terminal.send("hello\r")
            await asyncio.to_thread(terminal.wait_for, "You said: hello")
            terminal.send("/leave\r")
            assert await asyncio.to_thread(terminal.wait) == 0
        assert (await client.state()).messages == 2

    house(work)


def test_lines_that_are_pasted_at_a_question_are_one_text_that_is_said(house):
    said, heard = [], asyncio.Event()

    def hear(message):
        if message.get("event", {}).get("type") == "input":
            said.append(message["event"]["text"])
            heard.set()

    async def work(client, session):
        done = asyncio.ensure_future(client.prompt("pay 5"))
        listening = {"argv": [*house.argv, "attach", "--lines", session], "cwd": house.cwd, "env": house.env}
        with Terminal([*house.argv, "attach", session], cwd=house.cwd, env=house.env) as terminal:
            await asyncio.to_thread(terminal.wait_for, "Pay 5 euros? [y/n]")
            async with RpcClient(on_message=hear, **listening):
                heard.clear()
                terminal.send("y\nbut look first")
                await asyncio.to_thread(terminal.wait_for, "but look first")
                terminal.send("\n")
                await heard.wait()
                terminal.send("n\n")
                await asyncio.to_thread(terminal.wait_for, "deny, by attach-")
                await done

    house(work)
    assert said[-1] == "y\nbut look first" and not (house.cwd / "paid").exists()


def test_a_session_that_no_process_has_open_is_not_attached_to(house, skillkit_cli):
    async def work(client, session):
        await client.prompt("hello")

    house(work)
    session = skillkit_cli("sessions", "list", "--json").ok().json[0]["id"]
    failed = skillkit_cli("attach", session)
    assert (
        failed.exit_code == 2
        and f"no process has session {session} open; skillkit chat --session {session}" in failed.stderr
    )


def test_who_attaches_to_a_process_that_does_not_answer_is_told_what_is_waited_for(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)  # the path of a socket is short

    async def main():
        with socket.socket(socket.AF_UNIX) as stopped:
            stopped.bind("s.sock")
            stopped.listen()
            attaching = asyncio.create_task(attend("s.sock"))
            while "Waiting for the process that has the session open" not in capsys.readouterr().err:
                await asyncio.sleep(0.02)
            stopped.accept()[0].close()
            with pytest.raises((RpcError, SkillKitError, OSError)):
                await attaching

    async def bounded():
        async with asyncio.timeout(30):
            await main()

    asyncio.run(bounded())


async def ran(house, *words):
    """Exit code, stdout and stderr of a command."""

    def work():
        done = subprocess.run(
            [*house.argv, "run", *words], capture_output=True, text=True, cwd=house.cwd, env=house.env
        )
        return done.returncode, done.stdout, done.stderr

    return await asyncio.to_thread(work)


def test_a_short_command_is_answered_by_the_process_that_has_the_session(house):
    async def work(client, session):
        assert await ran(house, "--attach", "--session", session[:-2], "hello") == (0, "You said: hello\n", "")
        code, out, _ = await ran(house, "--attach", "--session", session, "--json", "again")
        answer = json.loads(out)
        assert (code, answer["ok"], answer["answer"], answer["session_id"]) == (0, True, "You said: again", session)
        paying = asyncio.ensure_future(ran(house, "--attach", "--session", session, "pay 5"))
        person = Person(house, "attach", session)  # a command answers no question: those do who are there
        await person.reads("Pay 5 euros? [y/n]")
        code, out, err = await ran(house, "--attach", "--session", session, "and I")
        assert (code, out) == (1, "") and err.startswith("Error: a run is active in that session; wait for its end")
        person.types("y")
        assert (await paying)[:2] == (0, "paid 5\n") and await person.leaves() == 0
        said = [m["content"][0]["text"] for m in await client.messages() if m["role"] == "user"]
        assert said[:2] == ["hello", "again"]
        for option in ("--provider", "--model"):
            code, _, err = await ran(house, "--attach", "--session", session, option, "x", "hello")
            assert code == 2 and f"--attach and {option} exclude each other" in err
        sessions.append(session)
        paying = asyncio.ensure_future(ran(house, "--attach", "--session", session, "pay 7"))
        while not (await client.state()).running:
            await asyncio.sleep(0.02)
        client._process.kill()
        code, out, err = await paying
        assert (code, out) == (1, "") and "ended before it answered; what it kept is in the session" in err

    sessions = []
    house(work)
    code, out, err = asyncio.run(ran(house, "--attach", "--session", sessions[0], "hello"))
    assert (code, out) == (2, "") and f"no process has session {sessions[0]} open" in err
    code, _, err = asyncio.run(ran(house, "--attach", "hello"))
    assert code == 2 and "--attach needs --session" in err
