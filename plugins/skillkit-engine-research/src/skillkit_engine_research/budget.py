"""What a task has used, and what it may use before it must answer."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from skillkit_core import AssistantMessage, DrivenRun

    from .modes import BudgetLimits

__all__ = ["BEGIN", "Budget", "BudgetSpent"]

BEGIN = "engine-research.begin"  # type of the note


class BudgetSpent(Exception):
    """The budget has no room for another step of the search."""


class Budget:
    """Counts requests, calls, tokens, dollars and seconds of a task.

    Requests and tokens of answers that an earlier process got count, too: a resumed task stops where it would have stopped.
    Seconds are those of this process.
    """

    def __init__(self, run: DrivenRun, limits: BudgetLimits, cost: float) -> None:
        self._run, self._limits, self._cost = run, limits, cost
        self._began = time.monotonic()
        self.requests = 0
        self.calls = 0
        self.tokens = 0

    @classmethod
    async def begin(cls, run: DrivenRun, task: str, mode: str, limits: BudgetLimits) -> Budget:
        """Return the budget of a task; where it began, a note says what the session had cost."""
        session = run.agent.session
        notes = (note.data for note in reversed(session.notes(BEGIN)))
        kept = next((data for data in notes if run.resumed and data.get("task") == task), None)
        if kept is None:
            kept = {"task": task, "mode": mode, "cost": session.cost}
            await session.note(BEGIN, kept)
        return cls(run, limits, float(kept["cost"]))

    def asked(self, answer: AssistantMessage) -> None:
        """Count a request."""
        self.requests += 1
        self.tokens += answer.usage.total

    def require(self, *, requests: int = 0, calls: int = 0) -> None:
        """Raise BudgetSpent where there is no room for this much, and for the answer."""
        if why := self.spent(requests=requests, calls=calls):
            raise BudgetSpent(why)

    def spent(self, *, requests: int = 0, calls: int = 0) -> str:
        """Return which limit has no room, as ``requests 3 of 3``; empty: there is room."""
        limits = self._limits
        if limits.requests is not None and self.requests + requests + 1 > limits.requests:
            return f"requests {self.requests} of {limits.requests}, and one is for the answer"
        if limits.calls is not None and calls and self.calls + calls > limits.calls:
            return f"calls {self.calls} of {limits.calls}"
        if limits.tokens is not None and self.tokens >= limits.tokens:
            return f"tokens {self.tokens:,} of {limits.tokens:,}"
        if limits.cost is not None and self.cost >= limits.cost:
            return f"dollars {self.cost:.4f} of {limits.cost:.4f}"
        if limits.seconds is not None and time.monotonic() - self._began >= limits.seconds:
            return f"seconds {limits.seconds:g}"
        return ""

    @property
    def cost(self) -> float:
        """US dollars, as far as prices are known."""
        return float(self._run.agent.session.cost - self._cost)

    def used(self) -> Mapping[str, Any]:
        """Return what was used, by name."""
        return {"requests": self.requests, "calls": self.calls, "tokens": self.tokens, "cost": round(self.cost, 6)}
