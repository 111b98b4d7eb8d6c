"""A process that forks the processes that are killed: it has imported everything, so that a kill costs milliseconds.

Reads jobs from standard input, one JSON object a line (``scenario``, ``folder``, ``plugin``, ``every``), and answers each with
one: ``{"gates": [...], "failures": [...]}``. Several processes run at a time.
"""

from __future__ import annotations

import gc
import json
import os
import shutil
import signal
import sys
import traceback
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

from core_kit import Kit, run
from crash_plays import SCENARIOS, Play

SECONDS = 60  # after that a process that hangs is ended by its alarm
Then = Callable[[int, str], None]


class Failures(Exception):
    """What went wrong in a process, told already."""


class Forks:
    """Runs functions in processes of their own, ``limit`` at a time."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.waiting: deque[tuple[Callable[[], Any], Then]] = deque()
        self.running: dict[int, tuple[int, Then]] = {}

    def add(self, work: Callable[[], Any], then: Then) -> None:
        """Run ``work`` in a process; ``then`` gets its wait status and what it said when it failed."""
        self.waiting.append((work, then))

    def finish(self) -> None:
        """Run everything, also what ``then`` adds."""
        while self.waiting or self.running:
            while self.waiting and len(self.running) < self.limit:
                self._start(*self.waiting.popleft())
            pid, status = os.wait()
            pipe, then = self.running.pop(pid)
            with os.fdopen(pipe, errors="replace") as said:
                then(status, said.read())

    def _start(self, work: Callable[[], Any], then: Then) -> None:
        reader, writer = os.pipe()
        pid = os.fork()
        if pid:
            os.close(writer)
            self.running[pid] = reader, then
            return
        code = 1
        try:
            signal.alarm(SECONDS)
            work()
            code = 0
        except BaseException as error:
            said = str(error) if isinstance(error, Failures) else traceback.format_exc()
            os.write(writer, said[-20_000:].encode())
        finally:
            os._exit(code)


class Kills:
    """One scenario, killed at gates; then other processes go on with what each kill left, and resume a copy of it.

    ``every``: killed at each gate, not only at the first of each kind.
    """

    def __init__(self, forks: Forks, scenario: str, folder: str, plugin: bool, every: bool) -> None:
        self.forks, self.scenario, self.folder, self.plugin = forks, SCENARIOS[scenario], Path(folder), plugin
        self.every = every
        self.gates: list[str] = []
        self.failures: list[str] = []
        self.left: list[int] = []  # the gates whose kill left a session

    def play(self, place: str, kill_at: int = 0) -> Play:
        """A process's part, in a folder of its own."""
        folder = self.folder / place
        folder.mkdir(exist_ok=True)
        return Play(Kit(folder), folder, self.scenario, kill_at, self.plugin)

    def all(self) -> dict[str, Any]:
        """Kill and go on; what gates there are and what went wrong."""
        for part in (self.play("warm").first, self.play("warm").second):  # what it imports, the processes need not
            run(part)
        gc.freeze()
        self.forks.add(lambda: run(self.play("whole").first), self._whole)
        self.forks.finish()
        for part in range(self.forks.limit):
            mine = self.left[part :: self.forks.limit]
            self.forks.add(lambda mine=mine: self._go_on(mine), self._went_on)
        self.forks.finish()
        return {"gates": self.gates, "failures": self.failures}

    def _whole(self, status: int, said: str) -> None:
        if status:
            self.failures.append(f"the run fails without any kill: {said or status}")
            return
        self.gates = self.play("whole").read("gates")
        for n, gate in enumerate(self.gates, 1):
            if not self.every and gate in self.gates[: n - 1]:
                continue
            work = self.play(f"gate{n}", n).first
            self.forks.add(lambda work=work: run(work), lambda status, said, n=n: self._killed(n, status, said))

    def _killed(self, n: int, status: int, said: str) -> None:
        if not (os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL):
            self._failed(n, said or f"the run did not reach the gate: it ended with status {status}")
        elif len(self.play(f"gate{n}").read("gates")) != n - 1:
            self._failed(n, "the run took another way than the one without a kill")
        elif any((self.folder / f"gate{n}").glob("s.jsonl")):
            shutil.copytree(self.folder / f"gate{n}", self.folder / f"gate{n}, resumed")
            self.left.append(n)
        elif self.gates[n - 1] != "persist session":
            self._failed(n, "there is no session file")

    def _go_on(self, gates: list[int]) -> None:
        """The process after the kill, for some of the kills."""
        for n in gates:
            signal.alarm(SECONDS)
            try:
                run(self.play(f"gate{n}").second)
                run(self.play(f"gate{n}, resumed").third)
            except BaseException:
                self._failed(n, traceback.format_exc()[-5000:])
        if self.failures:
            raise Failures("\n\n".join(self.failures[:5]))

    def _went_on(self, status: int, said: str) -> None:
        if status:
            self.failures.append(said or f"a process that went on ended with status {status}")

    def _failed(self, n: int, what: str) -> None:
        self.failures.append(f"killed at gate {n} of {len(self.gates)}, before {self.gates[n - 1]!r}: {what}")


def main() -> None:
    """Answer jobs until standard input ends."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # nothing that a run prints gets among the answers
    forks = Forks(max(2, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 2))
    for line in sys.stdin:
        print(json.dumps(Kills(forks, **json.loads(line)).all()), file=answers, flush=True)


if __name__ == "__main__":
    main()
