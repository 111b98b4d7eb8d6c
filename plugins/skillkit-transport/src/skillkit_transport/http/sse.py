"""Streams in frames: bytes in, server-sent events or lines out, in whatever pieces the network delivers them."""

from __future__ import annotations

from skillkit_core.errors import ErrorKind, ProviderError

__all__ = ["MOST_BYTES", "LineDecoder", "SSEDecoder", "too_long"]

MOST_BYTES = 64 * 1024 * 1024
"""The most bytes of one event, and of one answer that is no stream: far beyond any image or document that a model makes."""

BOM = b"\xef\xbb\xbf"


class SSEDecoder:
    r"""Incremental decoder of ``text/event-stream``; linear in the bytes, whatever the size of the pieces.

    ``feed(data)`` returns the events that became complete: ``(event, data)`` with ``event`` the text of the ``event:`` line
    (``""`` without one) and ``data`` the raw bytes of the ``data:`` lines, joined by newlines. Comments, ``id:`` and
    ``retry:`` lines are skipped; lines may end in LF, CRLF or CR. ``close()`` returns a last event that the server did not
    end with a blank line.

    Args:
        most: bytes that an event may have. ``feed`` raises :class:`~skillkit_core.errors.ProviderError` of kind ``protocol``
            for an event that has no end after so many; none of it is kept.

    Example:
        >>> decoder = SSEDecoder()
        >>> decoder.feed(b"event: ping\ndata: {}\n\nda")
        [('ping', b'{}')]
        >>> decoder.feed(b"ta: 1\n\n")
        [('', b'1')]
    """

    __slots__ = ("_data", "_event", "_held", "_most", "_pending", "_skip_lf", "_started")

    def __init__(self, most: int = MOST_BYTES) -> None:
        self._most = most
        self._held = 0  # bytes of the event that has not ended
        self._pending: list[bytes] = []
        self._event = ""
        self._data: list[bytes] = []
        self._skip_lf = False
        self._started = False

    def feed(self, data: bytes) -> list[tuple[str, bytes]]:
        """Return the events that ``data`` completes."""
        if not data:
            return []
        if self._skip_lf:
            self._skip_lf = False
            if data[:1] == b"\n":
                data = data[1:]
        if b"\n" not in data and b"\r" not in data:
            self._pending.append(data)
            self._hold(len(data))
            return []
        size = len(data)
        if self._pending:
            self._pending.append(data)
            data = b"".join(self._pending)
            self._pending = []
        if not self._started:
            self._started = True
            data = data.removeprefix(BOM)
        if b"\r" in data:
            self._skip_lf = data[-1:] == b"\r"
            data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        *lines, rest = data.split(b"\n")
        if rest:
            self._pending.append(rest)
        out: list[tuple[str, bytes]] = []
        if (
            not self._data and not self._event and not any(lines[1::2])
        ):  # blank lines in between: as most servers send it
            out = [("", line[6:]) for line in lines[::2] if line[:6] == b"data: "]
        if len(lines) != 2 * len(out):
            out = []
            for line in lines:
                if line[:6] == b"data: ":
                    self._data.append(line[6:])
                elif not line:
                    self._dispatch(out)
                elif line[:7] == b"event: ":
                    self._event = line[7:].decode("utf-8", "replace")
                else:
                    self._field(line)
        if out or not self._data:
            self._held = 0
        if rest or self._data:
            self._hold(len(rest) if out else size)
        return out

    def _hold(self, size: int) -> None:
        self._held += size
        if self._held > self._most:
            self._pending, self._data = [], []
            raise too_long("an event", self._most)

    def close(self) -> list[tuple[str, bytes]]:
        """Return a last event without the blank line that should end it."""
        out: list[tuple[str, bytes]] = []
        if self._pending:
            line = b"".join(self._pending)
            self._pending = []
            self._field(line if self._started else line.removeprefix(BOM))
        self._dispatch(out)
        return out

    def _dispatch(self, out: list[tuple[str, bytes]]) -> None:
        if self._data:
            out.append((self._event, self._data[0] if len(self._data) == 1 else b"\n".join(self._data)))
            self._data = []
        self._event = ""

    def _field(self, line: bytes) -> None:
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            self._data.append(value)
        elif name == b"event":
            self._event = value.decode("utf-8", "replace")


class LineDecoder:
    r"""Incremental decoder of lines of JSON (NDJSON); linear in the bytes, whatever the size of the pieces.

    ``feed(data)`` returns the lines that became complete, without the blank ones; lines may end in LF or CRLF. ``close()``
    returns a last line that the server did not end.

    Args:
        most: bytes that a line may have. ``feed`` raises :class:`~skillkit_core.errors.ProviderError` of kind ``protocol`` for a
            line that has no end after so many.

    Example:
        >>> decoder = LineDecoder()
        >>> decoder.feed(b'{"a": 1}\n{"b"'), decoder.feed(b': 2}\n')
        ([b'{"a": 1}'], [b'{"b": 2}'])
    """

    __slots__ = ("_held", "_most", "_pending")

    def __init__(self, most: int = MOST_BYTES) -> None:
        self._most = most
        self._held = 0
        self._pending: list[bytes] = []

    def feed(self, data: bytes) -> list[bytes]:
        """Return the lines that ``data`` completes."""
        *lines, rest = data.split(b"\n")
        if lines:
            lines[0] = b"".join([*self._pending, lines[0]])
            self._pending, self._held = [], 0
        if rest:
            self._pending.append(rest)
            self._held += len(rest)
        if self._held > self._most:
            self._pending = []
            raise too_long("a line", self._most)
        return [line for line in map(bytes.strip, lines) if line]

    def close(self) -> list[bytes]:
        """Return a last line without its end."""
        line, self._pending = b"".join(self._pending).strip(), []
        return [line] if line else []


def too_long(what: str, most: int) -> ProviderError:
    """Return the error for ``what`` a server sent that has no end after ``most`` bytes."""
    return ProviderError(
        f"the server sent {what} of more than {most // (1024 * 1024)} MiB",
        kind=ErrorKind.protocol,
        hint="try again; if it stays, check base_url",
    )
