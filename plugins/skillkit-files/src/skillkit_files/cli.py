"""``skillkit files`` and ``skillkit sessions rewind``: what agents changed, and taking it back."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from skillkit_core import AgentConfig, AgentRunner, UsageError
from skillkit_core.cli.output import echo, json_option, print_json, table
from skillkit_core.cli.sessions import latest_session

from .change_notes import NOTE
from .rewind_points import find, points

if TYPE_CHECKING:
    from skillkit_core import Host
    from skillkit_core.contracts.session_store import SessionHeader

__all__ = ["files", "rewind"]


@click.group()
def files() -> None:
    """Show what agents changed."""


async def _session_id(host: Host, name: str | None) -> str:
    store = host.session_store()
    found = await store.find(name) if name is not None else await latest_session(store)
    if found is None:
        raise UsageError("there are no sessions yet", hint="'skillkit run' starts one")
    return found


def _agent(host: Host, session: str, header: SessionHeader) -> AgentRunner:
    return AgentRunner(AgentConfig(cwd=Path(header.cwd) if header.cwd else None), host=host, session=session)


@files.command("changes")
@click.argument("session", required=False)
@json_option
@click.pass_context
def changes(ctx: click.Context, session: str | None, as_json: bool = False) -> None:
    """List what was changed in a session. SESSION is the latest unless given; the messages to go back to are listed, too."""
    host: Host = ctx.obj.host

    async def look() -> dict[str, Any]:
        store = host.session_store()
        name = await _session_id(host, session)
        handle = await store.open(name, read_only=True)
        try:
            from skillkit_core import Session

            opened = Session(handle, lambda: 0.0)
            listed = [
                {
                    "entry": note.entry_id,
                    "tool": note.data["tool"],
                    "root": note.data["root"],
                    "path": fact["path"],
                    "kind": _kind(fact),
                }
                for note in opened.notes(NOTE)
                for fact in note.data["files"]
            ]
            return {"session": name, "changes": listed, "points": [point._asdict() for point in points(opened)]}
        finally:
            await handle.close()

    found = asyncio.run(look())
    if as_json:
        print_json(found)
        return
    table(["entry", "tool", "what", "file"], [[c["entry"], c["tool"], c["kind"], c["path"]] for c in found["changes"]])
    table(["go back to before", "files", "message"], [[p["id"], str(p["files"]), p["text"]] for p in found["points"]])


def _kind(fact: Any) -> str:
    if fact["after"].get("absent"):
        return "delete"
    return "add" if fact["before"].get("absent") else "change"


@click.command("rewind")
@click.argument("session")
@click.argument("entry", required=False)
@click.option("--files", "only", flag_value="files", help="Only the files.")
@click.option("--conversation", "only", flag_value="conversation", help="Only the conversation.")
@json_option
@click.pass_context
def rewind(ctx: click.Context, session: str, entry: str | None, only: str | None, as_json: bool = False) -> None:
    """Go back in SESSION to before the message ENTRY (default: the last one), or to any other entry.

    The conversation goes on from there, and files get the content that they had there. What somebody else changed since, what
    commands changed, and what was too large to be kept stays, and is named.
    """
    host: Host = ctx.obj.host

    async def work() -> dict[str, Any]:
        from .rewind import rewind as go_back

        name = await _session_id(host, session)
        handle = await host.session_store().open(name, read_only=True)
        header = handle.header
        await handle.close()
        async with _agent(host, name, header) as agent:
            found = points(agent.session)
            if entry is None and not found:
                raise UsageError("nothing was said in this session")
            target, label = find(agent.session, entry or found[0].id)
            report = await go_back(agent, target, files=only != "conversation", conversation=only != "files", to=label)
            return {"session": name, **report.to_dict(), "lines": report.lines}

    done = asyncio.run(work())
    lines = done.pop("lines")
    if as_json:
        print_json(done)
    else:
        for line in lines:
            echo(line)
