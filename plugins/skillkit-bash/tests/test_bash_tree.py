"""However a command ends, nothing of it stays: timeout, abort, cancellation, a failing subscriber, its own exit."""

from __future__ import annotations

import asyncio
import os
import threading
from functools import partial

import pytest
from skillkit_process import run

from skillkit_core.abort import AbortSignal

pytestmark = pytest.mark.usefixtures("no_leaks")

# Each prints the pids of processes that must not survive, then blocks.
TREES = {
    "child": "echo $$; sleep 1000; true",
    "background": "sleep 1000 & echo $!; sleep 1000 & echo $!; wait",
    "pipeline": "echo $$; sleep 1000 | cat | cat",
    "nested shells": "bash -c 'bash -c \"echo \\$\\$; sleep 1000; true\"; true'; true",
    "setsid with a living parent": "setsid sleep 1000 & echo $!; wait",
    "setsid, orphaned, with the pipe": "(setsid sleep 1000 & echo $!); sleep 1000",
    "setsid, orphaned, and its child": "(setsid bash -c 'sleep 1000 & echo $! $$; wait' &); sleep 1000",
    "nohup": "nohup sleep 1000 & echo $!; wait",
    "stopped": "sleep 1000 & echo $!; kill -STOP $!; echo $$; kill -STOP $$",
    "job control": "set -m; sleep 1000 & echo $!; sleep 1000 & echo $!; wait",
}
STUBBORN = (
    "trap '' TERM INT HUP; (echo $BASHPID; while :; do sleep 1000; done) & echo $$; wait; while :; do sleep 1000; done"
)


class Pids:
    """Collects pids from the output; ``ready`` is set when there are as many as expected."""

    def __init__(self, count: int) -> None:
        self.text = ""
        self.count = count
        self.ready = asyncio.Event()

    def __call__(self, text: str) -> None:
        self.text += text
        if len(self.found) >= self.count and self.text.endswith("\n"):
            self.ready.set()

    @property
    def found(self) -> list[int]:
        return [int(word) for word in self.text.split()]


def expected(command: str) -> int:
    return {"background": 2, "stopped": 2, "job control": 2, "setsid, orphaned, and its child": 2}.get(command, 1)


async def started(runtime, command: str, count: int, **kwargs):
    pids = Pids(count)
    task = asyncio.create_task(runtime.execute(command, on_output=pids, **kwargs))
    waiter = asyncio.create_task(pids.ready.wait())
    await asyncio.wait([task, waiter], return_when=asyncio.FIRST_COMPLETED)
    assert waiter.done(), f"ended early: {task}"
    return task, pids.found


@pytest.mark.spec("9.51")
@pytest.mark.parametrize("name", TREES)
def test_an_abort_ends_the_whole_tree(runtime, go, gone, name):
    async def scenario():
        signal = AbortSignal()
        task, pids = await started(runtime, TREES[name], expected(name), signal=signal)
        threading.Thread(target=signal.abort).start()
        return await task, pids

    result, pids = go(scenario())
    assert result.aborted and result.exit_code is None and not result.timed_out and not result.ok
    assert all(gone(pid) for pid in pids)


@pytest.mark.parametrize("name", TREES)
def test_cancelling_the_caller_ends_the_whole_tree(runtime, go, gone, name):
    async def scenario():
        task, pids = await started(runtime, TREES[name], expected(name))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return pids

    assert all(gone(pid) for pid in go(scenario()))


def test_a_timeout_ends_the_tree_and_keeps_what_was_said(runtime, go, gone):
    result = go(runtime.execute("sleep 1000 & echo $!; sleep 1000", timeout=1))
    assert result.timed_out and result.exit_code is None and not result.aborted
    assert gone(int(result.stdout))


def test_a_timeout_of_an_outer_scope_leaves_as_it_came(runtime, go, gone):
    async def scenario():
        pids = Pids(1)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(None) as scope:
                task = asyncio.current_task()
                assert task is not None

                def take(text: str) -> None:
                    pids(text)
                    scope.reschedule(0)

                await runtime.execute("echo $$; sleep 1000; true", on_output=take)
        assert not asyncio.current_task().cancelling()
        return pids.found

    assert all(gone(pid) for pid in go(scenario()))


def test_the_last_words_of_a_terminated_command_are_heard(runtime, go):
    result = go(
        runtime.execute("trap 'trap \"\" TERM; echo bye; exit 0' TERM; echo ready; sleep 1000 & wait", timeout=1)
    )
    assert result.stdout == "ready\nbye\n" and result.exit_code is None and result.timed_out


def test_who_ignores_sigterm_is_killed_after_the_grace(runtime, go, gone, monkeypatch):
    monkeypatch.setattr("skillkit_bash.runtime.run", partial(run, grace=0.05))

    async def scenario():
        signal = AbortSignal()
        task, pids = await started(runtime, STUBBORN, 2, signal=signal)
        signal.abort()
        return await task, pids

    result, pids = go(scenario())
    assert result.aborted and len(pids) == 2
    assert all(gone(pid) for pid in pids)


def test_a_second_cancellation_does_not_wait_for_the_grace(runtime, go, gone, monkeypatch):
    monkeypatch.setattr("skillkit_bash.runtime.run", partial(run, grace=1000.0))

    async def scenario():
        task, pids = await started(runtime, STUBBORN, 2)
        task.cancel()
        await asyncio.wait([task], timeout=0.1)
        assert not task.done()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return pids

    assert all(gone(pid) for pid in go(scenario()))


