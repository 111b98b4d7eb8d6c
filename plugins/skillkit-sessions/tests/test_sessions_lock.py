"""One process writes a session; the next is told who does, and takes over from the dead."""

from __future__ import annotations

import asyncio
import errno
import fcntl
import gc
import json
import os
import shutil
import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from skillkit_sessions import JsonlStore, SqliteStore
from skillkit_sessions.owner import OwnerFile, _start_time

from skillkit_core.errors import SessionError, SessionLocked, SessionTaken

HOLDER = """
import asyncio, sys
from pathlib import Path
from skillkit_sessions import JsonlStore
async def main():
    handle = await JsonlStore(directory=Path(sys.argv[1])).open("s1")
    print("held", flush=True)
    sys.stdin.read()
    await handle.close()
asyncio.run(main())
"""


@pytest.fixture
def holder(store, write):
    """Another process that holds s1 until its stdin is closed."""
    write("s1")
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(store.directory)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdout is not None and process.stdout.readline() == b"held\n"
    yield process
    process.kill()
    process.communicate()


@pytest.fixture
def no_flock(monkeypatch):
    """A file system without flock."""

    def refuse(file, operation):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)


def opens(store: JsonlStore, go) -> bool:
    go(go(store.open("s1")).close())
    return not (store.directory / "s1.lock").exists()


@pytest.mark.spec("9.40", "I18")
def test_a_second_process_is_told_who_writes(store, go, holder):
    with pytest.raises(
        SessionLocked,
        match=f"process {holder.pid}; go on in a copy: skillkit sessions fork .*; or look at it: skillkit sessions show",
    ):
        go(store.open("s1"))


@pytest.mark.spec("9.40")
def test_reading_is_always_possible(store, go, holder):
    assert go(store.open("s1", read_only=True)).read_only


def test_after_the_owner_has_closed_anybody_may_write(store, go, holder):
    holder.communicate()
    assert opens(store, go)


@pytest.mark.spec("9.40")
def test_a_killed_owner_is_followed_at_once(store, go, holder):
    holder.kill()
    holder.wait()
    assert (store.directory / "s1.lock").exists()
    assert opens(store, go)


@pytest.mark.spec("I18")
def test_a_second_handle_of_the_same_process_is_refused_too(store, go, header):
    async def scenario():
        handle = await store.create(header)
        with pytest.raises(SessionLocked, match=f"this process \\({os.getpid()}\\)") as caught:
            await store.open("s1")
        assert caught.value.hint == "close the agent or session that has it open, or open it read-only"
        await handle.close()
        await (await store.open("s1")).close()

    go(scenario())


@pytest.mark.parametrize("content", ["", "garbage", "[]", '{"pid": "x"}', '{"pid": 1}'])
def test_a_lock_file_that_nobody_holds_means_nothing(store, go, write, content):
    write("s1")
    (store.directory / "s1.lock").write_text(content)
    assert opens(store, go)


def test_the_lock_is_gone_after_a_session_that_could_not_be_opened(store, go, write):
    write("s1").write_bytes(b"")
    with pytest.raises(SessionError):
        go(store.open("s1"))
    assert not (store.directory / "s1.lock").exists()


def test_a_link_in_place_of_the_lock_is_not_followed(store, go, write, tmp_path):
    write("s1")
    (tmp_path / "precious").write_text("data")
    (store.directory / "s1.lock").symlink_to(tmp_path / "precious")
    with pytest.raises(SessionError, match=r"s1\.lock"):
        go(store.open("s1"))
    assert (tmp_path / "precious").read_text() == "data"


@pytest.mark.spec("I18")
@pytest.mark.parametrize("kind", [JsonlStore, SqliteStore])
def test_a_forked_process_does_not_write_what_its_parent_writes(kind, tmp_path, go, header, entry):
    store = kind(directory=tmp_path)
    handle = go(store.create(header))
    go(handle.append(entry(1), sync=True))

    async def in_the_child():
        with pytest.raises(SessionError, match="is written by the process that this one was forked from"):
            await handle.append(entry(2))
        await handle.close()
        with pytest.raises(SessionLocked, match=f"process {os.getppid()}"):
            await kind(directory=tmp_path).open("s1")

    child = os.fork()
    if child == 0:
        code = 1
        try:
            asyncio.run(asyncio.wait_for(in_the_child(), 20))
            code = 0
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0

    go(handle.append(entry(2)))
    go(handle.close())
    assert [e.id for e in go(store.open("s1", read_only=True)).entries()] == ["e1", "e2"]
    go(store.close())


