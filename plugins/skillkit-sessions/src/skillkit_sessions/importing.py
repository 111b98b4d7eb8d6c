"""Reading a session from a JSON Lines file of anybody, line by line: what is let in works like one of ours."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

from skillkit_core.contracts.session_store import DRIVEN, ENTRY_TYPES, SESSION_VERSION, SessionEntry, SessionHeader
from skillkit_core.errors import SessionCorrupt, SessionError
from skillkit_core.messages import message_from_dict

from .codec import decode_entry, decode_header
from .place import check_id

__all__ = ["read_session"]

_OURS = re.compile(r"e([0-9]+)\Z")


def read_session(lines: Iterable[bytes], where: str) -> tuple[SessionHeader, list[SessionEntry]]:
    """The session in ``lines``: a header, then entries.

    Every entry has a type of this version, a new id, a higher ``seq`` than the one before and a parent above it; labels and
    leaves name entries above them; messages can be read; no id will be given again to a later entry. What a driver had begun
    is given up: a run that is resumed asks anew, and believes no answer that the file says a model gave.

    Raises:
        SessionCorrupt: a line is not right (``file:line``). SessionError: it is of a newer version.
    """
    numbered = enumerate(lines, 1)
    _, first = next(numbered, (1, b""))
    try:
        header = decode_header(first)
    except ValueError as error:
        raise SessionCorrupt(str(error), where=f"{where}:1", hint="give a file of 'sessions export'") from None
    if header.version > SESSION_VERSION:
        raise SessionError(
            f"it has format version {header.version}, and this program knows {SESSION_VERSION}",
            where=f"{where}:1",
            hint="upgrade SkillKit",
        )
    check_id(header.id)
    entries: list[SessionEntry] = []
    known: set[str] = set()
    for number, line in numbered:
        if not line.strip():
            continue
        try:
            entry = decode_entry(line)
            _check(entry, known, entries[-1].seq if entries else 0)
        except ValueError as error:
            hint = "nothing was imported; repair the line, or export the session again"
            raise SessionCorrupt(str(error), where=f"{where}:{number}", hint=hint) from None
        known.add(entry.id)
        entries.append(_given_up(entry))
    highest = entries[-1].seq if entries else 0
    taken = next((e.id for e in entries if (m := _OURS.match(e.id)) and int(m[1]) > highest), None)
    if taken is not None:
        raise SessionError(
            f"the id {taken!r} would be given to a later entry again",
            where=where,
            hint="rename it, or number the entries by their seq",
        )
    return header, entries


def _check(entry: SessionEntry, known: set[str], last: int) -> None:
    """Raise ``ValueError`` for what would not work."""
    if entry.type not in ENTRY_TYPES:
        raise ValueError(f"unknown type {entry.type!r} (known: {', '.join(sorted(ENTRY_TYPES))})")
    if entry.id in known:
        raise ValueError(f"the id {entry.id!r} is used twice")
    if entry.seq <= last:
        raise ValueError(f"seq is {entry.seq}, and the entry before has {last}")
    if entry.parent_id is not None and entry.parent_id not in known:
        raise ValueError(f"the parent {entry.parent_id!r} is not above")
    if entry.type in ("label", "leaf"):
        named = entry.data.get("entry_id")
        if not (named in known if isinstance(named, str) else named is None and entry.type == "leaf"):
            raise ValueError(f"the {entry.type} names {named!r}, which is not above")
    if entry.type in ("message", "custom_message"):
        message = entry.data.get("message")
        if not isinstance(message, Mapping):
            raise ValueError("the entry has no message")
        try:
            message_from_dict(message)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"the message cannot be read: {error}") from None


def _given_up(entry: SessionEntry) -> SessionEntry:
    """Return an entry whose driver, if it tells of one, has come to its end."""
    if entry.type != "custom" or entry.data.get("custom_type") != DRIVEN:
        return entry
    return replace(entry, data={"custom_type": DRIVEN, "over": True})
