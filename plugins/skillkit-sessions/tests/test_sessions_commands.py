"""``skillkit sessions tree|show|resume|fork|label|export|import`` on both stores of a real host."""

from __future__ import annotations

import asyncio
import json
import re
import unicodedata
from html.parser import HTMLParser
from pathlib import Path

import pytest
from click.testing import CliRunner
from skillkit_sessions import JsonlStore, SqliteStore, plugin
from skillkit_sessions.branches import Branches
from skillkit_sessions.cli import sessions
from skillkit_sessions.codec import encode_entry, encode_header
from skillkit_sessions.output import cut

from skillkit_core import AgentConfig, AgentRunner, Host, SkillKitError, Tool
from skillkit_core.cli.main import CliState
from skillkit_core.contracts.session_store import SESSION_VERSION, SessionEntry, SessionHeader
from skillkit_core.errors import SessionError, SessionLocked, UnknownName, UsageError
from skillkit_core.frozen import freeze
from skillkit_core.testing import Call, Reply, ScriptedModel

HEADER = SessionHeader("6a3f01", 1_700_000_000.0, "/home/ann/shop")
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


def entry(n, parent, type, **data):
    return SessionEntry(n, f"e{n}", f"e{parent}" if parent else None, type, 1_700_000_000.0 + n, freeze(data))


def message(n, parent, role, *blocks, **fields):
    content = [{"type": "text", "text": b} if isinstance(b, str) else b for b in blocks]
    return entry(n, parent, "message", message={"role": role, "content": content, **fields})


CALLS = [{"type": "tool_call", "id": i, "name": "look", "args": {"at": "<b>"}} for i in ("a", "b")]
TREE = [
    entry(1, 0, "session_info", title="Mend <it>"),
    message(2, 1, "user", "mend the parser"),
    message(3, 2, "assistant", "I look.", *CALLS, model="m", stop_reason="tool_calls"),
    message(4, 3, "tool_result", "seen", tool_call_id="a", tool_name="look"),
    message(5, 4, "tool_result", "<script>alert(1)</script>", tool_call_id="b", tool_name="look", is_error=True),
    message(6, 5, "assistant", "It is `mended`.\n```python\nif a < b: pass\n```\nDone.", model="m", stop_reason="stop"),
    entry(7, 6, "usage", input=1000, output=234, cost=0.5),
    message(8, 6, "user", "and now?"),
    message(9, 8, "assistant", "Nothing.", model="m", stop_reason="stop"),
    entry(10, 9, "leaf", entry_id="e6"),
    message(11, 6, "user", "something else"),
    message(12, 11, "assistant", "Half a", model="m", stop_reason="aborted"),
    entry(13, 12, "label", entry_id="e6", label="mended"),
]


def put(store, header, entries):
    async def work():
        await (await store.restore(header, entries)).close()
        await store.close()

    asyncio.run(work())


@pytest.fixture(params=["jsonl", "sqlite"])
def name(request):
    return request.param


@pytest.fixture
def store(name, tmp_path):
    made = {"jsonl": JsonlStore, "sqlite": SqliteStore}[name]
    return made(directory=tmp_path / "home" / "data" / "sessions")


@pytest.fixture
def planted(store):
    put(store, HEADER, TREE)


@pytest.fixture
def run(name, tmp_path, monkeypatch):
    """Call ``skillkit sessions ARGS`` with a host whose configuration names the store; errors pass through."""
    monkeypatch.setenv("SKILLKIT_HOME", str(tmp_path / "home"))
    config = tmp_path / "home" / "config"
    config.mkdir(parents=True)
    (config / "config.yaml").write_text(f"session: {{store: {name}}}\n")

    def call(*args, code=0, input=None):
        state = CliState({})
        state._host = Host(discover=False)
        state._host.add_plugin(plugin, name="sessions")
        result = CliRunner().invoke(sessions, [str(a) for a in args], obj=state, input=input)
        state.close()
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        assert result.exit_code == code, result.output
        return result.stdout

    return call


