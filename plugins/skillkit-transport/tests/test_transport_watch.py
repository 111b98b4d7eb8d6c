"""What ends the waits of an adapter's request: an abort, a limit, silence; and nothing else does."""

from __future__ import annotations

import asyncio
import gc
import weakref
from collections.abc import Coroutine
from contextvars import ContextVar
from typing import Any

import pytest
from skillkit_transport.http import Interrupted, Watch

from skillkit_core.abort import AbortSignal


def outcome(work: Coroutine[Any, Any, Any]) -> Any:
    """What comes of ``work`` on a loop of its own, or why it was interrupted."""
    try:
        return asyncio.run(work)
    except Interrupted as interrupted:
        return interrupted.reason


async def never() -> None:
    await asyncio.get_running_loop().create_future()


def test_a_wait_gives_its_result() -> None:
    async def main() -> str:
        watch = Watch(AbortSignal())
        watch.limit(60.0)
        watch.idle(60.0)
        try:
            return await watch.wait(asyncio.sleep(0, "answer"))
        finally:
            watch.close()

    assert outcome(main()) == "answer"


@pytest.mark.parametrize(
    ("arm", "reason"),
    [
        (lambda watch: watch.limit(0.001), "timeout"),
        (lambda watch: watch.idle(0.001), "silence"),
        (lambda watch: (watch.limit(60.0), watch.idle(0.001)), "silence"),
        (lambda watch: (watch.idle(60.0), watch.limit(0.001)), "timeout"),
        (lambda watch: (watch.limit(0.001), watch.limit(None), watch.idle(0.002)), "silence"),
        (lambda watch: (watch.idle(0.001), watch.idle(None), watch.limit(0.002)), "timeout"),
    ],
    ids=["limit", "silence", "silence before the limit", "limit before silence", "limit lifted", "patience lifted"],
)
def test_what_is_overdue_ends_the_wait(arm: Any, reason: str) -> None:
    async def main() -> None:
        watch = Watch(AbortSignal())
        arm(watch)
        await watch.wait(never())

    assert outcome(main()) == reason


def test_an_abort_from_another_thread_ends_the_wait_and_those_that_would_follow() -> None:
    async def main() -> list[str]:
        signal, reasons = AbortSignal(), []
        watch = Watch(signal)
        aborting = asyncio.ensure_future(asyncio.to_thread(signal.abort, "enough"))
        for _ in range(2):
            with pytest.raises(Interrupted) as interrupted:
                await watch.wait(never())
            reasons.append(interrupted.value.reason)
        await aborting
        watch.close()
        return reasons

    assert asyncio.run(main()) == ["aborted", "aborted"]


def test_what_was_aborted_before_is_not_begun() -> None:
    async def main() -> str | None:
        signal, begun = AbortSignal(), []

        async def work() -> None:
            begun.append(True)

        signal.abort("enough")
        watch = Watch(signal)
        with pytest.raises(Interrupted):
            await watch.wait(work())
        assert not begun
        return watch.reason

    assert asyncio.run(main()) == "aborted"


def test_a_cancellation_of_the_task_is_not_taken_for_an_interruption() -> None:
    async def main() -> str | None:
        watch = Watch(AbortSignal())
        watch.limit(60.0)
        task = asyncio.ensure_future(watch.wait(never()))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        watch.close()
        return watch.reason

    assert asyncio.run(main()) is None


def test_a_cancellation_beside_an_interruption_passes() -> None:
    async def main() -> None:
        signal = AbortSignal()
        watch = Watch(signal)
        task = asyncio.ensure_future(watch.wait(never()))
        await asyncio.sleep(0)
        task.cancel()
        signal.abort("enough")
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())


def test_only_waiting_counts_as_silence_and_a_wait_may_go_on_with_the_one_before() -> None:
    """The time that a consumer takes between two events is not the server's."""

    async def main() -> str | None:
        loop = asyncio.get_running_loop()
        watch = Watch(AbortSignal())
        watch.idle(60.0)
        watch._since = loop.time() - 1_000  # long ago, while nobody was waiting
        watch._look()
        assert watch.reason is None
        assert await watch.wait(asyncio.sleep(0, "answer")) == "answer"
        watch._since = loop.time() - 1_000
        waiting = asyncio.ensure_future(watch.wait(never(), True))
        await asyncio.sleep(0)
        watch._look()
        with pytest.raises(Interrupted):
            await waiting
        return watch.reason

    assert asyncio.run(main()) == "silence"


def test_nothing_that_the_run_set_is_kept_by_the_timer() -> None:
    class Witness:
        pass

    held: ContextVar[Witness] = ContextVar("held")

    async def run() -> weakref.ref[Witness]:
        witness = Witness()
        held.set(witness)
        watch = Watch(AbortSignal())
        watch.limit(3_600.0)
        watch.idle(1_800.0)
        watch.close()
        return weakref.ref(witness)

    async def main() -> bool:
        witness = await asyncio.create_task(run())
        await asyncio.sleep(0)  # the loop lets go of the task itself
        gc.collect()
        return witness() is None

    assert asyncio.run(main())


def test_one_timer_serves_all_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> int:
        loop = asyncio.get_running_loop()
        made = []
        call_at = loop.call_at

        def counted(*args: Any, **named: Any) -> Any:
            made.append(args[0])
            return call_at(*args, **named)

        monkeypatch.setattr(loop, "call_at", counted)
        watch = Watch(AbortSignal())
        watch.idle(60.0)
        watch.limit(120.0)
        future = loop.create_future()
        future.set_result(None)
        for _ in range(1_000):
            await watch.wait(future)
        watch.close()
        return len(made)

    assert asyncio.run(main()) == 1
