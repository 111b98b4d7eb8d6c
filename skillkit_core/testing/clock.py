"""A clock that moves only by ``sleep`` and ``advance``."""

from __future__ import annotations

import asyncio


class VirtualClock:
    """Time for tests: sleeping takes no time at all, but is recorded in ``slept`` (seconds)."""

    def __init__(self, start: float = 1_700_000_000.0) -> None:
        self._now = start
        self.slept: list[float] = []

    def time(self) -> float:
        """Seconds since the epoch, as far as this clock is concerned."""
        return self._now

    def monotonic(self) -> float:
        """The same."""
        return self._now

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self._now += seconds

    async def sleep(self, seconds: float) -> None:
        """Let time pass at once, and let other tasks run."""
        self.slept.append(seconds)
        self._now += seconds
        await asyncio.sleep(0)