@pytest.fixture
def asked(run, planted):
    """As ``run``, JSON parsed, with one session there."""
    return lambda *args, **options: json.loads(run(*args, "--json", **options))


def entries_of(store, session_id="6a3f01"):
    async def read():
        handle = await store.open(session_id, read_only=True)
        await handle.close()
        await store.close()
        return list(handle.entries())

    return asyncio.run(read())


# --- agents below agents ------------------------------------------------------------------------------------------


async def agents_work():
    """An agent asks one that asks another one, and leaves one behind that begins when the run is over; return the ids."""
    over, ids, late = asyncio.Event(), {}, []

    async def below(name, *turns, tools=()):
        async with AgentRunner(AgentConfig(tools=tools), session="new", name=name) as agent:
            agent.set_adapter(ScriptedModel(turns))
            ids[name] = agent.session_id or (await agent.open()).id
            return (await agent.chat(f"{name}, go")).content

    async def ask(args, ctx):
        return await below("scout", Reply(calls=[Call("dig")]), "seen", tools=(Tool("dig", "Dig.", dig),))

    async def dig(args, ctx):
        return await below("digger", "dug")

    async def linger():
        await over.wait()
        await below("late", "at last")

    async def leave(args, ctx):
        late.append(asyncio.create_task(linger()))
        return "left"

    host = Host(plugins=[("sessions", plugin)], discover=False)
    tools = (Tool("ask", "Ask.", ask), Tool("leave", "Leave.", leave))
    async with AgentRunner(AgentConfig(tools=tools), host=host, session="new") as agent:
        agent.set_adapter(ScriptedModel([Reply(calls=[Call("ask"), Call("leave")]), "done"]))
        await agent.chat("go")
        over.set()
        await late[0]
        ids["main"], used = agent.session_id, agent.session.usage.total
    await host.aclose()
    return ids, used


def test_a_tree_follows_agents_also_one_that_outlived_the_run_that_asked_it(run):
    ids, used = asyncio.run(agents_work())
    tree = json.loads(run("tree", "--json"))
    assert tree["session"]["id"] == ids["main"], "the latest session is one in which a person talked"
    told = [(one["path"][-1].split(":")[0], one["session"], one["requests"], one["kept"]) for one in tree["agents"]]
    assert told == [
        ("scout", ids["scout"], 2, True), ("digger", ids["digger"], 1, True), ("late", ids["late"], 1, True),
    ]  # fmt: skip
    assert tree["agents"][1]["path"][:-1] == tree["agents"][0]["path"]
    assert used == 6 * 15 == 2 * 15 + sum(one["tokens"] for one in tree["agents"]), "the books hold all of them"
    assert f"\n   └─ {tree['agents'][1]['agent']}  {ids['digger']}  1 request," in run("tree")
    rows = {row["id"]: (row["parent_session"], row["nested"]) for row in json.loads(run("list", "--json"))}
    asked = {"main": None, "scout": "main", "digger": "scout", "late": "main"}
    assert rows == {ids[name]: (ids.get(above), above is not None) for name, above in asked.items()}
    assert f"by an agent of {ids['scout']}" in run("show", ids["digger"])
    copy = json.loads(run("fork", ids["digger"], "--json"))
    assert f"forked from {ids['digger']}" in run("show", copy["id"])


# --- looking ------------------------------------------------------------------------------------------------------


def test_the_configuration_chooses_the_store_and_a_flag_another(asked, run, name):
    other = {"jsonl": "sqlite", "sqlite": "jsonl"}[name]
    assert [row["id"] for row in asked("list")] == ["6a3f01"]
    assert asked("list", "--store", name) == asked("list")
    assert asked("list", "--store", other) == []
    with pytest.raises(UnknownName, match=r"unknown session store 'x'; known: jsonl, sqlite"):
        run("list", "--store", "x")


