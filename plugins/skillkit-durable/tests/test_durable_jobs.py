"""Jobs in a database, without any worker: each in SQLite and in PostgreSQL."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import durable_postgres
import pytest
from skillkit_durable.database import Database, DatabaseAway
from skillkit_durable.jobs import Job, Jobs, JobTaken, LastTry, Spec
from skillkit_durable.lease import Lease, dead_workers, give_up, reaped, workers
from skillkit_durable.schedules import Schedules, next_time

from skillkit_core.errors import UnknownName, UsageError

ASKED = {"call": "c1", "kind": "approval", "about": {"tool": "pay", "args": {}, "questions": []}}
SPEC = Spec(text="do it", folder="/", machine="here")
ME = {"kind": "test", "principal": "owner"}


@pytest.fixture(params=["sqlite", "postgres"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    if request.param == "sqlite":
        url = f"sqlite:///{tmp_path / 'folder' / 'jobs.sqlite'}"
    else:
        url = request.getfixturevalue("postgres")
        durable_postgres.forget_jobs(url)
    made = Database(url)
    yield made
    made.close()


@pytest.fixture
def jobs(database: Database) -> Jobs:
    return Jobs(database, most_open=3)


def begun(jobs: Jobs, worker: str = "w1", **options: Any) -> Job:
    job, _ = jobs.submit(SPEC, **options)
    found = jobs.begin(job.id, job.round, worker, 5)
    assert found is not None
    return found


def test_the_same_key_is_the_same_job_whoever_is_first(database: Database, jobs: Jobs) -> None:
    def submit(_: int) -> tuple[Job, bool]:
        with closing(Database(database.url)) as own:
            return Jobs(own).submit(SPEC, key="invoice")

    with ThreadPoolExecutor(4) as threads:
        made = list(threads.map(submit, range(8)))
    assert sum(new for _, new in made) == 1 and len({job.id for job, _ in made}) == 1
    assert [job.key for job in jobs.list()] == ["invoice"]
    with pytest.raises(UsageError, match="names another request"):
        jobs.submit(Spec(text="something else", folder="/", machine="here"), key="invoice")
    assert jobs.get("invoice") == jobs.get(made[0][0].id[:8]) == jobs.list()[0]
    with pytest.raises(UnknownName):
        jobs.get("nobody")


def test_a_queue_that_is_full_takes_nothing_more(jobs: Jobs) -> None:
    for _ in range(3):
        jobs.submit(SPEC)
    with pytest.raises(UsageError, match="3 jobs of queue 'default' are open"):
        jobs.submit(SPEC)
    jobs.submit(SPEC, queue="other")
    jobs.cancel(jobs.list(queue="default")[0].id)
    jobs.submit(SPEC)
    with pytest.raises(UsageError, match="longer than"):
        jobs.submit(Spec(text="x" * (1 << 20) + "x", folder="/", machine="here"))


def test_only_the_worker_that_has_a_job_may_end_it(jobs: Jobs) -> None:
    old = begun(jobs)
    new = jobs.begin(old.id, 1, "w2", 5)
    assert new is not None and (new.worker, new.recoveries) == ("w2", 1)
    with pytest.raises(JobTaken):
        jobs.finish(old, "completed", result={"answer": "of a worker that was given up"})
    jobs.finish(new, "completed", result={"answer": "yes"})
    assert (jobs.get(old.id).status, jobs.get(old.id).result) == ("completed", {"answer": "yes"})
    assert jobs.begin(old.id, 1, "w3", 5) is None


def test_a_worker_that_gives_its_jobs_back_is_no_death_and_too_many_deaths_are_poison(jobs: Jobs) -> None:
    job = begun(jobs)
    jobs.let_go("w1")
    again = jobs.begin(job.id, 1, "w2", 1)
    assert again is not None and again.recoveries == 0
    with pytest.raises(LastTry):
        jobs.begin(job.id, 1, "w3", 1, last=False)
    assert jobs.get(job.id).worker == "w2"
    assert jobs.begin(job.id, 1, "w3", 1) is not None
    assert jobs.begin(job.id, 1, "w4", 1) is None
    assert (jobs.get(job.id).status, jobs.get(job.id).error) == ("failed", "poison: 2 workers died with this job")
    retried = jobs.retry(job.id)
    assert (retried.status, retried.round, retried.again, retried.recoveries) == ("queued", 2, 2, 0)


def test_of_many_answers_at_once_one_counts(database: Database, jobs: Jobs) -> None:
    job = begun(jobs)
    jobs.finish(job, "waiting", waiting=[ASKED])

    def answer(n: int) -> str:
        with closing(Database(database.url)) as own:
            return Jobs(own).answer(job.id, "c1", {"decision": "allow", "reason": str(n)}, ME)

    with ThreadPoolExecutor(4) as threads:
        assert sorted(threads.map(answer, range(8))) == ["late"] * 7 + ["taken"]
    assert (jobs.get(job.id).status, jobs.get(job.id).round) == ("queued", 2)
    assert jobs.answer(job.id, "c2", {"decision": "allow"}, ME) == "unknown"
    assert len(jobs.answers(job)) == 1
    second = jobs.begin(job.id, 2, "w1", 5)
    assert second is not None
    jobs.finish(second, "completed", used=list(jobs.answers(job)))
    assert jobs.answers(job) == {} and jobs.answer(job.id, "c1", {"decision": "deny"}, ME) == "late"


def test_a_job_is_cancelled_at_once_or_by_its_worker(jobs: Jobs) -> None:
    waits, runs = jobs.submit(SPEC)[0], begun(jobs)
    assert jobs.cancel(waits.id).status == "cancelled" and jobs.begin(waits.id, 1, "w1", 5) is None
    assert jobs.cancel(runs.id).status == "running" and jobs.to_cancel("w1") == [runs.id]
    jobs.finish(runs, "cancelled")
    with pytest.raises(UsageError, match="cancelled already"):
        jobs.cancel(runs.id)


def test_what_is_due_is_handed_out_until_the_engine_has_it(jobs: Jobs) -> None:
    later, _ = jobs.submit(SPEC, at=time.time() + 3600)
    soon, urgent = jobs.submit(SPEC)[0], jobs.submit(SPEC, priority=1)[0]
    assert [job.id for job in jobs.due()] == [urgent.id, soon.id]
    jobs.handed(jobs.due())
    assert jobs.due() == [] and later.at > time.time()
    running = jobs.begin(soon.id, 1, "w1", 5)
    assert running is not None
    jobs.hand_back(running, -1)
    assert [(job.id, job.round) for job in jobs.due()] == [(soon.id, 2)]


def test_jobs_that_ended_long_ago_are_forgotten(jobs: Jobs) -> None:
    job, other = begun(jobs), jobs.submit(SPEC)[0]
    jobs.finish(job, "completed")
    assert jobs.forget(1) == []
    assert jobs.forget(-1) == [f"{job.id}.1"] and [one.id for one in jobs.list()] == [other.id]


def test_a_worker_that_does_not_beat_is_given_up_and_knows_it(database: Database) -> None:
    lost: list[str] = []
    lease = Lease(database, 1.0, "1", ["default"], lost.append)
    lease.begin()
    assert lease.held() and dead_workers(database) == []
    (row,) = workers(database)
    assert (row["id"], row["pid"] > 0) == (lease.worker, True)
    with database.transaction() as transaction:  # it slept
        transaction.change("UPDATE skillkit_worker SET beat=beat-5, machine='another'")
    (dead,) = dead_workers(database)
    assert dead_workers(database, silent=False) == []
    assert give_up(database, dead) and not give_up(database, dead)
    lease.join(20)
    assert lost == ["another worker gave this one up, because it did not beat for longer than the lease"]
    reaped(database, dead)
    assert dead_workers(database) == []


def test_a_worker_that_slept_beats_again_and_lets_the_others_beat_first(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    lease = Lease(database, 1.0, "1", ["default"], pytest.fail)
    lease.begin()
    assert not lease.judges()  # it has just begun
    until(lease.judges)
    with database.transaction() as transaction:  # the machine slept, and nobody has given it up
        transaction.change("UPDATE skillkit_worker SET beat=beat-3600")
    now = time.time
    monkeypatch.setattr(time, "time", lambda: now() + 3600)
    assert not lease.judges()
    until(lambda: workers(database)[0]["silent"] < 60)
    assert not lease.judges()
    until(lease.judges)
    lease.end()
    assert workers(database)[0]["beat"] == 0


HOLDER = """
import sqlite3, sys, time
from skillkit_durable.database import Database
from skillkit_durable.lease import Lease
database = Database(sys.argv[1])
Lease(database, 1.0, "1", ["default"], print).begin()
connection = sqlite3.connect(database.path, isolation_level=None)
connection.execute("BEGIN IMMEDIATE")
print("holds", flush=True)
time.sleep(600)
"""


def test_a_worker_that_was_stopped_while_it_wrote_does_not_lock_the_others_out(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path / 'jobs.sqlite'}")
    jobs = Jobs(database)
    jobs.submit(SPEC)
    with subprocess.Popen([sys.executable, "-c", HOLDER, database.url], stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout and holder.stdout.readline() == "holds\n"
        holder.send_signal(signal.SIGSTOP)
        assert len(jobs.list()) == len(jobs.due()) == 1  # who only reads does not wait
        until(lambda: [row for row in dead_workers(database) if give_up(database, row)])
        assert holder.wait(30) == -signal.SIGKILL
    jobs.submit(SPEC)
    assert len(jobs.list()) == 2


def until(holds: Callable[[], object]) -> None:
    give_up = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < give_up
        time.sleep(0.02)


def test_a_schedule_makes_each_job_once_and_missed_times_give_one(database: Database, jobs: Jobs) -> None:
    schedules = Schedules(database, jobs)
    place = {"queue": "default", "priority": 100, "partition": ""}
    schedules.put("often", "0 * * * *", SPEC, **place)
    schedules.make_due()
    assert jobs.list() == []
    with database.transaction() as transaction:
        transaction.change("UPDATE skillkit_schedule SET next=next-86400")

    def make_due(_: int) -> None:
        with closing(Database(database.url)) as own:
            Schedules(own, jobs).make_due()

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(make_due, range(6)))
    assert [job.schedule for job in jobs.list()] == ["often"] and schedules.get("often").next > time.time()
    assert schedules.pause("often", True).paused
    schedules.remove("often")
    with pytest.raises(UnknownName):
        schedules.get("often")
    with pytest.raises(UsageError, match="no cron expression"):
        next_time("every day", 0)


def test_the_file_is_the_owners_alone(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path / 'new' / 'jobs.sqlite'}")
    Jobs(database).submit(SPEC)
    assert [database.path.stat().st_mode & 0o777, database.path.parent.stat().st_mode & 0o777] == [0o600, 0o700]


def test_a_database_that_is_away_is_said_in_one_line_without_the_password(tmp_path: Path) -> None:
    with pytest.raises(DatabaseAway) as away:
        Jobs(Database(f"postgresql://me:hunter2secret@/jobs?host={tmp_path}")).list()
    assert "hunter2secret" not in str(away.value) and "\n" not in str(away.value)
    (tmp_path / "blocked").touch()
    with pytest.raises(DatabaseAway):
        Jobs(Database(f"sqlite:///{tmp_path / 'blocked' / 'jobs.sqlite'}")).list()


@pytest.mark.smoke
def test_submitting_and_listing_import_no_engine(skillkit_home: Any) -> None:
    code = """
