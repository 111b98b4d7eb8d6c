"""Jobs as people and workers see them: submitted, handed to a queue, begun, waiting for an answer, ended.

A row is the truth about a job, and its session about the run. The engine is told of a job by its id and *round*: a job that was
answered, retried or handed back comes to the engine again, in another round, and what is left of an older round does nothing.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from skillkit_core.contracts.session_store import new_session_id
from skillkit_core.errors import SkillKitError, UnknownName, UsageError

from .config import DEFAULT, settings_of
from .database import Database, Row, Transaction

if TYPE_CHECKING:
    from skillkit_core import Host

__all__ = ["ENDED", "OPEN", "PRIORITY", "Answered", "Job", "JobTaken", "Jobs", "LastTry", "Spec", "job_id"]

OPEN = ("queued", "running", "waiting")
ENDED = ("completed", "failed", "cancelled")
PRIORITY = 100
MOST_OPEN = 10_000  # jobs of a queue
MOST_TEXT = 1 << 20  # characters of a request, and of an answer that is kept beside the session
Answered = Literal["taken", "late", "unknown"]
Rows: TypeAlias = list[Row]
Names: TypeAlias = list[str]


class JobTaken(SkillKitError):
    """Another worker has the job by now, or somebody cancelled it: what this worker did with it does not count."""


class LastTry(Exception):
    """If one more worker dies with the job, it is poison: so it must not run beside others of which that is true."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spec:
    """What a job is about: the only thing that a worker is given. Its fields are JSON, and so is what is in the database.

    Attributes:
        v: version of this shape.
        kind: the workflow: ``run_turn``, ``run_skill``, ``run_plan`` or ``run_subagent``.
        text: the request.
        session: the session in which the job works; empty: one of its own, which has the id of the job.
        folder: the workspace.
        machine: where the job was submitted; its sessions are there unless the store is shared.
        distribution: the distribution of the command that submitted the job.
        options: the options of the command line that choose model, skill, permissions and limits.
        origin: who submitted the job.
    """

    text: str
    folder: str
    machine: str = field(default_factory=lambda: os.uname().nodename)
    v: int = 1
    kind: str = "run_turn"
    session: str = ""
    distribution: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    origin: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Job:
    """A job.

    Attributes:
        id: names the job, and its session unless the job was given another one.
        key: the idempotency key with which it was submitted.
        spec: what it is about.
        queue, priority, partition: where it waits; of two jobs the one with the lower priority starts first.
        at: when it may start at the earliest; this and all other times are seconds since the epoch.
        status: ``queued``, ``running``, ``waiting`` (for an answer), ``completed``, ``failed`` or ``cancelled``.
        round: how often it was given to the engine.
        again: the round in which a person wanted a failed run to go on.
        cancelled: somebody asked for its end.
        worker: the worker that runs it.
        recoveries: how many workers died with it.
        waiting: the questions that wait, as clients see them.
        result: the answer, outcome, usage and cost.
        error: why it failed.
        schedule: the schedule that made it.
    """

    id: str
    key: str | None
    spec: Spec
    queue: str
    priority: int
    partition: str
    at: float
    created: float
    status: str
    round: int
    again: int
    cancelled: bool
    worker: str | None
    recoveries: int
    started: float | None
    ended: float | None
    waiting: Sequence[Mapping[str, Any]]
    result: Mapping[str, Any] | None
    error: str | None
    schedule: str | None

    @classmethod
    def of(cls, row: Row) -> Job:
        """Return the job in a row."""
        spec = json.loads(row["spec"])
        return cls(
            row["id"],
            row["key"],
            Spec(**{name: spec[name] for name in Spec.__dataclass_fields__ if name in spec}),
            row["queue"],
            row["priority"],
            row["partition_key"],
            row["at"],
            row["created"],
            row["status"],
            row["round"],
            row["again"],
            bool(row["cancelled"]),
            row["worker"],
            row["recoveries"],
            row["started"],
            row["ended"],
            json.loads(row["waiting"]) if row["waiting"] else [],
            json.loads(row["result"]) if row["result"] else None,
            row["error"],
            row["schedule"],
        )

    @property
    def session(self) -> str:
        """The id of the session in which the job works."""
        return self.spec.session or self.id

    @property
    def run(self) -> str:
        """The name of this round for the engine: the same round is never done by two workers at once."""
        return f"{self.id}.{self.round}"

    def to_dict(self) -> dict[str, Any]:
        """Return the job as JSON."""
        told = {name: getattr(self, name) for name in self.__dataclass_fields__ if name not in ("spec", "again")}
        return {
            **told,
            "text": self.spec.text,
            "session": self.session,
            "folder": self.spec.folder,
            "spec": asdict(self.spec),
        }


