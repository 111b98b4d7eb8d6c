"""Where sessions are kept, and what an id may look like."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from skillkit_core.errors import SessionError

if TYPE_CHECKING:
    from skillkit_core import Host

__all__ = ["FLUSH_INTERVAL", "FSYNC", "Place", "check_id", "exists", "place_of"]

_ID = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}\Z")
FSYNC: Literal["auto", "always", "never"] = "auto"
FLUSH_INTERVAL = 1.0


class Place(NamedTuple):
    """Where sessions are kept, and how they are written (see :class:`~skillkit_sessions.SessionsConfig`)."""

    directory: Path
    fsync: str
    flush_interval: float


def place_of(host: Host | None, directory: Path | None, fsync: str | None) -> Place:
    """The place of the sessions: what is given, else what the section says, else the default.

    Raises:
        SessionError: neither a host nor a directory was given.
    """
    config = host.config.section("sessions", None) if host is not None else None
    directory = directory or (config.directory if config else None)
    if directory is None:
        if host is None:
            raise SessionError("the session store has no place", hint="give it a host or a directory")
        directory = host.data_dir / "sessions"
    fsync = fsync or (config.fsync if config else FSYNC)
    return Place(directory.expanduser(), fsync, config.flush_interval if config else FLUSH_INTERVAL)


def check_id(session_id: str) -> str:
    """``session_id``, if it can be one.

    Raises:
        SessionError: it cannot.
    """
    if not _ID.match(session_id):
        raise SessionError(
            f"{session_id!r} cannot be the id of a session",
            hint="use letters, digits, '.', '_' and '-', at most 128",
        )
    return session_id


def exists(where: Path, session_id: str) -> SessionError:
    """The error for an id that is taken."""
    return SessionError(
        f"session {session_id!r} exists already", where=str(where), hint="open it, or choose another id"
    )
