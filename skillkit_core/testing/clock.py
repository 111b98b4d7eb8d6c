"""A clock that moves only by ``sleep`` and ``advance``."""

from __future__ import annotations

import asyncio


class VirtualClock:
    """A clock for tests. Sleeping takes no time, but ``slept`` records its seconds."""

    def __init__(self, start: float = 1_700_000_000.0) -> None:
        self._now = start
        self.slept: list[float] = []

    def time(self) -> float:
        """Return the clock's seconds since the epoch."""
        return self._now

    def monotonic(self) -> float:
        """Return the same as :meth:`time`."""
        return self._now

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self._now += seconds

    async def sleep(self, seconds: float) -> None:
        """Let time pass at once, and let other tasks run."""
        self.slept.append(seconds)
        self._now += seconds
        await asyncio.sleep(0)
