"""``skillkit acp``."""

from __future__ import annotations

import sys
from functools import partial
from typing import Any

import click
from skillkit_frontend import Choices, choosing, config_for, host_in, run_tasks, settle

from skillkit_core import Host, UsageError
from skillkit_core.cli.output import warning
from skillkit_core.host.loading import prints_aside

__all__ = ["acp"]


@click.command()
@choosing
@click.pass_context
def acp(ctx: click.Context, /, permit: tuple[str, ...], permission_mode: str | None, **given: Any) -> None:
    """Let an editor work with an agent: the Agent Client Protocol on stdin and stdout.

    An editor starts this command. Each conversation there is a session, in the folder that is open in the editor.
    """
    options: Choices = Choices(**given)
    if options.approvals == "defer":
        raise UsageError("the person at the editor decides, or nobody", hint="leave --approvals out, or use deny")
    host: Host = ctx.obj.host
    if sys.stdin.isatty():
        warning("an editor starts this command, and speaks JSON-RPC with it; end it with Ctrl-D")
    settled = partial(
        settle,
        asks=options.approvals != "deny",
        skills_dirs=options.skills_dirs,
        permit=permit,
        permission_mode=permission_mode,
        max_turns=options.max_turns,
    )

    async def work() -> None:
        from .serving import serve

        await serve(host, partial(host_in, host, settled), config_for(host, options), asks=options.approvals != "deny")

    with prints_aside(descriptor=True):  # stdout holds the protocol alone
        settled(host)
        run_tasks(host, work())
