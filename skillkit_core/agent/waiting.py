"""Waiting for the end of what may go on in the loop of another thread."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

__all__ = ["ended"]


async def ended(future: asyncio.Future[Any]) -> None:
    """Wait until a task or future is done, also one of another thread's loop; what came of it is not looked at."""
    here, there = asyncio.get_running_loop(), future.get_loop()
    if there is here:
        await asyncio.wait([future])
        return
    over: asyncio.Future[None] = here.create_future()

    def settle() -> None:
        if not over.done():
            over.set_result(None)

    def tell(_: object) -> None:
        with contextlib.suppress(RuntimeError):  # nobody waits any more
            here.call_soon_threadsafe(settle)

    try:
        there.call_soon_threadsafe(future.add_done_callback, tell)
    except RuntimeError:  # closed: nothing goes on there
        return
    await over
