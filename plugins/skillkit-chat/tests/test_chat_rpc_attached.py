"""Two front ends on one session: the process that has it, and clients that attach to it over its socket."""

import asyncio
import json
import os
import signal
import socket
import stat
from pathlib import Path

import pytest
from skillkit_live import RpcClient

PLUGIN = Path(__file__).parent / "support" / "guarded_plugin.py"


@pytest.fixture
def client(skillkit_cli, install_plugin):
    """``client(*options, **how)`` is a client of a server with the guarded plugin, with a list of the messages."""
    install_plugin("guarded", PLUGIN)
    argv = [*skillkit_cli.program, "-P", "guarded", "rpc", "--provider", "obeys"]
    env = {**os.environ, "SKILLKIT_PLUGINS__DISABLED": "context"}

    def make(*options, **how):
        seen = Seen()
        made = RpcClient(options, argv=argv, cwd=skillkit_cli.home.cwd, env=env, on_message=seen, **how)
        made.seen = seen
        return made

    make.cwd = skillkit_cli.home.cwd
    return make


class Seen(list):
    """The messages of a client, and a wait for one of them."""

    def __init__(self):
        super().__init__()
        self.news = asyncio.Event()

    def __call__(self, message):
        self.append(message)
        self.news.set()

    async def until(self, wanted):
        """Wait for a message, and give it."""
        place = 0
        while True:
            for message in self[place:]:
                if wanted(message):
                    return message
            place = len(self)
            self.news.clear()
            await self.news.wait()


def of(kind):
    return lambda message: message["type"] == kind or message.get("event", {}).get("type") == kind


def run(work):
    async def main():
        async with asyncio.timeout(60):
            await work()

    asyncio.run(main())


def test_two_front_ends_see_the_same_and_the_first_decision_counts(client):
    async def work():
        async with client() as first:
            session = first.started.state.session
            door = Path(first.started.state.endpoint)
            assert stat.S_IMODE(door.stat().st_mode) == 0o600
            async with client("--session", session) as second, client(endpoint=str(door)) as third:
                await second.say("pay 5")
                asked = [(await one.seen.until(of("question")))["question"] for one in (first, second, third)]
                assert asked[0] == asked[1] == asked[2]
                assert (await third.answer(asked[0]["id"], decision="allow")).outcome == "taken"
                late = await first.answer(asked[0]["id"], decision="deny")
                assert late.outcome == "late" and late.by["kind"] == "socket"
                for one in (first, second, third):
                    await one.seen.until(of("agent_settled"))
                told = [[m for m in one.seen if m["type"] == "event"] for one in (first, second, third)]
                assert told[0] == told[1] == told[2]
            state = await first.state()
            assert state.messages == 4 and not state.running, "who attached has left, the session goes on"
        assert not door.exists()

    run(work)
    assert (client.cwd / "paid").read_text() == "5\n"


def test_who_cannot_attach_is_told_which_command_can(client, skillkit_cli):
    async def work():
        async with client() as first:
            session = first.started.state.session
            refused = await asyncio.to_thread(skillkit_cli, "run", "--session", session, "hello")
            assert refused.exit_code != 0 and f"it takes clients: skillkit attach {session}" in refused.stderr

    run(work)


def test_a_client_that_was_cut_off_comes_back_with_what_it_missed(client):
    async def work():
        async with client() as first:
            door = first.started.state.endpoint
            async with client(endpoint=door) as second:
                await first.prompt("one")
                await second.seen.until(of("agent_settled"))
            await first.prompt("two")
            async with client(endpoint=door, after=second.after) as again:
                await again.seen.until(of("agent_settled"))
                whole = [*second.seen, *again.seen]
                assert [m["id"] for m in whole] == [m["id"] for m in first.seen][: len(whole)]
                assert "snapshot" not in {m["type"] for m in again.seen}

    run(work)


def test_an_attached_client_that_does_not_read_is_dropped_and_holds_up_nobody(client):
    pipe = client.cwd / "flooded"
    os.mkfifo(pipe)

    async def work():
        async with client() as first:
            with socket.socket(socket.AF_UNIX) as slow, slow.makefile("rwb") as lines:
                slow.connect(first.started.state.endpoint)
                for method, params in (("initialize", {"version": 2}), ("attach", {})):
                    request = {"jsonrpc": "2.0", "id": method, "method": method, "params": params}
                    lines.write(json.dumps(request).encode() + b"\n")
                lines.flush()
                while b'"id":"attach"' not in await asyncio.to_thread(lines.readline):
                    pass
                await first.say("flood 6")
                assert await asyncio.to_thread(pipe.read_text) == "done"
                await first.abort("enough")
                await first.seen.until(of("agent_settled"))
                while b'"method":"dropped"' not in await asyncio.to_thread(lines.readline):
                    pass

    run(work)


def test_a_question_outlives_its_process_and_is_answered_in_another_one(client):
    async def work():
        first = client()
        async with first:
            session = first.started.state.session
            await first.say("pay 5")
            question = (await first.seen.until(of("question")))["question"]
            os.kill(first._process.pid, signal.SIGKILL)
            await first.ended.wait()
        async with client("--session", session) as second:
            shot = await second.seen.until(of("snapshot"))
            assert shot["state"] == "suspended"
            assert [(q["id"], q["args"]) for q in shot["questions"]] == [(question["id"], {"amount": 5})]
            assert [w.session for w in await second.inbox()] == [session]
            assert (await second.answer(question["id"], decision="allow")).outcome == "taken"
            await second.seen.until(of("agent_settled"))
            assert (await second.answer(question["id"], decision="allow")).outcome == "late"

    run(work)
    assert (client.cwd / "paid").read_text() == "5\n", "the tool ran exactly once"


def test_a_process_that_hands_on_ends_in_good_order_when_the_other_one_does(client):
    async def main():
        holder = client()
        await holder.__aenter__()
        guest = client("--session", holder.started.state.session)
        await guest.__aenter__()
        await holder.close()
        assert await asyncio.to_thread(guest._process.wait, 15) == 0, "not while its input is open"
        await guest.close()

    asyncio.run(main())
