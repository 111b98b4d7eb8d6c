"""The index: what has changed is read again, and nothing else."""

import asyncio
import json
import os
import sys
from contextlib import contextmanager

import pytest
from skillkit_sessions import JsonlStore, SqliteStore
from skillkit_usage import Index, summed

from skillkit_core.contracts.session_store import SessionEntry, SessionHeader


def entry(seq, parent, kind, **data):
    return SessionEntry(seq, f"e{seq}", parent, kind, 1000.0 + seq, data)


def used(seq, parent, **data):
    return entry(seq, parent, "usage", input=10, output=1, provider="p", model="m", purpose="turn", cost=0.5, **data)


def message(seq, parent, role, text, **data):
    return entry(seq, parent, "message", message={"role": role, "content": [{"type": "text", "text": text}], **data})


@pytest.mark.parametrize("kind", [JsonlStore, SqliteStore])
def test_a_session_that_changes_comes_or_goes_is_noticed_and_others_are_not_read(kind, tmp_path, monkeypatch):
    async def main():
        store, read = kind(directory=tmp_path), []
        stores, index = {"one": store}, Index(tmp_path / "cache")
        original = store.open

        async def opened(session, **how):
            read.append(session)
            return await original(session, **how)

        monkeypatch.setattr(store, "open", opened)
        for name in ("a", "b", "c"):
            handle = await store.create(SessionHeader(name, 1000.0))
            await handle.append(used(1, None), sync=True)
            await handle.close()
        await index.refresh(stores)
        assert sorted(read) == ["a", "b", "c"]
        index.close()
        index = Index(tmp_path / "cache")  # as another process sees it
        handle = await store.open("b")
        await handle.append(used(2, None), sync=True)
        await handle.close()
        read.clear()
        assert await index.refresh(stores, only_newest=True) and read == ["b"]
        assert not await index.refresh(stores) and read == ["b"]
        assert summed(index, "session")[1].cost == 2.0
        await store.close()
        return index, stores

    index, stores = asyncio.run(main())
    if kind is JsonlStore:
        (tmp_path / "a.jsonl").unlink()
        whole = (tmp_path / "c.jsonl").read_text()
        (tmp_path / "c.jsonl").write_text(whole.replace('"input":10', '"input":77'))  # rewritten, with the same length
        asyncio.run(index.refresh(stores))
        rows, total = summed(index, "session")
        assert (set(rows), rows["c"].input, total.requests) == ({"b", "c"}, 77, 3)
        (tmp_path / "c.jsonl").write_text("broken\n")
        asyncio.run(index.refresh(stores))
        assert set(index.problems) == {"c"} and set(summed(index, "session")[0]) == {"b"}
    index.close()


@contextmanager
def opened():
    """The session files that are opened meanwhile: Python tells of each."""
    files, over = [], []

    def told(event, args):  # which stays as long as the process
        if event == "open" and not over and str(args[0]).endswith(".jsonl"):
            files.append(os.path.basename(args[0]))

    sys.addaudithook(told)
    yield files
    over.append(True)


async def test_a_report_of_unchanged_sessions_opens_none_of_them(tmp_path):
    store = JsonlStore(directory=tmp_path, fsync="never")
    stores = {"jsonl": store}
    for n in range(200):
        handle = await store.create(SessionHeader(f"s{n}", 1000.0))
        await handle.append(used(1, None))
        await handle.close()
    with opened() as files:
        index = Index(tmp_path / "cache")
        await index.refresh(stores)
        assert set(files) == {f"s{n}.jsonl" for n in range(200)}
        index.close()
    with opened() as files:
        index = Index(tmp_path / "cache")
        assert not await index.refresh(stores) and files == []
        writer = await store.open("s7")
        (tmp_path / "s8.jsonl").unlink()
        await writer.append(used(2, None))
        files.clear()
        assert await index.refresh(stores) and set(files) == {"s7.jsonl"}
        rows, total = summed(index, "session")
        assert (rows["s7"].requests, "s8" in rows, total.requests) == (2, False, 200)
        await writer.close()
    index.close()


async def test_what_is_written_while_a_session_is_read_is_read_next_time(tmp_path, monkeypatch):
    store, index = JsonlStore(directory=tmp_path, fsync="never"), Index(None)
    writer = await store.create(SessionHeader("s", 1000.0))
    await writer.append(used(1, None))
    original = store.open

    async def meanwhile(session, **how):
        handle = await original(session, **how)
        await writer.append(used(2, "e1"))
        return handle

    monkeypatch.setattr(store, "open", meanwhile)
    await index.refresh({"jsonl": store})
    assert summed(index, "session")[1].requests == 1
    monkeypatch.undo()
    assert await index.refresh({"jsonl": store}) and summed(index, "session")[1].requests == 2
    assert not await index.refresh({"jsonl": store})
    await writer.close()


async def test_a_session_whose_file_somebody_has_copied_counts_once(tmp_path):
    store, index = JsonlStore(directory=tmp_path, fsync="never"), Index(None)
    handle = await store.create(SessionHeader("s", 1000.0))
    await handle.append(used(1, None))
    await handle.close()
    (tmp_path / "copy.jsonl").write_bytes((tmp_path / "s.jsonl").read_bytes())
    await index.refresh({"jsonl": store})
    assert summed(index, "session")[1].requests == 1 and set(index.parents()) == {"s"}


def test_the_skill_is_that_of_the_action_or_the_one_activated_last_on_the_branch(tmp_path):
    async def main():
        store, index = JsonlStore.at(tmp_path), Index(tmp_path / "cache")
        handle = await store.create(SessionHeader("s", 1000.0))
        details = {"tool_call_id": "c", "tool_name": "activate_skill", "details": {"skill": "maps", "content": "0123"}}
        for one in (
            message(1, None, "user", "go"), used(2, "e1"), message(3, "e1", "tool_result", "Use maps.", **details),
            used(4, "e3"), message(5, "e3", "user", '<skill_content name="a&amp;b">\n'), used(6, "e5"),
            message(7, "e1", "user", "another branch"), used(8, "e7"), used(9, "e7", tool_name="web__fetch"),
            used(10, "e7", via_tool="mcp__git__log"),
        ):  # fmt: skip
            await handle.append(one)
        await handle.close()
        await index.refresh({"jsonl": store})
        rows, _ = summed(index, "skill")
        assert {name: row.requests for name, row in rows.items()} == {"": 3, "maps": 1, "a&b": 1, "web": 1}
        index.close()

    asyncio.run(main())


@pytest.mark.smoke
def test_a_broken_index_is_made_anew_and_one_that_cannot_be_written_lies_in_memory(tmp_path):
    cache = tmp_path / "cache"
    Index(cache).close()
    (file,) = cache.iterdir()
    file.write_bytes(json.dumps({"no": "database"}).encode() * 500)
    store = JsonlStore.at(tmp_path)

    async def main(place):
        index = Index(place)
        await index.refresh({"jsonl": store})
        assert summed(index, "day")[1].requests == 0
        index.close()

    asyncio.run(main(cache))
    (tmp_path / "file").write_text("")
    asyncio.run(main(tmp_path / "file" / "below"))
