"""Reading a session file: whole, strict in the middle, forgiving at its end."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from skillkit_core.contracts.session_store import SessionEntry, SessionHeader, foreign_to, no_collection
from skillkit_core.errors import SessionCorrupt, SessionError
from skillkit_core.settings.documents import open_regular

from .codec import decode_entry, decode_header

__all__ = ["Loaded", "broken_entry", "broken_header", "broken_line", "load_file", "unreadable"]


@dataclass(frozen=True, slots=True)
class Loaded:
    """What a session file holds.

    Attributes:
        size: bytes up to the end of the last whole line.
        torn: bytes behind ``size``: a line that a crash cut.
        newline_missing: the last whole line has everything but its newline.
        foreign: why this version must not write to the file (a newer format, unknown entries), or ``None``.
    """

    header: SessionHeader
    entries: list[SessionEntry]
    size: int
    torn: int
    newline_missing: bool
    foreign: str | None


def load_file(path: Path) -> Loaded:
    """Read the file, in time linear in its size.

    Raises:
        SessionError: it cannot be read. SessionCorrupt: the header or a line in the middle is broken (``file:line``).
    """
    try:
        with open_regular(path) as file:
            data = file.read()
    except OSError as error:
        raise unreadable(path, error) from error
    lines = data.split(b"\n")
    rest = lines.pop()
    if not lines:
        raise SessionCorrupt(
            "there is no whole header line", where=f"{path}:1", hint="the session was never begun: remove the file"
        )
    try:
        header = decode_header(lines[0])
    except ValueError as error:
        raise broken_header(path, error) from None
    with no_collection():
        entries = _decode(path, lines, whole=not rest)
    size = len(data) - len(rest)
    if len(entries) < len(lines) - 1:  # the last line ends with a newline and is garbage all the same
        size -= len(lines[-1]) + 1
        rest = data[size:]
    torn, newline_missing = len(rest), False
    if rest and not rest.endswith(b"\n"):
        try:
            entries.append(decode_entry(rest))
        except ValueError:
            pass
        else:
            size, torn, newline_missing = len(data), 0, True
    return Loaded(header, entries, size, torn, newline_missing, foreign_to(header, entries))


def _decode(path: Path, lines: list[bytes], *, whole: bool) -> list[SessionEntry]:
    """The entries of ``lines[1:]``; a broken last line is left out, if the file ends there (``whole``)."""
    entries: list[SessionEntry] = []
    add = entries.append
    try:
        for line in lines[1:]:
            add(decode_entry(line))
    except ValueError as error:
        number = len(entries) + 2
        if number < len(lines) or not whole:
            raise broken_line(path, number, error) from None
    return entries


def broken_header(path: Path, error: ValueError) -> SessionCorrupt:
    """The error for a file that does not begin as a session does."""
    hint = "repair the line with an editor; if the file is no session, move it away"
    return SessionCorrupt(str(error), where=f"{path}:1", hint=hint)


def broken_line(path: Path, number: int, error: ValueError) -> SessionCorrupt:
    """The error for a line that is no entry."""
    return SessionCorrupt(
        f"this line is broken: {error}",
        where=f"{path}:{number}",
        hint="repair or remove the line with an editor; the others are whole as far as they were read",
    )


def broken_entry(where: str, number: int, error: ValueError) -> SessionCorrupt:
    """The error for an entry in a database that is none."""
    return SessionCorrupt(f"entry {number} is broken: {error}", where=where, hint="restore a copy of the database")


def unreadable(path: Path, error: OSError) -> SessionError:
    """The error for a file that cannot be read."""
    return SessionError(
        f"the session cannot be read: {error.strerror}",
        where=str(path),
        hint="check what the file is, and its permissions",
    )
