"""``skillkit rpc``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click
from skillkit_frontend import config_for, keeps_sessions, prepare, run_tasks

from skillkit_core.cli.output import print_json
from skillkit_core.host.loading import prints_aside

from ..options import answering, options_from

__all__ = ["rpc"]


@click.command()
@click.option("--session", metavar="ID", help="Go on with this session: its id, or the start of it.")
@click.option("--no-session", is_flag=True, help="Keep nothing on the disk.")
@click.option("--schema", is_flag=True, help="Print the JSON Schema of the protocol and end.")
@answering
@click.pass_context
def rpc(
    ctx: click.Context, /, session: str | None, no_session: bool, schema: bool, skills_dirs: tuple[Path, ...],
    **given: Any,
) -> None:  # fmt: skip
    """Let another program steer an agent: JSON-RPC 2.0 on stdin and stdout, a message a line."""
    if schema:
        print_json(json.loads(Path(__file__).with_name("schema.json").read_text()))
        return
    options = options_from(ctx, skills_dirs=skills_dirs, session=session, no_session=no_session, **given)
    host = ctx.obj.host

    async def work() -> int:
        from .server import serve

        if not keeps_sessions(host, options):
            where = None
        else:
            where = await host.session_store().find(session) if session else "new"
        return await serve(host, config_for(host, options), where)

    with prints_aside(descriptor=True):  # stdout holds the protocol alone
        prepare(host)
        code = run_tasks(host, work())
    ctx.exit(code)
