"""``skillkit sessions fork|label``: copying a branch, naming an entry."""

from __future__ import annotations

from typing import Any

import click

from skillkit_core.cli.output import json_option, print_json
from skillkit_core.contracts.session_store import SessionStore
from skillkit_core.errors import UsageError

from ..output import print_text
from .common import WHERE, header_json, opened, session_argument, store_option, work, writing

__all__ = ["fork", "label"]


@click.command(
    help="Start a new session with a branch of another one. It takes the entries up to --entry, and their labels."
)
@session_argument
@click.option("--entry", metavar="ID", help=f"The last entry to keep: {WHERE}; default: where the session goes on.")
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


@click.command(help="Give an entry of a session a label. --remove takes it away.")
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
    ctx.obj.host.secrets.learn()
    words = ctx.obj.host.redact(" ".join((text or "").split()))
    if bool(words) == remove:
        raise UsageError(
            "give a TEXT for the label, or --remove" if not words else "TEXT and --remove exclude each other"
        )

    async def write(s: SessionStore) -> dict[str, Any]:
        async with writing(s, session) as (open_session, branches):
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
