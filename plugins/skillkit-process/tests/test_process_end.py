"""However a program ends, nothing of it stays: what detached, what ignores signals, what goes on starting processes."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from skillkit_process import Capture, Child, LineReader, Tail, children, environment, process, run

from skillkit_core import AbortSignal, ToolError

pytestmark = pytest.mark.usefixtures("no_leaks")

# A daemon as textbooks make it: two forks, a session of its own, no descriptor of its starter. It says its number in a file.
DAEMON = """
import os, sys, time
if os.fork():
    os._exit(0)
os.setsid()
if os.fork():
    os._exit(0)
null = os.open(os.devnull, os.O_RDWR)
for fd in (0, 1, 2):
    os.dup2(null, fd)
with open(sys.argv[1], "w") as pipe:
    pipe.write(str(os.getpid()))
time.sleep(1000)
"""
STUBBORN = "trap '' TERM INT HUP; echo $$; while :; do sleep 1000; done"
# Each generation starts two more in sessions of their own and ends; there are at most 2 ** 7 at a time.
BOMB = """
echo $$ >> pids
[ "$1" = 0 ] && exec sleep 1000
setsid sh bomb.sh $(($1 - 1)) &
setsid sh bomb.sh $(($1 - 1)) &
wait
"""


async def lines_of(argv, count, **options) -> tuple[Child, list[bytes]]:
    """Start a program, and return it with its first lines."""
    lines = LineReader()
    child = await Child.start(argv, lines, Tail(1000), env=environment(), **options)
    return child, [line for _ in range(count) if (line := await lines.readline()) is not None]


async def number_in(path: Path) -> int:
    return int(await asyncio.to_thread(path.read_text))


def sh(script: str) -> list[str]:
    return ["sh", "-c", script]


@pytest.mark.smoke
def test_a_program_runs_to_its_end(go):
    async def scenario():
        out, errors = Capture(1000), Tail(1000)
        ended = await run(sh("cat; echo no >&2; exit 3"), out, errors, env=environment(), stdin=b"hello")
        return ended, out.finish(), errors.text

    assert go(scenario()) == (("exited", 3), ("hello", False, None), "no\n")


def test_a_timeout_and_an_abort_say_so(go):
    async def scenario(**options):
        return await run(["sleep", "1000"], Tail(10), Tail(10), env=environment(), **options)

    assert go(scenario(timeout=0.05)) == ("timeout", None)
    signal = AbortSignal()
    signal.abort()
    assert go(scenario(signal=signal)) == ("aborted", None)


def test_what_cannot_start_says_why(go, tmp_path):
    with pytest.raises(ToolError, match="command not found: skillkit-no-such-program"):
        go(run(["skillkit-no-such-program"], Tail(10), Tail(10), env=environment()))
    with pytest.raises(ToolError, match="does not exist"):
        go(run(["true"], Tail(10), Tail(10), env=environment(), cwd=tmp_path / "no"))


@pytest.mark.parametrize("how", ["marked", "kept"])
def test_a_daemon_that_left_everything_is_found(go, gone, tmp_path, how):
    async def scenario():
        os.mkfifo(path := tmp_path / "pid")
        argv = [sys.executable, "-c", DAEMON, str(path)]
        async with await Child.start(
            [*sh('"$@"; sleep 1000'), "-", *argv], Tail(10), Tail(10), env=environment(), **{how: True}
        ):
            pid = await number_in(path)
            assert process(pid).session != os.getsid(0)
        return pid

    assert gone(go(scenario()))


@pytest.mark.smoke
def test_a_keeper_ends_what_a_killed_program_left(go, gone, tmp_path):
    async def scenario():
        os.mkfifo(path := tmp_path / "pid")
        argv = [sys.executable, "-c", DAEMON, str(path)]
        child = await Child.start(
            [*sh('"$@"; sleep 1000'), "-", *argv], Tail(10), Tail(10), env=environment(), kept=True
        )
        pid = await number_in(path)
        [program] = child.children() if len(child.children()) == 1 else [min(child.children())]
        os.kill(program, 9)
        await child.exited.wait()
        code = child.code
        assert process(pid) is None
        await child.end()
        child.close()
        return pid, code

    pid, code = go(scenario())
    assert code == 128 + 9 and gone(pid)


def test_a_program_that_ignores_every_signal_is_killed(go, gone):
    async def scenario(**options):
        child, [line] = await lines_of(sh(STUBBORN), 1, **options)
        await child.end(grace=0.05)
        child.close()
        return int(line)

    assert gone(go(scenario()))
    assert gone(go(scenario(kept=True)))


def test_a_zombie_is_nobody(go):
    async def scenario():
        child, [line] = await lines_of(sh("sleep 0 & echo $!; exec sleep 1000"), 1)
        while (zombie := process(int(line))) is not None and zombie.alive:
            await asyncio.sleep(0)
        assert zombie is not None and zombie.state == "Z"
        assert int(line) not in [one.pid for one in child.tree.members()]
        await child.end()
        assert not child.tree.alive()
        child.close()

    go(scenario())


def test_a_pipe_that_a_grandchild_keeps_open_is_not_waited_for(go, gone):
    async def scenario():
        lines = LineReader()
        async with await Child.start(sh("sleep 1000 & echo $!"), lines, Tail(10), env=environment()) as child:
            found = [line async for line in lines]
            assert child.exited.is_set() and child.code == 0
        return found

    [line] = go(scenario())
    assert gone(int(line))


@pytest.mark.parametrize("kept", [False, True])
def test_a_fork_bomb_is_ended(go, gone, tmp_path, kept):
    (tmp_path / "bomb.sh").write_text(BOMB)

    async def scenario():
        pids = tmp_path / "pids"
        child = await Child.start(
            ["sh", "bomb.sh", "6"], Tail(10), Tail(10), env=environment(), cwd=tmp_path, kept=kept
        )
        while not pids.exists() or len(pids.read_text().split()) < 20:
            await asyncio.sleep(0)
        await child.end(grace=0)
        child.close()
        return pids.read_text().split()

    assert all(gone(int(pid)) for pid in go(scenario()))


def test_who_starts_another_one_when_told_to_end_is_caught(go, gone, tmp_path):
    async def scenario():
        path = tmp_path / "pid"
        script = f"trap 'setsid sleep 1000 & echo $! > {path}' TERM; echo $$; while :; do sleep 1000 & wait; done"
        child, _ = await lines_of(sh(script), 1)
        await child.end(grace=0.2)
        child.close()
        return int(path.read_text())

    assert gone(go(scenario()))


def test_a_cancelled_end_kills_at_once(go, gone):
    async def scenario():
        child, [line] = await lines_of(sh(STUBBORN), 1)
        ending = asyncio.create_task(child.end(grace=1000))
        await asyncio.sleep(0)
        ending.cancel()
        with pytest.raises(asyncio.CancelledError):
            await ending
        child.close()
        return int(line)

    assert gone(go(scenario()))


@pytest.mark.smoke
def test_a_server_ends_with_its_input(go):
    async def scenario():
        lines = LineReader()
        child = await Child.start(["cat"], lines, Tail(10), env=environment(), stdin="pipe")
        await child.send(b"hello\n")
        assert await lines.readline() == b"hello"
        await child.end(gently=60)
        child.close()
        await child.send(b"nobody reads this")
        return child.code

    assert go(scenario()) == 0


def test_killing_needs_no_loop(go, gone):
    async def scenario():
        child, [line] = await lines_of(sh(STUBBORN), 1)
        return child, int(line)

    child, pid = go(scenario())
    child.kill()
    child.close()
    assert gone(pid) and child.code == -9


def test_the_status_is_known_before_the_number_is_given_back(go):
    async def scenario():
        child = await Child.start(sh("exit 7"), Tail(10), Tail(10), env=environment())
        await child.exited.wait()
        code, state = child.code, process(child.pid).state
        await child.end()
        child.close()
        return code, state, child.code

    assert go(scenario()) == (7, "Z", 7)


class TestWithPs:
    """macOS: ``ps`` says who is there."""

    @pytest.fixture(autouse=True)
    def no_proc(self, monkeypatch):
        if shutil.which("ps") is None:
            pytest.skip("needs ps")
        monkeypatch.setattr("skillkit_process.table.HAS_PROC", False)
        monkeypatch.delattr(os, "pidfd_open")

    def test_the_table_has_parents_and_sessions(self):
        started = subprocess.Popen(["sleep", "1000"], start_new_session=True)
        try:
            found = process(started.pid)
            assert found is not None and found.alive and found.parent == os.getpid()
            assert found.session == found.group == started.pid
            assert started.pid in children(os.getpid())
        finally:
            started.kill()
            started.wait()
        assert process(started.pid) is None

    def test_who_left_the_session_is_ended_with_its_parent(self, go, gone):
        async def scenario():
            child, [line] = await lines_of(sh("setsid sleep 1000 & echo $!; wait"), 1)
            await child.end()
            child.close()
            return int(line)

        assert gone(go(scenario()))
