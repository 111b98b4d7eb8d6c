"""Listings and searches: newest first, quick, and not stopped by broken files."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from skillkit_sessions import JsonlStore, listing

from skillkit_core.contracts.session_store import SessionEntry
from skillkit_core.errors import SessionError
from skillkit_core.frozen import freeze


def aged(path: Path, seconds: int) -> Path:
    os.utime(path, (1_700_000_000 - seconds, 1_700_000_000 - seconds))
    return path


def info(n: int, title: str) -> SessionEntry:
    return SessionEntry(n, f"e{n}", None, "session_info", float(n), freeze({"title": title}))


async def found(store: JsonlStore, query: str, **kwargs) -> list:
    return [hit async for hit in store.search(query, **kwargs)]


def test_without_a_directory_there_are_no_sessions(store, go):
    assert list(go(store.list())) == [] and go(found(store, "x")) == []
    assert not store.directory.exists()


def test_a_row_says_what_the_contract_promises(store, go, write, entry):
    path = write(
        "s1", [entry(1), SessionEntry(2, "e2", "e1", "usage", 7.0, freeze({"input": 1})), entry(3)], title="First"
    )
    assert go(store.list()) == [
        {
            "id": "s1",
            "created": 1_700_000_000.0,
            "updated": entry(3).ts,
            "cwd": "/work",
            "title": "First",
            "messages": 2,
            "suspended": False,
            "location": str(path),
            "parent_session": None,
            "nested": False,
        }
    ]


def test_the_newest_comes_first_and_the_limit_holds(store, go, write, entry):
    for age, name in enumerate(["new", "older", "oldest"]):
        aged(write(name, [entry(1)]), age * 100)
    assert [row["id"] for row in go(store.list())] == ["new", "older", "oldest"]
    assert [row["id"] for row in go(store.list(limit=2))] == ["new", "older"]


def test_the_last_title_counts(store, go, write, entry):
    write("s1", [info(1, "one"), entry(2), info(3, "two"), entry(4)], title="zero")
    assert go(store.list())[0]["title"] == "two"


@pytest.mark.parametrize("block", [1, 7, 19, 20, 21, 64, 1 << 20])
def test_messages_are_counted_across_blocks_of_any_size(store, go, write, entry, monkeypatch, block):
    monkeypatch.setattr(listing, "_BLOCK", block)
    tricky = 'a line like {"type":"message", in a text\n{"type":"message",\n'
    write("s1", [entry(1, tricky), info(2, "one"), entry(3), entry(4, tricky), info(5, "two"), entry(6)])
    row = go(store.list())[0]
    assert (row["messages"], row["title"]) == (4, "two")


def test_a_nested_object_of_the_type_message_is_no_message(store, go, write):
    write("s1", [SessionEntry(1, "e1", None, "custom", 1.0, freeze({"item": {"type": "message", "x": 1}}))])
    assert go(store.list())[0]["messages"] == 0


def test_a_last_line_of_a_hundred_kilobytes_is_found(store, go, write, entry):
    write("s1", [entry(1), entry(2, "x" * 100_000)])
    assert go(store.list())[0]["updated"] == entry(2).ts


def test_a_torn_line_does_not_count_for_the_time(store, go, write, entry):
    with write("s1", [entry(1)]).open("ab") as file:
        file.write(b'{"type":"custom","seq":2,"id":"e2"')
    row = go(store.list())[0]
    assert row["updated"] == entry(1).ts and "error" not in row


def test_broken_sessions_are_listed_with_their_error(store, go, write, entry):
    aged(write("good", [entry(1)]), 0)
    aged(write("empty"), 1).write_bytes(b"")
    aged(write("garbage"), 2).write_bytes(b"garbage\n")
    (store.directory / "folder.jsonl").mkdir()
    rows = {row["id"]: row for row in go(store.list())}
    assert "error" not in rows["good"] and set(rows) == {"good", "empty", "garbage", "folder"}
    assert "empty.jsonl:1" in rows["empty"]["error"] and "garbage.jsonl:1: not JSON" in rows["garbage"]["error"]
    assert "cannot be read" in rows["folder"]["error"]


def test_other_files_are_no_sessions(store, go, write):
    write("s1")
    for name in ("s2.lock", ".s3.jsonl.1234", "notes.txt"):
        (store.directory / name).write_text("x")
    assert [row["id"] for row in go(store.list())] == ["s1"]


def test_a_directory_that_is_a_file_is_an_error(tmp_path, go):
    (tmp_path / "f").write_text("")
    with pytest.raises(SessionError, match="cannot be listed"):
        go(JsonlStore(directory=tmp_path / "f").list())


def test_a_search_finds_text_in_any_case(store, go, write, entry):
    write("s1", [entry(1, "The quick brown fox"), entry(2, "nothing")])
    assert go(found(store, "QUICK")) == [
        {"session_id": "s1", "entry_id": "e1", "ts": entry(1).ts, "excerpt": "The quick brown fox"}
    ]


@pytest.mark.parametrize("query", ['say "hi"', "a\\b", "line one\nline two", "größe", "tab\there", "日本", "🎉"])
def test_a_search_finds_what_json_escapes(store, go, write, entry, query):
    write("s1", [entry(1, f"before {query} after")])
    assert [hit["entry_id"] for hit in go(found(store, query))] == ["e1"]


@pytest.mark.parametrize("query", ["role", "user", "e1", "message", "content", "parent_id", "aGVsbG8"])
def test_a_search_does_not_find_keys_roles_ids_and_images(store, go, write, query):
    content = [{"type": "image", "data": "aGVsbG8="}, {"type": "text", "text": "x"}]
    write(
        "s1", [SessionEntry(1, "e1", None, "message", 1.0, freeze({"message": {"role": "user", "content": content}}))]
    )
    assert go(found(store, query)) == []


def test_a_search_finds_thoughts_arguments_and_summaries(store, go, write):
    content = [
        {"type": "thinking", "thinking": "needle one"},
        {"type": "tool_call", "id": "c", "name": "bash", "args": {"command": ["echo", {"x": "needle two"}]}},
    ]
    write(
        "s1",
        [
            SessionEntry(1, "e1", None, "message", 1.0, freeze({"message": {"role": "assistant", "content": content}})),
            SessionEntry(2, "e2", "e1", "compaction", 2.0, freeze({"summary": "needle three"})),
        ],
    )
    assert [hit["entry_id"] for hit in go(found(store, "needle"))] == ["e1", "e2"]
    assert [hit["entry_id"] for hit in go(found(store, "needle two"))] == ["e1"]


def test_a_search_asks_the_newest_session_first_and_stops_at_the_limit(store, go, write, entry):
    for age, name in enumerate(["new", "older"]):
        aged(write(name, [entry(1, "needle"), entry(2, "needle")]), age * 100)
    assert [(h["session_id"], h["entry_id"]) for h in go(found(store, "needle", limit=3))] == [
        ("new", "e1"),
        ("new", "e2"),
        ("older", "e1"),
    ]


def test_a_search_goes_on_beside_what_is_broken_and_names_it_at_the_end(store, go, write, entry):
    aged(write("s1", [entry(1, "needle")]), 9)
    aged(write("s2"), 3).write_bytes(b"needle\nneedle\n")
    (store.directory / "s3.jsonl").mkdir()
    (store.directory / "s4.jsonl").symlink_to("nowhere")
    hit, *left_out = go(found(store, "needle"))
    assert hit["session_id"] == "s1" and "error" not in hit
    named = {row.pop("session_id"): row.pop("error") for row in left_out}
    assert all(row == {"entry_id": None, "ts": None, "excerpt": None} for row in left_out)
    assert set(named) == {"s2", "s3", "s4"}
    assert "s2.jsonl:1: not JSON" in named["s2"] and "move it away" in named["s2"]
    assert "s3.jsonl: the session cannot be read: Is a directory; check" in named["s3"]
    assert "s4.jsonl: the session cannot be read: No such file" in named["s4"]
    assert {row["id"] for row in go(store.list()) if "error" in row} == set(named)


@pytest.mark.parametrize(
    "damage", [b"\0\0\0\0", b'{"type":"message","seq":2,', b'{"type":"message","seq":"2 needle"}', b"{}"]
)
def test_a_search_names_a_broken_line_and_searches_the_others(store, go, write, entry, damage):
    path = write("s1", [entry(1, "needle"), entry(2), entry(3, "needle")])
    lines = path.read_bytes().split(b"\n")
    path.write_bytes(b"\n".join([*lines[:2], damage, *lines[3:]]))
    *hits, row = go(found(store, "needle"))
    assert [hit["entry_id"] for hit in hits] == ["e1", "e3"]
    assert f"{path}:3: this line is broken: " in row["error"] and "repair or remove the line" in row["error"]
    assert go(found(store, "needle", limit=1)) == hits[:1], "what was not looked at any more is no problem"


@pytest.mark.parametrize("end", [b'{"type":"message","seq":2,', b'{"type":"message","seq":2,\n'])
def test_a_search_says_nothing_of_a_last_line_that_a_crash_cut(store, go, write, entry, end):
    with write("s1", [entry(1, "needle")]).open("ab") as file:
        file.write(end)
    assert [hit["entry_id"] for hit in go(found(store, "needle"))] == ["e1"]


def test_a_search_reads_lines_that_somebody_else_wrote(store, go, write, entry):
    path = write("s1", [entry(1), entry(2, "needle")])
    header, *lines = map(json.loads, path.read_text().splitlines())
    path.write_text("".join(json.dumps(line, sort_keys=True) + "\n" for line in [header, *lines]))
    assert [hit["entry_id"] for hit in go(found(store, "needle"))] == ["e2"]


def test_an_excerpt_shows_the_place_and_not_the_whole_text(store, go, write, entry):
    write("s1", [entry(1, "a" * 500 + " needle " + "b" * 500)])
    excerpt = go(found(store, "needle"))[0]["excerpt"]
    assert excerpt == f"…{'a' * 59} needle {'b' * 59}…"


def test_an_empty_query_finds_nothing(store, go, write, entry):
    write("s1", [entry(1)])
    assert go(found(store, "")) == []
