"""The address on this machine to which a browser returns from a login (RFC 8252, 7.3)."""

from __future__ import annotations

import asyncio
import hmac
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

from skillkit_core import SkillKitError

__all__ = ["Answer", "Redirect"]

_PAGE = '<!doctype html><meta charset="utf-8"><title>SkillKit</title><p>{}</p>'
_HEAD = (
    "HTTP/1.1 {}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {}\r\nReferrer-Policy: no-referrer\r\n"
    "Connection: close\r\n\r\n"
)
_READ_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Answer:
    """What a browser brings back from a login.

    Attributes:
        code: the authorization code.
        state: the state that the login expected.
        issuer: the authorization server, where it names itself (RFC 9207).
    """

    code: str
    state: str
    issuer: str | None = None


class Redirect:
    """Listens on 127.0.0.1 alone while its ``async with`` block runs, and takes one answer that knows the state.

    Args:
        port: port to listen on; 0: any free one.
        path: path of the address.
        any_port: take any free port where ``port`` is taken.

    Raises:
        SkillKitError: the port is taken (when the block begins).
    """

    def __init__(self, port: int = 0, path: str = "/callback", *, any_port: bool = False) -> None:
        self.port = port
        self._path = path
        self._any_port = any_port
        self._state: str | None = None
        self._taken = False
        self._server: asyncio.Server | None = None
        self._found: asyncio.Future[Answer] | None = None
        self._tasks: set[asyncio.Task[Any]] = set()

    @property
    def url(self) -> str:
        """The address, with the port."""
        return f"http://127.0.0.1:{self.port}{self._path}"

    def expect(self, state: str) -> None:
        """Take the answer that brings ``state``, which only the login and the provider know. Until then none is taken."""
        self._state = state

    async def answer(self, seconds: float) -> Answer:
        """Return what the browser brought back.

        Raises:
            SkillKitError: the person or the provider said no.
            TimeoutError: no browser came within ``seconds``. An answer that comes later is turned away.
        """
        assert self._found is not None
        async with asyncio.timeout(seconds):
            return await self._found

    async def __aenter__(self) -> Self:
        self._found = asyncio.get_running_loop().create_future()
        try:
            self._server = await self._listen(self.port)
        except OSError as error:
            if not self._any_port:
                raise SkillKitError(f"port {self.port} of 127.0.0.1 cannot be used: {error.strerror}") from None
            self._server = await self._listen(0)
        self.port = int(self._server.sockets[0].getsockname()[1])
        return self

    async def _listen(self, port: int) -> asyncio.Server:
        return await asyncio.start_server(self._serve, "127.0.0.1", port, limit=16_384)

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

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        outcome: Answer | SkillKitError | None = None
        try:
            async with asyncio.timeout(_READ_SECONDS):
                line = (await reader.readline()).decode("latin-1").split()
                hosts = []
                while (header := await reader.readline()).strip():
                    name, _, value = header.decode("latin-1").partition(":")
                    if name.strip().lower() == "host":
                        hosts.append(value.strip().lower())
                status, text, outcome = self._judged(line, hosts)
                body = _PAGE.format(text).encode()
                writer.write(_HEAD.format(status, len(body)).encode() + body)
                await writer.drain()
        except (TimeoutError, OSError, ValueError):
            pass  # no browser that returns from the login, or one that is gone already
        finally:
            self._tasks.discard(task)
            writer.close()
            if outcome is not None:  # now that the browser has its page, the server may end
                self._settle(outcome)

    def _judged(self, line: list[str], hosts: list[str]) -> tuple[str, str, Answer | SkillKitError | None]:
        """Return the status and the text that answer a request, and how the login ends, if it does."""
        # a page whose name leads to 127.0.0.1 would be let in otherwise (DNS rebinding)
        if hosts != [f"127.0.0.1:{self.port}"]:
            return "421 Misdirected Request", "This address is for logins of this machine.", None
        parts = urlsplit(line[1]) if len(line) == 3 and line[0] == "GET" else None
        if parts is None or parts.path != self._path:
            return "404 Not Found", "There is nothing here.", None
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        state = self._state
        if state is None or not hmac.compare_digest(query.get("state", "").encode(), state.encode()):
            return "400 Bad Request", "This answer belongs to another login.", None
        assert self._found is not None
        if self._taken or self._found.done():
            return "400 Bad Request", "The login is over.", None
        if "error" in query:
            self._taken, why = True, query.get("error_description") or query["error"]
            refused = SkillKitError(f"the login was refused: {why[:300]}")
            return "200 OK", "The login was refused. You can close this window.", refused
        if "code" not in query:
            return "400 Bad Request", "There is no code in this answer.", None
        self._taken, answer = True, Answer(query["code"], state, query.get("iss"))
        return "200 OK", "You are logged in. You can close this window.", answer

    def _settle(self, outcome: Answer | SkillKitError) -> None:
        assert self._found is not None
        if self._found.done():
            return
        if isinstance(outcome, Answer):
            self._found.set_result(outcome)
        else:
            self._found.set_exception(outcome)
