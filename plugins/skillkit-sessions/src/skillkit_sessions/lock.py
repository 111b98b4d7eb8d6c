"""The writer's lock of a session: one process writes, and a second one is told which."""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from pathlib import Path
from weakref import WeakValueDictionary

from skillkit_core import Owner as Holder
from skillkit_core.errors import SessionError, SessionLocked, SessionTaken

from .owner import Owner, OwnerFile, read_owner

__all__ = ["WriterLock"]

_PATIENCE = 0.05  # seconds for who takes a dead owner's lock over in this moment


class WriterLock:
    """Held from :meth:`acquire` until :meth:`release`, or until the process ends, however it ends. A fork does not hold it.

    The file ``<session>.lock`` holds the pid of its owner and is locked with ``flock``, so the kernel gives it back when
    the owner dies and no recycled pid can be mistaken for it. It is a link to the process's :class:`OwnerFile`. On file
    systems without hard links, and where the process takes clients under an ``endpoint``, it is a file of its own, and
    without ``flock`` the pid and the start time in it decide.
    """

    def __init__(self, directory: str, session_id: str, endpoint: str | None = None) -> None:
        self._directory = directory
        self._name = f"{directory}{os.sep}{session_id}.lock"
        self._session_id = session_id
        self._endpoint = endpoint
        self._owner_file: OwnerFile | None = None
        self._fd: int | None = None  # of a lock that is a file of its own
        self._lost = False

    def acquire(self) -> None:
        """Take the lock.

        Raises:
            SessionLocked: a living process has it; the error names the pid. SessionError: the file cannot be made.
        """
        tries = 3 if self._endpoint is None else 0
        while tries and (file := OwnerFile.take(self._directory)) is not None:
            try:
                os.link(file.name, self._name)
            except FileExistsError:
                file.give_back()
                self._clear_away()
            except FileNotFoundError:
                file.gone()
                tries -= 1
            except OSError:
                file.unfit()
            else:
                self._owner_file = file
                _held[self._name] = self
                return
        while self._fd is None:
            self._make()

    def _clear_away(self) -> None:
        """Remove a lock that nobody holds.

        Raises:
            SessionLocked: somebody holds it. SessionError: it cannot be looked at.
        """
        try:
            fd = os.open(self._name, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        except FileNotFoundError:
            return
        except OSError as error:
            raise self._unusable(error) from error
        try:
            if self._free(fd) and self._there(fd):  # whoever would put another one in its place waits for this flock
                Path(self._name).unlink(missing_ok=True)
        except OSError as error:
            raise self._unusable(error) from error
        finally:
            os.close(fd)

    def _make(self) -> None:
        """Take the lock as a file of its own; nothing happens when its owner removes it meanwhile."""
        try:
            fd = os.open(self._name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
            taken = False
            try:
                if self._free(fd) and self._there(fd):
                    self._sign(fd)
                    taken = True
            finally:
                if not taken:
                    os.close(fd)
        except OSError as error:
            raise self._unusable(error) from error
        if taken:
            self._fd = fd
            _held[self._name] = self

    def _free(self, fd: int) -> bool:
        """Whether nobody holds the lock, which is ``flock``\\ ed then; ``False``: it is gone, so look again.

        Raises:
            SessionLocked: somebody holds it.
        """
        end = time.monotonic() + _PATIENCE
        while True:
            owner = read_owner(fd)
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return True
            except BlockingIOError:
                if not self._there(fd):
                    return False
                if (owner is not None and owner.alive) or time.monotonic() >= end:
                    raise self._locked(owner) from None
                time.sleep(0.001)  # who takes it over writes its pid, or removes it, in a moment
            except OSError:  # no flock here (some network file systems)
                mine = owner is not None and owner.pid == os.getpid()
                if owner is not None and owner.alive and (not mine or self._name in _held):
                    raise self._locked(owner) from None
                return True

    def _there(self, fd: int) -> bool:
        """Whether the lock is still the file that was opened."""
        try:
            return os.path.samestat(os.fstat(fd), Path(self._name).stat())
        except FileNotFoundError:
            return False

    def _sign(self, fd: int) -> None:
        """Write into the lock whose it is; a file that takes no more is not left behind empty."""
        try:
            Owner.here(self._endpoint).sign(fd, os.fstat(fd).st_size)
        except OSError:
            Path(self._name).unlink(missing_ok=True)
            raise

    def _locked(self, owner: Owner | None) -> SessionLocked:
        name = self._session_id
        hint = f"go on in a copy: skillkit sessions fork {name}; or look at it: skillkit sessions show {name}"
        if owner is None:
            who = "another process"
        elif owner.pid == os.getpid():
            who = f"this process ({owner.pid}) already"
            hint = "close the agent or session that has it open, or open it read-only"
        elif owner.alive:
            who = f"process {owner.pid}"
            if owner.endpoint is not None:
                hint = f"it takes clients: skillkit attach {self._session_id}; or {hint}"
        else:
            who = f"a child of process {owner.pid}, which has ended"
        return SessionLocked(
            f"session {self._session_id!r} is being written by {who}",
            where=self._name,
            hint=hint,
            owner=None if owner is None else Holder(owner.pid, owner.host, owner.endpoint if owner.alive else None),
        )

    def _unusable(self, error: OSError) -> SessionError:
        return SessionError(
            f"session {self._session_id!r} cannot be written, for its lock cannot be made: {error.strerror}",
            where=self._name,
            hint="free some disk space, make the directory writable, or open the session read-only",
        )

    def release(self) -> None:
        """Give the lock back. Idempotent."""
        taken = self.taken
        file, self._owner_file = self._owner_file, None
        fd, self._fd = self._fd, None
        if file is not None or fd is not None:
            if _held.get(self._name) is self:
                del _held[self._name]
            with contextlib.suppress(OSError):
                if not taken:
                    os.unlink(self._name)  # noqa: PTH108 - first, so that whoever waits for the flock sees that it is gone
        if file is not None:
            file.give_back()
        if fd is not None:
            os.close(fd)

    @property
    def lost(self) -> bool:
        """Whether this is a copy in a forked process: the lock is that of the process that took it."""
        return self._lost

    @property
    def taken(self) -> bool:
        """Whether somebody else has a lock in the place of this one, which was removed while it was held."""
        try:
            there = os.stat(self._name)  # noqa: PTH116
            mine = (
                self._owner_file.held()
                if self._owner_file is not None
                else os.fstat(-1 if self._fd is None else self._fd)
            )
        except OSError:
            return False
        return not os.path.samestat(there, mine)

    def refusal(self) -> SessionError:
        """Why nothing can be written when the lock is lost, or taken."""
        if not self._lost:
            return SessionTaken(
                f"session {self._session_id!r} was taken over by another writer, for its lock was removed",
                where=self._name,
                hint="open it again once that writer has closed it, or fork the session",
            )
        return SessionError(
            f"session {self._session_id!r} is written by the process that this one was forked from",
            where=self._name,
            hint="open it again here once that process has closed it, or fork the session",
        )

    def forget(self) -> None:
        """Leave the lock and its file to the process that this one was forked from."""
        self._owner_file = None
        fd, self._fd, self._lost = self._fd, None, True
        if fd is not None:
            os.close(fd)

    def __del__(self) -> None:
        try:
            self.release()  # nobody released it
        except Exception:  # noqa: BLE001, S110 - modules may be gone as the interpreter ends
            pass


_held: WeakValueDictionary[str, WriterLock] = WeakValueDictionary()  # what this process writes


def _forked() -> None:
    """What was locked is still written by the parent, and only by it."""
    for lock in list(_held.values()):
        lock.forget()
    _held.clear()


os.register_at_fork(after_in_child=_forked)
