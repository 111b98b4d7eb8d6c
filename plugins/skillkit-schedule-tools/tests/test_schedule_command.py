"""Schedules at the command line: real processes, killed, stopped, and asked for a decision."""

from __future__ import annotations

import json
import signal
import time
from typing import Any

import pytest


@pytest.fixture
def due(command: Any, store: Any) -> Any:
    """Schedules a request that is due now; gives its name."""

    def add(*args: str, when: str = "every hour") -> str:
        name = str(command("schedule", "add", "--json", when, *args).ok().json["id"])
        again(store, name)
        return name

    return add


def again(store: Any, name: str) -> None:
    """Let a schedule be due now."""
    with store._opened() as base:
        base.execute("UPDATE schedules SET next = ? WHERE id = ?", (time.time() - 1, name))


@pytest.mark.smoke
def test_a_request_is_scheduled_shown_run_and_removed(command, due, marks, skillkit_home):
    told = command("schedule", "add", "every weekday at 8", "--name", "news", "what", "is", "new").ok().stdout
    assert told.startswith("news: At 08:00 on Monday through Friday (Europe/Berlin); next ")
    name = due("errand")
    (run,) = command("schedule", "run", "--once", "--json").ok().json_lines
    assert (run["schedule"], run["state"], run["text"]) == (name, "completed", "done") and marks() == ["errand"]
    listed = {row["id"]: row for row in command("schedule", "list", "--json").ok().json}
    assert (listed[name]["last"], listed["news"]["last"]) == ("completed", "") and listed["news"][
        "cron"
    ] == "0 8 * * 1-5"
    shown = command("schedule", "show", name).ok().stdout
    assert "completed" in shown and run["session"] in shown
    assert "errand" in command("sessions", "show", run["session"]).ok().stdout
    assert "news" in command("schedule", "list").ok().stdout
    command("schedule", "remove", name).ok()
    missing = command("schedule", "show", name)
    assert missing.exit_code == 2 and "news" in missing.stderr
    assert command("schedule", "run", "--once").ok().stdout == "", "nothing is due"


def test_what_is_wrong_is_said_before_anything_is_kept(command):
    for args, said in (
        (("every blah at 8", "x"), "it is not clear which days"),
        (("every day at 8", "x", "--name", "a/b"), "is no name"),
        (("every day at 8", "x", "--skill", "nosuch"), "nosuch"),
        (("every day at 8", "x", "--zone", "Mars/Base"), "no time zone"),
    ):
        refused = command("schedule", "add", *args)
        assert refused.exit_code == 2 and said in refused.stderr, str(refused)
    assert command("schedule", "list", "--json").ok().json == []


def test_t_3_a_run_that_was_killed_goes_on_in_its_session_and_does_nothing_twice(command, due, marks, store):
    name = due("errand die errand")
    killed = command("schedule", "run", "--once")
    assert killed.exit_code != 0 and marks() == ["errand", "die"]
    assert [run.state for run in store.runs(name)] == ["running"]
    (run,) = command("schedule", "run", "--once", "--json").ok().json_lines
    assert marks() == ["errand", "die", "errand"], (
        "nobody knows whether the call had an effect, so it is not made again"
    )
    assert run["state"] == "completed" and run["tries"] == 2 and "interrupted" in run["text"].lower()
    assert command("schedule", "run", "--once").ok().stdout == ""


def test_a_question_of_a_guard_waits_in_the_session_and_later_moments_are_skipped_meanwhile(command, due, marks, store):
    name = due("deed")
    (run,) = command("schedule", "run", "--once", "--json").ok().json_lines
    assert run["state"] == "waiting" and f"skillkit resume {run['session']}" in run["reason"] and marks() == []
    listed = {row["id"]: row for row in command("sessions", "list", "--json").ok().json}
    assert listed[run["session"]]["suspended"]
    again(store, name)
    (skipped,) = command("schedule", "run", "--once", "--json").ok().json_lines
    assert skipped["state"] == "skipped" and run["session"] in skipped["reason"]
    command("resume", run["session"], "--allow", "all").ok()
    assert marks() == ["deed"]
    again(store, name)
    (later,) = command("schedule", "run", "--once", "--json").ok().json_lines
    assert later["state"] == "waiting" and later["session"] != run["session"] and marks() == ["deed"]
    denied = due("deed", "--approvals", "deny")
    (run,) = command("schedule", "run", "--once", "--json").ok().json_lines
    assert (run["schedule"], run["state"]) == (denied, "completed") and marks() == ["deed"]


def test_a_loop_that_is_stopped_leaves_its_run_to_the_next_one(command, due, marks, store, skillkit_home):
    name = due("linger errand")
    with command.start("schedule", "run", "--json") as process:
        deadline = time.monotonic() + 60
        while marks() != ["linger"] and time.monotonic() < deadline:
            time.sleep(0.05)
        beside = command("schedule", "run", "--once").ok()
        assert beside.stdout == "" and marks() == ["linger"], "one run at a time, over processes"
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=60)
    assert "Traceback" not in err and [run.state for run in store.runs(name)] == ["running"]
    (skillkit_home.cwd / "lingered").touch()
    (run,) = command("schedule", "run", "--once", "--json").ok().json_lines
    assert run["state"] == "completed" and run["tries"] == 2 and marks()[-1] == "errand"


def test_a_folder_that_is_gone_and_an_endless_run_are_failures_that_end_no_loop(
    command, due, skillkit_home, store, tmp_path
):
    gone = tmp_path / "gone"
    gone.mkdir()
    name = str(command("schedule", "add", "--json", "every hour", "errand", cwd=gone).ok().json["id"])
    gone.rmdir()
    again(store, name)
    due("linger")
    skillkit_home.write_config("provider: obeys\nschedule: {seconds: 0.5}\n")
    runs = {run["schedule"]: run for run in command("schedule", "run", "--once", "--json").ok().json_lines}
    assert {run["state"] for run in runs.values()} == {"failed"} and "is not there" in runs[name]["reason"]
    assert any("longer than 0.5 seconds" in run["reason"] for run in runs.values())


def test_a_reminder_is_printed_by_the_loop_and_shown_to_the_person_who_comes(command, due, store):
    due("--remind", "call", "Ida", when="every day at 8")
    assert "reminder: call Ida" in command("schedule", "run", "--once").ok().stdout
    assert store.runs(state="unseen"), "a pipe is no person"
    with command.terminal("chat", "--no-session") as screen:
        screen.send("Hello.\r")
        screen.wait_for("call Ida")
        screen.wait_for("You said")
    assert not store.runs(state="unseen") and store.runs(state="seen")


def test_the_json_of_a_schedule_has_no_secret(command):
    made = command("webhook", "add", "deploys", "--json", "errand").ok().json
    assert len(made["secret"]) > 40
    for args in (("webhook", "list", "--json"), ("schedule", "show", "deploys", "--json"), ("webhook", "list")):
        assert made["secret"] not in command(*args).ok().stdout
    assert json.loads(command("schedule", "list", "--json").ok().stdout) == []
