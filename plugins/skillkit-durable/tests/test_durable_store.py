"""The session store ``postgres``: the suite of its contract, and two writers of whom one is paused for longer than the lease."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import durable_postgres
import pytest
from skillkit_durable import PostgresStore
from skillkit_durable.config import settings_of
from skillkit_durable.worker import Worker
from skillkit_testkit.conformance import SessionStoreConformance

from skillkit_core import SessionEntry
from skillkit_core.errors import SessionError, SessionLocked, UsageError

WRITER = """
import asyncio, sys
from pathlib import Path
import durable_postgres
from skillkit_core import SessionEntry, SessionHeader, SessionTaken

async def main():
    store = durable_postgres.store_at(Path(sys.argv[1]))
    handle = await store.create(SessionHeader("theirs", 1000.0))
    await handle.append(SessionEntry(1, "e1", None, "custom", 1001.0, {"n": 1}))
    print("ready", flush=True)
    sys.stdin.readline()
    try:
        await handle.append(SessionEntry(2, "e2", "e1", "custom", 1002.0, {"by": "the one who slept"}))
        print("written", flush=True)
    except SessionTaken as error:
        print("taken", flush=True)
    await handle.close()
    await store.close()

asyncio.run(main())
"""


class TestPostgresStore(SessionStoreConformance):
    opener = "durable_postgres:store_at"

    @pytest.fixture(autouse=True)
    def database(self, postgres: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv(durable_postgres.URL, postgres)

    @pytest.mark.slow
    def test_ten_times_the_entries_are_ten_times_the_work(self, make_store: Any) -> None:
        super().test_ten_times_the_entries_are_ten_times_the_work(make_store)

    def test_a_writer_that_slept_over_its_lease_writes_nothing_more(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("DURABLE_TEST_LEASE", "1")
        env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "env": env}
        with subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path)], **pipes) as writer:
            assert writer.stdin and writer.stdout and writer.stdout.readline() == "ready\n"
            writer.send_signal(signal.SIGSTOP)
            entries = asyncio.run(self.take(tmp_path, writer.pid))
            writer.send_signal(signal.SIGCONT)
            writer.stdin.write("go on\n")
            writer.stdin.flush()
            assert writer.stdout.readline() == "taken\n"
        assert [e.data.get("by") for e in entries] == [None, "the second"]
        assert asyncio.run(self.read(tmp_path)) == entries

    async def take(self, folder: Path, pid: int) -> list[SessionEntry]:
        """Write as soon as the lease is over."""
        store = durable_postgres.store_at(folder)
        with pytest.raises(SessionLocked) as locked:
            await store.open("theirs")
        assert locked.value.owner is not None and locked.value.owner.pid == pid
        give_up, handle = time.monotonic() + 30, None
        while handle is None:
            assert time.monotonic() < give_up
            try:
                handle = await store.open("theirs")
            except SessionLocked:
                await asyncio.sleep(0.1)
        await handle.append(SessionEntry(2, "e2", "e1", "custom", 1002.0, {"by": "the second"}))
        entries = list(handle.entries())
        await handle.close()
        await store.close()
        return entries

    async def read(self, folder: Path) -> list[SessionEntry]:
        """Return what is in the session."""
        store = durable_postgres.store_at(folder)
        handle = await store.open("theirs", read_only=True)
        await store.close()
        return list(handle.entries())


def test_the_store_needs_a_postgresql(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="needs a PostgreSQL"):
        PostgresStore(url=f"sqlite:///{tmp_path}/x")
    with pytest.raises(SessionError, match="refuses") as away:
        asyncio.run(PostgresStore(url=f"postgresql://me:hunter2secret@/x?host={tmp_path}").ids())
    assert "hunter2secret" not in str(away.value)


def test_a_store_that_is_only_there_is_not_the_default(make_host: Any) -> None:
    from skillkit_durable import plugin

    host = make_host(("durable", plugin))
    assert host.session_stores.list() == []
    with pytest.raises(UsageError, match="no plugin here keeps sessions"):
        Worker(host, settings_of(host))
    named = make_host(("durable", plugin), settings={"session.store": "postgres", "durable.url": "postgresql://u@h/d"})
    assert isinstance(named.session_store(), PostgresStore)
