"""Workers as processes: what they do, what waits for people, and what becomes of jobs whose worker is killed or paused."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
from itertools import pairwise
from pathlib import Path
from typing import Any

import durable_postgres
import pytest


@pytest.mark.smoke
def test_an_answer_is_given_once_also_after_everything_was_restarted(bench: Any) -> None:
    first, again = bench.submit("note a", "--key", "k"), bench.submit("note a", "--key", "k")
    paid, asked = bench.submit("pay rent food"), bench.submit("ask tea")
    assert (first["id"], first["new"], again["new"]) == (again["id"], True, False)
    worker = bench.worker()
    assert bench.wait("k", paid["id"], asked["id"]) == ["completed", "waiting", "waiting"]
    assert bench.job("k")["result"]["answer"] == "done: noted a"
    assert bench.end(worker) == 0

    questions = [one["about"]["questions"][0]["text"] for one in bench.job(paid["id"])["waiting"]]
    rent, food = [one["call"] for one in bench.job(paid["id"])["waiting"]]
    assert questions == ["Pay rent?", "Pay food?"] and bench.did("rent") == []
    bench.cli("jobs", "answer", paid["id"], rent, "--allow").ok()
    wrong = bench.cli("jobs", "answer", asked["id"], "--answers", '{"how": "strong"}')
    assert wrong.exit_code == 2 and "Traceback" not in wrong.stderr
    answer = ("jobs", "answer", asked["id"], "--answers", '{"what": "green"}')
    with bench.cli.start(*answer) as one, bench.cli.start(*answer) as other:  # two people at once
        said = sorted((process.communicate(timeout=60)[0], process.returncode) for process in (one, other))
    (taken, good), (late, bad) = said
    assert (taken.split(" ", 1)[1], good) == ("answered; a worker goes on with it\n", 0)
    assert (late.split(" ", 1)[1], bad) == ("was answered already\n", 1)

    follow = bench.cli.start("jobs", "wait", paid["id"], "--follow", "--json")
    bench.worker()
    assert bench.wait(paid["id"], asked["id"]) == ["waiting", "completed"]
    assert bench.job(asked["id"])["result"]["answer"] == "done: you wish green"
    assert (len(bench.did("rent")), bench.did("food"), len(bench.did("tea green"))) == (1, [], 1)
    assert [one["call"] for one in bench.job(paid["id"])["waiting"]] == [food]
    shown = bench.cli("jobs", "show", paid["id"]).ok().stdout
    assert "Pay food?" in shown and f"skillkit jobs answer {paid['id']} {food} --allow" in shown
    bench.cli("jobs", "answer", paid["id"], "--deny", "--reason", "too dear").ok()
    assert bench.wait(paid["id"]) == ["completed"]
    assert bench.job(paid["id"])["result"]["answer"].startswith("done: paid rent | ")
    assert "too dear" in bench.job(paid["id"])["result"]["answer"]
    assert (len(bench.did("rent")), bench.did("food"), len(bench.did("a"))) == (1, [], 1)
    used = bench.cli("jobs", "answer", paid["id"], rent, "--allow")
    assert (used.exit_code, used.stdout) == (1, f"{rent} was answered already\n")

    with follow:
        told = [json.loads(line) for line in follow.communicate(timeout=60)[0].splitlines()]
    assert follow.returncode == 0
    assert [one["status"] for one in told if one["type"] == "job"][-1] == "completed"
    entries = [one["data"]["message"] for one in told if one["type"] == "entry" and one["kind"] == "message"]
    assert [one["role"] for one in entries] == ["user", "assistant", "tool_result", "tool_result", "assistant"]
    assert (told[-1]["type"], told[-1]["result"]) == ("result", bench.job(paid["id"])["result"])
    words = bench.cli("jobs", "wait", paid["id"], "--follow").ok()
    assert words.stdout.startswith("I will. \ndone: paid rent | ") and "  pay rent\n" in words.stderr
    assert bench.cli("jobs", "wait", paid["id"], asked["id"], "--follow").exit_code == 2


def test_what_a_killed_worker_left_is_carried_on_with_the_same_keys(bench: Any, monkeypatch: Any) -> None:
    monkeypatch.setenv("SKILLKIT_PLUGINS", "durable,sessions,subagents,works")
    safe, once = bench.submit("note safe 60"), bench.submit("once once 60")
    asks = bench.submit("delegate once below 60")
    first = bench.worker()
    for name in ("safe", "once", "below"):
        bench.until_did(name)
    assert bench.end(first, signal.SIGKILL) == -signal.SIGKILL

    second = bench.worker()
    assert bench.wait(once["id"], asks["id"]) == ["completed"] * 2
    assert "interrupted" in bench.job(asks["id"])["result"]["answer"]  # the agent below goes on in its session
    assert len(bench.did("below")) == 1
    assert "interrupted" in bench.job(once["id"])["result"]["answer"]
    assert len(bench.did("once")) == 1
    bench.until_did("safe", 2)
    before, after = bench.did("safe")
    assert (before["key"], before["pid"] == after["pid"]) == (after["key"], False)
    assert [bench.job(one["id"])["recoveries"] for one in (safe, once)] == [1, 1]

    os.killpg(second.pid, signal.SIGSTOP)  # it holds the session, and does not beat
    bench.worker()
    assert second.wait(60) == -signal.SIGKILL
    bench.until_did("safe", 3)
    assert {one["key"] for one in bench.did("safe")} == {before["key"]}
    bench.cli("jobs", "cancel", safe["id"]).ok()
    assert bench.wait(safe["id"]) == ["cancelled"]
    assert len(bench.jobs()) == 3


def test_a_step_of_a_plan_goes_on_with_the_keys_of_the_first_time(
    bench: Any, skillkit_home: Any, monkeypatch: Any
) -> None:
    pytest.importorskip("skillkit_planner")
    engines = "skills,commands,engines,engine-automation,routing,toolpacks,planner"
    monkeypatch.setenv("SKILLKIT_PLUGINS", f"durable,sessions,{engines},works")
    about = "{name: clerk, description: Notes things., metadata: {skillkit: {engine: automation, tools: [note]}}}"
    step = "skill_name: clerk, sub_query: 'note {query}"
    for path, text in {
        "skills/clerk/SKILL.md": f"---\n{about}\n---\nDo it.\n",
        "plans/two.yaml": f"steps: [{{step_id: 1, {step}-1'}}, {{step_id: 2, {step}-2 60', depends_on: [1]}}]\n",
    }.items():
        (file := skillkit_home.config_dir / path).parent.mkdir(parents=True)
        file.write_text(text)
    job = bench.submit("step", "--plan", "two")
    assert job["spec"]["kind"] == "run_plan"
    first = bench.worker()
    bench.until_did("step-2")
    assert bench.end(first, signal.SIGKILL) == -signal.SIGKILL
    bench.worker()
    bench.until_did("step-2", 2)
    assert len(bench.did("step-1")) == 1 and len({one["key"] for one in bench.did("step-2")}) == 1
    bench.cli("jobs", "cancel", job["id"]).ok()
    assert bench.wait(job["id"]) == ["cancelled"]


def test_a_job_is_done_by_an_agent_of_a_file(bench: Any, skillkit_home: Any, monkeypatch: Any) -> None:
    monkeypatch.setenv("SKILLKIT_PLUGINS", "durable,sessions,skills,subagents,works")
    agents = skillkit_home.config_dir / "agents"
    agents.mkdir(parents=True)
    (agents / "clerk.md").write_text("---\nname: clerk\ntools: note\n---\nYou note things, and never pay.\n")
    unknown = bench.cli("submit", "--agent", "clark", "pay rent")
    assert unknown.exit_code == 2 and "did you mean 'clerk'?" in unknown.stderr
    both = bench.cli("submit", "--agent", "clerk", "--plan", "p", "pay rent")
    assert both.exit_code == 2 and "exclude each other" in both.stderr
    no_plan = bench.cli("submit", "--plan", "two", "pay rent")
    assert no_plan.exit_code == 2 and "no plugin here carries out plans" in no_plan.stderr
    notes, pays = (
        bench.submit("note seen", "--agent", "clerk")["id"],
        bench.submit("pay rent", "--agent", "clerk")["id"],
    )
    assert bench.job(notes)["spec"]["kind"] == "run_subagent"
    bench.worker()
    assert bench.wait(notes, pays) == ["completed", "completed"]
    assert bench.job(notes)["result"]["answer"] == "done: noted seen"
    assert bench.job(pays)["result"]["answer"] == "done: There is no tool 'pay'." and bench.did("rent") == []


def test_a_worker_that_is_ended_gives_its_jobs_back(bench: Any) -> None:
    job = bench.submit("note long 60")
    bench.submit("fail", "--key", "failing")
    first = bench.worker("--concurrency", "2")
    bench.until_did("long")
    assert bench.wait("failing") == ["failed"]
    assert "the model refuses" in bench.job("failing")["error"]
    bench.world.with_name("world.ready").touch()
    bench.cli("jobs", "retry", "failing").ok()
    assert bench.wait("failing") == ["completed"] and bench.job("failing")["result"]["answer"] == "well"
    assert bench.end(first) == 0

    bench.worker()
    bench.until_did("long", 2)
    assert (bench.job(job["id"])["recoveries"], len({one["key"] for one in bench.did("long")})) == (0, 1)


def test_queues_have_limits_and_schedules_make_jobs(bench: Any, skillkit_home: Any) -> None:
    skillkit_home.write_config(
        "durable: {queues: {alone: {global: 1}, each: {worker: 1}, apart: {partition: 1}, seldom: {rate: 2, period: 60}}}\n"
    )
    folder = skillkit_home.cwd / "elsewhere"
    folder.mkdir()
    alone = [bench.submit(f"note alone{n} 0.5", "--queue", "alone")["id"] for n in range(3)]
    each = [bench.submit(f"note each{n} 1", "--queue", "each")["id"] for n in range(4)]
    apart = [bench.submit(f"note apart{n} 1", "--queue", "apart", "--partition", f"p{n % 2}")["id"] for n in range(4)]
    seldom = [bench.submit(f"note seldom{n}", "--queue", "seldom", "--folder", str(folder))["id"] for n in range(3)]
    later = bench.submit("note later", "--at", "+1h")["id"]
    bench.cli("submit", "--provider", "works", "--cron", "* * * * * */1", "--name", "often", "note often").ok()
    unknown = bench.cli("submit", "--queue", "alon", "x")
    assert unknown.exit_code == 2 and "durable.queues has: default, alone, each, apart, seldom" in unknown.stderr
    for _ in range(2):
        bench.worker("--concurrency", "8")
    assert bench.wait(*alone, *each, *apart) == ["completed"] * 11
    bench.until_did("often")
    bench.cli("jobs", "schedules", "remove", "often").ok()

    jobs = {job["id"]: job for job in bench.jobs()}
    by_worker = [[name for name in each if jobs[name]["worker"] == worker] for worker in bench.known_workers()]
    for one_after_another in (alone, *by_worker, apart[::2], apart[1::2]):
        times = sorted((jobs[name]["started"], jobs[name]["ended"]) for name in one_after_another)
        assert times and all(after[0] >= before[1] for before, after in pairwise(times))
    assert sorted(jobs[name]["status"] for name in seldom) == ["completed", "completed", "queued"]
    assert {one["folder"] for one in bench.did("seldom")} == {str(folder)}
    assert jobs[later]["status"] == "queued" and bench.did("later") == []
    often = [job for job in jobs.values() if job["schedule"] == "often"]
    assert often and len({job["key"] for job in often}) == len(often)
    rows = {row["queue"]: row for row in bench.cli("jobs", "queues", "--json").ok().json}
    assert (rows["alone"]["global"], rows["apart"]["partition"], rows["seldom"]["rate"]) == (1, 1, 2)
    assert rows["alone"]["completed"] == 3


@pytest.mark.slow
def test_a_job_with_which_every_worker_dies_is_poison(bench: Any, monkeypatch: Any) -> None:
    monkeypatch.setenv("SKILLKIT_DURABLE__MAX_RECOVERIES", "1")
    deadly, good = bench.submit("die now")["id"], bench.submit("note good")["id"]
    for _ in range(2):
        assert bench.worker().wait(60) == 77
    bench.worker()
    assert bench.wait(deadly, good) == ["failed", "completed"]
    assert bench.job(deadly)["error"].startswith("poison: 2 workers died with this job")
    assert "takes jobs of default" in bench.job(deadly)["error"]
    assert len(bench.did("now")) == 2


def test_a_question_is_answered_by_another_front_end(bench: Any, skillkit_home: Any, make_host: Any) -> None:
    pytest.importorskip("skillkit_live")
    import asyncio

    import skillkit_sessions.plugin
    import works_plugin
    from skillkit_live import Lives

    from skillkit_core import AgentConfig, ApprovalDecision, Origin

    job = bench.submit("pay rent")["id"]
    bench.worker()
    assert bench.wait(job) == ["waiting"]
    environ = {name: value for name, value in os.environ.items() if name != "SKILLKIT_PLUGINS"}
    host = make_host(("sessions", skillkit_sessions.plugin), ("works", works_plugin), environ=environ)

    async def front_end() -> None:
        async with Lives(host) as lives:
            (waiting,) = await lives.inbox()
            assert (waiting.session, waiting.question["tool"]) == (job, "pay")
            config, me = AgentConfig(provider="works"), Origin("web", id="a tab")
            live = await lives.open(waiting.session, origin=me, config=config)
            assert await live.answer(waiting.question["id"], ApprovalDecision("allow"), me) == "taken"
            await live.agent.wait_idle()

    asyncio.run(front_end())
    bench.cli("jobs", "answer", job, "--allow")
    bench.until(lambda: bench.job(job)["status"] in ("completed", "failed"))
    assert bench.job(job)["result"]["answer"] == "done: paid rent"
    assert len(bench.did("rent")) == 1


@pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed: it makes the second machine")
def test_workers_of_two_machines_share_jobs_questions_and_sessions(
    bench: Any, postgres: str, monkeypatch: Any, tmp_path: Path
) -> None:
    durable_postgres.forget_jobs(postgres)
    monkeypatch.setenv("SKILLKIT_DURABLE_URL", postgres)
    monkeypatch.setenv("SKILLKIT_SESSION__STORE", "postgres")
    homes = {name: {"SKILLKIT_HOME": str(tmp_path / name)} for name in ("one", "two")}

    def machine(name: str) -> Any:
        """A worker that sees neither the processes nor the name nor the home of the other machine."""
        alone = ("--unshare-uts", "--hostname", name, "--unshare-pid", "--die-with-parent", "--proc", "/proc")
        return bench.worker(before=("bwrap", *alone, "--dev-bind", "/", "/"), env=homes[name])

    job, asks = bench.submit("note shared 60")["id"], bench.submit("pay rent")["id"]
    first = machine("one")
    bench.until_did("shared")
    assert bench.wait(asks) == ["waiting"]
    second = machine("two")
    assert {row["host"] for row in bench.cli("jobs", "workers", "--json").ok().json} == {"one", "two"}
    bench.cli("jobs", "answer", asks, "--allow", env=homes["two"]).ok()
    assert bench.wait(asks) == ["completed"] and len(bench.did("rent")) == 1

    os.killpg(first.pid, signal.SIGSTOP)  # nobody of the other machine can kill it
    bench.until_did("shared", 2)
    os.killpg(first.pid, signal.SIGCONT)
    assert first.wait(60) == 1 and "this worker ends: another worker gave this one up" in bench.text(first)
    bench.submit("note later 60", "--key", "later")
    bench.until_did("later")
    assert bench.end(second, signal.SIGKILL) == -signal.SIGKILL
    machine("one")
    for name, times in (("shared", 3), ("later", 2)):
        bench.until_did(name, times)
        assert len({one["key"] for one in bench.did(name)}) == 1
    for name in (job, "later"):
        bench.cli("jobs", "cancel", name).ok()
        assert bench.wait(name) == ["cancelled"]
    listed = {row["id"]: row["location"] for row in bench.cli("sessions", "list", "--json", env=homes["two"]).ok().json}
    assert {job, asks} < set(listed) and all("skpg" in place for place in listed.values())
    shown = bench.cli("sessions", "show", asks).ok().stdout
    assert "paid rent" in shown
    # what the paused worker had begun, it has not written down: the call has the one result of the cancelled run
    lines = bench.cli("sessions", "export", job, "--format", "jsonl").ok().stdout.splitlines()
    messages = [entry["message"] for entry in map(json.loads, lines) if entry.get("type") == "message"]
    assert [message["role"] for message in messages].count("tool_result") == 1, messages


def test_what_is_scheduled_is_a_job_while_a_worker_is_there(bench: Any, make_host: Any, monkeypatch: Any) -> None:
    tools = pytest.importorskip("skillkit_schedule_tools", reason="schedules are of skillkit-schedule-tools")
    from skillkit_durable import plugin

    with monkeypatch.context() as alone:  # workers have the plugins that the bench names
        alone.delenv("SKILLKIT_PLUGINS")
        host = make_host(("durable", plugin), cwd=bench.cli.home.cwd)
        assert "durable" in host.plugins

    def taken(number: int) -> str | None:
        schedule = tools.Schedule("look", "run", "note look", folder=str(bench.cli.home.cwd), next=1.0, at=1.0)
        key = f"schedule-look-{number}"
        return asyncio.run(plugin.take_scheduled_run(schedule, "note look", key, host))  # type: ignore[no-any-return]

    monkeypatch.setenv("SKILLKIT_PROVIDER", "works")
    bench.submit("note other")  # makes the database
    assert taken(1) is None
    worker = bench.worker()
    job = taken(1)
    assert job is not None and taken(1) == job
    assert bench.wait(job) == ["completed"] and len(bench.did("look")) == 1
    bench.end(worker)
    assert taken(1) == job and taken(2) is None
