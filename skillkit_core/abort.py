"""The signal that ends a run, which any thread sets once, and which streams, tools and hooks see."""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Callable
from functools import partial

from .errors import RunAborted

__all__ = ["AbortSignal"]

log = logging.getLogger("skillkit.agent")


class AbortSignal:
    """The abort of a run, for streams, tools and hooks.

    ``aborted`` may be read anywhere. ``await signal.wait()`` sleeps until the signal is set. A callback is called at once if
    the signal is set already. Setting the signal is idempotent and thread-safe. A ``parent`` passes its abort on.
    """

    __slots__ = ("__weakref__", "_callbacks", "_lock", "aborted", "reason")

    def __init__(self, parent: AbortSignal | None = None) -> None:
        self.aborted = False
        self.reason: str | None = None
        self._callbacks: list[Callable[[], object]] = []
        self._lock = threading.Lock()
        if parent is not None:
            parent.add_callback(lambda: self.abort(parent.reason))

    def __repr__(self) -> str:
        return f"AbortSignal(aborted={self.aborted}, reason={self.reason!r})"

    def abort(self, reason: str | None = None) -> bool:
        """Set the signal, and return whether this call was the first to do so."""
        with self._lock:
            if self.aborted:
                return False
            self.reason = reason or "aborted"
            self.aborted = True
            callbacks, self._callbacks = self._callbacks, []
        passing: BaseException | None = None
        # A callback that fails must not keep the others from ending their work.
        for callback in callbacks:
            try:
                callback()
            except Exception:
                log.exception("a callback of an abort signal failed")
            except BaseException as error:  # noqa: BLE001 - the error passes after all callbacks were called
                passing = passing or error
        if passing is not None:
            raise passing
        return True

    def add_callback(self, callback: Callable[[], object]) -> Callable[[], None]:
        """Call ``callback()`` once when the signal is set, on the thread that sets it. Return a function that removes it."""
        with self._lock:
            if not self.aborted:
                self._callbacks.append(callback)
                return partial(self._remove, callback)
        callback()
        return lambda: None  # nothing is left to remove

    def _remove(self, callback: Callable[[], object]) -> None:
        with self._lock, contextlib.suppress(ValueError):
            self._callbacks.remove(callback)

    async def wait(self) -> None:
        """Return when the signal is set."""
        import asyncio  # not above: plugins import contracts at each start, and most commands have no loop

        loop = asyncio.get_running_loop()
        future: asyncio.Future[None] = loop.create_future()

        def settle() -> None:
            if not future.done():
                future.set_result(None)

        def wake() -> None:
            with contextlib.suppress(RuntimeError):  # the loop may be closed by now
                loop.call_soon_threadsafe(settle)

        remove = self.add_callback(wake)
        try:
            await future
        finally:
            remove()

    def raise_if_aborted(self) -> None:
        """Raise :class:`RunAborted` if the signal is set."""
        if self.aborted:
            raise RunAborted(self.reason or "aborted")
