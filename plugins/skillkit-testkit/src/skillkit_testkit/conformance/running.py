"""How the suites run async code: one loop per check, with a guard so that a hanging implementation fails and does not hang."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

__all__ = ["GUARD_SECONDS", "happened", "run"]

GUARD_SECONDS = 30.0
T = TypeVar("T")


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run ``work`` in a loop of its own.

    Raises:
        TimeoutError: it did not end within :data:`GUARD_SECONDS`.
    """

    async def guarded() -> T:
        async with asyncio.timeout(GUARD_SECONDS):
            return await work

    return asyncio.run(guarded())


async def happened(event: threading.Event) -> bool:
    """Wait for an event that another thread sets, without holding up the loop."""
    return await asyncio.to_thread(event.wait, GUARD_SECONDS / 2)
