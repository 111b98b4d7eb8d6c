"""Schedules and their runs, in SQLite: what is due is taken in one transaction, so that nothing is lost or begun twice."""

from __future__ import annotations

import fcntl
import secrets
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from skillkit_core import UsageError

from .when import When, between, following

if TYPE_CHECKING:
    from skillkit_core import Host

__all__ = ["GRACE", "Schedule", "ScheduleRun", "Store", "store_of"]

GRACE = 60.0  # seconds; what is due longer was missed
MOST_MISSED = 24  # runs that ``all`` makes up for
MOST_TRIES = 3  # how often a run is taken up again after its process died
MOST_WAITING = 100  # runs of a webhook that wait
_TABLES = """
CREATE TABLE IF NOT EXISTS schedules (
    id TEXT PRIMARY KEY, kind TEXT NOT NULL, text TEXT NOT NULL, skill TEXT NOT NULL, folder TEXT NOT NULL, words TEXT NOT NULL,
    zone TEXT NOT NULL, cron TEXT NOT NULL, at REAL NOT NULL, next REAL, missed TEXT NOT NULL, approvals TEXT NOT NULL,
    created REAL NOT NULL, secret TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS runs (
    number INTEGER PRIMARY KEY AUTOINCREMENT, schedule TEXT NOT NULL, due REAL NOT NULL, state TEXT NOT NULL,
    tries INTEGER NOT NULL, started REAL, ended REAL, session TEXT NOT NULL, text TEXT NOT NULL, reason TEXT NOT NULL,
    data TEXT NOT NULL, key TEXT
);
CREATE INDEX IF NOT EXISTS runs_open ON runs (state, schedule);
CREATE UNIQUE INDEX IF NOT EXISTS runs_key ON runs (schedule, key);
"""


class Schedule(NamedTuple):
    """Something that is due at times, or when a webhook is called.

    Attributes:
        id: its name.
        kind: ``run``, ``remind`` or ``webhook``.
        text: the request, or what a person is reminded of.
        skill: the skill that does it; empty: as the words say.
        folder: where it runs.
        words, zone, cron, at: when it is due, as :class:`~skillkit_schedule_tools.When` has it.
        next: when it is due next; ``None``: never again.
        missed: what becomes of moments at which nothing ran: ``once``, ``all`` or ``skip``.
        approvals: what becomes of questions of guards: ``wait`` or ``deny``.
        created: when it was made.
        secret: of a webhook.
    """

    id: str
    kind: str
    text: str
    skill: str = ""
    folder: str = ""
    words: str = ""
    zone: str = ""
    cron: str = ""
    at: float = 0.0
    next: float | None = None
    missed: str = "once"
    approvals: str = "wait"
    created: float = 0.0
    secret: str = ""

    @property
    def when(self) -> When:
        """When it is due."""
        return When(self.words, self.zone, self.cron, self.at)


class ScheduleRun(NamedTuple):
    """One run of a schedule.

    Attributes:
        number: unique.
        schedule: the schedule.
        due: when it was due.
        state: ``queued``, ``running``, ``completed``, ``waiting`` (calls wait for a decision), ``limit``, ``failed``,
            ``skipped``, ``handed-over``; of a reminder ``unseen`` or ``seen``.
        tries: how often it was begun.
        started, ended: when.
        session: the session in which it ran.
        text: the beginning of its answer.
        reason: why it is not completed.
        data: what a webhook was sent.
        key: the name that a webhook's caller gave the delivery.
    """

    number: int
    schedule: str
    due: float
    state: str
    tries: int = 0
    started: float | None = None
    ended: float | None = None
    session: str = ""
    text: str = ""
    reason: str = ""
    data: str = ""
    key: str | None = None


def store_of(host: Host) -> Store:
    """Return the schedules of the user."""
    return Store(host.data_dir / "schedule")


