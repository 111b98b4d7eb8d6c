"""The session store ``jsonl``: one append-only file per session."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from errno import ENOSPC, ENOTDIR
from io import FileIO
from pathlib import Path
from stat import S_ISDIR
from typing import TYPE_CHECKING, Any, Literal
from weakref import WeakSet

from skillkit_core.contracts.session_store import SessionEntry, SessionHandle, SessionHeader, SessionStore
from skillkit_core.errors import SessionError, UnknownSession

from .codec import encode_entry, encode_header
from .disk import make_directory, sync_data, sync_directory
from .handle import Disk, JsonlSession
from .listing import search_file, summarise, unsearched
from .lock import WriterLock
from .place import check_id, exists, place_of
from .reader import Loaded, load_file

if TYPE_CHECKING:
    from skillkit_core import Host

__all__ = ["JsonlStore"]

SUFFIX = ".jsonl"
_BIG = 1 << 20  # bytes from which on a file is read in a thread


class JsonlStore(SessionStore):
    """Sessions in ``<directory>/<id>.jsonl``: a header line, then one line per entry (spec, section 12).

    Directory 0700, files 0600. One process writes a session (:class:`~skillkit_sessions.lock.WriterLock`), any number
    reads it. A line that a crash cut is removed when the session is next opened for writing. A file of a newer format, or
    with entries that this version does not know, opens read-only (``handle.read_only``, ``handle.foreign``).

    Args:
        host: gives the section ``sessions`` and ``data_dir``; may be ``None`` when ``directory`` is given.
        directory: used instead of the section's, else of ``host.data_dir / "sessions"``.
        fsync: used instead of the section's (see :class:`~skillkit_sessions.SessionsConfig`).

    Raises:
        SessionError: neither a host nor a directory was given.
    """

    def __init__(
        self,
        host: Host | None = None,
        *,
        directory: Path | None = None,
        fsync: Literal["auto", "always", "never"] | None = None,
    ) -> None:
        self.directory, policy, self._flush_interval = place_of(host, directory, fsync)
        self._place = str(self.directory)
        self._disk = Disk(policy)
        self._open: WeakSet[JsonlSession] = WeakSet()

    @classmethod
    def at(cls, directory: Path) -> JsonlStore:
        """A store in ``directory``, with defaults and without a host."""
        return cls(directory=directory)

    # --- one session ------------------------------------------------------------------------------------------

    async def create(self, header: SessionHeader) -> JsonlSession:
        """Start a session: its file exists, with the header, when this returns."""
        path = self._path(header.id)
        self._prepare()
        lock = WriterLock(self._place, header.id)
        lock.acquire()
        try:
            line = encode_header(header)
            file = _open_file(path, os.O_CREAT | os.O_EXCL)
            try:
                if file.write(line) != len(line):
                    raise OSError(ENOSPC, "no space left on the device")
            except OSError as error:
                file.close()
                path.unlink(missing_ok=True)
                raise _unwritable(path, error) from error
        except BaseException:
            lock.release()
            raise
        return self._session(path, header, [], file, lock, len(line))

    async def open(self, session_id: str, *, read_only: bool = False, endpoint: str | None = None) -> JsonlSession:
        """Open an existing session; see :meth:`skillkit_core.SessionStore.open`."""
        path = self._path(session_id)
        if not os.path.lexists(path):  # what is no file, or a link to nowhere, is named when it is read
            raise UnknownSession(session_id, await self.ids())
        if read_only:
            loaded = await _load(path)
            return JsonlSession(path, loaded.header, loaded.entries, foreign=loaded.foreign)
        lock = WriterLock(self._place, session_id, endpoint)
        lock.acquire()
        try:
            loaded = await _load(path)
            if loaded.foreign is not None:
                lock.release()
                return JsonlSession(path, loaded.header, loaded.entries, foreign=loaded.foreign)
            file = _open_file(path, 0)
            try:
                size = _repair(file, loaded)
            except OSError as error:
                file.close()
                raise _unwritable(path, error) from error
        except BaseException:
            lock.release()
            raise
        return self._session(path, loaded.header, loaded.entries, file, lock, size)

    def _session(
        self, path: Path, header: SessionHeader, entries: list[SessionEntry], file: FileIO, lock: WriterLock, size: int
    ) -> JsonlSession:
        how: dict[str, Any] = {"disk": self._disk, "flush_interval": self._flush_interval, "rescue": rescue}
        session = JsonlSession(path, header, entries, file=file, lock=lock, size=size, **how)
        self._open.add(session)
        return session

    def rescue(self, session: SessionHandle) -> JsonlSession:
        """Write a session whose file was taken away under another id, and open it for writing.

        Raises:
            SessionError: it cannot be written here.
        """
        old, entries = session.header, list(session.entries())
        header = replace(old, id=f"{old.id[:100]}-{os.urandom(4).hex()}", parent_session=old.id, nested=False)
        path = self._path(header.id)
        self._prepare()
        lock = WriterLock(self._place, header.id)
        lock.acquire()
        try:
            _write_whole(path, header, entries, self._disk.policy != "never")
            file = _open_file(path, 0)
        except BaseException:
            lock.release()
            raise
        return self._session(path, header, entries, file, lock, os.fstat(file.fileno()).st_size)

    async def restore(self, header: SessionHeader, entries: Sequence[SessionEntry]) -> JsonlSession:
        """Write a whole session to another name, rename it when it is whole, open it for writing."""
        path = self._path(header.id)
        self._prepare()
        lock = WriterLock(self._place, header.id)
        lock.acquire()  # whoever creates a session of this id has the lock while it looks
        try:
            if path.exists():
                raise exists(path, path.name.removesuffix(SUFFIX))
            await asyncio.to_thread(_write_whole, path, header, entries, self._disk.policy != "never")
        finally:
            lock.release()
        return await self.open(header.id)

    async def close(self) -> None:
        """Wait until the disk has what was written, also in sessions that are still open.

        Raises:
            SessionError: it did not take everything, and nobody was told.
        """
        problems: list[SessionError] = []
        for session in list(self._open):
            try:
                await session.sync()
            except SessionError as error:
                problems.append(error)
        while self._disk.busy:
            for syncs in list(self._disk.busy):
                await syncs.wait(syncs.begun)
        problems += self._disk.lost
        self._disk.lost.clear()
        if problems:
            raise problems[0]

    # --- all sessions -----------------------------------------------------------------------------------------

    async def list(self, *, limit: int | None = None) -> Sequence[Mapping[str, Any]]:
        """Known sessions, newest first; see :meth:`skillkit_core.SessionStore.list`.

        "Newest" is the time of the last write to the file. Entries are counted, not parsed; only ``limit`` files are read.
        """
        return await asyncio.to_thread(lambda: [summarise(path) for path in self._newest_first()[:limit]])

    async def ids(self) -> Sequence[str]:
        """The ids of all sessions, newest first, from the names of the files."""
        return [path.name.removesuffix(SUFFIX) for path in await asyncio.to_thread(self._newest_first)]

    async def stamps(self) -> Mapping[str, str]:
        """What differs after a session has changed, by id: the status of its file, which is not opened."""
        return {
            name.removesuffix(SUFFIX): f"{status.st_ino} {status.st_size} {status.st_mtime_ns} {status.st_ctime_ns}"
            if status is not None
            else ""
            for name, status in await asyncio.to_thread(self._files)
        }

    async def search(self, query: str, *, limit: int = 20) -> AsyncIterator[Mapping[str, Any]]:
        """Entries whose text contains ``query``, in any case; see :meth:`skillkit_core.SessionStore.search`."""
        if not query:
            return
        left_out: list[Mapping[str, Any]] = []
        for path in await asyncio.to_thread(self._newest_first):
            if limit <= 0:
                break
            hits, problem = await asyncio.to_thread(search_file, path, query, limit)
            for hit in hits:
                limit -= 1
                yield hit
            if problem is not None:
                left_out.append(unsearched(path.name.removesuffix(SUFFIX), problem))
        for row in left_out:
            yield row

    def _newest_first(self) -> Sequence[Path]:
        found = [(0 if status is None else status.st_mtime_ns, name) for name, status in self._files()]
        return [self.directory / name for _, name in sorted(found, reverse=True)]

    def _files(self) -> Sequence[tuple[str, os.stat_result | None]]:
        """The names of the files of sessions, each with its status; ``None``: it leads nowhere."""
        found: list[tuple[str, os.stat_result | None]] = []
        try:
            with os.scandir(self.directory) as files:
                for file in files:
                    if file.name.endswith(SUFFIX) and not file.name.startswith("."):
                        try:
                            found.append((file.name, file.stat()))
                        except OSError:
                            if file.is_symlink():  # it leads nowhere: who reads it says so
                                found.append((file.name, None))
        except FileNotFoundError:
            return []
        except OSError as error:
            raise SessionError(
                f"the sessions cannot be listed: {error.strerror}",
                where=str(self.directory),
                hint="check the permissions of the directory",
            ) from error
        return found

    def _path(self, session_id: str) -> Path:
        return self.directory / f"{check_id(session_id)}{SUFFIX}"

    def _prepare(self) -> None:
        try:
            try:
                mode = self.directory.stat().st_mode
            except FileNotFoundError:
                self._disk.names.update(dict.fromkeys(make_directory(self.directory)))
                mode = self.directory.stat().st_mode
            if not S_ISDIR(mode):
                raise NotADirectoryError(ENOTDIR, os.strerror(ENOTDIR))
            if mode & 0o077:
                self.directory.chmod(0o700)
        except OSError as error:
            raise _unwritable(self.directory, error) from error


def rescue(session: SessionHandle, problem: str) -> JsonlSession:
    """Write a session whose file was taken away beside it, or in the folder for temporary files where that is impossible.

    Raises:
        SessionError: it cannot be written there either.
    """
    beside = Path(str(session.location)).parent
    try:
        return JsonlStore.at(beside).rescue(session)
    except SessionError as first:
        try:
            import tempfile

            return JsonlStore.at(Path(tempfile.gettempdir(), f"skillkit-rescued-{os.geteuid()}")).rescue(session)
        except SessionError as second:
            first.message = (
                f"the file of the session {problem} while it was open, and it cannot be kept: {first.message}"
            )
            raise first from second


async def _load(path: Path) -> Loaded:
    try:
        big = path.stat().st_size > _BIG
    except OSError:
        big = False
    return await asyncio.to_thread(load_file, path) if big else load_file(path)


def _open_file(path: Path, flags: int) -> FileIO:
    def opener(name: str, mode: int) -> int:
        return os.open(name, mode | flags | os.O_NOFOLLOW, 0o600)

    try:
        return FileIO(str(path), "ab", opener=opener)
    except FileExistsError:
        raise exists(path, path.name.removesuffix(SUFFIX)) from None
    except OSError as error:
        raise _unwritable(path, error) from error


def _repair(file: FileIO, loaded: Loaded) -> int:
    """Make the end of the file a place to append to; gives its size."""
    if loaded.torn:
        os.ftruncate(file.fileno(), loaded.size)
    if loaded.newline_missing:
        file.write(b"\n")
        return loaded.size + 1
    return loaded.size


def _write_whole(path: Path, header: SessionHeader, entries: Sequence[SessionEntry], sync: bool) -> None:
    data = b"".join([encode_header(header), *map(encode_entry, entries)])
    temporary = path.with_name(f".{path.name}.{os.urandom(4).hex()}")
    try:
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(fd, "wb") as file:
            file.write(data)
            file.flush()
            if sync:
                sync_data(file.fileno())
        temporary.rename(path)
        if sync:
            sync_directory(path.parent)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise _unwritable(path, error) from error


def _unwritable(path: Path, error: OSError) -> SessionError:
    return SessionError(
        f"the session cannot be written: {error.strerror}",
        where=str(path),
        hint="free some disk space, or make the place writable ('sessions: directory:' in the configuration moves it)",
    )
