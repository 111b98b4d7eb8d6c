"""What the commands share: the store that is meant, sessions by the start of their id, JSON of entries."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import click

from skillkit_core.cli.sessions import latest_session
from skillkit_core.contracts.session_store import SessionEntry, SessionHandle, SessionStore
from skillkit_core.errors import SessionError, UsageError

from ..branches import START, Branches

if TYPE_CHECKING:
    from skillkit_core import Session

__all__ = [
    "WHERE",
    "entry_json",
    "header_json",
    "latest",
    "opened",
    "session_argument",
    "store_option",
    "work",
    "writing",
]

WHERE = f"its id, the start of it, its label, or '{START}' for before the first entry"
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


async def latest(store: SessionStore) -> str:
    """The id of the session that was written last; broken ones are passed over, and named on stderr."""
    found = await latest_session(store)
    if found is not None:
        return found
    raise UsageError("there are no sessions yet", hint="'skillkit run' starts one")


@asynccontextmanager
async def opened(store: SessionStore, name: str | None) -> AsyncIterator[tuple[SessionHandle, Branches]]:
    """A session, open for reading (default: the latest), and its tree."""
    session_id = await store.find(name) if name is not None else await latest(store)
    handle = await store.open(session_id, read_only=True)
    try:
        yield handle, Branches(handle.entries(), handle.location or session_id)
    finally:
        await handle.close()


@asynccontextmanager
async def writing(store: SessionStore, name: str) -> AsyncIterator[tuple[Session, Branches]]:
    """A session, open for writing, and its tree."""
    from skillkit_core import Session

    session = await Session.open(store, await store.find(name), time.time)
    try:
        if session.handle.read_only:
            raise SessionError(
                getattr(session.handle, "foreign", None) or "the session is read-only",
                where=session.location,
                hint="upgrade SkillKit to write to it",
            )
        yield session, Branches(session.entries, session.location or session.id)
    finally:
        await session.close()


def header_json(handle: SessionHandle, branches: Branches | None = None) -> dict[str, Any]:
    """``id, version, created, cwd, title, parent_session, nested, location``."""
    header = handle.header
    return {
        "id": header.id,
        "version": header.version,
        "created": header.created,
        "cwd": header.cwd,
        "title": (branches.title if branches is not None else None) or header.title,
        "parent_session": header.parent_session,
        "nested": header.nested,
        "location": handle.location,
    }


def entry_json(entry: SessionEntry) -> dict[str, Any]:
    """``seq, id, parent_id, ts, type, data``."""
    own = {"seq": entry.seq, "id": entry.id, "parent_id": entry.parent_id, "ts": entry.ts, "type": entry.type}
    return {**own, "data": dict(entry.data)}
