"""``skillkit sessions`` prints what people and programs need."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from types import SimpleNamespace

import pytest
from click.testing import CliRunner
from skillkit_sessions import JsonlStore, SessionsConfig, plugin

from skillkit_core.contracts.session_store import SessionEntry
from skillkit_core.descriptors import load_object
from skillkit_core.errors import UnknownName, UsageError
from skillkit_core.frozen import freeze


@pytest.fixture
def run(store):
    """Call ``skillkit sessions ARGS``; errors pass through, as the root command will show them."""
    commands = []
    plugin.register_commands(commands.append)
    command = load_object(commands[0].target)
    host = SimpleNamespace(session_store=lambda: store)

    def call(*args: str, code: int = 0, both: bool = False):
        result = CliRunner().invoke(command, list(args), obj=SimpleNamespace(host=host))
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        assert result.exit_code == code, result.output
        return result if both else result.stdout

    return call


@pytest.fixture
def two(write, entry):
    write("abc1", [entry(1, "hello\nthere")], title="Greeting")
    os.utime(write("abd2", [entry(1), entry(2, "needle")]), (0, 0))


def test_an_empty_list_says_so(run):
    assert run("list") == "no sessions yet\n"
    assert json.loads(run("list", "--json")) == []


def test_a_list_is_a_plain_table_newest_first(run, two):
    lines = [line.split() for line in run("list").splitlines()]
    assert lines[0] == ["id", "updated", "messages", "title"]
    assert [(line[0], line[3], line[4]) for line in lines[1:]] == [("abc1", "1", "Greeting"), ("abd2", "2", "/work")]


def test_a_list_can_be_json(run, two):
    rows = json.loads(run("list", "--json"))
    assert [row["id"] for row in rows] == ["abc1", "abd2"]
    keys = {"id", "created", "updated", "cwd", "title", "messages", "suspended", "location", "parent_session", "nested"}
    assert set(rows[0]) == keys


def test_a_list_has_a_limit(run, two):
    assert len(json.loads(run("list", "--json", "-n", "1"))) == 1
    assert len(json.loads(run("list", "--json", "-n", "1", "--all"))) == 2
    run("list", "-n", "0", code=2)


def test_a_broken_session_is_in_the_list(run, write):
    write("bad").write_bytes(b"garbage\n")
    assert "not JSON" in run("list")


def test_show_prints_what_was_said(run, two):
    output = run("show", "abc1")
    assert output.startswith("session abc1, ") and "[e1 user]\nhello\nthere\n" in output


def test_a_change_of_the_model_reads_as_words_wherever_a_session_is_shown(run, write, entry):
    model = {"provider": "acme", "api": "acme-chat", "model": "big"}
    same = {"provider": "local", "api": "local", "model": "small"}
    changes = [entry(2, type="model_change", **model), entry(3, type="thinking_level_change", thinking_level="high")]
    write("s1", [entry(1), *changes, entry(4, type="model_change", **same)])
    shown = run("show", "s1")
    assert "[e2 model]\nacme/big (acme-chat)\n" in shown and "[e3 thinking]\nhigh\n" in shown
    assert "[e4 model]\nlocal/small\n" in shown
    tree = [line.split() for line in run("tree", "s1").splitlines()]
    assert any({"model", "acme/big", "(acme-chat)"} <= set(line) for line in tree)
    assert any({"thinking", "high"} <= set(line) for line in tree)
    assert "acme/big (acme-chat)" in run("export", "s1", "--format", "html")
    assert "## Model" in run("export", "s1", "--format", "markdown")
    assert json.loads(run("show", "s1", "--json"))["entries"][1]["data"] == model


def test_show_can_be_json(run, two):
    shown = json.loads(run("show", "abd2", "--json"))
    assert shown["session"]["id"] == "abd2" and [e["id"] for e in shown["entries"]] == ["e1", "e2"]
    assert shown["entries"][1]["data"]["message"]["content"][0]["text"] == "needle"


def test_the_start_of_an_id_is_enough_when_it_is_the_only_one(run, two):
    assert json.loads(run("path", "abd", "--json"))["id"] == "abd2"
    with pytest.raises(UsageError, match="2 sessions start with 'ab'"):
        run("path", "ab")
    with pytest.raises(UnknownName, match="unknown session 'x'"):
        run("show", "x")


def test_path_prints_the_file(run, store, two):
    assert run("path", "abc1") == f"{store.directory}/abc1.jsonl\n"


def test_search_prints_the_places(run, two):
    assert run("search", "NEEDLE").splitlines()[1].split()[:2] == ["abd2", "e2"]
    assert [hit["excerpt"] for hit in json.loads(run("search", "needle", "--json"))] == ["needle"]


def test_a_search_that_finds_nothing_exits_with_1(run, two):
    assert run("search", "haystack", code=1) == ""
    assert json.loads(run("search", "haystack", "--json", code=1)) == []


def test_a_search_says_which_sessions_it_could_not_search(run, store, two):
    (store.directory / "torn.jsonl").write_bytes(b'{"type":"session","ver')
    (store.directory / "lost.jsonl").mkdir()
    found = run("search", "needle", both=True)
    assert found.stdout.splitlines()[1].split()[:2] == ["abd2", "e2"] and len(found.stdout.splitlines()) == 2
    torn, lost = sorted(found.stderr.splitlines(), key=lambda line: "lost" in line)
    assert torn.startswith("Warning: session torn was not searched, or not all of it: ")
    assert f"{store.directory}/torn.jsonl:1: not JSON" in torn and "if the file is no session, move it away" in torn
    assert f"{store.directory}/lost.jsonl: the session cannot be read: Is a directory; check" in lost
    found = run("search", "needle", "--json", both=True)
    hit, *rows = json.loads(found.stdout)
    assert hit["entry_id"] == "e2" and {row["session_id"] for row in rows} == {"torn", "lost"} and found.stderr == ""
    errors = {row["id"]: row["error"] for row in json.loads(run("list", "--json")) if "error" in row}
    assert {row["session_id"]: row["error"] for row in rows} == errors, "as listings say it"
    assert [row["entry_id"] for row in json.loads(run("search", "haystack", "--json", code=1))] == [None, None]


def test_a_search_counts_sessions_that_it_could_not_search_when_they_are_many(run, store, two):
    for n in range(7):
        (store.directory / f"torn{n}.jsonl").write_bytes(b"")
    lines = run("search", "haystack", code=1, both=True).stderr.splitlines()
    assert len(lines) == 7 and lines[0] == "nothing contains 'haystack'"
    assert lines[-1] == "Warning: 7 sessions were not searched, or not all of them; '--json' names each"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_search_names_a_session_that_it_may_not_read(run, write, entry):
    write("s1", [entry(1, "needle")]).chmod(0)
    found = run("search", "needle", code=1, both=True)
    assert "s1.jsonl: the session cannot be read: Permission denied; check the permissions" in found.stderr


def test_text_of_a_model_cannot_command_the_terminal(run, write, entry):
    write("s1", [entry(1, "a\x1b]0;owned\x07b\x9b2J\ud800")], title="t\x1b[31m\nx")
    for output in (run("show", "s1"), run("list"), run("search", "owned")):
        assert not set(output) & set("\x1b\x07\x9b\ud800")
    assert len(run("list").splitlines()) == 2


def test_the_ledger_is_not_shown_to_people(run, write):
    write("s1", [SessionEntry(1, "e1", None, "usage", 1.0, freeze({"input": 5}))])
    assert "e1" not in run("show", "s1")
    assert json.loads(run("show", "s1", "--json"))["entries"] == []
    assert json.loads(run("show", "s1", "--all", "--json"))["entries"][0]["data"] == {"input": 5}


def test_every_registered_name_can_be_loaded():
    stores, sections = [], []
    plugin.register_session_stores(stores.append)
    plugin.register_config(sections.append)
    assert load_object(stores[0].create) is JsonlStore and load_object(sections[0].model) is SessionsConfig


def test_importing_the_plugin_costs_next_to_nothing():
    code = (
        "import sys, skillkit_core.hookspecs.markers, skillkit_core.descriptors; before = set(sys.modules)\n"
        "import skillkit_sessions.plugin; print(*sorted(set(sys.modules) - before))"
    )
    added = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert added == ["skillkit_sessions", "skillkit_sessions.plugin"]