def test_a_tree_shows_branches_labels_and_the_leaf(run, planted):
    lines = run("tree", "6a3").splitlines()
    assert lines[0].startswith("session 6a3f01, 2023-11-1") and lines[0].endswith(
        "/home/ann/shop, 13 entries, 2 branches"
    )
    assert lines[1:] == [
        "Mend <it>",
        "● e2  user mend the parser",
        '● e3  assistant I look. → look {"at": "<b>"} → look {"at": "<b>"}',
        "● e4  result look: seen",
        "● e5  result look failed: <script>alert(1)</script>",
        "● e6  assistant It is `mended`. ```python if a < b: pass ``` Done. (mended)",
        "├─ ○ e8  user and now?",
        "│  ○ e9  assistant Nothing.",
        "└─ ● e11 user something else",
        "   ● e12 assistant Half a stopped: aborted ← here",
    ]


def test_a_tree_fits_into_80_columns_however_deep_it_is(run, store):
    entries = [message(1, 0, "user", "root " * 50)]
    for n in range(2, 80, 2):
        entries += [message(n, n - 1 if n == 2 else n - 2, "user", "日本 word " * 30)]
        entries += [message(n + 1, n - 1 if n == 2 else n - 2, "user", "x" * 200)]
    put(store, HEADER, entries)
    lines = run("tree", "6a3f01", "--json")
    assert len(json.loads(lines)["entries"]) == len(entries)
    drawn = run("tree").splitlines()
    assert len(drawn) == len(entries) + 1
    assert max(map(columns, drawn)) <= 80


def columns(line):
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line)


@pytest.mark.parametrize(
    ("text", "room", "expected"),
    [("abcdef", 6, "abcdef"), ("abcdefg", 6, "abcde…"), ("日本語", 6, "日本語"), ("日本語x", 6, "日本…"), ("日本語", 5, "日本…"),
     ("a日本", 4, "a日…"), ("e\u0301e\u0301", 2, "e\u0301e\u0301"), ("ab cd", 4, "ab…")],
)  # fmt: skip
def test_a_line_is_cut_where_its_columns_end(text, room, expected):
    assert cut(text, room) == expected and columns(expected) <= room + expected.count("\u0301")


def test_a_tree_of_ten_thousand_entries_is_drawn(run, store):
    put(store, HEADER, [message(n, n - 1, "user", f"word {n}") for n in range(1, 10_001)])
    lines = run("tree").splitlines()
    assert len(lines) == 10_001 and lines[-1] == "● e10000 user word 10000 ← here"


def test_a_tree_as_json_has_every_entry_with_its_place(asked):
    tree = asked("tree")
    assert tree["session"]["title"] == "Mend <it>" and tree["leaf"] == "e12"
    rows = {row["id"]: row for row in tree["entries"]}
    assert list(rows) == ["e2", "e3", "e4", "e5", "e6", "e8", "e9", "e11", "e12"]
    assert rows["e6"]["children"] == ["e8", "e11"] and rows["e6"]["label"] == "mended"
    assert rows["e2"]["parent_id"] is None and rows["e11"]["parent_id"] == "e6"
    assert [i for i, row in rows.items() if not row["on_path"]] == ["e8", "e9"]
    assert (rows["e6"]["depth"], rows["e9"]["depth"]) == (0, 1)


def test_show_has_the_current_branch_one_entry_or_everything(asked):
    def ids(*args):
        return [e["id"] for e in asked("show", *args)["entries"]]

    assert ids() == ["e2", "e3", "e4", "e5", "e6", "e11", "e12"]
    assert ids("6a3f01", "--all") == [e.id for e in TREE]
    assert ids("6a", "--entry", "e9") == ["e9"]
    assert ids("6a", "--entry", "mended") == ["e6"]


