"""The session that commands without a session go on with."""

from __future__ import annotations

from ..contracts.session_store import SessionStore
from .output import warning

__all__ = ["latest_session"]

_LOOKED_AT = 20  # sessions; so many broken ones in a row are nobody's work


async def latest_session(store: SessionStore) -> str | None:
    """The id of the session that was written last; broken ones are passed over, and named on stderr."""
    for row in await store.list(limit=_LOOKED_AT):
        if not row.get("error"):
            return str(row["id"])
        warning(f"session {row['id']} is not taken for the latest: {row['error']}")
    return None
