"""The address on this machine to which a browser returns from a login (RFC 8252, 7.3)."""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import Callable
from functools import partial
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

from skillkit_core.errors import SkillKitError

__all__ = ["Redirect"]

_PAGE = '<!doctype html><meta charset="utf-8"><title>SkillKit</title><p>{}</p>'
_HEAD = (
    "HTTP/1.1 {}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {}\r\nReferrer-Policy: no-referrer\r\n"
)
_READ_SECONDS = 10.0


class Redirect:
    """Listens on 127.0.0.1 alone while its ``async with`` block runs, and takes one answer that knows ``state``.

    Args:
        state: what only the login and the provider know. Requests with another one are turned away.
        port: 0: any free port.
        path: path of the address.

    Raises:
        SkillKitError: the port is taken (when the block begins).
    """

    def __init__(self, state: str, port: int, path: str) -> None:
        self._state = state
        self._port = port
        self._path = path
        self._server: asyncio.Server | None = None
        self._found: asyncio.Future[str] | None = None
        self._tasks: set[asyncio.Task[Any]] = set()

    @property
    def url(self) -> str:
        """The address, with the port."""
        return f"http://127.0.0.1:{self._port}{self._path}"

    async def __aenter__(self) -> Self:
        self._found = asyncio.get_running_loop().create_future()
        try:
            self._server = await asyncio.start_server(self._serve, "127.0.0.1", self._port, limit=16_384)
        except OSError as error:
            raise SkillKitError(f"port {self._port} of 127.0.0.1 cannot be used: {error.strerror}") from None
        self._port = int(self._server.sockets[0].getsockname()[1])
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server is not None and self._found is not None
        if self._found.done() and not self._found.cancelled():
            self._found.exception()  # it was looked at
        self._found.cancel()
        self._server.close()
        for task in self._tasks:
            task.cancel()  # browsers open connections for later
        await self._server.wait_closed()

    async def code(self) -> str:
        """Return the authorization code; raise :class:`SkillKitError` where the person or the provider said no."""
        assert self._found is not None
        return await asyncio.shield(self._found)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            async with asyncio.timeout(_READ_SECONDS):
                line = (await reader.readline()).decode("latin-1").split()
                while (await reader.readline()).strip():
                    pass
                status, text, take = self._answer(line)
                body = _PAGE.format(text).encode()
                writer.write(f"{_HEAD.format(status, len(body))}Connection: close\r\n\r\n".encode() + body)
                await writer.drain()
            take()  # now that the browser has its page, the server may end
        except (TimeoutError, OSError, ValueError):
            pass  # no browser that returns from the login; that one may still come
        finally:
            self._tasks.discard(task)
            writer.close()

    def _answer(self, line: list[str]) -> tuple[str, str, Callable[[], object]]:
        """Return the status and the text that answer a request, and what to do afterwards."""
        found = self._found
        assert found is not None
        parts = urlsplit(line[1]) if len(line) == 3 and line[0] == "GET" else None
        if parts is None or parts.path != self._path:
            return "404 Not Found", "There is nothing here.", _nothing
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        if not hmac.compare_digest(query.get("state", "").encode(), self._state.encode()):
            return "400 Bad Request", "This answer belongs to another login.", _nothing
        if found.done():
            return "400 Bad Request", "The login is over.", _nothing
        if "error" in query:
            why = query.get("error_description") or query["error"]
            refused = SkillKitError(f"the login was refused: {why[:300]}")
            return "200 OK", "The login was refused. You can close this window.", partial(_settle, found, refused)
        if "code" not in query:
            return "400 Bad Request", "There is no code in this answer.", _nothing
        return "200 OK", "You are logged in. You can close this window.", partial(_settle, found, query["code"])


def _nothing() -> None:
    """Leave the login as it is."""


def _settle(found: asyncio.Future[str], outcome: str | SkillKitError) -> None:
    if found.done():
        return
    if isinstance(outcome, str):
        found.set_result(outcome)
    else:
        found.set_exception(outcome)