def test_show_says_who_spoke(run, planted):
    output = run("show")
    assert '[e3 assistant]\nI look.\n→ look {"at": "<b>"}\n' in output
    assert "[e5 result]\nlook failed\n<script>" in output and "[e6 assistant] (mended)" in output


def test_names_of_entries(asked, run):
    """Ids, starts of ids, labels; close matches for the rest."""
    with pytest.raises(UsageError, match="4 entries start with 'e1'") as several:
        Branches([e for e in TREE if e.id != "e1"], "s").find("e1")
    assert "e10, e11" in str(several.value)
    with pytest.raises(UnknownName, match="did you mean 'mended'"):
        run("show", "--entry", "mendet")
    with pytest.raises(UnknownName, match="ids go from e1 to e13"):
        run("show", "--entry", "zzz")


def test_without_sessions_the_latest_one_is_an_error(run):
    with pytest.raises(UsageError, match="no sessions yet"):
        run("tree")
    with pytest.raises(SessionError, match="unknown session 'x'; there are no sessions yet"):
        run("show", "x")


# --- resume -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("at", "state", "calls"),
    [("e2", "waiting", []), ("e3", "interrupted", ["a", "b"]), ("e4", "interrupted", ["b"]), ("e5", "waiting", []),
     ("e6", "complete", []), ("e12", "cut", []), ("start", "empty", []), ("e7", "complete", [])],
)  # fmt: skip
def test_resume_moves_the_leaf_and_says_what_is_there(asked, store, at, state, calls):
    done = asked("resume", "6a", "--entry", at)
    leaf = {"start": None, "e7": "e6"}.get(at, at)
    assert (done["leaf"], done["state"], [c["id"] for c in done["open_calls"]]) == (leaf, state, calls)
    assert done["moved"] is (at != "e12")
    assert len(entries_of(store)) == len(TREE) + done["moved"]
    assert asked("tree")["leaf"] == leaf
    assert asked("resume", "6a") == {**done, "moved": False}


def test_resume_tells_people_how_to_go_on(run, planted):
    lines = run("resume", "6a").splitlines()
    assert lines[0] == "session 6a3f01 goes on after e12, assistant: Half a stopped: aborted"
    assert lines[1].startswith("the last answer was cut off") and "skillkit run --session 6a3f01" in lines[2]


WAITING = {
    "id": "a",
    "name": "look",
    "args": {"at": "<b>"},
    "questions": [{"text": "Look?", "plugin": "shy", "key": None}],
}


def test_a_suspended_session_says_so(run, store):
    behind = {"id": "b", "name": "look", "args": {}, "questions": []}
    waiting = entry(14, 3, "suspension", calls=[WAITING, behind], cwd="/home/ann/shop")
    put(store, HEADER, [*TREE[:3], waiting, entry(15, 14, "custom", custom_type="a plugin's")])
    for command in ("resume", "show"):  # what a plugin keeps beside it changes nothing
        assert json.loads(run(command, "6a", "--json"))["state"] == "suspended"
    lines = run("resume", "6a").splitlines()
    assert lines[1:3] == [
        "it waits for a decision about calls: look (a), look (b)",
        "go on with: cd /home/ann/shop && skillkit sessions resume 6a3f01",
    ]  # fmt: skip
    shown = run("show", "6a")
    assert (
        '[e14 waits for a decision]\n→ look {"at": "<b>"}\ncall a: Look? (shy)\n→ look {}\ncall b: waits for' in shown
    )
    assert "waits for a decision" in run("tree") and "Look?" in run("export", "6a", "--format", "markdown")
    assert "Look?" in run("export", "6a", "--format", "html")
    assert [row["suspended"] for row in json.loads(run("list", "--json"))] == [True]


def test_a_suspension_that_nobody_can_read_is_shown_all_the_same(run, store):
    put(store, HEADER, [*TREE[:3], entry(14, 3, "suspension", calls=[{"id": "a"}, "?"], cwd=7)])
    assert "call a: waits" in run("show", "6a") and json.loads(run("resume", "6a", "--json"))["state"] == "suspended"


