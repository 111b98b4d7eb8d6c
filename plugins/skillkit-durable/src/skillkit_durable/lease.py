"""Who works: each worker beats in the database, and what stopped beating is given up.

The clock is that of the database alone. A worker whose own beat is older than the lease must not write any more, whatever it
still believes: :meth:`Lease.held` says so without asking anybody, also after the process was stopped for a while.
"""

from __future__ import annotations

import os
import secrets
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from .database import Database, DatabaseAway, Row

__all__ = ["Lease", "dead_workers", "give_up", "kill_stopped", "reaped", "workers"]

LINES = 12  # that are kept of what a worker says
REAPED = -1.0  # the beat of a worker whose jobs others have


def here() -> tuple[str, str]:
    """Return the name of this machine, and what only processes that see each other's ids have in common."""
    boot = _read("/proc/sys/kernel/random/boot_id")[:8]
    try:
        space = str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        space = ""
    return os.uname().nodename, f"{os.uname().nodename} {boot} {space}"


def start_of(pid: int) -> str:
    """Return when a process started, which tells it from a later one with the same id; empty: it is gone, or nobody knows."""
    stat = _read(f"/proc/{pid}/stat")
    fields = stat[stat.rfind(")") + 2 :].split()
    return fields[19] if len(fields) > 19 and fields[0] != "Z" else ""


def stopped(pid: int) -> bool:
    """Return whether a process was stopped by a signal."""
    stat = _read(f"/proc/{pid}/stat")
    return stat[stat.rfind(")") + 2 :][:1] in ("T", "t")


def _read(path: str) -> str:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return ""


class Lease(threading.Thread):
    """Beats for a worker, in a thread of its own, whatever the loop does.

    Args:
        database: where it beats.
        seconds: the lease.
        version: of the plugin.
        queues: the queues of the worker.
        lost: called once, from the thread, when the lease is lost.

    Attributes:
        worker: the id of the worker.
    """

    def __init__(
        self, database: Database, seconds: float, version: str, queues: Sequence[str], lost: Callable[[str], None]
    ) -> None:
        super().__init__(name="skillkit lease", daemon=True)
        self.worker = f"{os.uname().nodename}-{os.getpid()}-{secrets.token_hex(4)}"
        self._database, self._seconds, self._lost = database, seconds, lost
        self._version, self._queues = version, queues
        self._said: deque[str] = deque(maxlen=LINES)
        self._beaten = self._judges = 0.0  # by the clock that stands still while the machine sleeps
        self._seen = 0.0  # by the clock on the wall
        self._ended = threading.Event()

    def begin(self) -> None:
        """Say that this worker is there, and begin to beat."""
        host, machine = here()
        with self._database.transaction() as transaction:
            transaction.change(
                "INSERT INTO skillkit_worker(id, host, machine, pid, process, started, beat, lease, version, queues, said)"
                " VALUES(?, ?, ?, ?, ?, {now}, {now}, ?, ?, ?, '')",
                self.worker,
                host,
                machine,
                os.getpid(),
                start_of(os.getpid()),
                self._seconds,
                self._version,
                ", ".join(self._queues),
            )
        self._beaten, self._seen = time.monotonic(), time.time()
        self._judges = self._beaten + self._seconds / 2
        self.start()

    def held(self) -> bool:
        """Return whether nobody can have given this worker up."""
        return time.monotonic() - self._beaten < self._seconds

    def judges(self) -> bool:
        """Return whether this worker may give up others that do not beat.

        One that has just begun, or has slept itself, lets the others beat first: they slept too where the machine did.
        """
        slept = time.time() - self._seen > self._seconds / 2
        return not slept and time.monotonic() > self._judges

    def say(self, line: str) -> None:
        """Keep a line for whoever asks what this worker said last."""
        self._said.append(line)

    def run(self) -> None:
        """Beat four times within the lease."""
        while not self._ended.wait(self._seconds / 4):
            begun = time.monotonic()
            try:
                known = self._beat()
            except DatabaseAway as error:
                if not self.held():
                    return self._lost(f"the database was away for longer than the lease: {error.message}")
                continue
            if not known:
                return self._lost("another worker gave this one up, because it did not beat for longer than the lease")
            if time.time() - self._seen > self._seconds / 2:
                self._judges = time.monotonic() + self._seconds / 2
            self._beaten, self._seen = begun, time.time()

    def _beat(self) -> bool:
        with self._database.transaction() as transaction:
            return bool(
                transaction.change(
                    "UPDATE skillkit_worker SET beat={now}, said=? WHERE id=? AND beat > 0",
                    "\n".join(self._said),
                    self.worker,
                )
            )

    def end(self) -> None:
        """Stop beating, and let the others take what is left at once."""
        self._ended.set()
        with suppress(DatabaseAway), self._database.transaction() as transaction:
            transaction.change("UPDATE skillkit_worker SET beat=0 WHERE id=?", self.worker)


def workers(database: Database) -> list[Row]:
    """Return the workers that are known, with ``silent``, the seconds since each one's last beat."""
    with database.reading() as transaction:
        return transaction.rows("SELECT *, {now}-beat AS silent FROM skillkit_worker ORDER BY started")


def dead_workers(database: Database, *, silent: bool = True) -> list[Row]:
    """Return the workers whose jobs nobody has yet: gone from this machine, given up, or silent for longer than their lease.

    Args:
        silent: those that are only silent, too.
    """
    _, machine = here()

    def gone(row: Row) -> bool:
        return row["machine"] == machine and bool(row["process"]) and start_of(row["pid"]) != row["process"]

    def given_up(row: Row) -> bool:
        if gone(row) or row["beat"] == 0:
            return True
        # what is here and only waits, perhaps for a database that a stopped process has locked, gets longer
        most = row["lease"] if row["machine"] != machine or stopped(row["pid"]) else 2 * row["lease"]
        return silent and row["silent"] > most

    return [row for row in workers(database) if row["beat"] != REAPED and given_up(row)]


def kill(row: Row) -> None:
    """Kill a worker of this machine that is given up and still there: it holds its sessions, and perhaps the database."""
    _, machine = here()
    if row["machine"] == machine and row["process"] and start_of(row["pid"]) == row["process"]:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(row["pid"], signal.SIGKILL)


def kill_stopped(database: Database) -> None:
    """Kill the workers of this machine that were stopped for longer than their lease."""
    _, machine = here()
    for row in workers(database):
        if row["machine"] == machine and row["silent"] > row["lease"] and stopped(row["pid"]):
            kill(row)


def give_up(database: Database, row: Row) -> bool:
    """Give a worker up, so that it cannot beat again; return whether it has not beaten meanwhile.

    One of this machine that is still there is killed first: the database may be locked by it.
    """
    kill(row)
    with database.transaction() as transaction:
        if not transaction.change("UPDATE skillkit_worker SET beat=0 WHERE id=? AND beat=?", row["id"], row["beat"]):
            return False
    return True


def reaped(database: Database, row: Row) -> None:
    """Note that others have the jobs of a worker that was given up; what it said last is kept for a day."""
    with database.transaction() as transaction:
        transaction.change("UPDATE skillkit_worker SET beat=? WHERE id=?", REAPED, row["id"])
        transaction.change("DELETE FROM skillkit_worker WHERE beat=? AND started < {now}-86400", REAPED)