@pytest.mark.spec("9.40", "I18")
def test_many_processes_that_want_to_write_never_do_so_at_once(store, write, tmp_path):
    write("s1")
    code = """
import asyncio, os, sys
from pathlib import Path
from skillkit_core.errors import SessionLocked
from skillkit_sessions import JsonlStore
async def main():
    store, proof, wins = JsonlStore(directory=Path(sys.argv[1])), Path(sys.argv[2]), 0
    while wins < 20:
        try:
            handle = await store.open("s1")
        except SessionLocked:
            continue
        os.close(os.open(proof, os.O_CREAT | os.O_EXCL))  # fails if another one is inside
        proof.unlink()
        await handle.close()
        wins += 1
asyncio.run(main())
"""
    processes = [
        subprocess.Popen([sys.executable, "-c", code, str(store.directory), str(tmp_path / "proof")]) for _ in range(3)
    ]
    assert [p.wait(timeout=60) for p in processes] == [0, 0, 0]


def writers(folder: Path) -> list[Path]:
    return list((folder / ".writers").iterdir())


def test_all_locks_of_a_process_in_a_directory_are_one_file(tmp_path, go, header):
    async def scenario():
        store = JsonlStore(directory=tmp_path)
        before = len(os.listdir("/proc/self/fd"))
        handles = [await store.create(replace(header, id=f"s{n}")) for n in range(20)]
        assert len(os.listdir("/proc/self/fd")) - before <= 21, "one for each session, one for all locks"
        (own,) = writers(tmp_path)
        assert all(own.samefile(tmp_path / f"s{n}.lock") for n in range(20))
        for handle in handles:
            await handle.close()
        assert not list(tmp_path.glob("*.lock"))
        await (await store.open("s3")).close()
        assert writers(tmp_path) == [own], "the next lock is made of it, too"

    go(scenario())


def test_a_process_leaves_nothing_behind_and_the_next_removes_what_a_killed_one_left(tmp_path, go, header):
    code = """
import asyncio, os, sys
from pathlib import Path
from skillkit_core.contracts.session_store import SessionHeader
from skillkit_sessions import JsonlStore
handle = asyncio.run(JsonlStore(directory=Path(sys.argv[1])).create(SessionHeader(sys.argv[2], 1.0)))
if sys.argv[3] == "killed":
    os._exit(0)
if sys.argv[3] == "closed":
    asyncio.run(handle.close())
"""

    def run(session_id: str, how: str) -> None:
        subprocess.run([sys.executable, "-c", code, str(tmp_path), session_id, how], check=True)

    run("a", "closed")
    assert writers(tmp_path) == [] and not (tmp_path / "a.lock").exists()
    run("b", "left open")
    assert writers(tmp_path) == []
    run("c", "killed")
    assert len(writers(tmp_path)) == 1 and (tmp_path / "c.lock").exists()
    run("d", "closed")
    assert writers(tmp_path) == []

    async def scenario():
        store = JsonlStore(directory=tmp_path)
        for session_id in "abcd":
            await (await store.open(session_id)).close()

    go(scenario())
    assert not list(tmp_path.glob("*.lock"))


def test_a_directory_that_is_made_anew_gets_locks_again(tmp_path, go, header):
    folder = tmp_path / "sessions"

    async def scenario():
        store = JsonlStore(directory=folder)
        await (await store.create(header)).close()
        shutil.rmtree(folder)
        handle = await store.create(header)
        with pytest.raises(SessionLocked):
            await store.open(header.id)
        await handle.close()

    go(scenario())
    assert not list(folder.glob("*.lock"))


def test_a_lock_that_nobody_released_goes_with_its_session(tmp_path, go, header):
    store = JsonlStore(directory=tmp_path)
    handle = go(store.create(header))
    assert (tmp_path / "s1.lock").exists()
    with pytest.warns(ResourceWarning, match="unclosed file"):
        del handle
        gc.collect()
    assert not (tmp_path / "s1.lock").exists()
    go(go(store.open("s1")).close())


def test_few_directories_are_kept_ready(tmp_path, go, header):
    async def scenario():
        before = len(os.listdir("/proc/self/fd"))
        for n in range(40):
            store = JsonlStore(directory=tmp_path / str(n))
            await (await store.create(header)).close()
            await store.close()
        assert len(os.listdir("/proc/self/fd")) - before < 12

    go(scenario())


@pytest.mark.spec("9.40", "I18")
@pytest.mark.parametrize("problem", [errno.EPERM, errno.EMLINK, errno.EOPNOTSUPP])
def test_without_hard_links_a_lock_is_a_file_of_its_own(tmp_path, go, header, monkeypatch, problem):
    def refuse(*args, **kwargs):
        raise OSError(problem, os.strerror(problem))

    monkeypatch.setattr(os, "link", refuse)

    async def scenario():
        store = JsonlStore(directory=tmp_path)
        handle = await store.create(header)
        assert (tmp_path / "s1.lock").stat().st_nlink == 1
        assert json.loads((tmp_path / "s1.lock").read_text())["pid"] == os.getpid()
        with pytest.raises(SessionLocked, match=f"this process \\({os.getpid()}\\)") as caught:
            await store.open("s1")
        assert caught.value.hint == "close the agent or session that has it open, or open it read-only"
        await handle.close()
        assert not (tmp_path / "s1.lock").exists()
        await (await store.open("s1")).close()

    go(scenario())


