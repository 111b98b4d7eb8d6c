"""Who says that something changed: inotify for chosen folders, watchdog's observer elsewhere. Both only say *that*."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

from .changes_seen import Key, Look, skipped, within

__all__ = ["Notices", "notices"]


class Notices(Protocol):
    """Calls back, in a thread of its own, when something changed in a folder that it follows."""

    def follow(self, seen: Look, roots: Sequence[Path]) -> bool:
        """Follow what was seen, and nothing else; return whether a folder is new.

        Raises:
            OSError: the system does not let us watch that much.
        """
        ...

    def close(self) -> None:
        """End."""
        ...


def notices(touched: Callable[[], None]) -> Notices:
    """Return what this system has.

    Raises:
        OSError: the system does not let us watch anything.
    """
    return Inotify(touched) if sys.platform == "linux" else Observed(touched)


class Inotify:
    """One descriptor for all folders, each watched alone: a recursive watch takes one for every folder of a ``.venv`` too."""

    def __init__(self, touched: Callable[[], None]) -> None:
        from watchdog.observers.inotify_c import InotifyConstants as C, InotifyFD

        self._touched = touched
        self._mask: Any = (
            C.IN_MODIFY | C.IN_ATTRIB | C.IN_CLOSE_WRITE | C.IN_MOVE | C.IN_CREATE | C.IN_DELETE
            | C.IN_DELETE_SELF | C.IN_MOVE_SELF | C.IN_ONLYDIR | C.IN_EXCL_UNLINK
        )  # fmt: skip
        self._followed: dict[Key, _Followed] = {}
        self._descriptor = InotifyFD()
        self._descriptor.start()

    def follow(self, seen: Look, roots: Sequence[Path]) -> bool:
        """Follow the folders of ``seen``; see :class:`Notices`."""
        for key in [k for k in self._followed if k not in seen.folders]:
            if (gone := self._followed.pop(key, None)) is not None:
                self._descriptor.remove_callbacks([(gone.number, gone.id)])
        new = False
        for key, (path, wanted) in seen.folders.items():
            names = None if wanted is None else frozenset(map(os.fsencode, wanted))
            known = self._followed.get(key)
            if known is not None:
                known.names = names
            elif os.access(path, os.R_OK):
                new = self._add(_Followed(self, key, names), path) or new
        return new

    def _add(self, one: _Followed, path: str) -> bool:
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):  # gone since it was seen
            one.number = self._descriptor.add_callback(os.fsencode(path), self._mask, one, one.id)
            self._followed[one.key] = one
            return True
        return False

    def say(self) -> None:
        """Say that something changed."""
        self._touched()

    def forget(self, one: _Followed) -> None:
        """Forget a folder that was deleted; another one may get its inode."""
        if self._followed.get(one.key) is one:
            del self._followed[one.key]

    def close(self) -> None:
        """Give the descriptor back."""
        self._descriptor.stop()
        self._descriptor.join()


class _Followed:
    """A folder that inotify follows; ``names`` are those in it that matter, ``None``: all."""

    def __init__(self, owner: Inotify, key: Key, names: frozenset[bytes] | None) -> None:
        self.owner, self.key, self.names = owner, key, names
        self.id: Any = id(self)
        self.number: Any = -1

    def on_event(self, event: Any) -> None:
        """Take an event of the folder."""
        if self.names is None or not event.name or event.name in self.names:
            self.owner.say()

    def on_watch_deleted(self, number: Any) -> None:
        """The folder is gone."""
        self.owner.forget(self)
        self.owner.say()

    def on_queue_overflow(self) -> None:
        """Events were lost."""
        self.owner.say()


class Observed:
    """Watchdog's observer of this system, which sees whole trees at no cost for each folder."""

    def __init__(self, touched: Callable[[], None]) -> None:
        from watchdog.observers import Observer

        self._touched = touched
        self._observer: Any = Observer()
        self._observer.start()
        self._roots: tuple[Path, ...] = ()
        self._scheduled: dict[tuple[str, bool], Any] = {}

    def follow(self, seen: Look, roots: Sequence[Path]) -> bool:
        """Follow ``roots`` with all that is below them, and the folders above them; see :class:`Notices`."""
        self._roots = tuple(roots)
        wanted = {(str(root), True) for root in roots if root.is_dir()}
        wanted |= {(path, False) for path, names in seen.folders.values() if names is not None}
        for one in [o for o in self._scheduled if o not in wanted]:
            self._observer.unschedule(self._scheduled.pop(one))
        new = [one for one in wanted if one not in self._scheduled]
        for path, recursive in new:
            with contextlib.suppress(FileNotFoundError):
                self._scheduled[path, recursive] = self._observer.schedule(self, path, recursive=recursive)
        return bool(new)

    def dispatch(self, event: Any) -> None:
        """Take an event of the observer."""
        paths = [os.fsdecode(p) for p in (event.src_path, event.dest_path) if p]
        if event.event_type not in ("opened", "closed_no_write") and not all(
            any(map(skipped, within(os.path.realpath(p), self._roots))) for p in paths
        ):
            self._touched()

    def close(self) -> None:
        """End the observer."""
        self._observer.stop()
        self._observer.join()
