"""Carries out the steps of a plan: a step begins as soon as those that it needs have ended. It knows no agent and no model."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeAlias

from skillkit_core.errors import SkillKitError, Suspended, in_words

from .models import PlanStep

__all__ = ["DONE", "Executor", "Journal", "Outcome", "StepFailed", "Stops"]

State: TypeAlias = Literal["completed", "failed", "skipped", "cancelled", "not_started", "waiting"]
Status: TypeAlias = Literal["completed", "partial", "failed", "cancelled", "limit", "waiting"]
Result: TypeAlias = Mapping[str, Any]
DONE: frozenset[str] = frozenset(("completed", "failed", "skipped"))
"""States that a plan which goes on leaves as they are."""


class StepFailed(Exception):
    """A step could not be done. The text begins with a word: ``denied``, ``rejected``, ``timeout``, ``tool_rounds``, ..."""


class Journal(Protocol):
    """What survives the process: each record is durable before the work that it announces begins."""

    def records(self) -> Sequence[Mapping[str, Any]]:
        """Return the records of the plan, oldest first."""

    async def append(self, record: Mapping[str, Any]) -> None:
        """Write a record: ``step_id``, ``state`` (also ``running``, ``retrying``), ``attempt``, ``reason``, ``result``."""


class Stops:
    """Stops a plan, or one of its steps, from elsewhere.

    Attributes:
        all: set: running steps are cancelled, others do not begin.
    """

    def __init__(self, everything: asyncio.Event | None = None) -> None:
        self.all = everything or asyncio.Event()
        self._tasks: dict[int, asyncio.Task[Result]] = {}
        self.asked: set[int] = set()

    def running(self, tasks: Mapping[int, asyncio.Task[Result]]) -> None:
        """Say which steps run now."""
        self._tasks = dict(tasks)

    def stop(self, step_id: int) -> bool:
        """Cancel one step; return whether it was running."""
        task = self._tasks.get(step_id)
        if task is None or task.done():
            return False
        self.asked.add(step_id)
        return task.cancel()


@dataclass(slots=True)
class Outcome:
    """What became of a plan.

    Attributes:
        status: ``partial``: something failed and something is done; ``limit``: the budget stopped steps.
        states: the states of the steps by number.
        results: what completed steps left.
        reasons: why a step is not ``completed``.
        suspended: the first call of a step that waits for a decision.
    """

    status: Status = "completed"
    states: dict[int, State] = field(default_factory=dict)
    results: dict[int, Result] = field(default_factory=dict)
    reasons: dict[int, str] = field(default_factory=dict)
    suspended: Suspended | None = None


class Executor:
    """Carries out a plan once.

    Args:
        steps: the steps, which were validated.
        run_step: ``(step, results of its dependencies by number, attempt) -> result``; what it raises makes the step fail.
        journal: the records, also those of an earlier process that did not come to the end.
        ask: ``(step) -> bool``: may a step which is not idempotent, and had begun, be done again?
        stops: stops the plan or a step.
        max_parallel: most steps at the same time.
        take: ``(step) -> reason or None``: is there room in the budget for one more attempt? It is called once for each.
    """

    def __init__(
        self,
        steps: Sequence[PlanStep],
        *,
        run_step: Callable[[PlanStep, Mapping[int, Result], int], Awaitable[Result]],
        journal: Journal,
        ask: Callable[[PlanStep], Awaitable[bool]],
        stops: Stops | None = None,
        max_parallel: int = 3,
        take: Callable[[PlanStep], str | None] = lambda step: None,
    ) -> None:
        self._steps = {step.step_id: step for step in sorted(steps, key=lambda step: step.step_id)}
        self._run_step, self._journal, self._ask, self._take = run_step, journal, ask, take
        self._stops, self._max = stops or Stops(), max_parallel
        self._attempts: Counter[int] = Counter()
        self._failures: Counter[int] = Counter()
        self._begun: set[int] = set()
        self._tasks: dict[int, asyncio.Task[Result]] = {}
        self._out = Outcome()

    async def execute(self) -> Outcome:
        """Do what is not done yet, and return what became of all steps.

        A cancellation ends the running steps, writes what became of them, and is raised then.
        """
        self._read()
        stop = asyncio.ensure_future(self._stops.all.wait())
        try:
            await self._ask_again()
            while not self._fails_plan():
                if self._stops.all.is_set():
                    break
                await self._begin_ready()
                if not self._tasks:
                    break
                await asyncio.wait({*self._tasks.values(), stop}, return_when=asyncio.FIRST_COMPLETED)
                await self._take_in()
            await self._end_all()
        except Suspended:
            raise  # nothing runs yet: the question whether a step is done again waits
        except BaseException:
            await self._end_all()
            raise
        finally:
            stop.cancel()
            self._stops.running({})
        self._out.status = self._status()
        return self._out

    # --- where an earlier process has left off ------------------------------------------------------------------------

    def _read(self) -> None:
        for record in self._journal.records():
            number, state = record["step_id"], record["state"]
            if number not in self._steps:
                continue
            self._out.states.pop(number, None)
            if state == "running":
                self._attempts[number] += 1
            elif state == "retrying":
                self._failures[number] += 1
            if state in ("running", "retrying", "cancelled"):
                self._begun.add(number)  # it may have changed something, also where it was cancelled
            elif state != "not_started":
                self._begun.discard(number)
            if state in DONE:
                self._out.states[number] = state
                self._out.reasons[number] = str(record.get("reason") or "")
                if state == "completed":
                    self._out.results[number] = record.get("result") or {}

    async def _ask_again(self) -> None:
        """Ask about each step that had begun and must not be done twice unasked; a no is a failure."""
        for number in sorted(self._begun):
            step = self._steps[number]
            if step.idempotent is False and not await self._ask(step):
                await self._end(number, "failed", "interrupted: it had begun, and a person did not want it done again")

    # --- the steps that can begin -------------------------------------------------------------------------------------

    async def _begin_ready(self) -> None:
        """Begin every step whose dependencies have completed, and settle those that never can."""
        changed = True
        while changed:
            changed = False
            for number, step in self._steps.items():
                if number in self._out.states or number in self._tasks:
                    continue
                before = [self._out.states.get(one) for one in step.depends_on]
                if any(state in ("failed", "skipped", "cancelled") for state in before):
                    await self._end(number, "skipped", "dependency_failed")
                    changed = True
                elif "not_started" in before:
                    await self._end(number, "not_started", "budget: a step that it needs was not begun")
                    changed = True
                elif all(state == "completed" for state in before) and len(self._tasks) < self._max:
                    if (why := self._take(step)) is not None:
                        await self._end(number, "not_started", f"budget: {why}")
                        changed = True
                    else:
                        await self._begin(step)

    async def _begin(self, step: PlanStep) -> None:
        number = step.step_id
        self._attempts[number] += 1
        attempt = self._attempts[number]
        await self._journal.append({"step_id": number, "state": "running", "attempt": attempt})
        before = {one: self._out.results[one] for one in step.depends_on}
        self._tasks[number] = asyncio.create_task(self._attempt(step, before, attempt), name=f"step {number}")
        self._stops.running(self._tasks)

    async def _attempt(self, step: PlanStep, before: Mapping[int, Result], attempt: int) -> Result:
        limit = asyncio.timeout(step.timeout_s)
        try:
            async with limit:
                return await self._run_step(step, before, attempt)
        except TimeoutError as error:
            if limit.expired():
                raise StepFailed(f"timeout: it took longer than {step.timeout_s:g} s") from None
            raise StepFailed(f"error: {in_words(error)}") from error

    # --- the steps that have ended ------------------------------------------------------------------------------------

    async def _take_in(self) -> None:
        """Write what became of the steps that have ended, in the order of their numbers."""
        for number in sorted(n for n, task in self._tasks.items() if task.done()):
            task = self._tasks.pop(number)
            step = self._steps[number]
            if task.cancelled():
                await self._end(number, "cancelled", "cancelled: a person stopped it")
                continue
            error = task.exception()
            if error is None:
                await self._complete(number, task.result())
            elif isinstance(error, Suspended):
                self._out.suspended = self._out.suspended or error
                await self._end(number, "waiting", "a decision is awaited")
            elif isinstance(error, Exception):
                await self._failed(step, error)
            else:
                raise error
        self._stops.running(self._tasks)

    async def _complete(self, number: int, result: Result) -> None:
        self._out.results[number], self._out.states[number] = result, "completed"
        await self._journal.append(
            {"step_id": number, "state": "completed", "attempt": self._attempts[number], "result": result}
        )

    async def _failed(self, step: PlanStep, error: Exception) -> None:
        """Try a failed step again if it may, and the budget has room; else it has failed."""
        number, reason = step.step_id, _reason(error)
        self._failures[number] += 1
        again = self._failures[number] <= step.retries
        if again and self._take(step) is None:
            await self._journal.append(
                {"step_id": number, "state": "retrying", "attempt": self._attempts[number], "reason": reason}
            )
            await self._begin(step)
            return
        await self._end(number, "failed", reason)

    async def _end(self, number: int, state: State, reason: str) -> None:
        self._out.states[number], self._out.reasons[number] = state, reason
        record = {"step_id": number, "state": state, "attempt": self._attempts[number], "reason": reason}
        await self._journal.append(record)

    # --- the end ------------------------------------------------------------------------------------------------------

    def _fails_plan(self) -> bool:
        return any(self._out.states.get(n) == "failed" and s.on_failure == "fail_plan" for n, s in self._steps.items())

    async def _end_all(self) -> None:
        """Cancel the running steps, wait for them, and write what became of them and of the steps that never began."""
        for task in self._tasks.values():
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks.values())
        for number in sorted(self._tasks):
            task = self._tasks.pop(number)
            if not task.cancelled() and (error := task.exception()) is not None and not isinstance(error, Exception):
                raise error
            if not task.cancelled() and task.exception() is None:
                await self._complete(number, task.result())
            else:
                await self._end(number, "cancelled", "cancelled: the plan was stopped")
        if self._out.suspended is not None and not self._stops.all.is_set() and not self._fails_plan():
            return  # what could not begin yet may, once the decision is there
        for number, step in self._steps.items():
            if number not in self._out.states:
                failed = any(self._out.states.get(one) in ("failed", "skipped") for one in step.depends_on)
                if failed:
                    await self._end(number, "skipped", "dependency_failed")
                else:
                    await self._end(number, "not_started", "cancelled: the plan was stopped")

    def _status(self) -> Status:
        states = self._out.states.values()
        if self._stops.all.is_set() and any(state in ("cancelled", "not_started") for state in states):
            return "cancelled"
        if self._fails_plan():
            return "failed"
        if "waiting" in states:
            return "waiting"
        if "not_started" in states:
            return "limit"
        if all(state == "completed" for state in states):
            return "completed"
        return "partial" if "completed" in states else "failed"


def _reason(error: Exception) -> str:
    """Return why a step failed, for people: a word, then more. No other step reads it."""
    if isinstance(error, StepFailed):
        return str(error)
    return f"error: {error}" if isinstance(error, SkillKitError) else f"error: {in_words(error)}"