def test_a_decision_is_told_in_words(run, store):
    told = {"a": {"decision": "allow", "reason": ""}, "b": {"decision": "deny", "reason": "too far"}}
    done = entry(15, 14, "custom", custom_type="suspension_decisions", suspension="e14", decisions=told)
    put(store, HEADER, [*TREE[:3], entry(14, 3, "suspension", calls=[WAITING]), done])
    assert "[e15 decision]\nallow a\ndeny b: too far\n" in run("show", "6a")
    assert json.loads(run("list", "--json"))[0]["suspended"] is False


def test_without_a_command_that_goes_on_decisions_are_refused(run, planted, store):
    """With one: see the tests of skillkit-chat."""
    with pytest.raises(UsageError, match="--allow has no meaning here: the last answer was cut off"):
        run("resume", "6a", "--allow", "all")
    with pytest.raises(UsageError, match="-v has no meaning here"):
        run("resume", "6a", "-v")
    with pytest.raises(UsageError, match="the session comes first"):
        run("resume", "-v", "6a")
    with pytest.raises(UsageError, match=r"no plugin here can go on with a session.*'resume'"):
        run("resume", "6a", "--entry", "e3", "--allow", "all")
    assert json.loads(run("show", "--json"))["leaf"] == "e3", "it went back all the same"


def test_what_is_open_elsewhere_is_not_changed(run, planted, store):
    async def work():
        handle = await store.open("6a3f01")
        try:
            for args in (["resume", "6a", "--entry", "e2"], ["label", "6a", "e2", "x"]):
                with pytest.raises(SessionLocked, match=r"session '6a3f01' is being written"):
                    await asyncio.to_thread(run, *args)
            await asyncio.to_thread(run, "tree", "6a")
            await asyncio.to_thread(run, "fork", "6a")
        finally:
            await handle.close()
            await store.close()

    asyncio.run(work())
    assert len(entries_of(store)) == len(TREE)


def test_a_newer_session_is_not_changed(run, store):
    header = SessionHeader("6a3f01", 1.0, version=SESSION_VERSION + 1)
    put(store, header, TREE)
    for args in (["resume", "6a", "--entry", "e2"], ["label", "6a", "e2", "x"]):
        with pytest.raises(SessionError, match=r"format version 2.*upgrade SkillKit"):
            run(*args)
    assert "● e12" in run("tree", "6a")


# --- label and fork -----------------------------------------------------------------------------------------------


def test_a_label_is_given_replaced_and_taken_away(asked, run, store):
    assert asked("label", "6a", "e2", "the  question\n")["label"] == "the question"
    assert asked("label", "6a", "e2", "asked") == {"session": "6a3f01", "entry": "e2", "label": "asked"}
    run("label", "6a", "e2", "asked")
    assert asked("show")["labels"] == {"e6": "mended", "e2": "asked"}
    assert len(entries_of(store)) == len(TREE) + 2
    assert asked("label", "6a", "asked", "--remove")["label"] is None
    assert asked("show")["labels"] == {"e6": "mended"} and asked("show")["leaf"] == "e12"
    for wrong in (["e2"], ["e2", "x", "--remove"], ["e2", "--remove"], ["start", "x"], ["e7", "x"], ["nobody", "x"]):
        with pytest.raises(UsageError):
            run("label", "6a", *wrong)


