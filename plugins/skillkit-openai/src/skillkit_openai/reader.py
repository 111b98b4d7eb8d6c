"""The answer of a server, in whatever form it chose to send it: as parsed events, or as one body."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from skillkit_transport import MOST_BYTES, Interrupted, SSEDecoder, Watch, decode, too_long

from skillkit_core.errors import ProviderError
from skillkit_core.stream import StreamEvent

from .errors import protocol_error

if TYPE_CHECKING:
    import httpx2

    from .failures import Failures

__all__ = ["Reader"]

log = logging.getLogger("skillkit_openai")
_DRAIN = 0.05  # seconds from the end of the answer to that of the body, after which the connection can be used again
_LAST_WORDS = 2.0  # seconds for the terminal event that should follow an error event
_MALFORMED = (ValueError, TypeError, KeyError, AttributeError, IndexError)  # JSON, or not, of another shape
_KEEP_ALIVE = ("ping", "keepalive", "keep-alive", "heartbeat")
_HEAD = 4_096  # bytes that are kept of an answer until it turns out to be one


class Wire(Protocol):
    """What a reader asks of its adapter, which keeps in ``acc`` what it has read of the answer."""

    api: ClassVar[str]
    provider: str
    idle_timeout: float | None
    failures: Failures

    def convert(self, payload: Any, acc: Any) -> tuple[Iterable[StreamEvent], Any]:
        """The events of a parsed ``data:`` object."""

    def whole(self, payload: Any, acc: Any) -> tuple[Iterable[StreamEvent], Any]:
        """The events of a body that was not streamed."""

    def end(self, acc: Any, marked: bool) -> tuple[Iterable[StreamEvent], Any]:
        """The events of the end; ``marked``: the server said that it is one."""

    def broken(self, acc: Any, error: ProviderError) -> StreamEvent:
        """The terminal event of an answer that a failure cut short."""


class Reader:
    """The events of one answer.

    Args:
        wire: converts what is read. response: its headers are there, its body has not been read.
        watch: guards the waiting; it learns here when the answer has begun.
        streamed: a stream was asked for; a body whose type says neither is taken for what was asked.
    """

    def __init__(self, wire: Wire, response: httpx2.Response, watch: Watch, streamed: bool) -> None:
        from skillkit_transport import Body

        self._wire = wire
        self._response = response
        self._watch = watch
        self._bytes = Body(response)
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        self._sse = "event-stream" in kind or (streamed and "json" not in kind and "html" not in kind)
        self._decoder = SSEDecoder()
        self._head = bytearray()  # what came before the first event; if none comes, it says what came instead
        self._begun = False
        self._answers = False
        self._hurried = False
        self._quiet = False  # what came last said nothing: it only kept the connection open

    async def next(self, acc: Any) -> tuple[Iterable[StreamEvent], Any]:
        """The events of what arrived since the last call; those of the end when nothing follows."""
        if not self._sse:
            return await self._body(acc)
        data = await self._watch.wait(self._bytes.read(), self._quiet)
        if not data:
            raw = self._decoder.close()
            if not raw and not self._begun:
                return [self._wire.broken(acc, self._foreign(self._head))], acc
            return self._feed(raw, acc, True)
        if not self._begun:
            if not self._head and data.lstrip()[:1] in (b"{", b"["):  # JSON, whatever its content type
                return await self._body(acc, data)
            if len(self._head) < _HEAD:
                self._head += data
        raw = self._decoder.feed(data)
        if not raw:  # comments, or a piece of a long event
            self._quiet = data.lstrip()[:1] in (b":", b"")
            return (), acc
        return self._feed(raw, acc, False)

    def _feed(self, raw: list[tuple[str, bytes]], acc: Any, last: bool) -> tuple[Iterable[StreamEvent], Any]:
        out: list[StreamEvent] = []
        convert = self._wire.convert
        self._begun = True
        try:
            for name, data in raw:
                if data[:1] != b"{":
                    said = data.strip(b' \t"')
                    if said[:6] == b"[DONE]":
                        events, acc = self._wire.end(acc, True)
                        out.extend(events)
                    if said[:6] == b"[DONE]" or not said:
                        continue
                payload = decode(data)
                if name and isinstance(payload, dict) and "type" not in payload:
                    payload["type"] = name  # said in the "event:" line alone
                events, acc = convert(payload, acc)
                out += events
            if last:
                events, acc = self._wire.end(acc, False)
                out.extend(events)
        except _MALFORMED as error:
            if last and isinstance(error, ValueError):  # the connection ended inside an event
                events, acc = self._wire.end(acc, False)
                return [*out, *events], acc
            over = any(e.terminal for e in out)
            return (out if over else [*out, self._malformed("an event", error, acc)]), acc
        self._quiet = not out and all(_keeps_alive(name, data) for name, data in raw)
        if not self._quiet:
            self._started()
        if not self._hurried and getattr(acc, "error", None) is not None:
            self._hurried = True
            self._watch.limit(_LAST_WORDS)
        return out, acc

    def _foreign(self, body: bytearray) -> ProviderError:
        kind = self._response.headers.get("content-type", "")
        return self._wire.failures.origin.foreign(kind, bytes(body), self._response.status_code)

    def _malformed(self, what: str, error: Exception, acc: Any) -> StreamEvent:
        log.debug("%s of %s is malformed", what, self._wire.provider, exc_info=error)
        return self._wire.broken(
            acc, protocol_error(f"the server sent {what} that the API {self._wire.api} does not have")
        )

    async def _body(self, acc: Any, begun: bytes = b"") -> tuple[Iterable[StreamEvent], Any]:
        self._sse = False
        parts = bytearray(begun)
        quiet = not parts
        while piece := await self._watch.wait(self._bytes.read(), quiet):
            quiet = piece.isspace()  # DeepSeek and OpenRouter send blank lines while the request waits
            if not quiet:
                self._started()
            parts += piece
            if len(parts) > MOST_BYTES:
                return [self._wire.broken(acc, too_long("an answer", MOST_BYTES))], acc
        try:
            payload = decode(bytes(parts))
        except ValueError:
            if parts.lstrip().startswith((b"data:", b"event:")):
                return self._feed([*self._decoder.feed(bytes(parts)), *self._decoder.close()], acc, True)
            return [self._wire.broken(acc, self._foreign(parts))], acc
        try:
            return self._wire.whole(payload, acc)
        except _MALFORMED as error:
            return [self._malformed("an answer", error, acc)], acc

    def _started(self) -> None:
        """The first event has come: from now on only a single wait can be too long."""
        if not self._answers:
            self._answers = True
            self._watch.limit(None)
            self._watch.idle(self._wire.idle_timeout)

    async def drain(self) -> None:
        """Read to the end of the body, which is about to come, so that the connection can be used again."""
        if not self._sse or self._bytes.ended:
            return
        self._watch.limit(_DRAIN)
        with suppress(Interrupted):
            while await self._watch.wait(self._bytes.read()):
                pass

    async def close(self) -> None:
        """Let go of the connection; it is closed where the body was not read to its end."""
        await self._bytes.close()


def _keeps_alive(name: str, data: bytes) -> bool:
    """Whether an event of which nothing came says nothing by its name either."""
    if not data.strip():
        return True
    payload = decode(data) if data[:1] == b"{" else None
    return (payload.get("type", name) if isinstance(payload, dict) else name) in _KEEP_ALIVE
