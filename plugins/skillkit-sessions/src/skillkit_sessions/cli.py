"""``skillkit sessions``: list, show, find and search sessions."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import click

from skillkit_core.cli.output import echo, json_option, print_json
from skillkit_core.contracts.session_store import SessionEntry, SessionHandle, SessionStore
from skillkit_core.errors import SessionError

from .listing import text_in
from .output import print_table, print_text

__all__ = ["sessions"]


def _time(seconds: float | None) -> str | None:
    return None if seconds is None else datetime.fromtimestamp(seconds).strftime("%Y-%m-%d %H:%M")


async def _open(store: SessionStore, name: str) -> SessionHandle:
    """The session called ``name``, or the only one whose id starts so."""
    try:
        return await store.open(name, read_only=True)
    except LookupError:
        found = [row["id"] for row in await store.list() if row["id"].startswith(name)]
        if len(found) > 1:
            raise SessionError(
                f"{len(found)} sessions start with {name!r}", hint=f"write more of it: {', '.join(found[:5])}"
            ) from None
        if not found:
            raise
        return await store.open(found[0], read_only=True)


@click.group(help="List, show and search sessions.")
def sessions() -> None:
    """The group of commands."""


@sessions.command("list", help="List sessions, newest first.")
@click.option("--limit", "-n", type=click.IntRange(min=1), default=20, show_default=True, help="How many.")
@click.option("--all", "everything", is_flag=True, help="List all of them.")
@json_option
@click.pass_context
def list_(ctx: click.Context, limit: int, everything: bool, as_json: bool) -> None:
    """``id, created, updated, cwd, title, messages, location``, and ``error`` for broken ones."""
    rows = asyncio.run(ctx.obj.host.session_store().list(limit=None if everything else limit))
    if as_json:
        print_json(list(rows))
    elif not rows:
        print_text("no sessions yet")
    else:
        shown = [
            {**row, "updated": _time(row["updated"]), "title": row.get("error") or row["title"] or row["cwd"]}
            for row in rows
        ]
        print_table(shown, ["id", "updated", "messages", "title"])


@sessions.command(help="Show what was said in a session. SESSION is its id, or the start of it.")
@click.argument("session")
@json_option
@click.pass_context
def show(ctx: click.Context, session: str, as_json: bool) -> None:
    """JSON: ``{"session": header, "entries": [...]}``."""
    handle, entries = asyncio.run(_read(ctx.obj.host.session_store(), session))
    header = handle.header
    if as_json:
        print_json({"session": _header(handle), "entries": [_entry(e) for e in entries]})
        return
    print_text(f"session {header.id}, {_time(header.created)}, {header.cwd or '-'}")
    if header.parent_session:
        print_text(f"forked from {header.parent_session}")
    for entry in entries:
        text = "\n".join(text_in(entry))
        if entry.type == "usage":
            continue
        print_text(f"\n[{entry.id} {_kind(entry)}]" + (f"\n{text}" if text else ""))


async def _read(store: SessionStore, name: str) -> tuple[SessionHandle, list[SessionEntry]]:
    handle = await _open(store, name)
    try:
        return handle, list(handle.entries())
    finally:
        await handle.close()


def _kind(entry: SessionEntry) -> str:
    message = entry.data.get("message")
    role = message.get("role") if isinstance(message, Mapping) else None
    return str(role or entry.type)


def _header(handle: SessionHandle) -> dict[str, Any]:
    header = handle.header
    return {
        "id": header.id,
        "version": header.version,
        "created": header.created,
        "cwd": header.cwd,
        "title": header.title,
        "parent_session": header.parent_session,
        "location": handle.location,
    }


def _entry(entry: SessionEntry) -> dict[str, Any]:
    own = {"seq": entry.seq, "id": entry.id, "parent_id": entry.parent_id, "ts": entry.ts, "type": entry.type}
    return {**own, "data": entry.data}


@sessions.command(help="Print where a session is kept. SESSION is its id, or the start of it.")
@click.argument("session")
@json_option
@click.pass_context
def path(ctx: click.Context, session: str, as_json: bool) -> None:
    """JSON: ``{"id": ..., "location": ...}``."""
    handle, _ = asyncio.run(_read(ctx.obj.host.session_store(), session))
    if as_json:
        print_json({"id": handle.header.id, "location": handle.location})
    else:
        print_text(handle.location or "the store keeps no files")


@sessions.command(help="Find entries that contain QUERY, newest session first.")
@click.argument("query")
@click.option("--limit", "-n", type=click.IntRange(min=1), default=20, show_default=True, help="How many.")
@json_option
@click.pass_context
def search(ctx: click.Context, query: str, limit: int, as_json: bool) -> None:
    """``session_id, entry_id, ts, excerpt``; exit code 1 when nothing fits."""

    async def collect() -> list[Mapping[str, Any]]:
        return [hit async for hit in ctx.obj.host.session_store().search(query, limit=limit)]

    hits = asyncio.run(collect())
    if as_json:
        print_json(hits)
    elif hits:
        print_table([{**hit, "time": _time(hit["ts"])} for hit in hits], ["session_id", "entry_id", "time", "excerpt"])
    else:
        echo(f"nothing contains {query!r}", err=True)
    if not hits:
        ctx.exit(1)
