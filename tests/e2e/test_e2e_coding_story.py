"""A coding story in a real repository: the same one, with the same events, through every front end."""

import asyncio
import json
import os
import re
import shutil
from pathlib import Path

import pyte
import pytest
from e2e_git import git
from skillkit_chat.client import RpcClient
from skillkit_testkit import Call, Reply, screen_text

NOTING = Path(__file__).parent / "support" / "noting_plugin.py"
# where somebody can be asked, a conversation offers the tools of the web, too
CONFIG = """
permissions: {allow: [Edit, Bash(python3 -m unittest), 'Bash(git commit:*)']}
tools: {allow: [web_fetch, web_search]}
plugins: {disabled: [planning]}  # its ask_user is there only where somebody answers
"""
FILES = {
    "shop/__init__.py": "",
    "shop/cart.py": "from shop.prices import gross\n\n\ndef total(nets):\n    return sum(nets)\n",
    "shop/prices.py": "PERCENT = 20\n\n\ndef gross(net):\n    return net * PERCENT\n",
    "test_shop.py": "import unittest\n\nfrom shop.cart import total\n\n\nclass Shop(unittest.TestCase):\n"
    "    def test_total(self):\n        self.assertEqual(total([100, 50]), 180)\n",
}
REQUEST = "Totals leave out the tax. Mend and commit it."
STORY = (
    ("I look at the cart.", "read", {"path": "shop/cart.py"}),
    ("", "grep", {"pattern": "def gross", "path": "shop"}),
    ("", "edit", {"path": "shop/cart.py", "old": "sum(nets)", "new": "sum(gross(net) for net in nets)"}),
    ("", "edit", {"path": "shop/prices.py", "old": "net * PERCENT", "new": "net + PERCENT"}),
    ("Now the tests.", "bash", {"command": "python3 -m unittest"}),
    ("That was wrong.", "edit", {"path": "shop/prices.py", "old": "+ PERCENT", "new": "* (100 + PERCENT) // 100"}),
    ("", "bash", {"command": "python3 -m unittest"}),
    ("", "bash", {"command": "git commit -qam 'Put the tax into totals'"}),
)
FAILS = 4
END = "Totals hold the tax, and the tests pass."
CHANGING = re.compile(r"(?<=in )\d+\.\d+s|[0-9a-f]{8}-[0-9a-f]{10}")  # how long the tests took, ids of sessions
CHANGES_WITH_THE_CLOCK = {"ts", "date", "latency", "duration"}
CHANGES_WITH_THE_RUN = {"response_id", "seq"}  # pieces of live output have numbers of their own


def script():
    """What the model says; the ids of its calls are the same each time."""
    calls = (Reply(text=said, tool_calls=[Call(tool, args, f"call_{n}")]) for n, (said, tool, args) in enumerate(STORY))
    return [*calls, Reply(text=END)]


@pytest.fixture
def desk(skillkit_cli, skillkit_home, llm_server, install_plugin, monkeypatch):
    return Desk(skillkit_cli, skillkit_home, llm_server, install_plugin, monkeypatch)


class Desk:
    """The repository, made anew for each front end, and what each of them tells."""

    def __init__(self, cli, home, server, install_plugin, monkeypatch):
        self.cli, self.cwd, self.server, self.monkeypatch = cli, home.cwd, server, monkeypatch
        self.settled = home.path / "settled"
        os.mkfifo(self.settled)
        home.write_config(CONFIG)
        install_plugin("noting", NOTING)
        self._noted = home.path / "noted.jsonl"
        for name, value in {"OPENAI_API_KEY": "#of-the-tests", "NOTED": str(self._noted), "NO_COLOR": "1"}.items():
            monkeypatch.setenv(name, value)
        self.wire = ["--provider", "openai", "--api", "openai-chat", "--base-url", server.openai_url, "--model", "loop"]

    def begin(self):
        for path in self.cwd.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        for name, text in FILES.items():
            (self.cwd / name).parent.mkdir(exist_ok=True)
            (self.cwd / name).write_text(text)
        git(self.cwd, "init", "-q", "-b", "main")
        for name, value in (("user.name", "Ann"), ("user.email", "ann@example.org")):
            git(self.cwd, "config", name, value)
        git(self.cwd, "add", "-A")
        git(self.cwd, "commit", "-qm", "Open the shop")
        self._noted.unlink(missing_ok=True)
        self.server.script(script())

    def noted(self):
        return comparable(map(json.loads, self._noted.read_text().splitlines()))

    def run(self):
        return comparable(self.cli("run", *self.wire, "--json", "--events", REQUEST).ok().json_lines[:-1])

    def rpc(self):
        told = []

        async def main():
            argv = [*self.cli.program, "rpc"]
            # version 1 tells events whole, version 2 leaves out what its clients have been told before
            async with RpcClient(self.wire, argv=argv, cwd=self.cwd, on_event=told.append, version=1) as client:
                return await client.prompt(REQUEST)

        assert asyncio.run(main()).content == END
        return comparable(told)

    def chat(self):
        """Give the screen of a conversation, so high that nothing leaves it."""
        self.monkeypatch.setenv("SETTLED", str(self.settled))
        with self.cli.terminal("chat", *self.wire, REQUEST, cwd=self.cwd, columns=120, rows=150) as terminal:
            terminal.wait_for("and the tests pass.")
            self.settled.read_text()
            terminal.send("\x04")
            assert terminal.wait() == 0, terminal.text
            screen = pyte.Screen(120, 150)
            pyte.ByteStream(screen).feed(terminal.seen)
        return screen_text(screen)


