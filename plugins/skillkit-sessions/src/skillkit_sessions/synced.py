"""What the sessions of both stores share: when the disk has their entries, and who is told when it has not."""

from __future__ import annotations

from abc import abstractmethod

from skillkit_core.contracts.session_store import SessionHandle
from skillkit_core.errors import SessionError

from .disk import Syncs

__all__ = ["SyncedSession", "refused"]


class SyncedSession(SessionHandle):
    """A session whose entries are written at once, and synced when the agent asks for it (spec, section 12).

    A sync that fails is told by the next :meth:`begin_sync` or :meth:`sync`, once, and is made again then. Each of both looks
    whether the session is still where it was written.

    Args:
        syncs: puts the entries on the disk; ``None``: nothing is synced (``fsync: never``).
        always: wait for the disk after every entry.
    """

    _elsewhere: SyncedSession | None = None  # the place where it goes on
    _unsynced = False  # something was written since the last sync was begun
    _asked = 0  # the sync of this session that was begun last
    _told = 0  # the failure that was told last

    def __init__(self, syncs: Syncs | None, *, always: bool) -> None:
        self._syncs = syncs
        self._always = always
        if syncs is not None:
            self._told = syncs.failed

    def begin_sync(self) -> None:
        """Begin to put everything on the disk, unless ``fsync`` is ``never`` or it is there or on its way already.

        Raises:
            SessionError: a sync that was begun earlier has failed, or the session goes on in another place from now on.
        """
        if self._elsewhere is not None:
            return self._elsewhere.begin_sync()
        if self._writable:
            self._tell()
            if self._unsynced:
                self._check()
                self._begin()

    async def sync(self) -> None:
        """Wait until the disk has everything, unless ``fsync`` is ``never``; what is there already is not synced again.

        Raises:
            SessionError: the disk did not take it, now or in a sync that was begun earlier, or the session goes on in another
                place from now on.
        """
        if self._elsewhere is not None:
            return await self._elsewhere.sync()
        if not self._writable:
            return
        self._tell()
        syncs = self._syncs
        if self._unsynced:
            self._begin()
        elif syncs is None or syncs.done >= self._asked:
            return
        if syncs is not None:
            await syncs.wait(self._asked)
        if self._writable:
            self._tell()
            self._check()

    def _begin(self) -> None:
        self._unsynced = False
        if self._syncs is not None:
            self._asked = self._syncs.begin()

    def _tell(self) -> None:
        """Raise the error of a sync that nobody waited for."""
        syncs = self._syncs
        if syncs is not None and syncs.failed > self._told:
            self._told, self._unsynced = syncs.failed, True
            self._check()
            raise refused(syncs, self.location)

    @property
    @abstractmethod
    def _writable(self) -> bool:
        """Whether this process writes the session, here."""

    @abstractmethod
    def _check(self) -> None:
        """Go on elsewhere if the session is no longer where it was, or as it was written."""


def refused(syncs: Syncs, where: str | None) -> SessionError:
    """The error for entries that are written, and that the disk did not take."""
    error = SessionError(
        f"the disk did not take the session: {syncs.problem.strerror if syncs.problem is not None else 'unknown'}",
        where=where,
        hint="check the disk; the entry was written, and may not survive a crash of the machine",
    )
    error.__cause__ = syncs.problem
    return error
