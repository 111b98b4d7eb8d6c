"""Lines by class that do what is denied, or may: none is allowed, however it is spelled. And a day's lines that never ask."""

from pathlib import Path

import pytest
from skillkit_permissions.decide import decide

DATA = Path(__file__).parent / "data"
DENY = ("Bash(rm:*)", "Read(.env)", "Edit(keep.txt)")


def classes(name):
    """Return the lines of a file, by the name of their class."""
    found = {}
    for line in (DATA / name).read_text(encoding="utf-8").splitlines():
        if line.startswith("[") and line.endswith("]"):
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

    def judge(lines, mode="ask", deny=DENY, allow=("Bash",)):
        place = {"cwd": str(project), "root": str(project), "home": str(home), "mode": mode}
        rules = {"allow": list(allow), "deny": list(deny)}
        return {line: decide(rules, {"tool": "bash", "args": {"command": line}, **place})["decision"] for line in lines}

    return judge


@pytest.mark.parametrize("name", HOSTILE)
def test_no_spelling_passes_a_guard(judged, name):
    found = judged(HOSTILE[name])
    assert [line for line, got in found.items() if got == "allow"] == []
    assert len(found) > 5


@pytest.mark.parametrize("name", DAILY)
def test_a_day_of_work_asks_nothing_of_who_allows_its_programs(judged, name):
    found = judged(DAILY[name])
    assert {line: got for line, got in found.items() if got != "allow"} == {}
