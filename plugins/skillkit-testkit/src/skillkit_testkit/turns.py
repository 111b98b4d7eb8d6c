"""What a scripted model server is told to do: replies, failures, cuts, silence, and the gates that hold an answer back."""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from skillkit_core.frozen import EMPTY
from skillkit_core.messages import StopReason
from skillkit_core.models import TokenUsage

if TYPE_CHECKING:
    from .received import ReceivedRequest

__all__ = ["Call", "Cut", "Fail", "Framing", "Gate", "Hang", "Raw", "Reply", "Turn", "TurnFunction"]

Framing: TypeAlias = "Literal['event', 'whole'] | int"


class Gate:
    """Holds an answer back until the test opens it, so that a test decides the order of things without a clock.

    The server answers until ``after_deltas`` pieces of content (text, thinking, arguments) are written, sets
    ``reached`` and waits for :meth:`open`. ``after_deltas=0``: status and headers are sent, the body is not.
    ``after_deltas=None``: nothing is sent at all. An answer that is not streamed has no pieces: there any gate holds
    back the whole answer. Opening is final; a gate may be opened before the server comes to it.
    """

    def __init__(self, after_deltas: int | None = 1) -> None:
        self.after_deltas = after_deltas
        self.reached = threading.Event()
        self._lock = threading.Lock()
        self._open = False
        self._waiters: list[Callable[[], None]] = []

    @property
    def opened(self) -> bool:
        """Whether it is open."""
        return self._open

    def open(self) -> None:
        """Let the answer go on. May be called from any thread, more than once."""
        with self._lock:
            self._open = True
            waiters, self._waiters = self._waiters, []
        for wake in waiters:
            wake()

    async def passed(self) -> None:
        """Say that the gate is reached, and wait until it is open (the server does this)."""
        loop = asyncio.get_running_loop()
        opened = asyncio.Event()
        with self._lock:
            if self._open:
                opened.set()
            else:
                self._waiters.append(lambda: _wake(loop, opened))
        self.reached.set()
        await opened.wait()


def _wake(loop: asyncio.AbstractEventLoop, opened: asyncio.Event) -> None:
    with contextlib.suppress(RuntimeError):  # the server may be stopped by now
        loop.call_soon_threadsafe(opened.set)


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call of a scripted reply. ``args`` as a string is sent as it is, also when it is not JSON.

    ``id``: default: one that is unique on the server, in the style of the wire.
    """

    name: str
    args: Mapping[str, Any] | str = EMPTY
    id: str | None = None

    @property
    def raw_args(self) -> str:
        """The arguments as the wire's text."""
        return self.args if isinstance(self.args, str) else json.dumps(dict(self.args), ensure_ascii=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """One answer, in words that every wire can say.

    Attributes:
        text: what the model says; a sequence gives the exact pieces it is streamed in.
        tool_calls: calls after the text; their arguments are streamed in pieces.
        thinking: Anthropic: a signed thinking block; Chat Completions: ``reasoning_content``; Responses: a reasoning
            item with one summary (and ``encrypted_content`` where the request includes it).
        signature: proof of the thinking, as the provider would give it.
        usage: disjoint buckets; every wire reports them in its own arithmetic. ``None``: the server reports none.
        stop: default: ``tool_calls`` with calls, else ``stop``. A :class:`~skillkit_core.StopReason` is said in the
            wire's own word; any other string is sent as it is.
        pieces: characters per streamed piece of text, thinking and arguments.
        framing: how the body is written: ``"event"``: one write per event; ``"whole"``: one write; a number: writes of
            that many bytes, whatever they cut in two.
        unknown: send events, fields and comments besides that no client knows yet.
        gate: holds the answer back.
        headers: further response headers.
    """

    text: str | Sequence[str] = ""
    tool_calls: Sequence[Call] = ()
    thinking: str = ""
    signature: str = "c2lnbmF0dXJl"
    usage: TokenUsage | None = field(default_factory=lambda: TokenUsage(input=10, output=5))
    stop: StopReason | str | None = None
    pieces: int = 8
    framing: Framing = "event"
    unknown: bool = False
    gate: Gate | None = None
    headers: Mapping[str, str] = EMPTY

    @property
    def whole_text(self) -> str:
        """The text in one piece."""
        return self.text if isinstance(self.text, str) else "".join(self.text)

    @property
    def text_pieces(self) -> list[str]:
        """The text as it is streamed."""
        return self.split(self.text) if isinstance(self.text, str) else list(self.text)

    @property
    def stop_reason(self) -> StopReason | str:
        """``stop``, or what follows from the content."""
        if self.stop is None:
            return StopReason.tool_calls if self.tool_calls else StopReason.stop
        return StopReason(self.stop) if self.stop in StopReason.__members__.values() else self.stop

    def split(self, text: str) -> list[str]:
        """``text`` in pieces of ``pieces`` characters."""
        return [text[i : i + self.pieces] for i in range(0, len(text), self.pieces)]


@dataclass(frozen=True, slots=True)
class Fail:
    """An error answer.

    Attributes:
        status: HTTP status (ignored when ``during`` is given: then the status was 200 already).
        type: the provider's own error type; default: what the wire's provider says for the status. ``"overflow"`` (the
            conversation is too long) and ``"quota"`` (out of money) are said in the wire's own words and status.
        retry_after: seconds, sent as ``retry-after``.
        message: the error's text.
        during: a reply that was under way: an error event ends it after ``after_deltas`` pieces. Only when streaming;
            a request that does not stream gets the error as status.
        headers: further response headers.
    """

    status: int = 500
    type: str | None = None
    retry_after: float | None = None
    message: str = "scripted failure"
    during: Reply | None = None
    after_deltas: int = 1
    headers: Mapping[str, str] = EMPTY


@dataclass(frozen=True, slots=True)
class Cut:
    """The connection ends in the middle of an answer.

    With neither number nothing is sent at all, not even a status. ``after_bytes``: that many bytes of the body are
    sent. ``after_deltas``: the body is sent up to and with that piece of content, on every wire the same (half of the
    body when the answer is not streamed). ``clean``: the stream is ended as HTTP wants it, only the wire's own end
    marker is missing, as a proxy that lost its upstream does it.
    """

    after_bytes: int | None = None
    after_deltas: int | None = None
    clean: bool = False
    reply: Reply = Reply(text=("The connection ", "will be ", "cut in ", "the middle."))


@dataclass(frozen=True, slots=True)
class Hang:
    """Never answers: the request is taken, and nothing is sent until the client or the server gives up."""


@dataclass(frozen=True, slots=True)
class Raw:
    """Bytes as they are: what no API answers. A proxy's page, a redirect, half of a text, nonsense.

    Attributes:
        body: sent unchanged, also to a request that asks for a stream.
        status: HTTP status.
        content_type: of the body.
        headers: further response headers (``location``).
    """

    body: bytes = b""
    status: int = 200
    content_type: str = "application/json"
    headers: Mapping[str, str] = EMPTY


TurnFunction: TypeAlias = "Callable[[ReceivedRequest], Turn | Awaitable[Turn]]"
Turn: TypeAlias = "Reply | Fail | Cut | Hang | Raw | TurnFunction"
