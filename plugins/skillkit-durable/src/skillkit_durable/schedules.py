"""Schedules: jobs that are made again and again, each time once, by whichever worker sees first that it is time."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from skillkit_core.errors import UnknownName, UsageError

from .database import Database, Row
from .jobs import Jobs, Spec

log = logging.getLogger("skillkit.durable")

__all__ = ["Schedule", "Schedules", "next_time"]


@dataclass(frozen=True, slots=True)
class Schedule:
    """A schedule.

    Attributes:
        name: its name.
        cron: when, as five or six fields of cron in the local time of the worker.
        job: what is submitted: ``spec``, ``queue``, ``priority``, ``partition``.
        next: when it is due next, in seconds since the epoch.
        paused: it makes no jobs.
        created: when it was made.
    """

    name: str
    cron: str
    job: Mapping[str, Any]
    next: float
    paused: bool
    created: float

    @classmethod
    def of(cls, row: Row) -> Schedule:
        """Return the schedule in a row."""
        return cls(row["name"], row["cron"], json.loads(row["job"]), row["next"], bool(row["paused"]), row["created"])

    def to_dict(self) -> dict[str, Any]:
        """Return the schedule as JSON."""
        return {**asdict(self), "text": self.job["spec"]["text"], "queue": self.job["queue"]}


def next_time(cron: str, after: float) -> float:
    """Return the first time of a cron expression behind ``after``, in the local time of this machine.

    Raises:
        UsageError: it is no such expression.
    """
    from croniter import croniter  # type: ignore[import-untyped]
    from croniter.croniter import CroniterError  # type: ignore[import-untyped]

    try:
        return float(croniter(cron, datetime.fromtimestamp(after).astimezone()).get_next(float))
    except (CroniterError, ValueError) as error:
        hint = "five fields: minute, hour, day, month, weekday; '0 7 * * 1-5' is seven o'clock from Monday to Friday"
        raise UsageError(f"{cron!r} is no cron expression: {error}", hint=hint) from None


class Schedules:
    """All schedules of a database."""

    def __init__(self, database: Database, jobs: Jobs) -> None:
        self._database, self._jobs = database, jobs

    def put(self, name: str, cron: str, spec: Spec, *, queue: str, priority: int, partition: str) -> Schedule:
        """Make a schedule, or replace the one of this name."""
        job = {"spec": asdict(spec), "queue": queue, "priority": priority, "partition": partition}
        due = next_time(cron, time.time())
        with self._database.transaction() as transaction:
            transaction.change(
                "INSERT INTO skillkit_schedule(name, cron, job, next, paused, created) VALUES(?, ?, ?, ?, 0, {now})"
                " ON CONFLICT (name) DO UPDATE SET cron=excluded.cron, job=excluded.job, next=excluded.next, paused=0",
                name,
                cron,
                json.dumps(job),
                due,
            )
        return self.get(name)

    def get(self, name: str) -> Schedule:
        """Return a schedule, or raise :class:`UnknownName`."""
        found = {schedule.name: schedule for schedule in self.list()}
        if name not in found:
            hint = None if found else "there are none; 'skillkit submit --cron' makes one"
            raise UnknownName("schedule", name, list(found), hint=hint)
        return found[name]

    def list(self) -> list[Schedule]:
        """Return all schedules, by name."""
        with self._database.reading() as transaction:
            return [Schedule.of(row) for row in transaction.rows("SELECT * FROM skillkit_schedule ORDER BY name")]

    def pause(self, name: str, paused: bool) -> Schedule:
        """Let a schedule make no jobs, or jobs again from now on."""
        schedule = self.get(name)
        with self._database.transaction() as transaction:
            transaction.change(
                "UPDATE skillkit_schedule SET paused=?, next=? WHERE name=?",
                int(paused),
                next_time(schedule.cron, time.time()),
                name,
            )
        return self.get(name)

    def remove(self, name: str) -> None:
        """Remove a schedule; its jobs stay."""
        self.get(name)
        with self._database.transaction() as transaction:
            transaction.change("DELETE FROM skillkit_schedule WHERE name=?", name)

    def make_due(self) -> None:
        """Submit the jobs that are due; times that passed while no worker was there give one job."""
        due = "SELECT *, {now} AS now FROM skillkit_schedule WHERE paused=0 AND next <= {now}"
        with self._database.reading() as transaction:
            if not transaction.rows(due):
                return
        with self._database.transaction() as transaction:
            rows = transaction.rows(due)
            for schedule, now in [(Schedule.of(row), row["now"]) for row in rows]:
                mine = transaction.change(
                    "UPDATE skillkit_schedule SET next=? WHERE name=? AND next=?",
                    next_time(schedule.cron, now),
                    schedule.name,
                    schedule.next,
                )
                if mine:
                    job, key = schedule.job, f"{schedule.name} at {schedule.next:.0f}"
                    spec = Spec(**job["spec"])
                    place = job["queue"], job["priority"], job["partition"]
                    try:
                        self._jobs.add(transaction, spec, key, *place, None, schedule.name)
                    except UsageError as error:  # the queue is full: this time is left out, the next one is not
                        log.warning("schedule %s: %s", schedule.name, error)
