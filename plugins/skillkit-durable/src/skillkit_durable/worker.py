"""A worker: it hands due jobs to the engine, carries out what the engine gives it, and takes over what dead workers left.

Four things happen side by side: the lease beats in a thread of its own; the engine calls :meth:`Worker.work` in threads of its
own, one for each round; rounds run on the loop of the command, where the hosts and agents are; a task looks after everything
every half second.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import logging
import os
import random
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skillkit_frontend import configure, prepare

from skillkit_core import Host, Session
from skillkit_core.errors import SessionError, SessionLocked, SessionTaken, SkillKitError, UsageError, in_words

from .advance import Carried, Ended, questions_of
from .config import Settings
from .database import Database, DatabaseAway, shown
from .engine import Engine
from .jobs import Job, Jobs, JobTaken, LastTry
from .lease import Lease, dead_workers, give_up, kill_stopped, reaped
from .schedules import Schedules

if TYPE_CHECKING:
    from skillkit_core import SessionStore

__all__ = ["Worker", "store_for"]

log = logging.getLogger("skillkit.durable")
LOOK = 0.5  # seconds between two looks at the tables
GRACE = 8.0  # seconds in which jobs may end by themselves when the worker is to end
END = 6.0  # seconds in which they must stop then
HOSTS = 8  # that are kept open while nobody needs them


class Worker:
    """Carries out jobs in this process.

    Args:
        host: the host of the command: of its distribution and selection are the hosts of all folders.
        settings: the database and the limits.
        queues: the queues from which it takes; empty: all.
        concurrency: most jobs at once; default: that of the settings.
        tell: says a line about a job.
    """

    def __init__(
        self,
        host: Host,
        settings: Settings,
        *,
        queues: Sequence[str] = (),
        concurrency: int | None = None,
        tell: Callable[[str], object] = log.info,
    ) -> None:
        known = settings.queues
        if unknown := [name for name in queues if name not in known]:
            raise UsageError(f"there is no queue {unknown[0]!r}", hint=f"durable.queues has: {', '.join(known)}")
        if not host.session_stores.list():
            hint = "pip install skillkit-sessions, or set 'session.store: postgres'"
            raise UsageError("no plugin here keeps sessions, without which a job could not be carried on", hint=hint)
        self._host, self._settings, self._known = host, settings, known
        self._queues = list(queues) or list(known)
        self._concurrency = concurrency or settings.durable.worker_concurrency
        self._database = Database(settings.url)
        self.jobs = Jobs(self._database)
        self._schedules = Schedules(self._database, self.jobs)
        self._tell = tell
        self._lease = Lease(self._database, settings.durable.lease, _version(), self._queues, self._lost)
        self._engine = Engine(self._database, self._lease.worker, self.work)
        self._hosts: dict[tuple[str, str], Host] = {}
        self._users: dict[tuple[str, str], int] = {}
        self._carried: dict[str, Carried] = {}
        self._rounds: set[asyncio.Task[Any]] = set()
        self._reaped = self._looked = 0.0
        self._why_lost = ""
        self._away = False

    # --- life -------------------------------------------------------------------------------------------------------

    async def serve(self, stop: asyncio.Event) -> int:
        """Work until ``stop`` is set or the lease is lost; return the exit code.

        Nothing of the process may go on after this: threads of the engine still wait for rounds that others carry out now.
        """
        self._loop, self._stop = asyncio.get_running_loop(), stop
        self._slots, self._last_tries = asyncio.Semaphore(self._concurrency), asyncio.Lock()
        self._stopping = threading.Event()
        await self._begin()
        await asyncio.to_thread(self._engine.launch, self._known, self._queues, self._concurrency)
        self.say(
            f"worker {self._lease.worker} takes jobs of {', '.join(self._queues)} from {shown(self._settings.url)}"
        )
        looking = asyncio.create_task(self._look_after())
        await stop.wait()
        self._stopping.set()
        looking.cancel()
        await self._finish()
        self.say(f"worker {self._lease.worker} has ended")
        return 1 if self._why_lost else 0

    async def _begin(self) -> None:
        """Begin to beat, also where a stopped worker has locked the database."""
        give_up = self._loop.time() + 2 * self._settings.durable.lease
        while True:
            try:
                return await asyncio.to_thread(self._lease.begin)
            except DatabaseAway:
                if self._database.postgres or self._loop.time() > give_up:
                    raise
                await asyncio.to_thread(kill_stopped, self._database)

    def _lost(self, why: str) -> None:
        """End at once: others go on with what this worker had."""
        self._why_lost = why
        self._loop.call_soon_threadsafe(self._stop.set)

    async def _finish(self) -> None:
        """Let jobs end for a while, unless the lease is lost; then let go of the rest and say so to the others."""
        if self._why_lost:
            self.say(f"this worker ends: {self._why_lost}")
        else:
            await self._idle(GRACE)
        for carried in list(self._carried.values()):
            carried.let_go()
        await self._idle(END)
        with suppress(DatabaseAway):
            await asyncio.to_thread(self.jobs.let_go, self._lease.worker)
        await asyncio.to_thread(self._lease.end)
        for host in self._hosts.values():
            with suppress(SkillKitError):
                await host.aclose()

    async def _idle(self, seconds: float) -> None:
        if self._rounds:
            await asyncio.wait(self._rounds, timeout=seconds)

    def say(self, line: str) -> None:
        """Say a line, and keep it for who asks what this worker said last."""
        self._lease.say(line)
        self._tell(line)

    # --- rounds -----------------------------------------------------------------------------------------------------

    def work(self, name: str, number: int) -> Mapping[str, Any]:
        """Carry out a round of a job; called in a thread of the engine.

        Where this worker ends, or another one has the job, this does not return: what the engine has on record of the round
        must stay open for the other one.
        """
        if not self._stopping.is_set():
            with suppress(concurrent.futures.CancelledError, RuntimeError):
                told = asyncio.run_coroutine_threadsafe(self._round(name, number), self._loop).result()
                if told is not None:
                    return told
        threading.Event().wait()
        raise AssertionError("not reached")

    async def _round(self, name: str, number: int) -> Mapping[str, Any] | None:
        try:
            async with self._slots:
                return await self._begun(name, number, last=False)
        except LastTry:
            async with self._last_tries, self._slots:
                return await self._begun(name, number, last=True)

    async def _begun(self, name: str, number: int, *, last: bool) -> Mapping[str, Any] | None:
        if self._stopping.is_set():
            return None
        most = self._settings.durable.max_recoveries
        job = await self._held(self.jobs.begin, name, number, self._lease.worker, most, last=last)
        if job is None:
            return {"over": True}
        try:
            return await self._carry(job)
        except (JobTaken, SessionTaken) as error:
            self.say(f"job {job.id}: {error.message}")
            if self._stopping.is_set() or not self._lease.held():
                return None
            await self._held(self.jobs.hand_back, job, self._settings.durable.lease)
            return {"handed_back": True}

    async def _held(self, work: Callable[..., Any], *args: Any, **named: Any) -> Any:
        """Do something with the database, also where it is away for a while."""
        while True:
            try:
                return await asyncio.to_thread(work, *args, **named)
            except DatabaseAway:
                if not self._lease.held():
                    raise JobTaken("the database is away") from None
                await asyncio.sleep(1)

    async def _carry(self, job: Job) -> Mapping[str, Any] | None:
        begun = time.monotonic()
        try:
            key, host = await self._host_of(job)
        except SkillKitError as error:
            return await self._end(job, Ended("failed", error=str(error)), begun)
        task = asyncio.current_task()
        assert task is not None
        self._rounds.add(task)
        task.add_done_callback(self._rounds.discard)
        carried = self._carried[job.id] = Carried(job, host, self._lease.held, lambda: self.jobs.answers(job))
        try:
            ended = await self._until_free(carried, job)
        except SessionTaken:
            raise
        except SkillKitError as error:
            if carried.abandoned:
                raise SessionTaken(error.message) from error
            ended = Ended("failed", error=str(error))
        except Exception as error:
            log.warning("job %s", job.id, exc_info=True)
            ended = Ended("failed", error=in_words(error))
        finally:
            del self._carried[job.id]
            self._users[key] -= 1
        if carried.abandoned:
            raise SessionTaken("another worker goes on with it")
        if ended is None:
            await self._held(self.jobs.hand_back, job, self._settings.durable.lease)
            return {"handed_back": True}
        return await self._end(job, ended, begun)

    async def _until_free(self, carried: Carried, job: Job) -> Ended | None:
        """Carry on once the session is free; ``None``: another process had it for as long as a lease."""
        wait, give_up = 0.1, self._loop.time() + self._settings.durable.lease
        while True:
            try:
                return await carried.carry_on()
            except SessionLocked:
                if self._loop.time() > give_up or self._stopping.is_set():
                    return None
            await asyncio.sleep(wait * _jitter())
            wait = min(2 * wait, 2.0)

    async def _end(self, job: Job, ended: Ended, begun: float) -> Mapping[str, Any]:
        about = {"result": ended.result, "error": ended.error, "waiting": ended.waiting, "used": ended.used}
        error = self._host.redact(ended.error) if ended.error else None
        await self._held(self.jobs.finish, job, ended.status, **{**about, "error": error})
        took = f"{time.monotonic() - begun:.1f} s"
        self.say(f"job {job.id} {ended.status} after {took}{f': {error}' if error else ''}")
        return {"status": ended.status}

    # --- hosts ------------------------------------------------------------------------------------------------------

    async def _host_of(self, job: Job) -> tuple[tuple[str, str], Host]:
        """Return the host of a job's folder and options, made if there is none yet.

        Raises:
            SkillKitError: the folder is not here, the sessions are on another machine, or a setting is wrong.
        """
        spec, options = job.spec, dict(job.spec.options)
        if not Path(spec.folder).is_dir():
            raise UsageError(f"the folder {spec.folder} is not on this machine ({os.uname().nodename})")
        settings = {name: options.get(name) for name in ("skills_dirs", "permit", "permission_mode", "max_turns")}
        key = (spec.folder, repr(settings))
        if key not in self._hosts:
            plan = self._host.plan
            made = Host(plan.wanted, selection=plan.selection, environ=self._host.environ, cwd=Path(spec.folder))
            configure(
                made,
                skills_dirs=[Path(folder) for folder in settings["skills_dirs"] or ()],
                permit=settings["permit"] or (),
                permission_mode=settings["permission_mode"],
                max_turns=settings["max_turns"],
            )
            prepare(made)
            self._hosts[key], self._users[key] = made, 0
        host = self._hosts[key]
        if not _shared(host.session_store()) and spec.machine != os.uname().nodename:
            raise UsageError(
                f"the job was submitted on {spec.machine}, whose sessions this machine ({os.uname().nodename}) does not have",
                hint="set 'session.store: postgres' on both, then retry the job",
            )
        self._users[key] += 1
        await self._close_some(key)
        return key, host

    async def _close_some(self, but: tuple[str, str]) -> None:
        idle = [key for key, users in self._users.items() if not users and key != but]
        for key in idle[: max(0, len(self._hosts) - HOSTS)]:
            host = self._hosts.pop(key)
            del self._users[key]
            await host.aclose()

    # --- looking after ----------------------------------------------------------------------------------------------

    async def _look_after(self) -> None:
        while True:
            try:
                ended = await asyncio.to_thread(self._look)
                for name in ended:
                    if name in self._carried:
                        self._carried[name].cancel()
                if time.monotonic() - self._looked > self._settings.durable.lease / 4:
                    self._looked = time.monotonic()
                    await self._see_answers()
                self._away = False
            except DatabaseAway as error:
                if not self._away:
                    self.say(str(error))
                self._away = True
            except Exception as error:  # noqa: BLE001 - of the engine: the next look may do better
                self.say(f"looking after jobs failed: {in_words(error)}")
            await asyncio.sleep(LOOK * _jitter())

    def _look(self) -> list[str]:
        """Hand due jobs to the engine, make those of schedules, take over from the dead; return the jobs to end."""
        if time.monotonic() - self._reaped > min(self._settings.durable.lease / 4, 2.0):
            self._reaped = time.monotonic()
            self._reap()
        if due := self.jobs.due():
            for job in due:
                limits = self._known.get(job.queue)
                self._engine.enqueue(job, partitioned=limits is not None and limits.partition is not None)
            self.jobs.handed(due)
        self._schedules.make_due()
        return self.jobs.to_cancel(self._lease.worker)

    def _reap(self) -> None:
        for row in dead_workers(self._database, silent=self._lease.judges()):
            if row["id"] != self._lease.worker and give_up(self._database, row):
                self._engine.recover(row["id"])
                reaped(self._database, row)
                if row["beat"] > 0:
                    self.say(f"worker {row['id']} was given up after {row['silent']:.1f} s without a beat")
        self._engine.forget(self.jobs.forget(self._settings.durable.retention))

    async def _see_answers(self) -> None:
        """Give jobs to the engine again whose question was answered in the session itself, by another front end."""
        for job in await asyncio.to_thread(self.jobs.list, status="waiting", limit=200):
            store = store_for(self._host, job)
            if store is None:
                continue
            try:
                session = await Session.open(store, job.session, time.time, read_only=True)
            except SessionError:
                continue
            waiting = session.suspension()
            await session.close()
            asked = questions_of(waiting.calls) if waiting is not None else []
            if asked != list(job.waiting):
                await asyncio.to_thread(self.jobs.went_on, job)


def store_for(host: Host, job: Job) -> SessionStore | None:
    """Return the store that has the session of a job; ``None``: it is on another machine."""
    store = host.session_store()
    return store if _shared(store) or job.spec.machine == os.uname().nodename else None


def _jitter() -> float:
    """Return a factor that keeps workers out of step."""
    return random.uniform(0.8, 1.2)  # noqa: S311 - no secret


def _shared(store: SessionStore) -> bool:
    """Return whether all machines see the sessions of a store."""
    return bool(getattr(store, "shared", False))


def _version() -> str:
    from importlib.metadata import version

    return version("skillkit-durable")
