"""The loop: what is due is done, each schedule one run at a time, several schedules side by side."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from .running import carry_out, decided

if TYPE_CHECKING:
    from skillkit_core import Host

    from .store import Schedule, ScheduleRun, Store

__all__ = ["Loop"]

POLL = 2.0  # seconds after which another process's changes are seen at the latest


class Loop:
    """Runs what is due.

    Args:
        host: its distribution and settings are those of the runs, which have hosts of their own for their folders.
        store: the schedules.
        tell: is called when a run has ended, or was skipped, and for a reminder (without a schedule).
        now: the time, seconds since 1970.
    """

    def __init__(
        self,
        host: Host,
        store: Store,
        tell: Callable[[Schedule | None, ScheduleRun], None],
        now: Callable[[], float] = time.time,
    ) -> None:
        self._host, self._store, self._tell, self._now = host, store, tell, now
        self._config = host.config.section("schedule")
        self._busy: dict[str, asyncio.Task[bool]] = {}
        self.woken = asyncio.Event()

    async def run(self, *, once: bool) -> None:
        """Do what is due, and wait for more; ``once``: until nothing is due any more.

        Cancelled, it stops the runs at work: they go on when a loop runs again.
        """
        elsewhere: set[str] = set()  # schedules that another process runs
        told: set[int] = set()
        try:
            while True:
                for notice in self._store.remind(self._now()):
                    if notice.number not in told:
                        told.add(notice.number)
                        self._tell(None, notice)
                for name in self._store.due(self._now()):
                    if name not in self._busy and name not in elsewhere and len(self._busy) < self._config.parallel:
                        self._busy[name] = asyncio.create_task(self._work(name))
                if once and not self._busy:
                    return
                elsewhere = (elsewhere if once else set()) | await self._rest()
        finally:
            for task in self._busy.values():
                task.cancel()
            await asyncio.gather(*self._busy.values(), return_exceptions=True)

    async def _rest(self) -> set[str]:
        """Wait until a run ends, something is due, or it is time to look; return what another process runs."""
        due = self._store.next_due()
        left = POLL if due is None else min(POLL, max(0.05, due - self._now()))
        self.woken.clear()
        woken = asyncio.create_task(self.woken.wait())
        try:
            await asyncio.wait({woken, *self._busy.values()}, timeout=left, return_when=asyncio.FIRST_COMPLETED)
        finally:
            woken.cancel()
        ended = {name: task for name, task in self._busy.items() if task.done()}
        for name in ended:
            del self._busy[name]
        return {name for name, task in ended.items() if not task.result()}

    async def _work(self, name: str) -> bool:
        """Do what is due of a schedule; return whether it did anything of what there was."""
        with self._store.lock(name) as held:
            schedule = self._store.get(name)
            if not held or schedule is None:
                return False
            waits = await self._waits(name)
            if waits is not None and schedule.kind == "webhook":
                return False
            run = self._store.take(name, self._now())
            if run is None:
                return True
            if waits is not None:
                reason = f"the run before waits for a decision: skillkit resume {waits.session}"
                self._store.update(run.number, state="skipped", reason=reason, ended=self._now())
            else:
                await carry_out(self._host, self._store, schedule, run, self._config.seconds, self._now)
            ended = next((one for one in self._store.runs(name, 50) if one.number == run.number), None)
            if ended is not None:
                self._tell(schedule, ended)
            return True

    async def _waits(self, name: str) -> ScheduleRun | None:
        """Return the run of a schedule whose calls wait for a decision; close those that have got one."""
        for run in self._store.runs(name, 50, "waiting"):
            if not await decided(self._host, run):
                return run
            self._store.update(run.number, state="completed", reason="a person has decided; the session has the rest")
        return None
