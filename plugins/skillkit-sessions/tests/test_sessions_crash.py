"""Whatever crash, disk or editor does to a file: accepted entries come back, and damage is named or repaired."""

from __future__ import annotations

import asyncio
import json
import os
import resource
import signal
import subprocess
import sys
import traceback
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from skillkit_sessions import JsonlStore

from skillkit_core.contracts.session_store import SESSION_VERSION, SessionEntry, SessionHeader
from skillkit_core.errors import SessionCorrupt, SessionError
from skillkit_core.frozen import freeze

TEXTS = st.lists(st.text(max_size=30), min_size=1, max_size=6)


def entries_of(texts: list[str]) -> list[SessionEntry]:
    return [SessionEntry(n, f"e{n}", None, "custom", float(n), freeze({"text": t})) for n, t in enumerate(texts, 1)]


async def written(directory: Path, entries: list[SessionEntry]) -> tuple[JsonlStore, Path, list[int]]:
    """A closed session, and the size of its file after each entry (the first: after the header)."""
    store = JsonlStore(directory=directory, fsync="never")
    handle = await store.create(SessionHeader("s", 0.0))
    path = Path(handle.location)
    sizes = [path.stat().st_size]
    for entry in entries:
        await handle.append(entry)
        sizes.append(path.stat().st_size)
    await handle.close()
    return store, path, sizes


@pytest.mark.spec("9.39")
@given(texts=TEXTS, cut=st.floats(0, 1), more=st.text(max_size=5))
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_a_file_torn_at_any_byte_keeps_every_whole_entry(tmp_path_factory, texts, cut, more):
    async def scenario():
        entries = entries_of(texts)
        store, path, sizes = await written(tmp_path_factory.mktemp("s"), entries)
        size = sizes[0] + round(cut * (sizes[-1] - sizes[0]))
        os.truncate(path, size)
        # An entry of which only the newline is missing is whole.
        whole = [e for e, end in zip(entries, sizes[1:], strict=True) if end - 1 <= size]

        reader = await store.open("s", read_only=True)
        assert list(reader.entries()) == whole
        assert path.stat().st_size == size  # readers repair nothing

        handle = await store.open("s")
        assert list(handle.entries()) == whole and not handle.read_only
        following = SessionEntry(len(whole) + 1, "next", None, "custom", 0.0, freeze({"text": more}))
        await handle.append(following)
        await handle.close()
        assert list((await store.open("s", read_only=True)).entries()) == [*whole, following]
        assert all(json.loads(line) for line in path.read_bytes().split(b"\n")[:-1])

    asyncio.run(scenario())


@pytest.mark.spec("9.39")
@pytest.mark.parametrize(
    "garbage", [b"\0" * 50, b"\xff\xfe", b'{"type":"mess', b"{}", b"garbage\n", b"\0\0\n", b"[1]\n"]
)
def test_garbage_at_the_end_is_cut(tmp_path, go, garbage):
    entries = entries_of(["a", "b"])

    async def scenario():
        store, path, sizes = await written(tmp_path, entries)
        with path.open("ab") as file:
            file.write(garbage)
        handle = await store.open("s")
        assert list(handle.entries()) == entries
        await handle.close()
        assert path.stat().st_size == sizes[-1]

    go(scenario())


@pytest.mark.spec("9.39")
@given(texts=st.lists(st.text(max_size=10), min_size=2, max_size=6), data=st.data())
def test_a_broken_line_in_the_middle_is_refused_with_its_number(tmp_path_factory, texts, data):
    async def scenario():
        store, path, _ = await written(tmp_path_factory.mktemp("s"), entries_of(texts))
        lines = path.read_bytes().split(b"\n")
        number = data.draw(st.integers(2, len(texts)))
        whole = lines[number - 1]
        lines[number - 1] = data.draw(
            st.sampled_from([whole[:-1], whole[1:], b"", b"null", b"{}", b'{"type":"message"}', b"\xff" + whole])
        )
        broken = b"\n".join(lines)
        path.write_bytes(broken)
        for read_only in (False, True):
            with pytest.raises(SessionCorrupt) as caught:
                await store.open("s", read_only=read_only)
            assert caught.value.where == f"{path}:{number}"
        assert path.read_bytes() == broken
        assert not path.with_suffix(".lock").exists()

    asyncio.run(scenario())


@pytest.mark.parametrize(
    "header", [b"", b'{"type":"ses', b"\n", b"not json\n", b'{"type":"message"}\n', b'{"type":"session"}\n']
)
def test_a_broken_header_is_refused(store, go, write, header):
    path = write("s1")
    path.write_bytes(header)
    with pytest.raises(SessionCorrupt) as caught:
        go(store.open("s1"))
    assert caught.value.where == f"{path}:1"


@pytest.mark.spec("9.39")
def test_a_newer_version_opens_read_only(store, go, write, entry):
    path = write("s1", [entry(1)], version=SESSION_VERSION + 1)
    before = path.read_bytes()

    async def scenario():
        handle = await store.open("s1")
        assert handle.read_only and list(handle.entries()) == [entry(1)]
        with pytest.raises(SessionError, match=f"format version {SESSION_VERSION + 1}"):
            await handle.append(entry(2))
        await handle.close()

    go(scenario())
    assert path.read_bytes() == before and not path.with_suffix(".lock").exists()


