"""``skillkit run``, and the command that goes on with what a run left: what they take, and who does it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource
from skillkit_frontend import ask_about_folder, check_plan, going_on, prepare, run_tasks

from skillkit_core.errors import UsageError
from skillkit_core.host.loading import prints_aside

from .options import answering, options_from
from .waiting import Decided

__all__ = ["resume", "run"]


@click.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": True})
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="REQUEST | ACTION [--ARG VALUE]...")
@going_on
@click.option(
    "--explain", is_flag=True, help="Say which skill is chosen and why, which others are near, and run nothing."
)
@click.option("--plan", metavar="NAME", help="Carry out this saved plan with the words of the request.")
@click.option("--attach", is_flag=True, help="Let the process that has --session open answer, as it is set up there.")
@answering
@click.pass_context
def run(ctx: click.Context, /, attach: bool, skills_dirs: tuple[Path, ...], **given: Any) -> None:
    """Run a request and print the answer.

    \b
    skillkit run "what is 15% of 80"
    skillkit run --skill csv-stats summary sales.csv --column price
    skillkit run --model claude-sonnet-4-5 "summarise README.md"

    Without a key the offline stand-in chooses a skill by the words of the request. '-' reads the request
    from stdin, at most 1,000,000 characters.
    """
    ask_about_folder(ctx.obj, asks=not given["as_json"])
    options = options_from(ctx, skills_dirs=skills_dirs, **given)
    if options.session is not None and not options.session.strip():
        raise UsageError("--session is empty", hint="name one of 'skillkit sessions list', or leave it out")
    if options.session and options.resume:
        raise UsageError("--session and --continue exclude each other")
    if attach:
        _check_attached(ctx)
        from .attaching import answered_there

        ctx.exit(asyncio.run(answered_there(ctx.obj.host, options)))
    if options.plan is not None:
        if options.skill is not None:
            raise UsageError("--plan and --skill exclude each other")
        check_plan(ctx.obj.host, options.plan)
    if options.no_session and (options.session or options.resume):
        flag = "--session" if options.session else "--continue"
        raise UsageError(f"--no-session and {flag} exclude each other", hint="leave one of them out")
    from .asking import ask
    from .talk import in_words

    with prints_aside(descriptor=True):
        prepare(ctx.obj.host)
        code = run_tasks(ctx.obj.host, in_words(ask(ctx.obj.host, options)))
    ctx.exit(code)


def _check_attached(ctx: click.Context) -> None:
    """Refuse what another process would have to be told: its model, skills and permissions are its own."""
    if not ctx.params["session"]:
        raise UsageError("--attach needs --session", hint="name the session that a process has open")
    for option in ctx.command.params:
        typed = ctx.get_parameter_source(str(option.name)) is ParameterSource.COMMANDLINE
        if typed and option.name not in ("words", "session", "attach", "as_json"):
            raise UsageError(
                f"--attach and {max(option.opts, key=len)} exclude each other", hint="it is set up where it runs"
            )


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
    ask_about_folder(ctx.obj, asks=False)
    options = options_from(ctx, skills_dirs=skills_dirs, session=session, **given)
    from .resuming import go_on
    from .talk import in_words

    with prints_aside(descriptor=True):
        prepare(ctx.obj.host)
        code = run_tasks(ctx.obj.host, in_words(go_on(ctx.obj.host, options, Decided(allowed, denied))))
    ctx.exit(code)
