"""The clock of an agent, which tests replace."""

from __future__ import annotations

import asyncio
import time as system_time
from typing import Protocol

__all__ = ["SYSTEM_CLOCK", "Clock", "SystemClock"]


class Clock(Protocol):
    """Tells the time, and sleeps."""

    def time(self) -> float:
        """Return the seconds since the epoch."""

    def monotonic(self) -> float:
        """Return seconds that never decrease."""

    async def sleep(self, seconds: float) -> None:
        """Wait for a number of seconds."""


class SystemClock:
    """The machine's clock."""

    time = staticmethod(system_time.time)
    monotonic = staticmethod(system_time.monotonic)
    sleep = staticmethod(asyncio.sleep)


SYSTEM_CLOCK = SystemClock()
