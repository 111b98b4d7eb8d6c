"""Lines by class that do what is denied, or may: none is allowed, however it is spelled. And a day's lines that never ask."""

import re
from functools import cache
from pathlib import Path

import pytest
from skillkit_permissions import commandline
from skillkit_permissions.decide import decide

DATA = Path(__file__).parent / "data"
RULES = ["Bash(rm:*)", "Read(.env)", "Edit(keep.txt)"]


def classes(name):
    """Return the lines of a file, by the name of their class."""
    found = {}
    for line in (DATA / name).read_text(encoding="utf-8").splitlines():
        if re.fullmatch(r"\[[a-z ]+\]", line):
            lines = found[line[1:-1]] = []
        elif line and not line.startswith("# "):
            lines.append(line.replace("\u23ce", "\n"))
    return found


HOSTILE, DAILY = classes("never_allowed.txt"), classes("a_day.txt")


@pytest.fixture
def judged(tmp_path):
    """What lines get, in a project with a file that may not be read and one that may not be changed."""
    home = tmp_path / "home"
    project = home / "app"
    (project / "src").mkdir(parents=True)
    for name in ("README.md", ".env", "keep.txt", "list", "Makefile", "package.json", "src/main.py", "src/a.py"):
        (project / name).write_text("x\n")

    def judge(lines, kind="deny"):
        place = {"cwd": str(project), "root": str(project), "home": str(home), "mode": "ask"}
        rules = {"allow": ["Bash"], kind: RULES}
        return {line: decide(rules, {"tool": "bash", "args": {"command": line}, **place})["decision"] for line in lines}

    return judge


@pytest.mark.parametrize("name", HOSTILE)
def test_no_spelling_passes_a_guard(judged, name, monkeypatch):
    monkeypatch.setattr(commandline, "parse", cache(commandline.parse))
    found = judged(HOSTILE[name])
    assert [line for line, got in found.items() if got == "allow"] == []
    # a rule that asks finds what a rule that denies does
    assert [line for line, got in judged(HOSTILE[name], "ask").items() if got != "ask"] == []
    assert len(found) > 5


@pytest.mark.parametrize("name", DAILY)
def test_a_day_of_work_asks_nothing_of_who_allows_its_programs(judged, name):
    found = judged(DAILY[name])
    assert {line: got for line, got in found.items() if got != "allow"} == {}
