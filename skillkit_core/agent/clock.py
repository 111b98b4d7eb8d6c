"""Time as the loop sees it, so that tests can bring their own."""

from __future__ import annotations

import asyncio
import time
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

    @staticmethod
    def time() -> float:
        """Seconds since the epoch."""
        return time.time()

    @staticmethod
    def monotonic() -> float:
        """Seconds that never go back."""
        return time.monotonic()

    @staticmethod
    async def sleep(seconds: float) -> None:
        """Wait."""
        await asyncio.sleep(seconds)


SYSTEM_CLOCK = SystemClock()
