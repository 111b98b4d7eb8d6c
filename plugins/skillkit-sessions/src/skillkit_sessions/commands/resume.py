"""``skillkit sessions resume``: where a session ended, going back to an entry, and going on from there."""

from __future__ import annotations

from typing import Any

import click

from skillkit_core.cli.output import json_option, print_json
from skillkit_core.contracts.session_store import SessionStore
from skillkit_core.descriptors import load_object
from skillkit_core.errors import UsageError

from ..branches import Branches
from ..describe import line_of, title_of
from ..output import print_text
from .common import WHERE, opened, session_argument, store_option, work, writing
from .proposal import Proposal

__all__ = ["GOES_ON", "STATES", "resume"]

STATES = {
    "empty": "nothing was said yet",
    "suspended": "it waits for a decision about calls",
    "interrupted": "the last calls have no result; the model will be told that they were interrupted",
    "cut": "the last answer was cut off; the model will see what was said of it",
    "waiting": "the last message has no answer yet",
    "complete": "the last answer is complete",
}
_Seen = tuple[dict[str, Any], Branches]  # what --json says, and what it was seen in
GOES_ON = ("suspended", "interrupted", "waiting")  # without another word of the user


@click.command(
    help="Go on with what a run left. Calls wait for a decision, or a crash cut something off. "
    "Options of 'skillkit run' go through; with --entry alone it just goes back to that entry.",
    context_settings={"ignore_unknown_options": True},
)
@session_argument
@click.argument("more", nargs=-1, type=click.UNPROCESSED, metavar="[OPTIONS OF RUN]...")
@click.option("--allow", "allowed", multiple=True, metavar="CALL|all", help="Run this call, or all that wait.")
@click.option("--deny", "denied", multiple=True, metavar="CALL|all", help="Do not run this call, or any that waits.")
@click.option("--entry", metavar="ID", help=f"Go back to this entry first: {WHERE}.")
@store_option
@json_option
@click.pass_context
def resume(
    ctx: click.Context, session: str, more: tuple[str, ...], allowed: tuple[str, ...], denied: tuple[str, ...],
    entry: str | None, store: str | None, as_json: bool,
) -> None:  # fmt: skip
    """JSON: as ``skillkit run --json`` when it goes on; else ``{"session", "leaf", "moved", "state", "last", "open_calls"}``."""
    if session.startswith("-"):
        raise UsageError("the session comes first", hint="skillkit sessions resume SESSION [OPTIONS]")

    async def look(s: SessionStore) -> _Seen:
        async with opened(s, session) as (handle, branches):
            return seen(branches, handle.header.id, moved=False)

    async def move(s: SessionStore) -> _Seen:
        async with writing(s, session) as (open_session, branches):
            target = branches.above(branches.find(str(entry)))
            moved = target != branches.leaf
            if moved:
                await open_session.move_to(target)
            return seen(Branches(open_session.entries, branches.where), open_session.id, moved=moved)

    def seen(branches: Branches, session_id: str, *, moved: bool) -> _Seen:
        return {"session": session_id, "moved": moved, **branches.state()}, branches

    found, branches = work(ctx, store, look if entry is None else move)
    decided = [word for name in allowed for word in ("--allow", name)] + [w for n in denied for w in ("--deny", n)]
    going_on = found["state"] in GOES_ON and (entry is None or bool(decided))
    if going_on and (command := _command(ctx, bool(decided))) is not None:
        if store is not None:
            ctx.obj.host.configure({"session.store": store})
        argv = [found["session"], *decided, *(["--json"] if as_json else []), *more]
        _invoke(command, argv, ctx)
        return
    proposal = Proposal.of(ctx, store, found["session"], branches)  # not before: it asks the host for folders of skills
    if decided or more:
        what = decided[0] if decided else more[0]
        raise UsageError(
            f"{what} has no meaning here: {STATES[found['state']]}", hint=f"say something with: {proposal.say()}"
        )
    if as_json:
        print_json(found)
        return
    after = "at the start" if found["leaf"] is None else f"after {_line(branches)}"
    print_text(f"session {found['session']} goes on {after}")
    calls = ", ".join(f"{call['name']} ({call['id']})" for call in found["open_calls"])
    print_text(STATES[found["state"]] + (f": {calls}" if calls else ""))
    if found["state"] in GOES_ON:
        print_text(f"go on with: {proposal.go_on()}")
    print_text(f"say something with: {proposal.say()}")


def _command(ctx: click.Context, needed: bool) -> click.Command | None:
    """The command that goes on with sessions, from whichever plugin offers it.

    Raises:
        UsageError: none does, and one is ``needed``.
    """
    commands = ctx.obj.host.commands
    if "resume" in commands:
        command: click.Command = load_object(commands.entry("resume").item.target)
        return command
    if needed:
        raise UsageError("no plugin here can go on with a session", hint="install one that brings the command 'resume'")
    return None


def _invoke(command: click.Command, argv: list[str], ctx: click.Context) -> None:
    try:
        inner = command.make_context("resume", argv, parent=ctx)
    except click.UsageError as error:
        error.ctx = ctx  # what was typed is this command, not the one behind it
        raise
    with inner:
        command.invoke(inner)


def _line(branches: Branches) -> str:
    if branches.leaf is None:
        return ""
    entry = branches.by_id[branches.leaf]
    text = line_of(entry)
    return f"{entry.id}, {title_of(entry)}: {text if len(text) < 60 else text[:59] + '…'}"