import sys
from skillkit_core.cli.main import run
for words in (["submit", "hello"], ["jobs", "list"], ["--help"]):
    assert run(["--plugins", "durable,sessions", *words]) == 0
print([n for n in sys.modules if n.split(".")[0] in ("dbos", "sqlalchemy", "psycopg", "croniter")])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "[]"


def test_the_address_is_a_secret_and_a_project_has_no_say(skillkit_cli: Any, skillkit_home: Any) -> None:
    skillkit_home.write_config("durable: {url: 'postgresql://me:hunter2secret@db/jobs'}\n")
    project = skillkit_home.cwd / ".skillkit"
    project.mkdir(exist_ok=True)
    (project / "config.yaml").write_text("durable: {url: 'sqlite:////tmp/of-the-project.sqlite', lease: 77}\n")
    skillkit_cli("config", "trust", "--yes")
    shown = skillkit_cli("config", "show", "durable", "--json").ok()
    assert "hunter2secret" not in shown.stdout and shown.json["durable.url"]["value"] == "***"
    away = skillkit_cli("jobs", "list")
    assert away.exit_code == 1 and "postgresql://db/jobs" in away.stderr and "hunter2secret" not in away.stderr
    wrong = skillkit_cli("jobs", "list", env={"SKILLKIT_DURABLE_URL": "mysql://me:hunter2secret@db/jobs"})
    assert wrong.exit_code == 2 and "mysql" in wrong.stderr and "hunter2secret" not in wrong.stderr
    there = skillkit_cli("jobs", "list", env={"SKILLKIT_DURABLE_URL": f"sqlite:///{skillkit_home.cwd / 'own.sqlite'}"})
    assert there.ok().stderr == "" and (skillkit_home.cwd / "own.sqlite").exists()
