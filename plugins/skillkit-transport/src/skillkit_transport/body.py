"""The body of an answer as it arrives."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from functools import partial

import httpx2

__all__ = ["Body"]

_PIECE = 32_768  # bytes


class Body:
    """The body of an answer whose headers are there.

    Straight from the connection where nothing has to be decoded: the four generators in between cost as much as a delta.
    In pieces: what a fast server sent meanwhile would be thousands of events at once, alive together.

    Attributes:
        read: an async function that gives what has arrived since, at most a piece of it, and ``b""`` at the end.
    """

    __slots__ = ("_content", "_parts", "_response", "read")

    def __init__(self, response: httpx2.Response) -> None:
        self._response = response
        self._parts: AsyncGenerator[bytes, None] | None = None
        inner = getattr(response.stream, "_aiohttp_response", None)
        if inner is not None and "content-encoding" not in response.headers:
            self._content = inner.content
            self.read: Callable[[], Awaitable[bytes]] = partial(inner.content.read, _PIECE)
        else:
            self._content = None
            self._parts = response.aiter_bytes()
            self.read = self._decoded

    @property
    def ended(self) -> bool:
        """Whether it is known that nothing follows."""
        return self._content is not None and bool(self._content.at_eof())

    async def _decoded(self) -> bytes:
        assert self._parts is not None
        return await anext(self._parts, b"")

    async def close(self) -> None:
        """Let go of the connection; it is closed where the body was not read to its end."""
        if self._parts is not None:
            await self._parts.aclose()
        if not self._response.is_closed:
            await self._response.aclose()
