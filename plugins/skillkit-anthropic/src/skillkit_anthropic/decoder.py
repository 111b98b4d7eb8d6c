"""Bytes of a streamed answer in, SkillKit events out, in whatever pieces the network delivers them."""

from __future__ import annotations

from typing import Any

from skillkit_transport import SSEDecoder, decode

from skillkit_core.errors import ErrorKind, ProviderError
from skillkit_core.stream import StreamEvent

from .wire import Accumulator, failure, messages_table

__all__ = ["AnswerDecoder"]

_HEAD = 4_096


def _typed(event: dict[str, Any], name: str) -> dict[str, Any]:
    """An event that says in the ``event:`` line alone what it is, or nowhere that it is an error."""
    if event.get("error"):
        return {**event, "type": "error"}
    return {"type": "error", "error": event} if name == "error" else {**event, "type": name}


class AnswerDecoder:
    """Decodes one streamed answer; never raises, and gives exactly one terminal event, as the last.

    Attributes:
        acc: what is known so far.
        started: an event of the provider has come.
        quiet: what came last said nothing (comments, ``ping``): it only kept the connection open.
        head: the beginning of what came before it; if none comes, it says what came instead.
    """

    __slots__ = ("_sse", "acc", "head", "quiet", "started")

    def __init__(self) -> None:
        self._sse = SSEDecoder()
        self.acc = Accumulator()
        self.started = False
        self.quiet = False
        self.head = b""

    def feed(self, chunk: bytes) -> list[StreamEvent]:
        """The events that ``chunk`` completes."""
        if not self.started and len(self.head) < _HEAD:
            self.head += chunk
        pairs = self._sse.feed(chunk)
        if not pairs:  # comments, or a piece of a long event
            self.quiet = chunk.lstrip()[:1] in (b":", b"")
            return []
        return self._convert(pairs, ended=False)

    def close(self) -> list[StreamEvent]:
        """The connection has ended: what was still held back, and without the wire's own end the error that says so."""
        out = self._convert(self._sse.close(), ended=True)
        if not self.acc.finished:
            said = "in the middle of the answer" if self.acc.blocks else "before the answer began"
            out.append(self.fail(f"the stream ended {said}, without message_stop"))
        return out

    def fail(self, error: ProviderError | str) -> StreamEvent:
        """The terminal event for a failure; a text is one of the wire's protocol."""
        if isinstance(error, str):
            error = ProviderError(error, kind=ErrorKind.protocol)
        event = failure(self.acc, error)
        self.acc = self.acc._replace(finished=True)
        return event

    def _convert(self, pairs: list[tuple[str, bytes]], *, ended: bool) -> list[StreamEvent]:
        out: list[StreamEvent] = []
        acc = self.acc
        convert = messages_table.convert
        for name, data in pairs:
            if acc.finished:
                break
            self.started = True
            if data == b"[DONE]":  # the end mark of another protocol, which gateways add
                continue
            try:
                event = decode(data)
                events, acc = convert(event, acc)
                if not events and isinstance(event, dict) and (name == "error" or "type" not in event):
                    events, acc = convert(_typed(event, name), acc)
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                if ended:
                    break  # the connection ended inside an event
                self.acc = acc
                hint = "try again; if it stays, check base_url"
                wrong = ProviderError(
                    "the server sent an event that is not of the Messages API", kind=ErrorKind.protocol, hint=hint
                )
                wrong.__cause__ = error
                return [*out, self.fail(wrong)]
            out += events
        self.quiet = acc is self.acc and not out
        self.acc = acc
        return out
