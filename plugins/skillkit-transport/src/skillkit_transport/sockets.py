"""Sessions of aiohttp whose connections know nothing of the run that opened them.

The event loop keeps a copy of the current context variables with every callback. A connection outlives the run that opened it,
and would keep alive what that run's variables lead to: agent, session, tools. So what stays behind a request is set up where no
variable has a value.
"""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import types
from collections.abc import Callable, Coroutine, Generator
from contextvars import Context
from functools import partial
from typing import Any, TypeVar

import aiohttp
from aiohttp.client_proto import ResponseHandler

__all__ = ["MOST_OF_ERROR", "Sessions", "plain_cause", "session"]

T = TypeVar("T")

MOST_OF_ERROR = 256 * 1024  # bytes
_MOST_OF_HEADER = 64 * 1024  # bytes; gateways put tokens and policies there that aiohttp's 8 KiB do not hold


def session(
    *, timeout: aiohttp.ClientTimeout | None = None, trust_env: bool = False, **options: Any
) -> aiohttp.ClientSession:
    """Return a session that opens such connections.

    Args:
        timeout: default: aiohttp's own.
        trust_env: go through the proxies of the environment.
        options: of the connector.
    """
    return aiohttp.ClientSession(
        connector=_Connector(**options),
        timeout=timeout or aiohttp.ClientTimeout(),
        trust_env=trust_env,
        max_line_size=_MOST_OF_HEADER,
        max_field_size=_MOST_OF_HEADER,
    )


class Sessions:
    """One session per event loop, for connections belong to the loop that opened them; each is made when it is first asked for.

    Args:
        make: makes one.
    """

    def __init__(self, make: Callable[[], aiohttp.ClientSession]) -> None:
        self._make = make
        self._made: dict[asyncio.AbstractEventLoop, aiohttp.ClientSession] = {}

    def get(self) -> aiohttp.ClientSession:
        """Return the session of the running loop."""
        loop = asyncio.get_running_loop()
        found = self._made.get(loop)
        if found is None or found.closed:
            for gone in [other for other in self._made if other.is_closed()]:
                _forget(self._made.pop(gone))
            found = self._made[loop] = self._make()
        return found

    async def close(self) -> None:
        """Close the connections."""
        mine = self._made.pop(asyncio.get_running_loop(), None)
        if mine is not None:
            await mine.close()
        self.__del__()

    def __del__(self) -> None:
        # Without this an application that ends without close() is told "Unclosed client session" by aiohttp.
        for one in self._made.values():
            _forget(one)
        self._made.clear()


def _forget(one: aiohttp.ClientSession) -> None:
    """Let go of connections that nobody can close any more: their loop has ended, or ends."""
    if one.closed:
        return
    with contextlib.suppress(RuntimeError, AttributeError):  # closing a transport wants a loop that runs
        one.connector._close()  # type: ignore[union-attr]
    one.detach()


def plain_cause(error: BaseException) -> BaseException:
    """Return the standard library's word for a failure of aiohttp that has one: an answer cut short, or that is no HTTP."""
    for one in (error, error.__cause__):
        if isinstance(one, aiohttp.ClientPayloadError):
            return asyncio.IncompleteReadError(b"", None)
        if isinstance(one, aiohttp.ServerDisconnectedError):
            return ConnectionResetError()
        if isinstance(one, aiohttp.ClientResponseError) and not isinstance(one, aiohttp.ClientHttpProxyError):
            return http.client.HTTPException(one.message.partition("\n")[0].partition(": b'")[0].rstrip(":"))
    return error


class _Connector(aiohttp.TCPConnector):
    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._factory = partial(_Protocol, loop=self._loop)  # type: ignore[assignment]

    async def _create_connection(self, *given: Any, **named: Any) -> ResponseHandler:
        return await _apart(super()._create_connection(*given, **named))

    def _release(self, *given: Any, **named: Any) -> None:
        Context().run(super()._release, *given, **named)  # sets the timer that closes idle connections


class _Protocol(ResponseHandler):
    __slots__ = ()

    def resume_reading(self, *given: Any, **named: Any) -> None:
        if self._reading_paused:  # aiohttp asks after every piece of data, and would parse nothing each time
            Context().run(super().resume_reading, *given, **named)


@types.coroutine
def _apart(work: Coroutine[Any, Any, T]) -> Generator[Any, Any, T]:
    """The result of ``work``, done by this task in an empty context."""
    run = Context().run
    step: Any = work.send
    value: Any = None
    while True:
        try:
            awaited = run(step, value)
        except StopIteration as done:
            result: T = done.value
            return result
        try:
            step, value = work.send, (yield awaited)
        except BaseException as error:  # noqa: BLE001 - a cancellation, too, is for the work
            step, value = work.throw, error
