"""The order of a replay: whoever has something to give waits for its turn, so that everything comes as it was recorded.

What cannot come any more is passed over, so a replay always ends: when all who could go on wait for something that does not
happen, the first of them goes on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import TYPE_CHECKING

from .entrances import Key

if TYPE_CHECKING:
    from .script import Script

__all__ = ["Order"]

ROUNDS = 50  # turns of the event loop in which nothing happens


class Order:
    """Hands out turns.

    Args:
        patience: seconds in which nothing happens before a turn is passed over, as long as the replay went as recorded: a
            plugin may wait for something real. Afterwards nobody is waited for.

    Attributes:
        diverged: the replay does not go as recorded.
    """

    def __init__(self, script: Script, patience: float) -> None:
        self._steps = script.steps
        self._index = {step.key: n for n, step in enumerate(script.steps)}
        self._patience = patience
        self._next = 0
        self._done: set[int] = set()
        self._happened: set[Key] = set()
        self._waiting: dict[int, asyncio.Future[None]] = {}
        self._wanted: dict[Key, list[asyncio.Future[None]]] = {}
        self._held: list[asyncio.Future[None]] = []
        self._activity = 0
        self._stir = asyncio.Event()
        self.diverged = False

    # --- turns --------------------------------------------------------------------------------------------------

    async def turn(self, key: Key) -> None:
        """Wait until the step may be taken, and take it."""
        n = self._index[key]
        if n in self._done:
            return  # it was passed over
        if not self._ready(n):
            future = self._waiting[n] = asyncio.get_running_loop().create_future()
            self._moved()
            try:
                await future
            finally:
                self._waiting.pop(n, None)
        self.finish(key)

    def has_happened(self, key: Key) -> bool:
        """Whether something has happened."""
        return key in self._happened

    async def until(self, key: Key) -> None:
        """Wait until something has happened, or will not."""
        future = asyncio.get_running_loop().create_future()
        self._wanted.setdefault(key, []).append(future)
        self._moved()
        try:
            await future
        finally:
            waiting = self._wanted.get(key, [])
            if future in waiting:
                waiting.remove(future)
            if not waiting:
                self._wanted.pop(key, None)

    async def hold(self) -> None:
        """Wait for what only an abort brings; returns when nothing else can happen."""
        future = asyncio.get_running_loop().create_future()
        self._held.append(future)
        self._moved()
        try:
            await future
        finally:
            if future in self._held:
                self._held.remove(future)

    def _ready(self, n: int) -> bool:
        if n != self._next:
            return False
        after = self._steps[n].after
        return after is None or after in self._happened

    def finish(self, key: Key) -> None:
        """The step has been taken."""
        self._pass((self._index[key],))

    def happened(self, key: Key) -> None:
        """Something happened that steps may wait for."""
        self._happened.add(key)
        self._release(self._wanted.pop(key, ()))
        self._moved()

    @staticmethod
    def _release(futures: Iterable[asyncio.Future[None]]) -> None:
        for future in futures:
            if not future.done():
                future.set_result(None)

    def is_done(self, key: Key) -> bool:
        """Whether the step has been taken or passed over."""
        return self._index[key] in self._done

    def pass_over(self, keys: Iterable[Key]) -> None:
        """These steps will not be taken."""
        left = [n for key in keys if (n := self._index.get(key)) is not None and n not in self._done]
        if left:
            self.diverged = True
            self._pass(left)

    def pass_until(self, place: int) -> list[Key]:
        """Nothing that was recorded before ``place`` will come any more; gives what of that the user would have said."""
        left = [n for n in range(self._next, len(self._steps)) if self._steps[n].place < place and n not in self._done]
        keys = [self._steps[n].key for n in left]
        self.pass_over(keys)
        return [key for key in keys if key[0] == "told"]

    def _pass(self, numbers: Iterable[int]) -> None:
        self._done.update(numbers)
        while self._next in self._done:
            self._next += 1
        self._moved()

    def _moved(self) -> None:
        self._activity += 1
        self._stir.set()
        future = self._waiting.get(self._next)
        if future is not None and not future.done() and self._ready(self._next):
            future.set_result(None)
        self._release([found for n, found in self._waiting.items() if n in self._done])  # passed over while they waited

    @property
    def over(self) -> bool:
        """Whether every step has been taken or passed over."""
        return self._next >= len(self._steps)

    # --- going on all the same ----------------------------------------------------------------------------------

    async def keep_going(self) -> None:
        """Let somebody go on whenever nobody can. Run it as a task beside the replay; it ends by being cancelled."""
        while True:
            await self._stir.wait()
            self._stir.clear()
            while self._waiting or self._wanted or self._held:
                if await self._quiet():
                    self._give_way()

    async def _quiet(self) -> bool:
        """Whether nothing happens any more."""
        seen = self._activity
        for _ in range(ROUNDS):
            await asyncio.sleep(0)
            if self._activity != seen:
                return False
        if not self.diverged:
            self._stir.clear()
            try:
                await asyncio.wait_for(self._stir.wait(), self._patience)
                return False
            except TimeoutError:
                pass
        return self._activity == seen

    def _give_way(self) -> None:
        self.diverged = True
        if self._wanted:
            self._release(self._wanted.pop(next(iter(self._wanted))))
            self._moved()
        elif self._waiting:
            first = min(self._waiting)
            self._pass([n for n in range(self._next, first + 1) if n not in self._done])
        elif self._held:
            self._release((self._held.pop(),))
            self._moved()
