"""The network ``proxy``: the command has a network of its own, and its only way out is an HTTP proxy with a list of domains.

The proxy runs outside. Its listening socket is made inside the sandbox's network by a child that joins it, and handed out, so
that no socket file and no port of this machine is involved.
"""

from __future__ import annotations

import asyncio
import ctypes
import os
import socket
import threading
from collections.abc import Iterable
from contextlib import suppress

__all__ = ["PORT", "Proxy", "allowed", "variables"]

PORT = 3128
_CLONE_NEWUSER, _CLONE_NEWNET = 0x10000000, 0x40000000
_HEAD = 64 * 1024
_SECONDS = 30


def variables() -> dict[str, str]:
    """Return the variables that tell programs inside about the proxy."""
    url = f"http://127.0.0.1:{PORT}"
    names = ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
    return {**dict.fromkeys(names, url), "NO_PROXY": "localhost,127.0.0.1,::1", "no_proxy": "localhost,127.0.0.1,::1",
            "NODE_USE_ENV_PROXY": "1"}  # fmt: skip


def allowed(host: str, port: int, domains: Iterable[str]) -> bool:
    """Return whether a list of domains has a host and port. A domain without a port means the ports 80 and 443."""
    host = host.lower().rstrip(".")
    for domain in domains:
        name, colon, number = domain.lower().rpartition(":")
        if not colon or not number.isdigit():
            name, number = domain.lower(), ""
        if port not in ((int(number),) if number else (80, 443)):
            continue
        if host == name or (name.startswith("*.") and host.endswith(name[1:]) and host != name[2:]):
            return True
    return False


class Proxy:
    """The proxy of one sandbox, in a thread of its own.

    Args:
        pid: a process inside.
        domains: the domains that it connects to.
    """

    def __init__(self, pid: int, domains: Iterable[str]) -> None:
        self._domains = tuple(domains)
        self._listening = _listen_inside(pid)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(asyncio.start_server(self._client, sock=self._listening, limit=_HEAD))
        self._loop.run_forever()

    def close(self) -> None:
        """End the proxy. What it still carries is cut."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(2)

    async def _client(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await self._relay(reader, writer)
        except (OSError, ValueError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, TimeoutError) as error:
            with suppress(OSError):
                await _answer(writer, "502 Bad Gateway", f"sandbox: {error or type(error).__name__}")
        finally:
            writer.close()

    async def _relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), _SECONDS)
        line, _, rest = head.partition(b"\r\n")
        method, target, version = line.decode("latin-1").split(" ", 2)
        tunnel = method == "CONNECT"
        host, port, path = _target(target, 443 if tunnel else 80)
        if not allowed(host, port, self._domains):
            message = f"sandbox: {host}:{port} is not among the domains of the policy\n"
            await _answer(writer, "403 Forbidden", message)
            return
        up_reader, up_writer = await asyncio.wait_for(asyncio.open_connection(host, port), _SECONDS)
        try:
            if tunnel:
                writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            else:
                kept = [
                    h
                    for h in rest.split(b"\r\n")
                    if h and not h.lower().startswith((b"proxy-", b"connection:", b"host:"))
                ]
                named = host if port == 80 else f"{host}:{port}"
                first = f"{method} {path} {version}\r\nHost: {named}\r\nConnection: close".encode("latin-1")
                up_writer.write(b"\r\n".join([first, *kept, b"", b""]))
            await asyncio.gather(_pump(reader, up_writer), _pump(up_reader, writer))
        finally:
            up_writer.close()


def _target(target: str, port: int) -> tuple[str, int, str]:
    """Return host, port and path of the target of a request."""
    path = "/"
    if "://" in target:
        scheme, _, target = target.partition("://")
        if scheme.lower() != "http":
            raise ValueError(f"{scheme}: is not forwarded, use CONNECT")
        target, slash, path = target.partition("/")
        path = slash + path or "/"
    target = target.rpartition("@")[2]
    host, colon, number = target.rpartition(":")
    if colon and number.isdigit():
        return host.strip("[]"), int(number), path
    return target.strip("[]"), port, path


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
        writer.write_eof()


async def _answer(writer: asyncio.StreamWriter, status: str, text: str) -> None:
    body = text.encode()
    writer.write(
        f"HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode()
    )
    writer.write(body)
    await writer.drain()


def _listen_inside(pid: int) -> socket.socket:
    """Return a socket that listens in the network of a process.

    Raises:
        OSError: the network cannot be joined.
    """
    ours, theirs = socket.socketpair()
    child = os.fork()
    if child == 0:
        try:
            ours.close()
            _join(pid)
            listening = socket.socket(socket.AF_INET)
            listening.bind(("0.0.0.0", PORT))  # noqa: S104 - nobody else is in this network
            listening.listen(128)
            socket.send_fds(theirs, [b"1"], [listening.fileno()])
        except OSError as error:
            theirs.send(f"{error.strerror}".encode())
        finally:
            os._exit(0)
    theirs.close()
    said, fds, _, _ = socket.recv_fds(ours, 200, 1)
    os.waitpid(child, 0)
    ours.close()
    if not fds:
        raise OSError(f"the network of the sandbox cannot be joined: {said.decode() or 'its helper ended'}")
    return socket.socket(fileno=fds[0])


def _join(pid: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    for name, kind in (("user", _CLONE_NEWUSER), ("net", _CLONE_NEWNET)):
        with open(f"/proc/{pid}/ns/{name}") as space:
            if libc.setns(space.fileno(), kind) != 0:
                raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
