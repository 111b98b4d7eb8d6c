"""Checks with a second process: one writes, any number reads, and a dead writer locks nobody out."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from skillkit_core.contracts.session_store import SessionStore
from skillkit_core.errors import SessionLocked

from .session_case import StoreCase, entry

__all__ = ["ProcessChecks"]

_WRITER = """
import asyncio, sys
from skillkit_core import SessionEntry, SessionHeader, SessionTaken
from skillkit_core.descriptors import load_object
from pathlib import Path

async def main():
    store = load_object(sys.argv[1])(Path(sys.argv[2]))
    handle = await store.create(SessionHeader("theirs", 1000.0, "/work"))
    await handle.close()
    handle = await store.open("theirs", endpoint="/run/theirs.sock")
    await handle.append(SessionEntry(1, "e1", None, "custom", 1001.0, {"n": 1}), sync=True)
    print("ready", flush=True)
    n = 1
    while sys.stdin.readline() .strip() == "more":
        n += 1
        try:
            await handle.append(SessionEntry(n, f"e{n}", f"e{n - 1}", "custom", 1000.0 + n, {"text": f"word{n}"}))
        except SessionTaken:
            n = "taken"
        print(n, flush=True)
    await handle.close()
    await store.close()

asyncio.run(main())
"""


class ProcessChecks(StoreCase):
    """Two processes and one session."""

    @pytest.fixture
    def writer(self, make_store: Callable[[], SessionStore], tmp_path: Path) -> Any:
        """Another process that has created the session ``theirs``, written one entry and still holds it."""
        if self.opener is None or not self.durable:
            pytest.skip("needs 'opener', so that another process can open the same store")
        argv = [sys.executable, "-c", _WRITER, self.opener, str(tmp_path / "sessions")]
        # A store that is not installed is found where this process finds it.
        env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env) as process:
            assert process.stdout
            assert process.stdout.readline() == "ready\n"
            yield process
            process.kill()

    def test_a_session_of_another_process_is_locked(
        self, make_store: Callable[[], SessionStore], writer: subprocess.Popen[str]
    ) -> None:
        """Edge case 40: refused for writing, open for reading, free when the other is done."""

        async def body(store: SessionStore) -> None:
            with pytest.raises(SessionLocked):
                await store.open("theirs")
            reader = await store.open("theirs", read_only=True)
            assert [e.id for e in reader.entries()] == ["e1"]
            await reader.close()
            assert writer.stdin
            writer.stdin.write("done\n")
            writer.stdin.flush()
            assert writer.wait(30) == 0
            mine = await store.open("theirs")
            await mine.append(entry(2))
            await mine.close()

        self.within(make_store, body)

    def test_the_lock_says_who_writes_and_where_clients_are_taken(
        self, make_store: Callable[[], SessionStore], writer: subprocess.Popen[str]
    ) -> None:
        """The pid, the machine and the endpoint with which the session was opened."""

        async def body(store: SessionStore) -> None:
            with pytest.raises(SessionLocked) as locked:
                await store.open("theirs")
            assert locked.value.owner == (writer.pid, socket.gethostname(), "/run/theirs.sock")

        self.within(make_store, body)

    def test_of_two_writers_one_of_whom_was_paused_one_writes(
        self, make_store: Callable[[], SessionStore], writer: subprocess.Popen[str]
    ) -> None:
        """A store either waits for a paused writer, or gives the session to the second one and refuses the first."""
        assert writer.stdin and writer.stdout
        writer.send_signal(signal.SIGSTOP)

        async def body(store: SessionStore) -> None:
            assert writer.stdin and writer.stdout
            mine = None
            try:
                mine = await store.open("theirs")
                await mine.append(entry(2, by="second"))
            except SessionLocked as locked:
                assert locked.owner is not None and locked.owner.pid == writer.pid
            finally:
                writer.send_signal(signal.SIGCONT)
            writer.stdin.write("more\n")
            writer.stdin.flush()
            assert writer.stdout.readline() == ("2\n" if mine is None else "taken\n")
            reader = mine or await store.open("theirs", read_only=True)
            assert [e.data.get("by") for e in reader.entries()] == [None, None if mine is None else "second"]
            await reader.close()

        self.within(make_store, body)

    def test_the_lock_of_a_dead_process_is_taken_over(
        self, make_store: Callable[[], SessionStore], writer: subprocess.Popen[str]
    ) -> None:
        """Edge case 38 and 40: kill -9 loses no entry and locks nobody out."""
        writer.send_signal(signal.SIGKILL)
        writer.wait(30)

        async def body(store: SessionStore) -> None:
            mine = await store.open("theirs")
            assert [e.id for e in mine.entries()] == ["e1"]
            await mine.append(entry(2))
            assert len(mine.entries()) == 2
            await mine.close()

        self.within(make_store, body)

    def test_a_reader_here_sees_what_a_writer_there_has_written(
        self, make_store: Callable[[], SessionStore], writer: subprocess.Popen[str]
    ) -> None:
        """At once, in the list and in the search too."""

        async def body(store: SessionStore) -> None:
            assert [row["id"] for row in await store.list()] == ["theirs"]
            assert writer.stdin and writer.stdout
            for n in (2, 3):
                writer.stdin.write("more\n")
                writer.stdin.flush()
                assert writer.stdout.readline() == f"{n}\n"
                reader = await store.open("theirs", read_only=True)
                assert [e.seq for e in reader.entries()] == list(range(1, n + 1))
                await reader.close()
                assert [h["entry_id"] async for h in store.search(f"word{n}")] == [f"e{n}"]

        self.within(make_store, body)