@pytest.mark.spec("9.41")
def test_a_fork_keeps_the_branch_and_its_labels(asked, run):
    made = asked("fork", "6a", "--id", "copy")
    assert (made["parent_session"], made["title"], made["entry"], made["entries"]) == ("6a3f01", "Mend <it>", "e12", 8)
    assert asked("show", "copy")["labels"] == {"e6": "mended"}
    early = asked("fork", "6a", "--entry", "e4")
    assert [e["id"] for e in asked("show", early["id"], "--all")["entries"]] == ["e2", "e3", "e4"]
    assert asked("fork", "6a", "--entry", "start")["entries"] == 0
    assert asked("fork", "6a", "--entry", "mended")["entry"] == "e6"
    with pytest.raises(SessionError, match="'copy' exists already"):
        run("fork", "6a", "--id", "copy")
    with pytest.raises(SessionError, match="cannot be the id"):
        run("fork", "6a", "--id", "../x")


# --- export and import --------------------------------------------------------------------------------------------


def test_a_session_comes_back_from_its_export(asked, run, store, tmp_path):
    file = tmp_path / "out.jsonl"
    done = asked("export", "6a", "-o", file)
    assert done == {"session": "6a3f01", "format": "jsonl", "file": str(file), "bytes": file.stat().st_size}
    assert run("export", "6a").encode() == file.read_bytes() == export_bytes(HEADER, TREE)
    with pytest.raises(SessionError, match="'6a3f01' exists already; import it under another id with --id"):
        run("import", file)
    assert asked("import", file, "--id", "other")["entries"] == len(TREE)
    assert entries_of(store, "other") == entries_of(store) == TREE


def test_an_import_reads_standard_input_and_moves_between_stores(asked, run, name):
    other = {"jsonl": "sqlite", "sqlite": "jsonl"}[name]
    text = run("export", "6a")
    assert run("import", "-", "--store", other, input=text).startswith("session 6a3f01: 13 entries, ")
    assert run("export", "6a", "--store", other) == text


def export_bytes(header, entries):
    return b"".join([encode_header(header), *map(encode_entry, entries)])


def line(n, parent, type="custom", **data):
    return encode_entry(entry(n, parent, type, **data))


BAD = {
    "nothing": (b"", "f:1: not JSON"),
    "no header": (line(1, 0), "f:1: the first line is not a session header"),
    "newer": (encode_header(SessionHeader("x", 1.0, version=9)), "f:1: it has format version 9"),
    "bad id": (encode_header(SessionHeader("../x", 1.0)), "cannot be the id"),
    "torn": (line(1, 0) + b'{"type":"cus', "f:3: not JSON"),
    "unknown type": (line(1, 0, "hologram"), "f:2: unknown type 'hologram'"),
    "id twice": (line(1, 0) + line(2, 1).replace(b'"e2"', b'"e1"'), "f:3: the id 'e1' is used twice"),
    "seq": (line(2, 0) + line(1, 2), "f:3: seq is 1, and the entry before has 2"),
    "no parent": (line(1, 0) + line(2, 7), "f:3: the parent 'e7' is not above"),
    "label": (line(1, 0) + line(2, 1, "label", entry_id="e9"), "f:3: the label names 'e9'"),
    "label of nothing": (line(1, 0, "label", entry_id=None), "f:2: the label names None"),
    "leaf": (line(1, 0) + line(2, 1, "leaf", entry_id="e9"), "f:3: the leaf names 'e9'"),
    "no message": (line(1, 0, "message"), "f:2: the entry has no message"),
    "bad message": (
        line(1, 0, "message", message={"role": "king"}),
        "f:2: the message cannot be read: unknown message role",
    ),
    "later id": (line(1, 0).replace(b'"e1"', b'"e5"'), "the id 'e5' would be given to a later entry again"),
}


@pytest.mark.parametrize("case", sorted(BAD))
def test_an_import_that_is_not_right_names_the_line_and_writes_nothing(run, tmp_path, monkeypatch, case):
    monkeypatch.chdir(tmp_path)
    body, said = BAD[case]
    whole = body if case in ("nothing", "no header", "newer", "bad id") else encode_header(HEADER) + body
    Path("f").write_bytes(whole)
    with pytest.raises(SkillKitError) as refused:
        run("import", "f")
    assert said in str(refused.value) and "\n" not in str(refused.value)
    assert json.loads(run("list", "--json")) == []


