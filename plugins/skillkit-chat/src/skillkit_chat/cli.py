"""``skillkit run``, and the command that goes on with what a run left: what they take, and who does it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from skillkit_core.cli.output import warning
from skillkit_core.errors import UsageError
from skillkit_core.host.plugins import check_required

from .options import answering, options_from
from .waiting import Decided

if TYPE_CHECKING:
    from skillkit_core import Host

__all__ = ["resume", "run"]


@click.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": True})
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="REQUEST | ACTION [--ARG VALUE]...")
@click.option("--session", metavar="ID", help="Go on with this session: its id, or the start of it.")
@click.option("--continue", "resume", is_flag=True, help="Go on with the latest session.")
@click.option("--no-session", is_flag=True, help="Keep nothing on the disk.")
@click.option(
    "--explain", is_flag=True, help="Say which skill is chosen and why, which others are near, and run nothing."
)
@answering
@click.pass_context
def run(ctx: click.Context, /, skills_dirs: tuple[Path, ...], **given: Any) -> None:
    """Run a request and print the answer.

    \b
    skillkit run "what is 15% of 80"
    skillkit run --skill csv-stats summary sales.csv --column price
    skillkit run --model claude-sonnet-4-5 "summarise README.md"

    Without a key the offline stand-in chooses a skill by the words of the request. '-' reads the request
    from stdin, at most 1,000,000 characters.
    """
    options = options_from(ctx, skills_dirs=skills_dirs, **given)
    if options.session is not None and not options.session.strip():
        raise UsageError("--session is empty", hint="name one of 'skillkit sessions list', or leave it out")
    if options.session and options.resume:
        raise UsageError("--session and --continue exclude each other")
    if options.no_session and (options.session or options.resume):
        flag = "--session" if options.session else "--continue"
        raise UsageError(f"--no-session and {flag} exclude each other", hint="leave one of them out")
    from .asking import ask

    prepare(ctx.obj.host)
    ctx.exit(asyncio.run(ask(ctx.obj.host, options)))


@click.command()
@click.argument("session")
@click.option("--allow", "allowed", multiple=True, metavar="CALL|all", help="Run this call, or all that wait.")
@click.option("--deny", "denied", multiple=True, metavar="CALL|all", help="Do not run this call, or any that waits.")
@answering
@click.pass_context
def resume(
    ctx: click.Context, /, session: str, allowed: tuple[str, ...], denied: tuple[str, ...],
    skills_dirs: tuple[Path, ...], **given: Any,
) -> None:  # fmt: skip
    """Go on with a session that was suspended or interrupted.

    Calls that wait go through the guards again, with the arguments that were shown. The model of the session's last
    answer goes on, unless another one is named.
    """
    options = options_from(ctx, skills_dirs=skills_dirs, session=session, **given)
    from .resuming import go_on

    prepare(ctx.obj.host)
    ctx.exit(asyncio.run(go_on(ctx.obj.host, options, Decided(allowed, denied))))


def prepare(host: Host) -> None:
    """Check the configuration, and say which plugins did not load or register.

    What a run needs of them is asked for now, so that it shows.
    """
    host.check_config()
    host.load()
    for kind in ("adapters", "models", "runtimes", "tools", "skill_sources", "skill_loaders", "context_providers"):
        host.registry(kind)
    check_required(host)
    errors = [p for p in host.problems if p.severity == "error"]
    if errors:
        names = ", ".join(sorted({p.plugin for p in errors}))
        warning(f"{names} did not load; see 'skillkit plugins doctor'")