@pytest.mark.spec("13.9")
def test_who_starts_new_processes_when_told_to_end_is_still_caught(runtime, go, gone, tmp_path):
    log = tmp_path / "pids"
    code = f"trap 'setsid sleep 1000 & echo $! >> {log}' TERM; echo $$ > {log}; echo $$; while :; do sleep 1000 & wait; done"

    async def scenario():
        signal = AbortSignal()
        task, _ = await started(runtime, code, 1, signal=signal)
        signal.abort()
        await task

    go(scenario())
    pids = [int(line) for line in log.read_text().split()]
    assert len(pids) >= 2
    assert all(gone(pid) for pid in pids)


@pytest.mark.spec("13.9")
def test_what_is_left_in_the_background_is_neither_waited_for_nor_left(runtime, go, gone):
    result = go(runtime.execute("sleep 1000 & echo $!"))
    assert result.ok
    assert gone(int(result.stdout))


@pytest.mark.spec("13.9")
def test_a_survivor_that_keeps_writing_is_not_read_for_ever(runtime, go, gone):
    result = go(runtime.execute("yes & echo $! >&2", max_output=100))
    assert result.ok
    assert gone(int(result.stderr))


def test_what_comes_right_after_the_exit_is_heard(runtime, go, tmp_path):
    os.mkfifo(tmp_path / "go")
    result = go(runtime.execute(f"(read x < {tmp_path}/go; echo late) & echo x > {tmp_path}/go"))
    assert result.stdout == "late\n"


def test_all_that_was_written_before_the_exit_arrives(runtime, go):
    result = go(runtime.execute("sleep 1000 & head -c 900000 /dev/zero | tr '\\0' x", max_output=1_000_000))
    assert result.stdout == "x" * 900_000


def test_a_detached_daemon_outlives_its_command(runtime, go, alive, doomed):
    result = go(runtime.execute("setsid sleep 1000 >/dev/null 2>&1 & echo $!"))
    doomed.append(int(result.stdout))
    assert result.ok and alive(doomed[0])


@pytest.mark.spec("13.9")
def test_a_detached_process_with_the_pipe_is_not_waited_for(runtime, go, alive, doomed):
    result = go(runtime.execute("setsid sleep 1000 & echo $!"))
    doomed.append(int(result.stdout))
    assert result.ok and alive(doomed[0])


def test_ending_one_command_leaves_the_others_alone(runtime, go, alive):
    async def scenario():
        stop, other = AbortSignal(), AbortSignal()
        first, _ = await started(runtime, TREES["background"], 2, signal=stop)
        second, pids = await started(runtime, TREES["setsid, orphaned, with the pipe"], 1, signal=other)
        stop.abort()
        await first
        assert all(alive(pid) for pid in pids) and not second.done()
        other.abort()
        await second

    go(scenario())


def test_an_abort_before_the_start_starts_nothing(runtime, go, tmp_path):
    signal = AbortSignal()
    signal.abort()
    result = go(runtime.execute(f"touch {tmp_path}/ran", signal=signal))
    assert result.aborted and result.exit_code is None and not (tmp_path / "ran").exists()


def test_an_abort_after_the_end_does_nothing(runtime, go):
    signal = AbortSignal()
    assert go(runtime.execute("true", signal=signal)).ok
    assert signal.abort()


def test_an_exception_of_a_subscriber_ends_the_tree_and_is_raised(runtime, go, gone):
    heard: list[str] = []

    def take(text: str) -> None:
        heard.append(text)
        raise LookupError("the subscriber failed")

    with pytest.raises(LookupError, match="the subscriber failed"):
        go(runtime.execute("echo $$; while :; do echo; sleep 0.01; done", on_output=take))
    assert len(heard) == 1
    assert gone(int(heard[0].split()[0]))


def test_nothing_is_heard_after_the_call_has_ended(runtime, go):
    async def scenario():
        seen: list[str] = []
        task = asyncio.create_task(runtime.execute("yes", on_output=seen.append))
        while not seen:
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        count = len(seen)
        for _ in range(50):
            await asyncio.sleep(0)
        assert len(seen) == count

    go(scenario())


def test_a_hundred_commands_at_once(runtime, go):
    async def scenario():
        return await asyncio.gather(*(runtime.execute(f"echo {i}; exit {i % 7}") for i in range(100)))

    results = go(scenario())
    assert [(r.stdout, r.exit_code) for r in results] == [(f"{i}\n", i % 7) for i in range(100)]


class TestWithoutPidfds:
    """macOS and old kernels: a thread notices the exit, and the group is all that can be ended."""

    @pytest.fixture(autouse=True)
    def no_pidfds(self, monkeypatch):
        monkeypatch.delattr(os, "pidfd_open")

    def test_the_exit_is_noticed(self, runtime, go):
        assert go(runtime.execute("echo hi; exit 4")).exit_code == 4

    def test_the_group_is_ended(self, runtime, go, gone):
        result = go(runtime.execute(TREES["background"], timeout=1))
        assert result.timed_out
        assert all(gone(int(pid)) for pid in result.stdout.split())


def test_without_proc_the_group_is_ended(runtime, go, gone, monkeypatch):
    monkeypatch.setattr("skillkit_process.table.HAS_PROC", False)
    result = go(runtime.execute(TREES["background"], timeout=1))
    assert result.timed_out
    assert all(gone(int(pid)) for pid in result.stdout.split())