class Store:
    """The schedules in a folder. Each call opens the file, so that several processes may use it."""

    def __init__(self, folder: Path) -> None:
        self.file, self._locks = folder / "schedules.sqlite", folder / "locks"

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        self.file.parent.mkdir(parents=True, exist_ok=True)
        if not self.file.exists():
            self.file.touch(mode=0o600)
        base = sqlite3.connect(self.file, timeout=20, isolation_level=None)
        try:
            base.executescript(_TABLES)
            base.execute("BEGIN IMMEDIATE")
            try:
                yield base
            except BaseException:
                base.execute("ROLLBACK")
                raise
            base.execute("COMMIT")
        finally:
            base.close()

    # --- schedules ------------------------------------------------------------------------------------------------

    def add(self, schedule: Schedule) -> Schedule:
        """Keep a new schedule, and return it with its name, which is made where it has none.

        Raises:
            UsageError: the name is taken.
        """
        made = schedule._replace(id=schedule.id or f"s{secrets.token_hex(3)}")
        with self._opened() as base:
            try:
                base.execute(f"INSERT INTO schedules VALUES ({', '.join('?' * len(made))})", made)  # noqa: S608 - only marks
            except sqlite3.IntegrityError:
                raise UsageError(f"there is a schedule {made.id!r} already", hint="choose another name") from None
        return made

    def remove(self, name: str) -> bool:
        """Forget a schedule with its runs, and return whether it was there."""
        with self._opened() as base:
            base.execute("DELETE FROM runs WHERE schedule = ?", (name,))
            return base.execute("DELETE FROM schedules WHERE id = ?", (name,)).rowcount > 0

    def schedules(self, *kinds: str) -> list[Schedule]:
        """Return the schedules of some kinds, those that are due next first."""
        if not self.file.exists():
            return []
        with self._opened() as base:
            rows = [Schedule(*row) for row in base.execute("SELECT * FROM schedules ORDER BY next IS NULL, next, id")]
        return [row for row in rows if not kinds or row.kind in kinds]

    def get(self, name: str) -> Schedule | None:
        """Return a schedule; ``None``: there is none of that name."""
        return next((one for one in self.schedules() if one.id == name), None)

    # --- runs -----------------------------------------------------------------------------------------------------

    def runs(self, schedule: str = "", last: int = 20, state: str = "") -> list[ScheduleRun]:
        """Return the newest runs, newest first."""
        if not self.file.exists():
            return []
        with self._opened() as base:
            rows = base.execute(
                "SELECT * FROM runs WHERE (? = '' OR schedule = ?) AND (? = '' OR state = ?) ORDER BY number DESC LIMIT ?",
                (schedule, schedule, state, state, last),
            )
            return [ScheduleRun(*row) for row in rows]

    def deliver(self, schedule: str, now: float, data: str, key: str | None) -> tuple[int, bool] | None:
        """Queue a run of a webhook; return its number and whether it is new. ``None``: too many wait."""
        with self._opened() as base:
            if key is not None:
                known = base.execute(
                    "SELECT number FROM runs WHERE schedule = ? AND key = ?", (schedule, key)
                ).fetchone()
                if known is not None:
                    return int(known[0]), False
            (waiting,) = base.execute(
                "SELECT count(*) FROM runs WHERE schedule = ? AND state = 'queued'", (schedule,)
            ).fetchone()
            return (_queue(base, schedule, now, data=data, key=key), True) if waiting < MOST_WAITING else None

    def update(self, number: int, **fields: Any) -> None:
        """Change fields of a run."""
        names = ", ".join(f"{name} = ?" for name in fields)
        with self._opened() as base:
            base.execute(f"UPDATE runs SET {names} WHERE number = ?", (*fields.values(), number))  # noqa: S608 - names of fields

    def due(self, now: float) -> list[str]:
        """Return the schedules that have something to do, the longest due first."""
        if not self.file.exists():
            return []
        with self._opened() as base:
            rows = base.execute(
                "SELECT id FROM schedules s WHERE kind != 'remind' AND (next <= ? OR EXISTS (SELECT 1 FROM runs WHERE "
                "schedule = s.id AND state IN ('queued', 'running'))) ORDER BY next IS NULL, next, id",
                (now,),
            )
            return [str(row[0]) for row in rows]

    def next_due(self) -> float | None:
        """Return when something is due next."""
        return min((one.next for one in self.schedules() if one.next is not None), default=None)

    def take(self, name: str, now: float) -> ScheduleRun | None:
        """Queue what is due of a schedule, and take its oldest run, also one whose process died; ``None``: there is nothing.

        Call it with the lock of the schedule: a run that is marked as running then has nobody who runs it.
        """
        with self._opened() as base:
            row = base.execute("SELECT * FROM schedules WHERE id = ? AND kind != 'remind'", (name,)).fetchone()
            if row is None:
                return None
            schedule = Schedule(*row)
            if schedule.next is not None and schedule.next <= now:
                _queue_due(base, schedule, now)
            base.execute(
                "UPDATE runs SET state = 'failed', ended = ?, reason = 'its process died each time' "
                "WHERE schedule = ? AND state = 'running' AND tries >= ?",
                (now, name, MOST_TRIES),
            )
            found = base.execute(
                "SELECT * FROM runs WHERE schedule = ? AND state IN ('running', 'queued') ORDER BY number LIMIT 1",
                (name,),
            ).fetchone()
            if found is None:
                return None
            run = ScheduleRun(*found)
            taken = run._replace(state="running", tries=run.tries + 1, started=run.started or now)
            base.execute(
                "UPDATE runs SET state = ?, tries = ?, started = ? WHERE number = ?",
                (taken.state, taken.tries, taken.started, taken.number),
            )
            return taken

    @contextmanager
    def lock(self, name: str) -> Iterator[bool]:
        """Hold a schedule: it yields whether nobody else does. The system releases it when the process dies."""
        self._locks.mkdir(parents=True, exist_ok=True)
        with (self._locks / f"{name}.lock").open("w") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                yield False
                return
            yield True

    # --- reminders ------------------------------------------------------------------------------------------------

    def remind(self, now: float) -> list[ScheduleRun]:
        """Return the reminders that are due and that nobody has seen, oldest first."""
        if not self.file.exists():
            return []
        with self._opened() as base:
            rows = base.execute("SELECT * FROM schedules WHERE kind = 'remind' AND next <= ?", (now,)).fetchall()
            for row in rows:
                schedule = Schedule(*row)
                _advance(base, schedule, now)
                _queue(base, schedule.id, schedule.next or now, state="unseen", text=schedule.text)
            seen = base.execute("SELECT * FROM runs WHERE state = 'unseen' ORDER BY number")
            return [ScheduleRun(*row) for row in seen]

    def leave(self, text: str, now: float) -> None:
        """Keep a notice for the next person who comes."""
        with self._opened() as base:
            _queue(base, "", now, state="unseen", text=text)


def _queue_due(base: sqlite3.Connection, schedule: Schedule, now: float) -> None:
    """Queue the runs of the moments that have come, as the schedule says of missed ones."""
    assert schedule.next is not None
    moments = between(schedule.when, schedule.next, now, MOST_MISSED)
    if schedule.missed != "all":
        moments = moments[-1:]
    for moment in moments:
        late = schedule.missed == "skip" and now - moment > GRACE
        state, reason = ("skipped", "nothing ran when it was due") if late else ("queued", "")
        _queue(base, schedule.id, moment, state=state, reason=reason)
    _advance(base, schedule, now)


def _advance(base: sqlite3.Connection, schedule: Schedule, now: float) -> None:
    base.execute("UPDATE schedules SET next = ? WHERE id = ?", (following(schedule.when, now), schedule.id))


def _queue(base: sqlite3.Connection, schedule: str, due: float, *, state: str = "queued", **fields: Any) -> int:
    run = ScheduleRun(0, schedule, due, state)._replace(**fields)
    made = base.execute(f"INSERT INTO runs VALUES (NULL, {', '.join('?' * (len(run) - 1))})", run[1:])  # noqa: S608 - only marks
    return int(made.lastrowid or 0)
