"""What is due is taken once: missed moments, locks, processes that die."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
from skillkit_schedule_tools import Schedule, read_when

from skillkit_core import UsageError

NOW = 1_800_000_000.0 - 1_800_000_000.0 % 3600
HOUR = 3600.0


@pytest.fixture
def hourly(store: Any) -> Any:
    """A schedule of each hour, first due at ``NOW + HOUR``."""

    def make(**fields: Any) -> Schedule:
        when = read_when("every hour", "UTC", NOW)
        return store.add(
            Schedule("", "run", "Look.", folder="/", next=NOW + HOUR, created=NOW, **when._asdict(), **fields)
        )

    return make


def taken(store: Any, name: str, now: float) -> list[tuple[float, str]]:
    """Take and end every run that is due."""
    found = []
    while (run := store.take(name, now)) is not None:
        store.update(run.number, state="completed")
        found.append(run.due - NOW)
    return found


@pytest.mark.smoke
@pytest.mark.parametrize(
    ("missed", "due"), [("once", [5 * HOUR]), ("all", [HOUR, 2 * HOUR, 3 * HOUR, 4 * HOUR, 5 * HOUR]), ("skip", [])]
)
def test_moments_at_which_nothing_ran_are_made_up_for_as_the_schedule_says(store, hourly, missed, due):
    made = hourly(missed=missed)
    late = NOW + 5 * HOUR + 600
    assert store.due(NOW) == [] and store.due(late) == [made.id]
    assert taken(store, made.id, late) == due
    assert store.get(made.id).next == NOW + 6 * HOUR and store.due(late) == []
    if missed == "skip":
        assert [run.state for run in store.runs(made.id)] == ["skipped"]
        assert taken(store, made.id, NOW + 6 * HOUR + 5) == [6 * HOUR], "what is due now is not missed"


def test_a_single_moment_comes_once_and_stays_in_the_list(store):
    made = store.add(Schedule("soon", "run", "Look.", next=NOW, **read_when("in 1 hour", "UTC", NOW - HOUR)._asdict()))
    assert len(taken(store, made.id, NOW + 1)) == 1 and taken(store, made.id, NOW + HOUR) == []
    assert (
        store.get("soon").next is None
        and store.remove("soon")
        and not store.remove("soon")
        and store.runs("soon") == []
    )
    with pytest.raises(UsageError, match="already"):
        for _ in range(2):
            store.add(made)


def test_a_run_whose_process_died_is_taken_again_and_given_up_in_the_end(store, hourly):
    made = hourly()
    numbers = [store.take(made.id, NOW + HOUR).number for _ in range(3)]
    assert len(set(numbers)) == 1 and store.take(made.id, NOW + HOUR) is None
    (run,) = store.runs(made.id)
    assert (run.state, run.tries, run.reason) == ("failed", 3, "its process died each time")


def test_the_lock_of_a_schedule_is_held_by_one_process_and_released_when_it_dies(store):
    program = (
        "import sys, pathlib\nfrom skillkit_schedule_tools import Store\n"
        "with Store(pathlib.Path(sys.argv[1])).lock('s1') as held:\n    print(held, flush=True)\n    sys.stdin.read()\n"
    )
    argv = [sys.executable, "-c", program, str(store.file.parent)]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout.readline() == "True\n"
        with store.lock("s1") as held, store.lock("s2") as free:
            assert (held, free) == (False, True)
        other.kill()
    with store.lock("s1") as held:
        assert held


def test_a_delivery_with_a_known_key_is_the_same_run_and_no_more_wait_than_may(store):
    store.add(Schedule("hook", "webhook", "Look.", secret="s"))
    assert store.deliver("hook", NOW, "a", "k") == (1, True) and store.deliver("hook", NOW, "a", "k") == (1, False)
    assert [store.deliver("hook", NOW, "x", None) is None for _ in range(101)].count(True) == 2


def test_a_reminder_is_told_once_each_time_and_never_run(store):
    when = read_when("every hour", "UTC", NOW)
    made = store.add(Schedule("ida", "remind", "Call Ida.", next=NOW + HOUR, **when._asdict()))
    assert store.due(NOW + HOUR) == [] and store.take(made.id, NOW + HOUR) is None and store.remind(NOW) == []
    (told,) = store.remind(NOW + HOUR)
    assert told.text == "Call Ida." and store.remind(NOW + HOUR) == [told], "until somebody has seen it"
    store.update(told.number, state="seen")
    assert store.remind(NOW + HOUR) == [] and len(store.remind(NOW + 3 * HOUR)) == 1
