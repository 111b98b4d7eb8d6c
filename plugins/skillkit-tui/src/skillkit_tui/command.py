"""``skillkit tui``: what it takes."""

from __future__ import annotations

import sys
from typing import Any

import click
from skillkit_frontend import Choices, ask_about_folder, choosing, configure, going_on, lived, prepare

from skillkit_core.errors import UsageError

__all__ = ["tui"]


@click.command()
@click.argument("words", nargs=-1, metavar="[REQUEST]")
@going_on
@click.option("--resume", "named", metavar="ID", help="The same as --session ID.")
@choosing
@click.pass_context
def tui(
    ctx: click.Context, /, permit: tuple[str, ...], permission_mode: str | None, named: str | None, **given: Any
) -> None:
    """Work with an agent in a terminal UI.

    \b
    skillkit tui
    skillkit tui --continue
    skillkit tui "what is in this folder?"

    Space in the mode NORMAL shows the keys that may follow; /help shows them all.
    """
    if named is not None and given["session"] is not None:
        raise UsageError("--session and --resume mean the same", hint="leave one of them out")
    given["session"] = given["session"] if named is None else named
    if given["session"] is not None and not given["session"].strip():
        raise UsageError("--session is empty", hint="name one of 'skillkit sessions list', or leave it out")
    if (given["session"] is not None) + given["resume"] + given["no_session"] > 1:
        raise UsageError("--session, --continue and --no-session exclude each other")
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError("the UI needs a terminal", hint='for pipes and programs: skillkit run "...", skillkit rpc')
    ask_about_folder(ctx.obj)
    options = Choices(**given)
    configure(
        ctx.obj.host,
        skills_dirs=options.skills_dirs,
        permit=permit,
        permission_mode=permission_mode,
        max_turns=options.max_turns,
    )
    prepare(ctx.obj.host)
    from .opening import work

    ctx.exit(lived(work(ctx.obj.host, options), ctx.obj.host))
