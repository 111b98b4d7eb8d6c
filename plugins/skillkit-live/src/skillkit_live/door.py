"""The socket of a session: other processes of this user attach there, and speak the protocol of ``skillkit rpc``."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import hashlib
import os
import socket
import struct
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, Protocol

from skillkit_core import SessionError

from .connection import Connection

__all__ = ["Door", "address_of", "knock", "relay"]

MOST_BYTES = 107  # of the path of a socket
_PATIENCE = 2.0  # seconds for a process that has just taken the lock to open its door


def address_of(session: str, folder: Path) -> Path:
    """Return the path of a session's socket: in ``folder``, or where that is too long in the user's runtime folder."""
    path = folder / f"{session}.sock"
    if len(os.fsencode(path)) <= MOST_BYTES:
        return path
    base = os.environ.get("XDG_RUNTIME_DIR") or tempfile.gettempdir()
    name = hashlib.sha256(os.fsencode(path)).hexdigest()[:32]
    return Path(base) / f"skillkit-{os.getuid()}" / f"{name}.sock"


def _is_mine(peer: socket.socket) -> bool:
    """Return whether the other end belongs to the user of this process."""
    if hasattr(socket, "SO_PEERCRED"):
        credentials = peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        uid = struct.unpack("3i", credentials)[1]
    else:  # LOCAL_PEERCRED of macOS and the BSDs: version, uid, ...
        uid = struct.unpack("Ii", peer.getsockopt(0, 1, 8))[1]
    return bool(uid == os.getuid())


class Guest(Protocol):
    """What answers one client."""

    async def handle(self, method: str, params: Any) -> Any:
        """Do what a request asks."""

    def close(self) -> None:
        """The client is gone."""


class Door:
    """Takes clients of a session until it is closed.

    Args:
        address: the path of the socket. Whoever holds the session's lock owns the path: what is left there is removed.
        serve: makes what answers a client, from its connection.
    """

    def __init__(self, address: Path, serve: Callable[[Connection], Guest]) -> None:
        self.address, self._serve = address, serve
        self._tasks: set[asyncio.Task[None]] = set()
        self._connections: set[Connection] = set()
        try:
            self._socket = self._bound(address)
        except OSError as error:
            raise SessionError(
                f"the socket of a session cannot be made: {error.strerror or error}",
                where=str(address),
                hint="set XDG_RUNTIME_DIR to a folder of yours with a short path",
            ) from None
        self._socket.listen()
        self._socket.setblocking(False)
        self._task = asyncio.get_running_loop().create_task(self._take())

    @staticmethod
    def _bound(address: Path) -> socket.socket:
        """Return a socket with this path, which its user alone reaches."""
        folder = address.parent
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if folder.stat().st_uid != os.getuid():
            raise PermissionError(errno.EPERM, f"{folder} belongs to somebody else")
        address.unlink(missing_ok=True)
        bound = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        before = os.umask(0o177)
        try:
            bound.bind(str(address))
        except OSError:
            bound.close()
            raise
        finally:
            os.umask(before)
        return bound

    async def _take(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            peer, _ = await loop.sock_accept(self._socket)
            if not _is_mine(peer):
                peer.close()
                continue
            peer.setblocking(True)
            task = loop.create_task(self._receive(peer))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _receive(self, peer: socket.socket) -> None:
        """Serve one client until it leaves."""
        guest: Guest | None = None

        async def handle(method: str, params: Any) -> Any:
            assert guest is not None
            return await guest.handle(method, params)

        with peer, peer.makefile("rb") as reader:
            connection = Connection(reader, peer, handle)
            guest = self._serve(connection)
            self._connections.add(connection)
            try:
                await connection.ended.wait()
                await connection.drain()
            finally:
                self._connections.discard(connection)
                guest.close()
                connection.close()
                with contextlib.suppress(OSError):
                    peer.shutdown(socket.SHUT_RDWR)

    def lock(self) -> None:
        """Let nobody in any more. Idempotent."""
        if not self._task.done():
            self.address.unlink(missing_ok=True)
            self._task.cancel()
            self._socket.close()

    async def close(self) -> None:
        """Let nobody in any more, and send away who is there, once told what has happened."""
        self.lock()
        if self._tasks:
            for connection in self._connections:
                asyncio.get_running_loop().call_soon(connection.ended.set)
            _, left = await asyncio.wait(self._tasks, timeout=_PATIENCE)
            for task in left:
                task.cancel()
            await asyncio.gather(*left, return_exceptions=True)


async def knock(endpoint: str) -> socket.socket:
    """Return a socket that is connected to the process that holds a session.

    Raises:
        SessionError: nobody opens, or somebody else's process does.
    """
    deadline = asyncio.get_running_loop().time() + _PATIENCE
    while True:
        peer = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            peer.connect(endpoint)
        except OSError as error:
            peer.close()
            if asyncio.get_running_loop().time() >= deadline:
                raise SessionError(
                    f"the process that has the session open takes no clients: {error.strerror}",
                    where=endpoint,
                    hint="try again in a moment, go on in a copy (skillkit sessions fork), or look at it (sessions show)",
                ) from None
            await asyncio.sleep(0.02)
            continue
        if not _is_mine(peer):
            peer.close()
            raise SessionError("the process that has the session open belongs to somebody else", where=endpoint)
        return peer


async def relay(endpoint: str, reader: IO[bytes], writer: IO[bytes]) -> None:
    """Hand the lines of a client to the process that holds a session, and its lines to the client, until that side ends."""
    peer = await knock(endpoint)

    def hand_on() -> None:
        with contextlib.suppress(OSError, ValueError):
            # not through the buffer, whose lock a thread that waits at the end of the process would hold
            while piece := os.read(reader.fileno(), 65536):
                peer.sendall(piece)
            peer.shutdown(socket.SHUT_WR)

    def hand_back() -> None:
        with contextlib.suppress(OSError, ValueError):
            while piece := peer.recv(65536):
                writer.write(piece)
                writer.flush()

    threading.Thread(target=hand_on, name="relay", daemon=True).start()
    with peer:
        await asyncio.to_thread(hand_back)
        with contextlib.suppress(OSError):
            peer.shutdown(socket.SHUT_RDWR)
