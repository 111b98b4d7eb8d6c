"""A session is a header and entries in one file; what was written comes back, from the first line on."""

from __future__ import annotations

import asyncio
import json
import os
import stat
import string
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given, strategies as st
from skillkit_sessions import JsonlStore, SessionsConfig, plugin
from skillkit_sessions.codec import decode_entry, encode_entry

from skillkit_core import ConfigError, Host
from skillkit_core.contracts.session_store import ENTRY_TYPES, SESSION_VERSION, SessionEntry, SessionHeader
from skillkit_core.errors import SessionError, UnknownName
from skillkit_core.frozen import freeze
from skillkit_core.messages import (
    AssistantMessage,
    Outcome,
    ToolCall,
    ToolResultMessage,
    message_from_dict,
    message_to_dict,
)

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
NAMES = st.text(max_size=8) | st.sampled_from(["type", "seq", "id", "parent_id", "ts", "data", "message"])
ENTRIES = st.builds(
    SessionEntry,
    seq=st.integers(1, 10**9),
    id=st.text(min_size=1, max_size=8),
    parent_id=st.none() | st.text(min_size=1, max_size=8),
    type=st.sampled_from(sorted(ENTRY_TYPES)),
    ts=st.floats(0, 4e9),
    data=st.dictionaries(NAMES, JSON, max_size=4).map(freeze),
)


def lines(handle_or_path) -> list:
    path = Path(getattr(handle_or_path, "location", None) or handle_or_path)
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_new_session_is_its_header_on_the_disk(store, go, header):
    handle = go(store.create(header))
    expected = {"type": "session", "version": SESSION_VERSION, "id": "s1", "created": 1_700_000_000.5, "cwd": "/work"}
    assert lines(handle) == [expected]
    assert handle.header == header and list(handle.entries()) == []
    go(handle.close())


def test_every_entry_is_a_line_of_its_own_when_append_returns(store, go, header, entry):
    async def scenario():
        handle = await store.create(header)
        for n in range(1, 4):
            await handle.append(entry(n))
            assert len(lines(handle)) == n + 1
        await handle.close()
        return lines(handle)

    written = go(scenario())
    assert [(x["seq"], x["id"], x["parent_id"], x["type"]) for x in written[1:]] == [
        (1, "e1", None, "message"),
        (2, "e2", "e1", "message"),
        (3, "e3", "e2", "message"),
    ]
    assert written[1]["message"]["content"] == [{"type": "text", "text": "hello"}]


def test_a_reopened_session_goes_on_where_it_ended(store, go, header, entry, write):
    path = write("s1", [entry(1), entry(2)])

    async def scenario():
        handle = await store.open("s1")
        assert list(handle.entries()) == [entry(1), entry(2)] and not handle.read_only
        await handle.append(entry(3), sync=True)
        assert list(handle.entries()) == [entry(1), entry(2), entry(3)]
        await handle.close()

    go(scenario())
    assert [x["seq"] for x in lines(path)[1:]] == [1, 2, 3]


def test_header_fields_come_back(store, go):
    header = SessionHeader("s2", 5.0, "/a b/ü", parent_session="s1", title="Grüße")
    go(go(store.create(header)).close())
    assert go(store.open("s2", read_only=True)).header == header


@given(ENTRIES)
def test_any_entry_comes_back_as_it_was(entry):
    line = encode_entry(entry)
    assert line.endswith(b"\n") and line.count(b"\n") == 1
    assert decode_entry(line) == entry


def test_data_with_the_names_of_the_entrys_own_fields_come_back(entry):
    for data in ({"id": 1, "type": "x"}, {"data": {"a": 1}}, {"data": 5}):
        original = SessionEntry(1, "e1", None, "custom", 0.0, freeze(data))
        assert decode_entry(encode_entry(original)).data == data


def test_what_only_python_can_say_is_written_as_text():
    data = {"path": Path("/x"), "nan": float("nan"), "outcome": Outcome.ok, "set": {"b", "a"}, 5: "five"}
    back = decode_entry(encode_entry(SessionEntry(1, "e1", None, "custom", 0.0, data))).data
    assert back == {"path": "/x", "nan": None, "outcome": "ok", "set": ["a", "b"], "5": "five"}


def test_lone_surrogates_and_huge_numbers_come_back():
    entry = SessionEntry(1, "e1", None, "custom", 0.0, freeze({"text": "a\ud800b", "number": 2**70}))
    assert decode_entry(encode_entry(entry)) == entry


def test_loaded_data_cannot_be_changed(store, go, entry, write):
    note = SessionEntry(2, "e2", "e1", "custom", 2.0, freeze({"paths": ["x"]}))
    write("s1", [entry(1), note])
    first, second = go(store.open("s1", read_only=True)).entries()
    with pytest.raises(TypeError):
        first.data["message"] = {}
    first.data["message"]["content"][0]["text"] = "changed"  # of a copy
    assert first == entry(1) and second == note and hash(first.data) == hash(freeze({"message": {}}))
    with pytest.raises(TypeError):
        second.data["paths"].append("y")


