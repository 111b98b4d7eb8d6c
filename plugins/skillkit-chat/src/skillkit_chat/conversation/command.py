"""``skillkit chat``: what it takes."""

from __future__ import annotations

import sys
from typing import Any

import click
from skillkit_frontend import ask_about_folder, choosing, going_on, lived, prepare, run_tasks

from skillkit_core.errors import SessionLocked, UsageError

from ..options import options_from

__all__ = ["chat"]


@click.command()
@click.argument("words", nargs=-1, metavar="[REQUEST]")
@going_on
@choosing
@click.pass_context
def chat(ctx: click.Context, /, **given: Any) -> None:
    """Work with an agent in a conversation at the terminal.

    \b
    skillkit chat
    skillkit chat --continue
    skillkit chat "what is in this folder?"

    Type /help there for commands and keys.
    """
    if given["session"] is not None and not given["session"].strip():
        raise UsageError("--session is empty", hint="name one of 'skillkit sessions list', or leave it out")
    if (given["session"] is not None) + given["resume"] + given["no_session"] > 1:
        raise UsageError("--session, --continue and --no-session exclude each other")
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError(
            "a conversation needs a terminal", hint='for pipes and programs: skillkit run "...", skillkit rpc'
        )
    ask_about_folder(ctx.obj)
    options = options_from(ctx, verbose=False, as_json=False, events=False, **given)
    prepare(ctx.obj.host)
    from .chat import converse

    try:
        ctx.exit(lived(converse(ctx.obj.host, options), ctx.obj.host))
    except SessionLocked as locked:
        if locked.owner is None or locked.owner.endpoint is None:
            raise
        from ..attaching import attend

        ctx.exit(run_tasks(ctx.obj.host, attend(locked.owner.endpoint)))
