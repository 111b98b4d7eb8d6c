"""Remembered answers: none is lost among processes and threads, and each allows what a person was asked about."""

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from skillkit_permissions.decide import decide_request
from skillkit_permissions.memory import Memory
from skillkit_permissions.paths import Place
from skillkit_permissions.request import Request
from skillkit_permissions.rules import Rules

from skillkit_core.errors import ConfigError

# Run as `python -c REMEMBERS folder name`: fifteen answers, one after the other, each third of which is taken back.
REMEMBERS = """
import sys
from skillkit_permissions.memory import Memory

memory = Memory(sys.argv[1])
sys.stdin.read()
for number in range(15):
    (answer,) = memory.add([f"Bash({sys.argv[2]} {number})"], "allow", "ever")
    if number % 3 == 2:
        assert memory.revoke([answer.id]) == [answer]
"""


def test_processes_that_remember_and_revoke_at_once_lose_nothing(tmp_path):
    command = [sys.executable, "-c", REMEMBERS, str(tmp_path)]
    processes = [subprocess.Popen([*command, f"p{at}"], stdin=subprocess.PIPE) for at in range(10)]
    for process in processes:
        process.stdin.close()
    assert [process.wait(60) for process in processes] == [0] * 10
    memory = Memory(tmp_path)
    wanted = {f"Bash(p{process} {number})" for process in range(10) for number in range(15) if number % 3 != 2}
    assert {answer.rule for answer in memory.all()} == wanted
    assert len({answer.id for answer in memory.all()}) == len(wanted)
    assert memory.generation == 50


def test_threads_that_share_a_memory_lose_nothing(tmp_path):
    memory = Memory(tmp_path)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: memory.add([f"Bash(t {number})"], "allow", "ever"), range(40)))
    assert len(memory.all()) == 40


def test_what_another_process_changed_within_a_tick_of_the_clock_is_seen(tmp_path):
    memory = Memory(tmp_path)
    first = Memory(tmp_path).add(["Bash(aa)"], "allow", "ever")
    assert [a.rule for a in memory.all()] == ["Bash(aa)"]
    text = Path(memory.path).read_text()
    Path(memory.path).write_text(text.replace("Bash(aa)", "Bash(bb)"))
    assert [a.rule for a in memory.all()] == ["Bash(bb)"] and len(first) == 1


def test_a_damaged_file_is_not_written_over(tmp_path):
    memory = Memory(tmp_path)
    memory.add(["rocket"], "allow", "ever")
    Path(memory.path).write_text("{")
    with pytest.raises(ConfigError, match="cannot be read"):
        memory.add(["other"], "allow", "ever")
    assert Path(memory.path).read_text() == "{"


def decision(rules, definition):
    request = Request("mcp__files__list", {}, Place.of("/", "/", "/"), annotations={"definition": definition})
    return decide_request(rules, request)


def test_an_answer_allows_the_tool_as_its_server_described_it_then(tmp_path):
    Memory(tmp_path).add(["mcp__files__list"], "allow", "ever", definition="old")
    rules = Memory(tmp_path).rules("/", None)
    assert decision(rules, "old").outcome == "allow"
    changed = decision(rules, "new")
    assert changed.outcome == "ask" and "describes mcp__files__list differently" in changed.reason
    assert changed.offer == ("mcp__files__list",)
    # the answer to the new question takes the place of the old one
    Memory(tmp_path).add(changed.offer, "allow", "ever", definition="new")
    rules = Memory(tmp_path).rules("/", None)
    assert (decision(rules, "new").outcome, decision(rules, "old").outcome) == ("allow", "ask")
    assert len(json.loads(Path(Memory(tmp_path).path).read_text())["answers"]) == 1


def test_a_written_rule_allows_whatever_the_server_says_and_a_denial_stays(tmp_path):
    Memory(tmp_path).add(["mcp__files__list"], "allow", "ever", definition="old")
    remembered = Memory(tmp_path).rules("/", None)
    assert decision(remembered + Rules.of(allow=["mcp__files"]), "new").outcome == "allow"
    Memory(tmp_path).add(["mcp__files__list"], "deny", "ever", definition="old")
    assert decision(Memory(tmp_path).rules("/", None), "new").outcome == "deny"