def test_messages_of_the_core_come_back(store, go, header):
    message = ToolResultMessage(tool_call_id="c1", tool_name="bash", content="hi", outcome=Outcome.error, is_error=True)
    call = AssistantMessage(content=(ToolCall("c1", "bash", {"command": "ls"}, '{"command": "ls"}'),))

    async def scenario():
        handle = await store.create(header)
        for n, said in enumerate((call, message), 1):
            await handle.append(
                SessionEntry(n, f"e{n}", None, "message", 1.0, freeze({"message": message_to_dict(said)}))
            )
        await handle.close()
        return await store.open("s1", read_only=True)

    assert [message_from_dict(e.data["message"]) for e in go(scenario()).entries()] == [call, message]


@pytest.mark.parametrize("bad", ["", "..", "../x", "a/b", "a\0b", ".hidden", "-x", "x" * 129, "a\n"])
def test_an_id_never_leads_out_of_the_directory(store, go, bad):
    with pytest.raises(SessionError, match="cannot be the id"):
        go(store.create(SessionHeader(bad, 0.0)))
    with pytest.raises(SessionError, match="cannot be the id"):
        go(store.open(bad))


@given(st.text(alphabet=string.printable + "é\0\ud800", max_size=12))
def test_no_id_is_a_path_elsewhere(tmp_path_factory, name):
    directory = tmp_path_factory.mktemp("store")
    try:
        assert JsonlStore(directory=directory)._path(name).parent == directory
    except SessionError:
        pass


def test_an_id_is_used_once(store, go, header, write):
    path = write("s1")
    before = path.read_bytes()
    with pytest.raises(SessionError, match="exists already"):
        go(store.create(header))
    assert path.read_bytes() == before
    assert not path.with_suffix(".lock").exists()


def test_an_unknown_session_lists_close_names(store, go, write):
    write("alpha")
    with pytest.raises(SessionError, match="did you mean 'alpha'") as caught:
        go(store.open("alpah"))
    assert isinstance(caught.value, UnknownName)
    assert sorted(p.name for p in store.directory.iterdir() if p.is_file()) == ["alpha.jsonl"]


def test_nobody_else_can_read_sessions(store, go, header):
    os.umask(old := os.umask(0))
    try:
        os.umask(0)
        handle = go(store.create(header))
    finally:
        os.umask(old)
    assert stat.S_IMODE(store.directory.stat().st_mode) == 0o700
    for path in store.directory.rglob("*"):
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600)
    go(handle.close())


def test_a_directory_that_was_open_is_closed(tmp_path, go, header):
    (tmp_path / "sessions").mkdir(mode=0o755)
    go(go(JsonlStore(directory=tmp_path / "sessions").create(header)).close())
    assert stat.S_IMODE((tmp_path / "sessions").stat().st_mode) == 0o700


def test_a_closed_session_refuses(store, go, header, entry):
    async def scenario():
        handle = await store.create(header)
        await handle.close()
        await handle.close()
        with pytest.raises(SessionError, match="closed"):
            await handle.append(entry(1))

    go(scenario())


def test_a_read_only_session_refuses(store, go, entry, write):
    write("s1", [entry(1)])

    async def scenario():
        handle = await store.open("s1", read_only=True)
        assert handle.read_only
        with pytest.raises(SessionError, match="read-only"):
            await handle.append(entry(2))

    go(scenario())


def test_an_unknown_type_is_written_and_makes_the_session_read_only_when_it_is_next_opened(store, go, header):
    async def scenario():
        handle = await store.create(header)
        surprise = SessionEntry(1, "e1", None, "surprise", 0.0)
        await handle.append(surprise)
        await handle.close()
        again = await store.open("s1")
        assert again.read_only and list(again.entries()) == [surprise]

    go(scenario())


@pytest.mark.spec("I18")
def test_many_appends_at_once_make_whole_lines_in_order(store, go, header, entry):
    async def scenario():
        handle = await store.create(header)
        await asyncio.gather(*(handle.append(entry(n), sync=n % 3 == 0) for n in range(1, 101)))
        await handle.close()
        return lines(handle)

    assert [x["seq"] for x in go(scenario())[1:]] == list(range(1, 101))


@pytest.mark.parametrize(
    ("policy", "expected"), [("auto", [False, True, False]), ("always", [True] * 3), ("never", [False] * 3)]
)
def test_the_disk_is_waited_for_as_the_policy_says(tmp_path, go, header, entry, monkeypatch, policy, expected):
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", synced.append)
    monkeypatch.setattr(os, "fdatasync", synced.append, raising=False)
    store = JsonlStore(directory=tmp_path / "s", fsync=policy)

    async def scenario():
        handle = await store.create(header)
        out = []
        for n, sync in enumerate([False, True, False], 1):
            synced.clear()
            await handle.append(entry(n), sync=sync)
            out.append(bool(synced))
        await handle.close()
        return out

    assert go(scenario()) == expected


