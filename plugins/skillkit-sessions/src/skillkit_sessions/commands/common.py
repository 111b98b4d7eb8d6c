"""What the commands share: the store that is meant, sessions by the start of their id, JSON of entries."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import click

from skillkit_core.contracts.session_store import SessionEntry, SessionHandle, SessionStore
from skillkit_core.errors import SessionError, UnknownSession, UsageError

from ..branches import Branches

__all__ = [
    "entry_json",
    "find",
    "header_json",
    "latest",
    "opened",
    "session_argument",
    "store_option",
    "work",
]

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")


def store_option(function: F) -> F:
    """``--store NAME``, as parameter ``store``."""
    return click.option("--store", metavar="NAME", help="Use this session store instead of the configured one.")(
        function
    )


def session_argument(function: F) -> F:
    """A session: its id, or the start of it, as parameter ``session``."""
    return click.argument("session")(function)


def work(ctx: click.Context, store: str | None, body: Callable[[SessionStore], Awaitable[T]]) -> T:
    """Run ``body`` with the store that is meant, and close that."""
    host = ctx.obj.host
    chosen: SessionStore = host.session_store() if store is None else host.session_stores.get(store)

    async def run() -> T:
        try:
            return await body(chosen)
        finally:
            await chosen.close()

    return asyncio.run(run())


async def find(store: SessionStore, name: str) -> str:
    """The id of the session called ``name``, or of the only one whose id starts so.

    Raises:
        UnknownSession: there is none; close matches are named. SessionError: there are several.
    """
    ids = [str(row["id"]) for row in await store.list()]
    if name in ids:
        return name
    found = [known for known in ids if name and known.startswith(name)]
    if len(found) > 1:
        raise SessionError(
            f"{len(found)} sessions start with {name!r}", hint=f"write more of it: {', '.join(found[:5])}"
        )
    if not found:
        raise UnknownSession(name, ids)
    return found[0]


async def latest(store: SessionStore) -> str:
    """The id of the session that was written last."""
    for row in await store.list(limit=20):
        if not row.get("error"):
            return str(row["id"])
    raise UsageError("there are no sessions yet", hint="'skillkit run' starts one")


@asynccontextmanager
async def opened(store: SessionStore, name: str | None) -> AsyncIterator[tuple[SessionHandle, Branches]]:
    """A session, open for reading (default: the latest), and its tree."""
    session_id = await find(store, name) if name is not None else await latest(store)
    handle = await store.open(session_id, read_only=True)
    try:
        yield handle, Branches(handle.entries(), handle.location or session_id)
    finally:
        await handle.close()


def header_json(handle: SessionHandle, branches: Branches | None = None) -> dict[str, Any]:
    """``id, version, created, cwd, title, parent_session, location``."""
    header = handle.header
    return {
        "id": header.id,
        "version": header.version,
        "created": header.created,
        "cwd": header.cwd,
        "title": (branches.title if branches is not None else None) or header.title,
        "parent_session": header.parent_session,
        "location": handle.location,
    }


def entry_json(entry: SessionEntry) -> dict[str, Any]:
    """``seq, id, parent_id, ts, type, data``."""
    own = {"seq": entry.seq, "id": entry.id, "parent_id": entry.parent_id, "ts": entry.ts, "type": entry.type}
    return {**own, "data": entry.data}
