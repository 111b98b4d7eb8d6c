"""Connections outlive requests, and keep nothing of whoever made them."""

from __future__ import annotations

import asyncio

import pytest
from skillkit_transport.sockets import _apart


def test_work_that_is_done_apart_is_cancelled_and_fails_like_any_other() -> None:
    seen: list[str] = []

    async def work(ends: asyncio.Event, failure: Exception | None = None) -> str:
        try:
            await ends.wait()
        except asyncio.CancelledError:
            seen.append("cancelled")
            raise
        if failure is not None:
            raise failure
        return "done"

    async def main() -> None:
        never, now = asyncio.Event(), asyncio.Event()
        now.set()
        assert await _apart(work(now)) == "done"
        with pytest.raises(LookupError, match="no such thing"):
            await _apart(work(now, LookupError("no such thing")))
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0):
                await _apart(work(never))
        assert seen == ["cancelled"]

    asyncio.run(main())