@pytest.mark.spec("9.39")
def test_an_unknown_entry_type_opens_read_only_and_is_not_lost(store, go, write, entry):
    path = write("s1", [entry(1)])
    with path.open("ab") as file:
        file.write(b'{"type":"hologram","seq":2,"id":"e2","parent_id":"e1","ts":1.0,"x":5}\n{"torn')
    before = path.read_bytes()

    async def scenario():
        handle = await store.open("s1")
        assert handle.read_only and [e.type for e in handle.entries()] == ["message", "hologram"]
        assert handle.entries()[1].data == {"x": 5}
        with pytest.raises(SessionError, match="unknown type 'hologram'"):
            await handle.append(entry(3))

    go(scenario())
    assert path.read_bytes() == before


WRITER = """
import asyncio, sys
from pathlib import Path
from skillkit_core.contracts.session_store import SessionEntry, SessionHeader
from skillkit_sessions import JsonlStore
async def main():
    handle = await JsonlStore(directory=Path(sys.argv[1])).create(SessionHeader("s", 0.0))
    n = 0
    while True:
        n += 1
        await handle.append(SessionEntry(n, f"e{n}", None, "custom", 0.0, {"text": "x" * (n * 37 % 5000)}), sync=n % 50 == 0)
        print(n, flush=True)
asyncio.run(main())
"""


@pytest.mark.spec("9.38")
@pytest.mark.parametrize("after", [1, 20, 500])
def test_a_killed_writer_loses_nothing_that_was_acknowledged(tmp_path, go, after):
    process = subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path)], stdout=subprocess.PIPE)
    acknowledged = 0
    assert process.stdout is not None
    with process.stdout:
        while acknowledged < after:
            acknowledged = int(process.stdout.readline())
        process.send_signal(signal.SIGKILL)
        rest = process.stdout.read().split()
    assert process.wait() == -signal.SIGKILL
    acknowledged = int(rest[-1]) if rest else acknowledged

    async def scenario():
        handle = await JsonlStore(directory=tmp_path).open("s")  # the dead owner's lock is taken over
        found = list(handle.entries())
        assert [e.seq for e in found] == list(range(1, len(found) + 1))
        assert acknowledged <= len(found) <= acknowledged + 1
        assert all(e.data["text"] == "x" * (e.seq * 37 % 5000) for e in found)
        await handle.close()

    go(scenario())


def full_disk(size):
    """From now on files of this process grow to ``size`` bytes and no further, as on a full disk (EFBIG for ENOSPC)."""
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))


def in_a_child(body):
    """Run ``body`` in a process of its own: its limits are not those of the test runner, which writes files too."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            body()
            os._exit(0)
        except BaseException:
            os.write(write, traceback.format_exc().encode()[-4000:])
            os._exit(1)
    os.close(write)
    with os.fdopen(read) as said:
        text = said.read()
    _, status = os.waitpid(child, 0)
    assert status == 0, text


def test_a_full_disk_costs_one_entry_and_names_the_remedy(store, go, header, entry):
    async def scenario():
        handle = await store.create(header)
        path = Path(handle.location)
        await handle.append(entry(1))
        before = path.read_bytes()
        full_disk(len(before) + 20)
        with pytest.raises(SessionError, match=f"{path}: the session cannot be written: .*free some disk space"):
            await handle.append(entry(2))
        assert path.read_bytes() == before
        assert list(handle.entries()) == [entry(1)]
        full_disk(1_000_000)
        await handle.append(entry(2))
        await handle.close()
        assert list((await store.open("s1", read_only=True)).entries()) == [entry(1), entry(2)]

    in_a_child(lambda: go(scenario()))


def test_a_session_that_cannot_begin_leaves_nothing(store, go, header):
    def body():
        full_disk(10)
        with pytest.raises(SessionError, match="cannot be written"):
            go(store.create(header))

    in_a_child(body)
    assert [p.name for p in store.directory.iterdir() if p.suffix == ".jsonl"] == []


def test_a_place_that_is_no_directory_is_named(tmp_path, go, header):
    (tmp_path / "sessions").write_text("a file")
    with pytest.raises(SessionError, match=f"{tmp_path}/sessions: .*'sessions: directory:'"):
        go(JsonlStore(directory=tmp_path / "sessions").create(header))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_an_unwritable_directory_is_named(tmp_path, go, header):
    (tmp_path / "ro").mkdir(mode=0o500)
    with pytest.raises(SessionError, match=f"{tmp_path}/ro"):
        go(JsonlStore(directory=tmp_path / "ro" / "sessions").create(header))


def test_a_link_in_place_of_a_session_is_not_written_through(store, go, write, tmp_path, entry):
    path = write("s1")
    target = tmp_path / "elsewhere"
    path.rename(target)
    path.symlink_to(target)
    before = target.read_bytes()
    with pytest.raises(SessionError, match="cannot be written"):
        go(store.open("s1"))
    assert target.read_bytes() == before
