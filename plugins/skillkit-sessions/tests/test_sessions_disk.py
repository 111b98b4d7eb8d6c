"""Waiting for the disk: who need not wait does not, nobody who leaves early breaks anything, and no error is lost."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
from dataclasses import replace
from typing import Any

import pytest
from skillkit_sessions import JsonlStore
from skillkit_sessions.disk import wait_for_the_disk
from skillkit_sessions.handle import JsonlSession

from skillkit_core.errors import SessionError


async def turns() -> None:
    """Let everything go on that can: nothing of it waits for a length of time."""
    for _ in range(100):
        await asyncio.sleep(0)


class Disk:
    """A sync that waits until it is told to go on, and may fail; ``over`` counts those of files and of directories."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.begun, self.go, self.over = threading.Event(), threading.Event(), 0
        self.refuses = False
        monkeypatch.setattr(os, "fsync", self._fsync)
        monkeypatch.setattr(os, "fdatasync", self._fsync, raising=False)

    async def working(self) -> None:
        """Wait until a sync has begun."""
        while not self.begun.is_set():
            await asyncio.sleep(0)

    def _fsync(self, fd: int) -> None:
        self.begun.set()
        assert self.go.wait(20)
        if self.refuses:
            raise OSError(5, "Input/output error")
        self.over += 1


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    wait_for_the_disk()  # what earlier tests have left to the threads
    return Disk(monkeypatch)


def test_the_loop_goes_on_while_the_disk_works(tmp_path, header, entry, disk):
    async def main() -> None:
        session = await JsonlStore.at(tmp_path).create(header)
        writing = asyncio.create_task(session.append(entry(1), sync=True))
        await disk.working()
        assert not writing.done()
        disk.go.set()
        await writing
        await session.close()

    asyncio.run(main())
    assert disk.over == 2  # the file, and the directory that names it


def test_a_sync_that_is_begun_holds_nobody_up_and_the_next_one_waits_for_it(tmp_path, header, entry, disk):
    async def main() -> None:
        session = await JsonlStore.at(tmp_path).create(header)
        await session.append(entry(1))
        session.begin_sync()
        await disk.working()
        await session.append(entry(2))
        session.begin_sync()
        await session.append(entry(3))
        session.begin_sync()
        tool = asyncio.create_task(session.sync())
        await turns()
        assert not tool.done() and len(session.entries()) == 3
        disk.go.set()
        await tool
        assert disk.over == 3, "the file and its directory, then once for the two that were begun meanwhile"
        session.begin_sync()
        await session.sync()
        assert disk.over == 3, "nothing new was written"
        await session.close()

    asyncio.run(main())


def test_close_hands_the_file_over_and_the_store_waits_for_it(tmp_path, header, entry, disk):
    async def main() -> None:
        store = JsonlStore.at(tmp_path)
        session = await store.create(header)
        await session.append(entry(1))
        await session.close()
        again = await store.open(header.id)
        await again.close()
        closing = asyncio.create_task(store.close())
        await turns()
        assert not closing.done()
        disk.go.set()
        await closing
        assert disk.over in (3, 4)  # the folder once, and the file twice, on a slow machine once more

    asyncio.run(main())


def test_a_store_that_is_closed_waits_for_the_sessions_that_are_open(tmp_path, header, entry, disk):
    async def main() -> None:
        store = JsonlStore.at(tmp_path)
        session = await store.create(header)
        await session.append(entry(1))
        closing = asyncio.create_task(store.close())
        await disk.working()
        assert not closing.done()
        disk.go.set()
        await closing
        assert disk.over == 2
        await session.append(entry(2))
        await session.close()
        await store.close()
        assert disk.over == 3

    asyncio.run(main())


def test_the_error_of_a_sync_that_was_begun_is_told_once_and_the_sync_is_made_again(tmp_path, header, entry, disk):
    async def main() -> None:
        session = await JsonlStore.at(tmp_path).create(header)
        disk.refuses = True
        disk.go.set()
        await session.append(entry(1))
        session.begin_sync()
        while session._syncs.failed == 0:
            await asyncio.sleep(0)
        disk.refuses = False
        with pytest.raises(SessionError, match="the disk did not take the session: Input/output error"):
            session.begin_sync()
        await session.sync()
        assert disk.over == 2
        await session.close()

    asyncio.run(main())


def test_an_error_that_no_session_told_is_told_by_the_store_and_logged(tmp_path, header, entry, disk, caplog):
    async def main() -> None:
        store = JsonlStore.at(tmp_path)
        session = await store.create(header)
        await session.append(entry(1))
        disk.refuses = True
        await session.close()
        disk.go.set()
        with pytest.raises(SessionError, match=f"{header.id}.jsonl: the disk did not take the session"):
            await store.close()
        await store.close()

    asyncio.run(main())
    assert "the disk did not take the session: Input/output error" in caplog.text