@pytest.mark.spec("9.40", "I18")
def test_processes_with_and_without_links_respect_each_other(store, go, holder, monkeypatch):
    monkeypatch.setattr(OwnerFile, "take", lambda directory: None)
    with pytest.raises(SessionLocked, match=f"process {holder.pid}"):
        go(store.open("s1"))
    holder.kill()
    holder.wait()
    assert opens(store, go)


@pytest.mark.spec("9.40", "I18")
def test_who_comes_at_once_after_a_killed_owner_never_writes_beside_another(store, write, tmp_path):
    write("s1")
    code = """
import asyncio, os, sys
from pathlib import Path
from skillkit_core.errors import SessionLocked
from skillkit_sessions import JsonlStore
async def main():
    store, proof = JsonlStore(directory=Path(sys.argv[1])), Path(sys.argv[2])
    while True:
        try:
            handle = await store.open("s1")
        except SessionLocked:
            continue
        os.close(os.open(proof, os.O_CREAT | os.O_EXCL))  # fails if another one is inside
        proof.unlink()
        os._exit(0)  # and the lock stays
asyncio.run(main())
"""
    command = [sys.executable, "-c", code, str(store.directory), str(tmp_path / "proof")]
    processes = [subprocess.Popen(command) for _ in range(6)]
    assert [p.wait(timeout=60) for p in processes] == [0] * 6


class TestWithoutFlock:
    """The pid and the start time in the file decide."""

    def lock(self, store: JsonlStore, pid: int, started: str | None) -> None:
        (store.directory / "s1.lock").write_text(json.dumps({"pid": pid, "started": started}))

    def test_a_living_owner_is_respected(self, store, go, holder, no_flock):
        with pytest.raises(SessionLocked, match=f"process {holder.pid}"):
            go(store.open("s1"))

    def test_a_dead_owner_is_followed(self, store, go, holder, no_flock):
        holder.kill()
        holder.wait()
        assert opens(store, go)

    def test_a_recycled_pid_is_not_the_owner(self, store, go, write, no_flock):
        write("s1")
        parent = os.getppid()
        self.lock(store, parent, _start_time(parent))
        with pytest.raises(SessionLocked):
            go(store.open("s1"))
        self.lock(store, parent, "another-boot/12345")
        assert opens(store, go)

    def test_a_process_without_known_start_time_counts_while_it_lives(self, store, go, write, no_flock):
        write("s1")
        self.lock(store, os.getppid(), None)
        with pytest.raises(SessionLocked):
            go(store.open("s1"))

    def test_a_second_handle_of_the_same_process_is_refused_too(self, store, go, header, no_flock):
        async def scenario():
            handle = await store.create(header)
            with pytest.raises(SessionLocked):
                await store.open("s1")
            await handle.close()

        go(scenario())


def test_the_lock_names_the_process(store, go, header):
    async def scenario():
        handle = await store.create(header)
        content = json.loads(Path(handle.location).with_suffix(".lock").read_text())
        await handle.close()
        return content

    assert go(scenario())["pid"] == os.getpid()


@pytest.mark.parametrize("make", [JsonlStore.at, SqliteStore.at])
def test_a_writer_whose_lock_was_removed_writes_nothing_behind_its_successor(tmp_path, go, make, header, entry):
    async def scenario():
        first, second = make(tmp_path), make(tmp_path)
        paused = await first.create(header)
        await paused.append(entry(1))
        (tmp_path / "s1.lock").unlink()
        successor = await second.open("s1", endpoint="/run/s1.sock")
        with pytest.raises(SessionTaken, match="taken over by another writer"):
            await paused.append(entry(2))
        await successor.append(entry(2, type="custom", by="successor"))
        await paused.close()
        with pytest.raises(SessionLocked) as locked:
            await first.open("s1")
        assert locked.value.owner == (os.getpid(), socket.gethostname(), "/run/s1.sock")
        await successor.close()
        again = await first.open("s1")
        assert [e.data.get("by") for e in again.entries()] == [None, "successor"]
        await again.close()
        await first.close()
        await second.close()

    go(scenario())


def test_a_lock_whose_file_is_gone_is_still_held(store, go, header, entry):
    async def scenario():
        handle = await store.create(header)
        (store.directory / "s1.lock").unlink()
        await handle.append(entry(1))
        await handle.close()
        assert len((await store.open("s1", read_only=True)).entries()) == 1

    go(scenario())
