"""The relay behind the proxy's socket: it speaks HTTP with programs inside, and connects to the domains of a list."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterable
from contextlib import suppress

__all__ = ["allowed", "serve"]

_HEAD = 64 * 1024
_SECONDS = 30


def serve(listening: socket.socket, domains: Iterable[str]) -> None:
    """Serve clients of a listening socket until the process ends."""
    asyncio.run(_Relay(domains).serve(listening))


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


class _Relay:
    def __init__(self, domains: Iterable[str]) -> None:
        self._domains = tuple(domains)

    async def serve(self, listening: socket.socket) -> None:
        server = await asyncio.start_server(self._client, sock=listening, limit=_HEAD)
        await server.serve_forever()

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