Found: TypeAlias = list[Job]


def job_id(key: str | None) -> str:
    """Return the id of a new job: the same for the same key."""
    return new_session_id(time.time()) if key is None else f"job-{sha256(key.encode()).hexdigest()[:24]}"


def question_id(call: str, about: str) -> str:
    """Return the name of what is asked about a call: an answer to it counts for this alone."""
    return f"{call}/{sha256(about.encode()).hexdigest()[:16]}"


class Jobs:
    """All jobs of a database.

    Args:
        database: where they are.
        most_open: how many jobs of a queue may be open before new ones are refused.
    """

    def __init__(self, database: Database, *, most_open: int = MOST_OPEN) -> None:
        self.database = database
        self._most_open = most_open

    @classmethod
    def of(cls, host: Host) -> Jobs:
        """Return the jobs in the database that the settings of a host name; close ``database`` at the end.

        Raises:
            ConfigError: a setting is wrong.
        """
        return cls(Database(settings_of(host).url))

    # --- whoever submits and looks --------------------------------------------------------------------------------

    def submit(
        self,
        spec: Spec,
        *,
        key: str | None = None,
        queue: str = DEFAULT,
        priority: int = PRIORITY,
        partition: str = "",
        at: float | None = None,
        schedule: str | None = None,
    ) -> tuple[Job, bool]:
        """Add a job; return it, and whether it is new: the same key names the same job.

        Raises:
            UsageError: the request is too long, too many jobs of the queue are open, or the key names another request.
            DatabaseAway: the database cannot be reached.
        """
        if len(spec.text) > MOST_TEXT:
            raise UsageError(
                f"the request is longer than {MOST_TEXT:,} characters", hint="put it into a file, and name that"
            )
        with self.database.transaction() as transaction:
            return self.add(transaction, spec, key, queue, priority, partition, at, schedule)

    def add(
        self,
        transaction: Transaction,
        spec: Spec,
        key: str | None,
        queue: str,
        priority: int,
        partition: str,
        at: float | None,
        schedule: str | None,
    ) -> tuple[Job, bool]:
        """Add a job within a transaction; see :meth:`submit`."""
        name, text = job_id(key), json.dumps(asdict(spec), sort_keys=True)
        (count,) = transaction.rows(
            "SELECT count(*) AS n FROM skillkit_job WHERE queue=? AND status IN ('queued', 'running', 'waiting')", queue
        )
        found = transaction.rows("SELECT * FROM skillkit_job WHERE id=?", name)
        if not found and count["n"] >= self._most_open:
            raise UsageError(f"{count['n']:,} jobs of queue {queue!r} are open", hint="start workers, or cancel some")
        made = transaction.change(
            "INSERT INTO skillkit_job(id, key, spec, queue, priority, partition_key, at, created, status, round, handed, again,"
            " cancelled, recoveries, schedule)"
            " VALUES(?, ?, ?, ?, ?, ?, COALESCE(?, {now}), {now}, 'queued', 1, 0, 0, 0, 0, ?) ON CONFLICT (id) DO NOTHING",
            name,
            key,
            text,
            queue,
            priority,
            partition,
            at,
            schedule,
        )
        (row,) = transaction.rows("SELECT * FROM skillkit_job WHERE id=?", name)
        job = Job.of(row)
        if not made and job.spec.text != spec.text:
            raise UsageError(f"the key {key!r} names another request", hint=f"see 'skillkit jobs show {name}'")
        return job, bool(made)

    def get(self, name: str) -> Job:
        """Return the job with an id, a key, or the only one whose id starts with ``name``.

        Raises:
            UnknownName: there is none. UsageError: there are several.
        """
        with self.database.reading() as transaction:
            rows = transaction.rows("SELECT * FROM skillkit_job WHERE id=? OR key=?", name, name)
            if not rows and name:
                ids = [row["id"] for row in transaction.rows("SELECT id FROM skillkit_job")]
                found = [one for one in ids if one.startswith(name)]
                if len(found) > 1:
                    raise UsageError(
                        f"{len(found)} jobs start with {name!r}", hint=f"write more: {', '.join(found[:5])}"
                    )
                rows = transaction.rows("SELECT * FROM skillkit_job WHERE id=?", found[0]) if found else []
        if not rows:
            raise UnknownName("job", name, hint="'skillkit jobs list' has all; a job is named by its id or its key")
        return Job.of(rows[0])

    def list(self, *, status: str | None = None, queue: str | None = None, limit: int | None = None) -> Found:
        """Return jobs, newest first."""
        kind, everything = ("::text", None) if self.database.postgres else ("", -1)
        with self.database.reading() as transaction:
            rows = transaction.rows(
                f"SELECT * FROM skillkit_job WHERE (?{kind} IS NULL OR status=?) AND (?{kind} IS NULL OR queue=?)"  # noqa: S608 - no value is in it
                " ORDER BY created DESC, id LIMIT ?",
                status,
                status,
                queue,
                queue,
                everything if limit is None else limit,
            )
        return [Job.of(row) for row in rows]

    def counts(self) -> dict[str, dict[str, int]]:
        """Return how many jobs of each queue have each status."""
        found: dict[str, dict[str, int]] = {}
        with self.database.reading() as transaction:
            for row in transaction.rows("SELECT queue, status, count(*) AS n FROM skillkit_job GROUP BY queue, status"):
                found.setdefault(row["queue"], {})[row["status"]] = row["n"]
        return found

    def cancel(self, name: str) -> Job:
        """End a job: at once, or, where a worker runs it, as soon as that worker has seen it.

        Raises:
            UsageError: it has ended.
        """
        job = self.get(name)
        with self.database.transaction() as transaction:
            done = transaction.change(
                "UPDATE skillkit_job SET status='cancelled', cancelled=1, ended={now}, waiting=NULL WHERE id=?"
                " AND status IN ('queued', 'waiting')",
                job.id,
            )
            if not done:
                done = transaction.change("UPDATE skillkit_job SET cancelled=1 WHERE id=? AND status='running'", job.id)
        if not done:
            raise UsageError(f"job {job.id} is {job.status} already")
        return self.get(job.id)

    def retry(self, name: str) -> Job:
        """Let a job that failed or was cancelled go on where its session stands.

        Raises:
            UsageError: it did neither.
        """
        job = self.get(name)
        with self.database.transaction() as transaction:
            done = transaction.change(
                "UPDATE skillkit_job SET status='queued', round=round+1, again=round+1, cancelled=0, recoveries=0, worker=NULL,"
                " at={now}, ended=NULL, error=NULL WHERE id=? AND status IN ('failed', 'cancelled')",
                job.id,
            )
        if not done:
            raise UsageError(
                f"job {job.id} is {job.status}", hint="only jobs that failed or were cancelled go on again"
            )
        return self.get(job.id)

    def answer(self, name: str, call: str, decision: Mapping[str, Any], origin: Mapping[str, Any]) -> Answered:
        """Answer a question of a job: the first answer counts, and the job goes on.

        Args:
            call: the call that the question is about.
            decision: the decision as JSON.
        """
        job = self.get(name)
        with self.database.transaction() as transaction:
            (row,) = self._locked(transaction, job.id)
            asked = next((one for one in Job.of(row).waiting if one["call"] == call), None)
            if asked is None:
                known = transaction.rows("SELECT question FROM skillkit_answer WHERE job=?", job.id)
                return "late" if any(one["question"].startswith(f"{call}/") for one in known) else "unknown"
            about = json.dumps(asked["about"], sort_keys=True)
            taken = transaction.change(
                "INSERT INTO skillkit_answer(job, question, about, decision, origin, at, used) VALUES(?, ?, ?, ?, ?, {now}, 0)"
                " ON CONFLICT (job, question) DO UPDATE SET decision=excluded.decision, origin=excluded.origin, at=excluded.at,"
                " used=0 WHERE skillkit_answer.used=1",
                job.id,
                question_id(call, about),
                about,
                json.dumps(decision),
                json.dumps(origin),
            )
            if not taken:
                return "late"
            transaction.change(
                "UPDATE skillkit_job SET status='queued', round=round+1, at={now}, worker=NULL WHERE id=? AND status='waiting'",
                job.id,
            )
        return "taken"

    # --- workers ----------------------------------------------------------------------------------------------------

    def due(self, limit: int = 200) -> Found:
        """Return the jobs that are to be handed to the engine now."""
        with self.database.reading() as transaction:
            rows = transaction.rows(
                "SELECT * FROM skillkit_job WHERE status='queued' AND handed < round AND at <= {now}"
                " ORDER BY priority, created LIMIT ?",
                limit,
            )
        return [Job.of(row) for row in rows]

    def handed(self, jobs: Sequence[Job]) -> None:
        """Note that the engine has these rounds."""
        with self.database.transaction() as transaction:
            for job in jobs:
                transaction.change(
                    "UPDATE skillkit_job SET handed=? WHERE id=? AND handed < ?", job.round, job.id, job.round
                )

    def begin(self, name: str, number: int, worker: str, most_recoveries: int, *, last: bool = True) -> Job | None:
        """Begin or go on with a round; ``None``: it is over, or nobody wants it any more.

        A worker that died with the job is counted. After ``most_recoveries`` the job fails as poison.

        Args:
            last: nothing else on its last try runs in this worker, so that this job may be on its own.

        Raises:
            LastTry: the job is, and ``last`` is false.
        """
        with self.database.transaction() as transaction:
            rows = self._locked(transaction, name)
            job = Job.of(rows[0]) if rows else None
            if job is None or job.round != number or job.status not in ("queued", "running"):
                return None
            died = job.status == "running" and job.worker not in (None, worker)
            if job.cancelled:
                self._end(transaction, job, "cancelled", None, None)
                return None
            if died and job.recoveries >= most_recoveries:
                self._end(transaction, job, "failed", None, _poison(transaction, job))
                return None
            if not last and 0 < job.recoveries + died >= most_recoveries:
                raise LastTry(name)
            transaction.change(
                "UPDATE skillkit_job SET status='running', worker=?, started=COALESCE(started, {now}), recoveries=recoveries+?,"
                " waiting=NULL WHERE id=?",
                worker,
                int(died),
                name,
            )
            (row,) = transaction.rows("SELECT * FROM skillkit_job WHERE id=?", name)
        return Job.of(row)

    def _locked(self, transaction: Transaction, name: str) -> Rows:
        """Return the row of a job, which nobody else changes before the end of the transaction."""
        if self.database.postgres:
            return transaction.rows("SELECT * FROM skillkit_job WHERE id=? FOR UPDATE", name)
        return transaction.rows("SELECT * FROM skillkit_job WHERE id=?", name)

    def finish(
        self,
        job: Job,
        status: str,
        *,
        result: Mapping[str, Any] | None = None,
        error: str | None = None,
        waiting: Sequence[Mapping[str, Any]] = (),
        used: Sequence[str] = (),
    ) -> None:
        """End the round of a job that this worker runs.

        Args:
            status: ``completed``, ``failed``, ``cancelled``, or ``waiting`` with the questions that wait.
            used: the questions whose answers the session has.

        Raises:
            JobTaken: another worker has the job.
        """
        with self.database.transaction() as transaction:
            for question in used:
                transaction.change("UPDATE skillkit_answer SET used=1 WHERE job=? AND question=?", job.id, question)
            if status == "waiting":
                changed = transaction.change(
                    "UPDATE skillkit_job SET status='waiting', waiting=?, worker=NULL WHERE id=? AND worker=? AND round=?"
                    " AND status='running'",
                    json.dumps(list(waiting)),
                    job.id,
                    job.worker,
                    job.round,
                )
            else:
                changed = self._end(transaction, job, status, result, error)
            if not changed:
                raise JobTaken(f"job {job.id} is no longer this worker's")

    def _end(
        self, transaction: Transaction, job: Job, status: str, result: Mapping[str, Any] | None, error: str | None
    ) -> int:
        return transaction.change(
            "UPDATE skillkit_job SET status=?, result=?, error=?, ended={now}, waiting=NULL WHERE id=? AND round=?"
            " AND (worker IS NULL OR worker=?) AND status IN ('queued', 'running')",
            status,
            json.dumps(result) if result is not None else None,
            error[:MOST_TEXT] if error is not None else None,
            job.id,
            job.round,
            job.worker,
        )

    def hand_back(self, job: Job, seconds: float) -> None:
        """Let another worker, or this one, take the job again in a while."""
        with self.database.transaction() as transaction:
            transaction.change(
                "UPDATE skillkit_job SET status='queued', round=round+1, at={now}+?, worker=NULL WHERE id=? AND worker=?"
                " AND round=? AND status='running'",
                seconds,
                job.id,
                job.worker,
                job.round,
            )

    def let_go(self, worker: str) -> None:
        """Note that a worker gives its jobs back in order: nobody counts this as a death."""
        with self.database.transaction() as transaction:
            transaction.change("UPDATE skillkit_job SET worker=NULL WHERE worker=? AND status='running'", worker)

    def to_cancel(self, worker: str) -> Names:
        """Return the jobs of a worker that somebody wants to end."""
        with self.database.reading() as transaction:
            rows = transaction.rows(
                "SELECT id FROM skillkit_job WHERE worker=? AND status='running' AND cancelled=1", worker
            )
        return [row["id"] for row in rows]

    def answers(self, job: Job) -> dict[str, Row]:
        """Return the answers that the session of a job does not have yet, by question."""
        with self.database.reading() as transaction:
            rows = transaction.rows("SELECT * FROM skillkit_answer WHERE job=? AND used=0", job.id)
        return {row["question"]: row for row in rows}

    def went_on(self, job: Job) -> bool:
        """Give a job that waited to the engine again, because somebody answered in its session; return whether it waited."""
        with self.database.transaction() as transaction:
            return bool(
                transaction.change(
                    "UPDATE skillkit_job SET status='queued', round=round+1, at={now} WHERE id=? AND round=?"
                    " AND status='waiting'",
                    job.id,
                    job.round,
                )
            )

    def forget(self, days: float) -> Names:
        """Forget jobs that ended long ago; return the names of their rounds."""
        with self.database.transaction() as transaction:
            rows = transaction.rows(
                "SELECT id, round FROM skillkit_job WHERE ended < {now}-? AND status IN ('completed', 'failed', 'cancelled')"
                " LIMIT 500",
                days * 86400,
            )
            for row in rows:
                transaction.change("DELETE FROM skillkit_answer WHERE job=?", row["id"])
                transaction.change("DELETE FROM skillkit_job WHERE id=?", row["id"])
        return [f"{row['id']}.{number}" for row in rows for number in range(1, row["round"] + 1)]


def _poison(transaction: Transaction, job: Job) -> str:
    """Return why a job is poison, with the last lines of the worker that died with it last."""
    rows = transaction.rows("SELECT said FROM skillkit_worker WHERE id=?", job.worker)
    said = rows[0]["said"].strip() if rows else ""
    told = f"poison: {job.recoveries + 1} workers died with this job"
    return f"{told}; the last one said:\n{said}" if said else told
