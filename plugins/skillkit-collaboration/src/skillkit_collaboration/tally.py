"""What a session uses: requests of all agents below the one that leads, and of the supervisor."""

from __future__ import annotations

import time
from types import TracebackType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from skillkit_core import AgentRunner
    from skillkit_core.events.types import UsageEvent

__all__ = ["Tally"]


class Tally:
    """Counts between two notes of a session. While it is entered, it sees the usage of the agent that leads."""

    def __init__(self, agent: AgentRunner) -> None:
        self._agent = agent
        self._path = tuple(agent.events.agent_path)
        self._began = time.perf_counter()
        self._calls, self._tokens, self._cost = 0, 0, 0.0
        self._remove: Any = None

    def __enter__(self) -> Tally:
        self._remove = self._agent.events.observe(self._see, ["usage"])
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._remove()

    def _see(self, event: UsageEvent) -> None:
        path = tuple(event.agent_path)
        below = len(path) > len(self._path) and path[: len(self._path)] == self._path
        own = path == self._path and event.purpose.startswith("collaboration.")
        if event.purpose == "nested" or not (below or own):
            return
        self._calls += 1 if event.request else 0
        self._tokens += event.usage.total
        self._cost += event.cost or 0.0

    def take(self) -> dict[str, Any]:
        """Return what was used since the last time, and how many milliseconds have passed."""
        now = time.perf_counter()
        used = {"ms": round((now - self._began) * 1000, 3), "calls": self._calls, "tokens": self._tokens}
        found = {**used, "cost": round(self._cost, 8)}
        self._began, self._calls, self._tokens, self._cost = now, 0, 0, 0.0
        return found