def test_a_file_that_is_not_there_cannot_be_imported(run):
    with pytest.raises(UsageError, match="nowhere: the file cannot be read: No such file"):
        run("import", "nowhere")


def test_an_export_does_not_overwrite_unless_it_is_told_to(run, planted, tmp_path):
    file = tmp_path / "a.md"
    run("export", "6a", "-o", file)
    before = file.read_bytes()
    assert before.startswith(b"# Mend \\<it\\>\n") and file.stat().st_mode & 0o777 == 0o600
    with pytest.raises(UsageError, match=r"exists already.*--force"):
        run("export", "6a", "-o", file)
    run("export", "6a", "-o", file, "--force", "--entry", "e9")
    assert b"and now?" in file.read_bytes() and b"and now?" not in before
    with pytest.raises(SessionError, match="cannot be written: No such file"):
        run("export", "6a", "-o", tmp_path / "no" / "a.md")
    with pytest.raises(UsageError, match="--entry goes with markdown and html"):
        run("export", "6a", "--entry", "e2")
    assert list(tmp_path.glob(".*")) == []


def test_markdown_has_fences_that_what_was_said_cannot_end(run, store):
    nasty = "before\n```\n# not a heading\n````\nafter"
    result = message(2, 1, "tool_result", nasty, tool_call_id="a", tool_name="look")
    put(store, HEADER, [message(1, 0, "user", "hello"), result])
    output = run("export", "6a", "--format", "markdown")
    assert f"\n`````\n{nasty}\n`````\n" in output


class Page(HTMLParser):
    """What a browser would make of it: elements with their attributes, and the text outside of styles."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.words, self.open = [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in ("meta", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if not self.open or self.open[-1] != "style":
            self.words.append(data)


def test_a_page_says_everything_loads_nothing_and_runs_nothing(run, planted, tmp_path):
    run("export", "6a", "-o", tmp_path / "a.html")
    text = (tmp_path / "a.html").read_text()
    page = Page(text)
    assert page.open == []
    tags = {tag for tag, _ in page.elements}
    assert not tags & {"script", "link", "iframe", "object", "form"}
    assert not [a for _, attrs in page.elements for a in attrs if a.startswith("on") or a == "src"]
    assert {a["href"][0] for tag, a in page.elements if tag == "a"} == {"#"}
    assert "default-src 'none'" in text and "url(" not in text and "@import" not in text
    said = " ".join("".join(page.words).split())
    for words in ("Mend <it>", "<script>alert(1)</script>", "if a < b: pass", '{"at": "<b>"}', "1,234 tokens", "$0.5000",
                  "2 messages of other branches are not shown", "mended"):  # fmt: skip
        assert words in said
    assert "and now?" not in said


def test_a_page_shows_images_that_are_in_the_session_and_no_others(run, store):
    blocks = [
        {"type": "image", "data": PIXEL, "mime_type": "image/png"},
        {"type": "image", "data": "PHN2Zz4=", "mime_type": "image/svg+xml"},
        {"type": "image", "data": '"><script>', "mime_type": "image/png"},
        {"type": "image", "url": "https://example.org/x.png"},
    ]
    put(store, HEADER, [message(1, 0, "user", "see", *blocks)])
    page = Page(run("export", "6a", "--format", "html"))
    images = [attrs["src"] for tag, attrs in page.elements if tag == "img"]
    assert images == [f"data:image/png;base64,{PIXEL}"]
    assert "script" not in {tag for tag, _ in page.elements}
    assert "[image: https://example.org/x.png]" in "".join(page.words)


def test_every_command_takes_json_and_a_store():
    for command in sessions.commands.values():
        names = {name for option in command.params for name in option.opts}
        assert {"--json", "--store"} <= names, command.name
        assert command.help and re.fullmatch(r"[^\n]+", command.help)
