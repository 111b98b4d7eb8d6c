"""Plans over the death of their process: killed before and after any write of a session, no finished step is done twice."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import planner_desk
import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
SEED = 27
Play = Callable[..., Any]


@pytest.fixture(scope="module")
def desk() -> Iterator[Play]:
    """Plays a job in a process of its own; gives what it tells, ``None``: it was killed."""
    paths = [os.path.dirname(planner_desk.__file__), *sys.path]
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    argv = [sys.executable, planner_desk.__file__]
    server = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environ)
    assert server.stdin is not None and server.stdout is not None

    def play(home: Path, **job: Any) -> Any:
        if not home.exists():
            planner_desk.write_skills(home / "skills")
        print(json.dumps({"home": str(home), **job}), file=server.stdin, flush=True)
        answer = json.loads(server.stdout.readline())
        assert "error" not in (answer["result"] or {}), answer["result"]
        return answer["result"]

    with server:
        yield play
        server.stdin.close()


def effects(home: Path) -> Counter[str]:
    file = home / "effects"
    return Counter(file.read_text().split()) if file.exists() else Counter()


def plain(records: list[dict[str, Any]]) -> bytes:
    """The trace of a plan, without times and names of sessions."""
    rows = [{k: v for k, v in row.items() if k not in ("ms", "session")} for row in records]
    return json.dumps(sorted(rows, key=lambda row: row["step_id"]), sort_keys=True).encode()


@pytest.mark.parametrize("count", [4, pytest.param(30, marks=pytest.mark.slow)])
def test_s7_12_a_plan_that_is_killed_at_random_moments_is_resumed_and_no_finished_step_is_done_again(
    desk, tmp_path, count
):
    whole = desk(tmp_path / "whole")
    assert whole["outcome"] == "completed" and set(whole["states"].values()) == {"completed"}
    moments = random.Random(SEED).sample(
        [(n, before) for n in range(2, whole["writes"] - 6) for before in (True, False)], count
    )
    for place, dies in enumerate(moments):
        home = tmp_path / f"{place}"
        assert desk(home, dies=dies) is None, f"it was not killed at {dies}"
        before = effects(home)
        done = desk(home, resume=True)
        after = effects(home)
        assert done["outcome"] == "completed" and set(done["states"].values()) == {"completed"}, (dies, done)
        assert all(text in done["content"] for text in ("X is cold.", "Captured.", "Updated.")), dies
        finished: set[int] = set()
        for record in done["records"]:
            assert not (record["state"] == "running" and record["step_id"] in finished), (dies, record)
            if record["state"] == "completed":
                finished.add(record["step_id"])
        begun = Counter(r["step_id"] for r in done["records"] if r["state"] == "running")
        assert max(begun.values()) <= 2, (dies, begun)
        again = begun[2] - 1
        assert done["asked"] == again, "a step that changes something is not done again unasked"
        for name, number in (("deep-research", 1), ("fiction-editing", 3)):
            assert before[name] <= after[name] <= begun[number], (dies, name)
        assert after["tool"] <= begun[2], dies


def test_s7_12_a_step_that_had_begun_waits_where_nobody_can_be_asked_and_is_not_done_again_where_a_person_says_no(
    desk, tmp_path
):
    """It is killed while its tool works."""
    home = tmp_path / "home"
    assert desk(home, dies="tool") is None and effects(home)["tool"] == 1
    waits = desk(home, resume=True, person=False)
    assert waits["outcome"] == "suspended" and effects(home)["tool"] == 1
    done = desk(home, resume=True, again=False)
    assert done["states"]["2"] == "failed" and effects(home)["tool"] == 1 and done["asked"] == 1
    assert "interrupted: it had begun" in done["content"]


def test_s7_12_a_step_waits_for_an_approval_and_is_resumed_by_another_process(desk, tmp_path):
    home = tmp_path / "home"
    first = desk(home, approver="defer")
    assert first["outcome"] == "suspended" and first["states"] == {"1": "completed", "2": "waiting", "3": "completed"}
    assert effects(home) == Counter({"deep-research": 1, "fiction-editing": 1, "org-capture": 1})
    second = desk(home, approver="deny", resume=True, decisions="allow")
    assert second["outcome"] == "completed" and set(second["states"].values()) == {"completed"}
    assert effects(home) == Counter({"deep-research": 1, "fiction-editing": 1, "org-capture": 1, "tool": 1})
    assert "Captured." in second["content"]


def test_s7_12_a_step_that_waited_and_is_denied_has_failed(desk, tmp_path):
    home = tmp_path / "home"
    desk(home, approver="defer")
    second = desk(home, approver="allow", resume=True, decisions="deny")
    assert second["states"] == {"1": "completed", "2": "failed", "3": "completed"} and effects(home)["tool"] == 0


def test_s7_13_the_same_answers_give_the_same_trace_byte_for_byte_but_for_times(desk, tmp_path):
    one, two = (desk(tmp_path / name) for name in ("one", "two"))
    assert plain(one["records"]) == plain(two["records"]) and len(one["records"]) == 6
