"""``skillkit sessions export|import``: sessions as files to keep, read and hand on."""

from __future__ import annotations

import os
import secrets
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from skillkit_core.cli.output import json_option, print_json
from skillkit_core.contracts.session_store import SessionEntry, SessionHeader, SessionStore
from skillkit_core.errors import SessionError, UsageError

from ..branches import Branches
from ..output import print_text
from ..place import check_id
from .common import header_json, opened, session_argument, store_option, work

__all__ = ["export", "import_"]


@click.command(help="Write a session to a file, or to standard output.")
@session_argument
@click.option(
    "--format", "form", type=click.Choice(["jsonl", "markdown", "html"]), help="Default: by FILE, else jsonl."
)
@click.option("-o", "--output", metavar="FILE", type=click.Path(path_type=Path), help="Write to this file.")
@click.option("--force", is_flag=True, help="Replace FILE if it is there.")
@click.option("--entry", metavar="ID", help="markdown, html: the branch that ends here; default: the current one.")
@store_option
@json_option
@click.pass_context
def export(
    ctx: click.Context,
    session: str,
    form: str | None,
    output: Path | None,
    force: bool,
    entry: str | None,
    store: str | None,
    as_json: bool,
) -> None:
    """``jsonl`` has everything and can be imported; the others show one branch.

    JSON: ``{"session", "format", "file", "bytes"}``, without ``-o`` also ``content``.
    """
    form = form or _form_of(output)
    if form == "jsonl" and entry is not None:
        raise UsageError("--entry goes with markdown and html", hint="'skillkit sessions fork --entry' cuts a session")

    async def read(s: SessionStore) -> tuple[SessionHeader, Branches]:
        async with opened(s, session) as (handle, branches):
            return handle.header, branches

    header, branches = work(ctx, store, read)
    data = _rendered(form, header, branches, entry)
    about: dict[str, Any] = {"session": header.id, "format": form, "file": None, "bytes": len(data)}
    if output is not None:
        _write(output, data, force)
        about["file"] = str(output)
    elif as_json:
        about["content"] = data.decode("utf-8", "replace")
    if as_json:
        print_json(about)
    elif output is not None:
        print_text(f"{output}: session {header.id} as {form}, {len(data):,} bytes")
    else:
        sys.stdout.buffer.write(data)


def _form_of(output: Path | None) -> str:
    suffix = output.suffix.lower() if output is not None else ""
    return {".md": "markdown", ".markdown": "markdown", ".html": "html", ".htm": "html"}.get(suffix, "jsonl")


def _rendered(form: str, header: SessionHeader, branches: Branches, entry: str | None) -> bytes:
    if form == "jsonl":
        from ..codec import encode_entry, encode_header

        return b"".join([encode_header(header), *map(encode_entry, branches.entries)])
    found = branches.find(entry) if entry is not None else branches.leaf
    path: list[SessionEntry] = branches.path(found) if found is not None else []
    if form == "html":
        from ..html import to_html

        return to_html(header, branches, path).encode("utf-8", "replace")
    from ..markdown import to_markdown

    return to_markdown(header, branches, path).encode("utf-8", "replace")


def _write(path: Path, data: bytes, force: bool) -> None:
    """Write the file whole or not at all; only the user can read it, since sessions hold what was said."""
    if path.exists() and not force:
        raise UsageError("the file exists already", where=str(path), hint="choose another name, or add --force")
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        with os.fdopen(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600), "wb") as file:
            file.write(data)
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise SessionError(f"the file cannot be written: {error.strerror}", where=str(path)) from error


@click.command(
    "import", help="Take a session in from a JSON Lines file. '-' is standard input; no session is replaced."
)
@click.argument("file", metavar="FILE")
@click.option("--id", "new_id", metavar="ID", help="Give it this id instead of its own.")
@store_option
@json_option
@click.pass_context
def import_(ctx: click.Context, file: str, new_id: str | None, store: str | None, as_json: bool) -> None:
    """Every line is checked before anything is written. JSON: the session's header and ``entries`` (how many)."""
    from ..importing import read_session

    try:
        data = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    except OSError as error:
        raise UsageError(f"the file cannot be read: {error.strerror}", where=file) from error
    header, entries = read_session(data.splitlines(keepends=True), "standard input" if file == "-" else file)
    ctx.obj.host.secrets.learn()
    header = replace(header, title=ctx.obj.host.redact(header.title))
    entries = [replace(entry, data=ctx.obj.host.redact(entry.data)) for entry in entries]
    if new_id is not None:
        header = replace(header, id=check_id(new_id))

    async def write(s: SessionStore) -> dict[str, Any]:
        if any(row["id"] == header.id for row in await s.list()):
            raise SessionError(f"session {header.id!r} exists already", hint="import it under another id with --id")
        handle = await s.restore(header, entries)
        await handle.close()
        return {**header_json(handle), "entries": len(entries)}

    made = work(ctx, store, write)
    if as_json:
        print_json(made)
    else:
        print_text(f"session {made['id']}: {made['entries']} entries, {made['location']}")
