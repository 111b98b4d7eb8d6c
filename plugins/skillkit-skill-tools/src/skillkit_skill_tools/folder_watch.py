"""Folders over time: an iterator that gives each change once, when it is over."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable, Sequence
from pathlib import Path

from .changes_seen import Look, is_remote, look, says
from .config import WatchConfig
from .notices import Notices, notices

__all__ = ["FolderWatch"]

_LONGEST = 10  # settling times after which a change counts that never ends
_LOOKS = 5  # at most, while folders appear


class FolderWatch:
    """Watches folders of skills, which may come and go.

    Where the system sends no events, or refuses to watch that much, the folders are looked at every ``config.interval`` seconds.

    Args:
        roots: gives the folders; called before each look.
        tell: takes one line about what does not work.
        config: the section ``watch``.
        files: files that count besides.
        whole: every file of a skill counts, not only what the skill is read from.
    """

    def __init__(
        self,
        roots: Callable[[], Sequence[Path]],
        tell: Callable[[str], object],
        config: WatchConfig | None = None,
        *,
        files: Sequence[Path] = (),
        whole: bool = False,
    ) -> None:
        self._roots, self._tell, self._files, self._whole = roots, tell, files, whole
        self._config = config or WatchConfig()
        self._notices: Notices | None = None
        self._polling = bool(self._config.polling)
        self._touched = asyncio.Event()
        self._seen = Look()
        self._rewritten: set[str] = set()

    async def changes(self) -> AsyncGenerator[list[str], None]:
        """Yield the files that changed, each time that something did and then nothing more; first all that are there."""
        loop = asyncio.get_running_loop()

        def touched() -> None:  # in a thread of the notices
            if not self._touched.is_set():
                with contextlib.suppress(RuntimeError):  # the loop was closed
                    loop.call_soon_threadsafe(self._touched.set)

        try:
            if not self._polling:
                self._begin(touched)
            while True:
                now = await self._look()
                changed, self._seen = now.changed(self._seen), now
                if changed:
                    yield changed
                await self._wait()
        finally:
            self.close()

    async def accept(self) -> None:
        """Take as seen what the caller itself wrote since the last change: new files, and those that it writes each time.

        A file that says what a skill is (:func:`~skillkit_skill_tools.changes_seen.says`) is never taken for the caller's.
        """
        now, seen = (await self._once()).files, self._seen.files
        written = {p for p, stamp in now.items() if not says(p) and seen.get(p, ()) != stamp}
        seen.update({p: now[p] for p in written if p not in seen or p in self._rewritten})
        self._rewritten = written

    def close(self) -> None:
        """End what notices changes."""
        noticing, self._notices = self._notices, None
        if noticing is not None:
            noticing.close()

    def _begin(self, touched: Callable[[], None]) -> None:
        self._polling = self._config.polling is None and is_remote(self._roots())
        try:
            self._notices = notices(touched)
        except (OSError, ImportError) as error:
            self._poll(error)

    def _poll(self, error: Exception) -> None:
        self.close()
        self._polling = True
        self._tell(
            f"changes are not reported by the system ({error}): looking every {self._config.interval:g} s instead"
        )

    async def _look(self) -> Look:
        """Look until nothing changes while we look, and follow what is there."""
        now = await self._once()
        for _ in range(_LOOKS):
            if self._polling and now.changed(self._seen):
                await asyncio.sleep(self._config.settle)
            elif not self._follow(now):
                break
            before, now = now, await self._once()
            if self._polling and not now.changed(before):
                break
        return now

    async def _once(self) -> Look:
        return await asyncio.to_thread(look, self._roots(), files=self._files, whole=self._whole)

    def _follow(self, now: Look) -> bool:
        if self._notices is None:
            return False
        try:
            return self._notices.follow(now, self._roots())
        except OSError as error:
            self._poll(error)
            return False

    async def _wait(self) -> None:
        """Wait until something may have changed, and then until nothing does."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._config.interval if self._polling else None):
                await self._touched.wait()
        for _ in range(_LONGEST):
            if not self._touched.is_set():
                break
            self._touched.clear()
            await asyncio.sleep(self._config.settle)
        self._touched.clear()