def test_a_cancelled_sync_leaves_the_entry_and_a_session_that_closes(store, go, header, entry):
    async def scenario():
        handle = await store.create(header)
        task = asyncio.create_task(handle.append(entry(1), sync=True))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await handle.append(entry(2))
        await handle.close()
        return lines(handle)

    assert [x["seq"] for x in go(scenario())[1:]] == [1, 2]


def host(tmp_path: Path, config: SessionsConfig | None) -> SimpleNamespace:
    return SimpleNamespace(config=SimpleNamespace(section=lambda name, default: config), data_dir=tmp_path / "data")


def test_the_host_says_where_sessions_are(tmp_path):
    assert JsonlStore(host(tmp_path, None)).directory == tmp_path / "data" / "sessions"
    config = SessionsConfig(directory=tmp_path / "mine", fsync="never")
    store = JsonlStore(host(tmp_path, config))
    assert (store.directory, store._disk.policy) == (tmp_path / "mine", "never")


def test_a_store_needs_a_place():
    with pytest.raises(SessionError, match="no place"):
        JsonlStore()


def test_a_wrong_configuration_is_refused():
    for values in ({"fsync": "sometimes"}, {"folder": "/x"}):
        settings = {f"sessions.{name}": value for name, value in values.items()}
        with pytest.raises(ConfigError, match="flag for sessions"):
            Host(plugins=(plugin,), discover=False, settings=settings).check_config()


class TestFork:
    def tree(self, entry) -> list[SessionEntry]:
        """e1 - e2 - e3, and e4 beside e3; a label on each end, a ledger entry."""
        return [
            entry(1),
            entry(2),
            entry(3),
            SessionEntry(4, "e4", "e2", "message", 4.0, entry(4).data),
            SessionEntry(5, "e5", "e4", "label", 5.0, freeze({"entry_id": "e3", "label": "there"})),
            SessionEntry(6, "e6", "e4", "label", 6.0, freeze({"entry_id": "e4", "label": "here"})),
            SessionEntry(7, "e7", "e4", "usage", 7.0, freeze({"input": 5})),
        ]

    def test_it_holds_the_way_to_the_entry(self, store, go, entry, write):
        write("s1", self.tree(entry), title="Old")

        async def scenario():
            handle = await store.fork("s1", "e4")
            await handle.append(SessionEntry(8, "e8", "e4", "message", 8.0, entry(8).data))
            await handle.close()
            return handle

        handle = go(scenario())
        assert handle.header.parent_session == "s1" and handle.header.id != "s1"
        assert (handle.header.cwd, handle.header.title) == ("/work", "Old")
        assert [e.id for e in go(store.open(handle.header.id, read_only=True)).entries()] == [
            "e1",
            "e2",
            "e4",
            "e6",
            "e8",
        ]
        assert [e.id for e in go(store.open("s1", read_only=True)).entries()] == [f"e{n}" for n in range(1, 8)]

    def test_at_the_root_it_is_empty(self, store, go, entry, write):
        write("s1", self.tree(entry))
        handle = go(store.fork("s1", None, new_id="s2"))
        assert list(handle.entries()) == [] and handle.header.id == "s2"
        go(handle.close())

    def test_it_works_while_the_session_is_written(self, store, go, header, entry):
        async def scenario():
            first = await store.create(header)
            await first.append(entry(1))
            second = await store.fork("s1", "e1")
            assert list(second.entries()) == [entry(1)]
            await second.close()
            await first.append(entry(2))
            await first.close()

        go(scenario())

    def test_nothing_is_replaced(self, store, go, entry, write):
        write("s1", [entry(1)])
        path = write("s2", [entry(1)])
        before = path.read_bytes()
        with pytest.raises(SessionError, match="exists already"):
            go(store.fork("s1", "e1", new_id="s2"))
        assert path.read_bytes() == before

    def test_an_unknown_entry_is_an_error_and_leaves_nothing(self, store, go, entry, write):
        write("s1", [entry(1)])
        with pytest.raises(SessionError, match="no entry 'e9'"):
            go(store.fork("s1", "e9"))
        assert [p.name for p in store.directory.iterdir() if p.is_file()] == ["s1.jsonl"]

    @pytest.mark.parametrize(
        ("parents", "words"), [({"e1": "e2", "e2": "e1"}, "circle"), ({"e1": None, "e2": "gone"}, "missing")]
    )
    def test_a_broken_way_is_refused(self, store, go, write, entry, parents, words):
        write(
            "s1", [SessionEntry(n, i, p, "message", 1.0, entry(1).data) for n, (i, p) in enumerate(parents.items(), 1)]
        )
        with pytest.raises(SessionError, match=words):
            go(store.fork("s1", "e2"))
