from __future__ import annotations

import asyncio
import gc
import os
import time
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest
from skillkit_process import process


@pytest.fixture
def go() -> Callable[[Coroutine[Any, Any, Any]], Any]:
    """Run a coroutine; a hang fails the test instead of the suite."""

    def run(coroutine: Coroutine[Any, Any, Any]) -> Any:
        async def bounded() -> Any:
            async with asyncio.timeout(60):
                return await coroutine

        return asyncio.run(bounded())

    return run


def is_alive(pid: int) -> bool:
    found = process(pid)
    return found is not None and found.alive


@pytest.fixture
def gone() -> Callable[[int], bool]:
    """Whether a process that was signalled ends; the kernel may need a moment."""

    def wait(pid: int) -> bool:
        deadline = time.monotonic() + 60
        while is_alive(pid) and time.monotonic() < deadline:
            os.sched_yield()
        return not is_alive(pid)

    return wait


def _children() -> set[str]:
    """The pids of this process's children, zombies too."""
    found: set[str] = set()
    for task in Path("/proc/self/task").iterdir():
        found.update((task / "children").read_text().split())
    return found


def _descriptors() -> int:
    gc.collect()  # what an earlier test left to the collector is not this one's
    return len(list(Path("/proc/self/fd").iterdir()))


@pytest.fixture
def no_leaks() -> Iterator[None]:
    """The test leaves no descriptor and no child behind, not even a zombie."""
    descriptors, children = _descriptors(), _children()
    yield
    assert _descriptors() <= descriptors
    assert _children() <= children
