"""``skillkit sessions resume|fork|label``: moving the leaf, copying a branch, naming an entry."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import click

from skillkit_core.cli.output import json_option, print_json
from skillkit_core.contracts.session_store import SessionStore
from skillkit_core.errors import SessionError, UsageError

from ..branches import START, Branches
from ..describe import line_of, title_of
from ..output import print_text
from .common import find, header_json, opened, session_argument, store_option, work

if TYPE_CHECKING:
    from skillkit_core.agent.session import Session

__all__ = ["fork", "label", "resume"]

_WHERE = f"its id, the start of it, its label, or '{START}' for before the first entry"
_STATES = {
    "empty": "nothing was said yet",
    "suspended": "it waits for a decision about calls",
    "interrupted": "the last calls have no result; the model will be told that they were interrupted",
    "cut": "the last answer was cut off; the model will see what was said of it",
    "waiting": "the last message has no answer yet",
    "complete": "the last answer is complete",
}


@asynccontextmanager
async def _writing(store: SessionStore, name: str) -> AsyncIterator[tuple[Session, Branches]]:
    """A session, open for writing, and its tree."""
    from skillkit_core.agent.session import Session

    session = await Session.open(store, await find(store, name), time.time)
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


@click.command(help="Say where a session ended, and go back to an entry with --entry.")
@session_argument
@click.option("--entry", metavar="ID", help=f"The next run follows this entry: {_WHERE}.")
@store_option
@json_option
@click.pass_context
def resume(ctx: click.Context, session: str, entry: str | None, store: str | None, as_json: bool) -> None:
    """JSON: ``{"session", "leaf", "moved", "state", "last", "open_calls"}``; see :meth:`Branches.state`."""

    async def look(s: SessionStore) -> dict[str, Any]:
        async with opened(s, session) as (handle, branches):
            return {"session": handle.header.id, "moved": False, **branches.state(), "_": _line(branches)}

    async def move(s: SessionStore) -> dict[str, Any]:
        async with _writing(s, session) as (open_session, branches):
            target = branches.above(branches.find(str(entry)))
            moved = target != branches.leaf
            if moved:
                await open_session.move_to(target)
            now = Branches(open_session.entries, branches.where)
            return {"session": open_session.id, "moved": moved, **now.state(), "_": _line(now)}

    found = work(ctx, store, look if entry is None else move)
    said = found.pop("_")
    if as_json:
        print_json(found)
        return
    print_text(f"session {found['session']} goes on {'at the start' if found['leaf'] is None else 'after ' + said}")
    calls = ", ".join(f"{call['name']} ({call['id']})" for call in found["open_calls"])
    print_text(_STATES[found["state"]] + (f": {calls}" if calls else ""))
    print_text(f'go on with: skillkit run --session {found["session"]} "..."')


def _line(branches: Branches) -> str:
    if branches.leaf is None:
        return ""
    entry = branches.by_id[branches.leaf]
    text = line_of(entry)
    return f"{entry.id}, {title_of(entry)}: {text if len(text) < 60 else text[:59] + '…'}"


@click.command(help="Start a new session with a branch of another one: its entries up to --entry, and their labels.")
@session_argument
@click.option("--entry", metavar="ID", help=f"The last entry to keep: {_WHERE}; default: where the session goes on.")
@click.option("--id", "new_id", metavar="ID", help="Id of the new session; default: a new one.")
@store_option
@json_option
@click.pass_context
def fork(
    ctx: click.Context, session: str, entry: str | None, new_id: str | None, store: str | None, as_json: bool
) -> None:
    """JSON: the new session's header, ``entry`` (the last one that was kept) and ``entries`` (how many)."""

    async def copy(s: SessionStore) -> dict[str, Any]:
        async with opened(s, session) as (handle, branches):
            at = branches.leaf if entry is None else branches.above(branches.find(entry))
            old = handle.header.id
        made = await s.fork(old, at, new_id=new_id)
        await made.close()
        return {**header_json(made), "entry": at, "entries": len(made.entries())}

    made = work(ctx, store, copy)
    if as_json:
        print_json(made)
    else:
        print_text(f"session {made['id']}: {made['entries']} entries of {made['parent_session']}, {made['location']}")


@click.command(help="Give the entry ENTRY of a session a label, or take it away with --remove.")
@session_argument
@click.argument("entry")
@click.argument("text", required=False)
@click.option("--remove", is_flag=True, help="Take the label away.")
@store_option
@json_option
@click.pass_context
def label(
    ctx: click.Context, session: str, entry: str, text: str | None, remove: bool, store: str | None, as_json: bool
) -> None:
    """JSON: ``{"session", "entry", "label"}``; a later label replaces an earlier one."""
    words = " ".join((text or "").split())
    if bool(words) == remove:
        raise UsageError(
            "give a TEXT for the label, or --remove" if not words else "TEXT and --remove exclude each other"
        )

    async def write(s: SessionStore) -> dict[str, Any]:
        async with _writing(s, session) as (open_session, branches):
            target = branches.find(entry)
            if target is None or target != branches.above(target):
                what = (
                    f"{target} is a {branches.by_id[target].type} entry" if target else "there is no entry at the start"
                )
                raise UsageError(f"{what}: labels go on entries of the tree", hint="'skillkit sessions tree' draws it")
            if remove and target not in branches.labels:
                raise UsageError(f"entry {target!r} has no label", where=branches.where)
            if branches.labels.get(target) != (words or None):
                await open_session.append("label", {"entry_id": target, "label": words or None}, sync=True)
            return {"session": open_session.id, "entry": target, "label": words or None}

    done = work(ctx, store, write)
    if as_json:
        print_json(done)
    else:
        print_text(f"{done['entry']} is {done['label']!r} now" if words else f"{done['entry']} has no label any more")
