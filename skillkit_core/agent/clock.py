"""Time as the loop sees it, so that tests can bring their own."""

from __future__ import annotations

import asyncio
import time as system_time
from typing import Protocol

__all__ = ["SYSTEM_CLOCK", "Clock", "SystemClock"]


class Clock(Protocol):
    """What the loop needs of time."""

    def time(self) -> float:
        """Seconds since the epoch."""

    def monotonic(self) -> float:
        """Seconds that never go back."""

    async def sleep(self, seconds: float) -> None:
        """Wait."""


class SystemClock:
    """The machine's clock."""

    time = staticmethod(system_time.time)
    monotonic = staticmethod(system_time.monotonic)
    sleep = staticmethod(asyncio.sleep)


SYSTEM_CLOCK = SystemClock()
