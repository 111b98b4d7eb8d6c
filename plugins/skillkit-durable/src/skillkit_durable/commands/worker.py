"""``skillkit worker``."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from datetime import datetime
from typing import TYPE_CHECKING

import click
from skillkit_frontend import prepare, run_tasks

from skillkit_core.cli.output import echo, escaped
from skillkit_core.host.loading import prints_aside

from ..config import settings_of

if TYPE_CHECKING:
    from skillkit_core import Host

__all__ = ["worker"]


@click.command()
@click.option(
    "--queue", "queues", multiple=True, metavar="NAME", help="Take jobs of this queue alone; may be repeated."
)
@click.option("--concurrency", type=click.IntRange(min=1), metavar="N", help="Most jobs at once; default: the setting.")
@click.pass_context
def worker(ctx: click.Context, /, queues: tuple[str, ...], concurrency: int | None) -> None:
    """Carry out jobs until it is ended with Ctrl-C or SIGTERM, which takes at most 20 seconds.

    Start as many as you like, on as many machines as reach the database. Jobs of a worker that dies are carried on by
    the others.
    """
    host: Host = ctx.obj.host
    settings = settings_of(host)
    from ..worker import Worker

    async def work() -> int:
        stop, loop = asyncio.Event(), asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, stop.set)
        return await Worker(host, settings, queues=queues, concurrency=concurrency, tell=_tell).serve(stop)

    with prints_aside(descriptor=True):
        prepare(host)
        code = run_tasks(host, work())
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(
        code
    )  # threads of the engine still hold rounds that others carry on: nothing of them may come to an end here


def _tell(line: str) -> None:
    echo(f"{datetime.now():%H:%M:%S} {escaped(line)}", err=True)
