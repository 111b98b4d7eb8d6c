"""The body of an answer as it arrives: cut into JSON, and handed to the adapter."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar

from skillkit_core.errors import ErrorKind, ProviderError

from .http import MOST_BYTES, Interrupted, LineDecoder, SSEDecoder, Watch, too_long
from .jsontext import decode

if TYPE_CHECKING:
    import aiohttp

    from .answer import AnswerWriter
    from .http import Origin

__all__ = ["Reading"]

T = TypeVar("T")

_PIECE = 32_768  # bytes
_HEAD = 4_096  # bytes that are kept of an answer until it turns out to be one
_DRAIN = 0.05  # seconds from the end of the answer to that of the body, after which the connection can be used again


class Wire(Protocol):
    """What a reading asks of its adapter."""

    api: ClassVar[str]
    framing: ClassVar[Any]
    origin: Origin

    def read(self, event: dict[str, Any], out: AnswerWriter) -> None:
        """Write what one event says."""

    def whole(self, body: dict[str, Any], out: AnswerWriter) -> None:
        """Write an answer that was not streamed."""

    def refused(self, body: Any) -> ProviderError:
        """Return the error that a server reports."""

    async def reached(self, work: Awaitable[T]) -> T:
        """Return what ``work`` brings over the connection."""


class Reading:
    """Reads one answer.

    A server may answer whole where a stream was asked for, and the other way round: the content type decides.

    Args:
        adapter: knows the wire.
        response: its headers are there, its body has not been read.
        watch: guards the waiting; it learns here when the answer has begun.
        idle: seconds of silence that are too long from then on.
    """

    def __init__(self, adapter: Wire, response: aiohttp.ClientResponse, watch: Watch, idle: float | None) -> None:
        self._adapter = adapter
        self._response = response
        self._watch = watch
        self._idle = idle
        self._streamed = _streamed(adapter.framing, response.content_type)
        self._decoder: SSEDecoder | LineDecoder = SSEDecoder() if adapter.framing == "sse" else LineDecoder()
        self._head = b""  # what came before the first event; if none comes, it says what came instead
        self._begun = False
        self._quiet = False  # what came last said nothing: it only kept the connection open

    async def next(self, out: AnswerWriter) -> None:
        """Write what arrived since the last call.

        Raises:
            ProviderError: the answer is none, or ended without its end.
        """
        if not self._streamed:
            await self._whole(out)
            return
        piece = await self._piece()
        if not self._begun:
            self._head = (self._head + piece)[:_HEAD]
        found = self._decoder.feed(piece) if piece else self._decoder.close()
        self._quiet = not found
        for named in found:
            if out.finished is None:
                name, data = named if isinstance(named, tuple) else ("", named)
                self._event(name, data, out)
        if not piece and out.finished is None:
            raise self._no_end() if self._begun else self._foreign(self._head)

    def _event(self, name: str, data: bytes, out: AnswerWriter) -> None:
        if data.strip() == b"[DONE]":
            out.done()
            return
        event = self._parsed(data)
        if not isinstance(event, dict):
            raise ProviderError(
                f"the server sent an event that {self._adapter.api} does not have", kind=ErrorKind.protocol
            )
        if not self._begun:  # from now on only a single wait can be too long
            self._begun = True
            self._watch.limit(None)
            self._watch.idle(self._idle)
        if name:
            event.setdefault("type", name)
        self._hand(self._adapter.read, event, out)

    def _parsed(self, data: bytes) -> Any:
        try:
            return decode(data)
        except ValueError:
            if not self._begun:
                raise self._foreign(self._head) from None
            raise ProviderError("the server sent an event that is no JSON", kind=ErrorKind.protocol) from None

    def _hand(
        self, read: Callable[[dict[str, Any], AnswerWriter], None], data: dict[str, Any], out: AnswerWriter
    ) -> None:
        if data.get("error"):
            raise self._adapter.refused(data)
        read(data, out)

    async def _whole(self, out: AnswerWriter) -> None:
        body = bytearray()
        while piece := await self._piece():
            self._quiet = piece.isspace()
            body += piece
            if len(body) > MOST_BYTES:
                raise too_long("an answer", MOST_BYTES)
        try:
            data = decode(bytes(body))
        except ValueError:
            data = None
        if not isinstance(data, dict):
            raise self._foreign(bytes(body))
        self._hand(self._adapter.whole, data, out)
        if out.finished is None:
            raise self._no_end()

    async def _piece(self) -> bytes:
        read = self._response.content.read(_PIECE)
        return await self._adapter.reached(self._watch.wait(read, self._quiet))

    def _foreign(self, body: bytes) -> ProviderError:
        return self._adapter.origin.foreign(self._response.content_type, body, self._response.status)

    def _no_end(self) -> ProviderError:
        return ProviderError("the answer ended without its end", kind=ErrorKind.protocol, hint="try again")

    async def drain(self) -> None:
        """Read to the end of the body, which is about to come, so that the connection can be used again."""
        if self._response.content.at_eof():
            return
        self._watch.limit(_DRAIN)
        with suppress(Interrupted, ProviderError):
            while await self._piece():
                pass

    def close(self) -> None:
        """Let go of the connection; it is closed where the body was not read to its end."""
        if self._response.content.at_eof():
            self._response.release()
        else:
            self._response.close()


def _streamed(framing: str, content_type: str) -> bool:
    """Whether an answer of this type is a stream. JSON is whole, events and lines are streams, for others the wire decides."""
    kind = content_type.lower()
    if "event-stream" in kind or "ndjson" in kind or "jsonl" in kind or "json-seq" in kind:
        return True
    return "json" not in kind and "html" not in kind