def comparable(events):
    """Leave out times and ids, and join the live output of a call and of an answer, which come in pieces of any size."""
    found = []
    for event in events:
        event = settled(event)
        last = found[-1] if found else {}
        piece, before = event.get("event", {}), last.get("event", {})
        about = [(one.get("type", ""), one.get("index")) for one in (piece, before)]
        if about[0] == about[1] and about[0][0].endswith("_delta"):
            before["content"] += piece["content"]
            continue
        if event.get("type") == last.get("type") == "tool_execution_update" and event["stream"] == last["stream"]:
            last["output"] += event["output"]
            continue
        found.append(event)
    return found


def settled(value):
    if isinstance(value, dict):
        left_out = CHANGES_WITH_THE_CLOCK | CHANGES_WITH_THE_RUN | {"origin"} | ({"n"} if "stream" in value else set())
        return {key: settled(inner) for key, inner in value.items() if key not in left_out}
    if isinstance(value, list):
        return [settled(inner) for inner in value]
    return CHANGING.sub("_", value) if isinstance(value, str) else value


def committed(cwd):
    show = git(cwd, "show", "--format=%an: %s", "--stat=60")
    return [line.split("|")[0].strip() for line in show.splitlines() if line]


def test_a_model_mends_a_repository_with_the_same_events_in_every_front_end(desk):
    streams, commits = {}, []
    for front in (desk.run, desk.rpc, desk.chat):
        desk.begin()
        told = front()
        streams[front.__name__] = desk.noted()
        if front != desk.chat:
            streams[f"told by {front.__name__}"] = streams[front.__name__][:1] + told  # nobody listens yet at the start
        commits.append(committed(desk.cwd))
        assert (desk.cwd / "shop/prices.py").read_text().endswith("net * (100 + PERCENT) // 100\n")
    assert commits[0][:3] == ["Ann: Put the tax into totals", "shop/cart.py", "shop/prices.py"]
    assert commits == commits[:1] * 3

    expected = streams["run"]
    assert expected[0]["type"] == "session_start"
    ended = [e for e in expected if e["type"] == "tool_execution_end"]
    assert [(e["tool_name"], e["args"], e["outcome"]) for e in ended] == [
        (tool, args, "error" if n == FAILS else "ok") for n, (_, tool, args) in enumerate(STORY)
    ]
    for name, stream in streams.items():
        assert [e["type"] for e in stream] == [e["type"] for e in expected], name
        for event, other in zip(stream, expected, strict=True):
            assert event == other, name

    place = 0
    for n, (said, tool, _) in enumerate(STORY):
        for shown in filter(None, (said, f"{'✗' if n == FAILS else '●'} {tool}")):
            assert shown in told[place:], f"{shown} is not in its place:\n{told.rstrip()}"
            place = told.index(shown, place) + len(shown)
    assert END in told[place:] and "FAILED (failures=1)" in told
    assert "AssertionError: 190 != 180" in ended[FAILS]["content"][0]["text"]
    kept = desk.cli("sessions", "list", "--json").ok().json
    assert [(row["title"], row["messages"]) for row in kept] == [(REQUEST, 2 + 2 * len(STORY))] * 3
