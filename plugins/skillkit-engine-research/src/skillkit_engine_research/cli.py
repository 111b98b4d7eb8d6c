"""``skillkit research``: the modes that there are, and the sources that a session holds."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from skillkit_core import Session
from skillkit_core.cli.output import echo, fields, json_option, print_json, table
from skillkit_core.cli.sessions import latest_session
from skillkit_core.errors import UsageError

from .evidence import kept_sources, text_of
from .modes import made, modes_of

if TYPE_CHECKING:
    from skillkit_core import Host

__all__ = ["research"]


@click.group()
def research() -> None:
    """Show the modes of research, and what a session has found."""


@research.command()
@click.argument("name", required=False)
@json_option
@click.pass_context
def modes(ctx: click.Context, name: str | None, as_json: bool) -> None:
    """List the modes, or show the values of one.

    \b
    skillkit research modes
    skillkit research modes quick-lookup
    """
    host: Host = ctx.obj.host
    known = modes_of(host)
    found = {one: made(one, known).model_dump(mode="json") for one in known} if name is None else {
        name: made(name, known).model_dump(mode="json")
    }  # fmt: skip
    if as_json:
        print_json(found if name is None else found[name])
    elif name is not None:
        fields([(key, _shown(value)) for key, value in found[name].items()])
    else:
        rows = [
            (one, _sources(values), values["output_format"], values["description"]) for one, values in found.items()
        ]
        table(["mode", "searches", "answer", "what for"], rows)


def _sources(values: Mapping[str, Any]) -> str:
    names = ["files"] if values["local"] else []
    names += [f"web ({values['web']})"] if values["web"] != "none" else []
    return ", ".join([*names, *(["one site"] if values["crawl"] else [])])


def _shown(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {one}" for key, one in value.items() if one is not None)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


@research.command()
@click.argument("source", required=False)
@click.option("--from", "session", metavar="ID", help="The session; default: the latest one here.")
@json_option
@click.pass_context
def sources(ctx: click.Context, source: str | None, session: str | None, as_json: bool) -> None:
    """List the sources that a session holds, or print the text of one.

    \b
    skillkit research sources
    skillkit research sources S3
    """
    host: Host = ctx.obj.host
    found = asyncio.run(_kept(host, session))
    if source is None:
        if as_json:
            print_json(found)
        elif not found:
            echo("The session holds no sources.")
        else:
            table(
                ["id", "kind", "characters", "where"],
                [(o["id"], o["kind"], f"{o['chars']:,}", o["where"]) for o in found],
            )
        return
    one = next((one for one in found if one["id"] == source.upper()), None)
    if one is None:
        raise UsageError(f"the session has no source {source!r}", hint="'skillkit research sources' lists them")
    text = text_of(host, one)
    if text is None:
        raise UsageError(f"the text of {source} is gone", hint=f"it was that of {one['where']}")
    if as_json:
        print_json({**one, "text": text})
    else:
        echo(text)


async def _kept(host: Host, name: str | None) -> list[dict[str, Any]]:
    """Return the notes of the sources that a session holds."""
    store = host.session_store()
    try:
        found = await store.find(name) if name is not None else await latest_session(store, host.cwd)
        if found is None:
            raise UsageError("there is no session here yet", hint="--from ID names one of another folder")
        session = await Session.open(store, found, time.time, read_only=True)
        try:
            return [dict(note) for note in kept_sources(session)]
        finally:
            await session.close()
    finally:
        await store.close()