def test_the_program_ends_after_what_was_begun(tmp_path):
    code = f"""
import asyncio, os, sys, threading
from pathlib import Path
from skillkit_core.contracts.session_store import SessionEntry, SessionHeader
from skillkit_sessions import JsonlStore

closed = threading.Event()

def slow(fd):
    closed.wait(20)
    os.write(1, b"synced ")

os.fdatasync = os.fsync = slow

async def main():
    session = await JsonlStore.at(Path({str(tmp_path)!r})).create(SessionHeader("s", 0.0))
    await session.append(SessionEntry(1, "e1", None, "custom", 0.0, {{}}))
    await session.close()
    os.write(1, b"closed ")
    closed.set()

asyncio.run(main())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout == "closed synced synced ", done.stderr


def test_another_loop_can_close_what_a_dead_one_left(tmp_path, header, entry, disk):
    kept: list[Any] = []

    async def begin() -> None:
        session = await JsonlStore.at(tmp_path).create(header)
        kept.append(session)
        kept.append(asyncio.create_task(session.append(entry(1), sync=True)))
        await disk.working()

    asyncio.run(begin())  # ends the task, and the loop with it

    async def end() -> None:
        asyncio.get_running_loop().call_soon(disk.go.set)
        await kept[0].sync()
        assert disk.over == 2
        await kept[0].close()

    asyncio.run(end())
    assert [e.seq for e in asyncio.run(read(tmp_path, header.id))] == [1]


async def read(folder: Any, session_id: str) -> Any:
    return (await JsonlStore.at(folder).open(session_id, read_only=True)).entries()


def test_many_sessions_wait_side_by_side(tmp_path, header, entry, disk):
    async def main() -> None:
        store = JsonlStore.at(tmp_path)
        sessions = [await store.create(replace(header, id=f"s{n}")) for n in range(50)]
        writing = [asyncio.create_task(session.append(entry(1), sync=True)) for session in sessions]
        disk.go.set()
        await asyncio.gather(*writing)
        threads = [t for t in threading.enumerate() if t.name == "skillkit fsync"]
        assert 1 <= len(threads) <= 8 and all(t.daemon for t in threads)
        await asyncio.gather(*(session.close() for session in sessions))

    asyncio.run(main())
    assert 51 <= disk.over <= 58, "each file, and the folder for many of them at once"


def test_what_is_done_while_the_loop_is_busy_wakes_it_once(tmp_path, header, entry, disk, monkeypatch):
    async def main() -> None:
        store = JsonlStore.at(tmp_path)
        sessions = [await store.create(replace(header, id=f"s{n}")) for n in range(50)]
        loop, calls = asyncio.get_running_loop(), []
        wake = loop.call_soon_threadsafe
        monkeypatch.setattr(loop, "call_soon_threadsafe", lambda *a, **k: (calls.append(a), wake(*a, **k)))
        writing = [asyncio.create_task(session.append(entry(1), sync=True)) for session in sessions]
        await asyncio.sleep(0)
        disk.go.set()
        while any(session._syncs.done < session._asked for session in sessions):
            os.sched_yield()
        await asyncio.gather(*writing)
        assert len(calls) <= 2, "the last sync may still have been on its way"
        await asyncio.gather(*(session.close() for session in sessions))

    asyncio.run(main())


def test_a_forked_process_has_threads_of_its_own(tmp_path, header, entry):
    async def say(session_id: str) -> None:
        session = await JsonlStore.at(tmp_path).create(replace(header, id=session_id))
        await session.append(entry(1), sync=True)
        await session.close()

    asyncio.run(say("parent"))
    child = os.fork()
    if child == 0:
        code = 1
        try:
            asyncio.run(asyncio.wait_for(say("child"), 10))
            code = 0
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
    assert len(asyncio.run(read(tmp_path, "child"))) == 1


def test_a_sync_whose_caller_has_left_is_waited_for_by_the_next(tmp_path, header, entry, disk):
    async def main() -> None:
        session = await JsonlStore.at(tmp_path).create(header)
        writing = asyncio.create_task(session.append(entry(1), sync=True))
        await disk.working()
        writing.cancel()
        await asyncio.wait([writing])
        again = asyncio.create_task(session.sync())
        await asyncio.sleep(0)
        assert not again.done()
        disk.go.set()
        await again
        assert disk.over == 2
        await session.close()

    asyncio.run(main())


def test_a_child_that_is_forked_during_a_sync_need_not_wait_for_it(tmp_path, header, entry, disk):
    async def begin() -> JsonlSession:
        session = await JsonlStore.at(tmp_path).create(header)
        writing = asyncio.create_task(session.append(entry(1), sync=True))
        await disk.working()
        writing.cancel()
        await asyncio.wait([writing])
        return session

    session = asyncio.run(begin())
    child = os.fork()
    if child == 0:
        code = 1
        try:
            asyncio.run(asyncio.wait_for(session.close(), 10))
            code = 0
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
    disk.go.set()
    asyncio.run(session.close())


def test_a_disk_that_refuses_is_named(tmp_path, header, entry, monkeypatch):
    def refuse(fd: int) -> None:
        raise OSError(5, "Input/output error")

    async def main() -> None:
        session = await JsonlStore.at(tmp_path).create(header)
        monkeypatch.setattr(os, "fdatasync", refuse, raising=False)
        monkeypatch.setattr(os, "fsync", refuse)
        with pytest.raises(SessionError, match="the disk did not take the session: Input/output error"):
            await session.append(entry(1), sync=True)
        await session.close()

    asyncio.run(main())
