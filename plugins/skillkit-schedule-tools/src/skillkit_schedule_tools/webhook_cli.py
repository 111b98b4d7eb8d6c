"""``skillkit webhook``: add, list, remove, and serve."""

from __future__ import annotations

import secrets
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import click

from skillkit_core.cli.output import echo, json_option, print_json, shorten, table
from skillkit_core.errors import UsageError

from .cli import approvals_option, check_words, named, run_loop
from .store import Schedule, store_of

if TYPE_CHECKING:
    from skillkit_core import Host

    from .loop import Loop

__all__ = ["webhook"]

_LOOPBACK = ("127.0.0.1", "::1", "localhost")


@click.group()
def webhook() -> None:
    """Let programs start runs by HTTP, each with a secret.

    \b
    skillkit webhook add deploys "Read the report and say what failed."
    skillkit webhook serve
    """


@webhook.command()
@click.argument("name")
@click.argument("words", nargs=-1, required=True, metavar="REQUEST")
@click.option("--skill", default="", help="The skill that does it.")
@approvals_option
@json_option
@click.pass_context
def add(ctx: click.Context, name: str, words: tuple[str, ...], skill: str, approvals: str, as_json: bool) -> None:
    """Make a webhook, and print its secret, this once.

    Its request runs in this folder. What the caller sends is added as data.
    """
    host: Host = ctx.obj.host
    check_words(host, name, skill)
    secret = secrets.token_urlsafe(32)
    made = store_of(host).add(
        Schedule(name, "webhook", " ".join(words).strip(), skill=skill, folder=str(host.cwd), approvals=approvals,
                 created=time.time(), secret=secret)
    )  # fmt: skip
    if as_json:
        print_json({"name": made.id, "secret": secret, "path": f"/hooks/{made.id}"})
        return
    echo(f"POST /hooks/{made.id} runs it, while 'skillkit webhook serve' does. The secret, which is shown this once:")
    echo(secret)


@webhook.command("list")
@json_option
@click.pass_context
def list_(ctx: click.Context, as_json: bool) -> None:
    """List the webhooks, without their secrets."""
    store = store_of(ctx.obj.host)
    found = store.schedules("webhook")
    if as_json:
        print_json(
            [
                {"name": o.id, "text": o.text, "skill": o.skill, "folder": o.folder, "approvals": o.approvals}
                for o in found
            ]
        )
        return
    if not found:
        echo("There are no webhooks. 'skillkit webhook add' makes one.")
        return
    rows = []
    for one in found:
        runs = store.runs(one.id, 1)
        rows.append([one.id, f"/hooks/{one.id}", runs[0].state if runs else "", shorten(one.text, 60)])
    table(["name", "path", "last", "what"], rows)


@webhook.command()
@click.argument("name")
@click.pass_context
def remove(ctx: click.Context, name: str) -> None:
    """Forget a webhook; the sessions of its runs stay."""
    store = store_of(ctx.obj.host)
    store.remove(named(store, name, "webhook").id)
    echo(f"Removed {name}.")


@webhook.command()
@click.option("--host", "address", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", type=click.IntRange(0, 65_535), help="Port; 0: a free one. Default: webhook.port.")
@click.option("--beyond-loopback", is_flag=True, help="Listen on an address that other machines reach, without TLS.")
@json_option
@click.pass_context
def serve(ctx: click.Context, address: str, port: int | None, beyond_loopback: bool, as_json: bool) -> None:
    """Take calls, and run them and what is due."""
    host: Host = ctx.obj.host
    if address not in _LOOPBACK and not beyond_loopback:
        hint = "let a proxy with TLS forward to 127.0.0.1, or write --beyond-loopback"
        raise UsageError(f"{address} can be reached by other machines, and there is no TLS here", hint=hint)
    config = host.config.section("webhook")
    if not store_of(host).schedules("webhook"):
        raise UsageError("there are no webhooks", hint="'skillkit webhook add' makes one")

    @asynccontextmanager
    async def listening(loop: Loop) -> AsyncIterator[None]:
        from aiohttp import web

        from .server import application

        runner: Any = web.AppRunner(application(store_of(host), config, loop.woken.set), access_log=None)
        await runner.setup()
        try:
            site = web.TCPSite(runner, address, config.port if port is None else port)
            try:
                await site.start()
            except OSError as error:
                raise UsageError(
                    f"{address} cannot be listened on: {error.strerror}", hint="choose another --port"
                ) from None
            where = f"http://{address}:{runner.addresses[0][1]}/hooks/"
            if as_json:
                print_json({"url": where})
            else:
                echo(f"Listening on {where}NAME; Ctrl-C ends it.")
            yield
        finally:
            await runner.cleanup()

    run_loop(host, once=False, as_json=as_json, serve=listening)
