"""``skillkit inspect``: the hooks that one request calls, and all of them."""

from __future__ import annotations

import asyncio
from typing import Any

import click

from skillkit_core import AgentConfig
from skillkit_core.cli.output import echo, json_option, print_json, style
from skillkit_core.program import as_typed

from .report import print_handlers, print_hooks, print_isolated, trace_request

__all__ = ["inspect"]


@click.group()
def inspect() -> None:
    """Show which hooks of plugins are called, what they answer and how long they take."""


@inspect.command()
@click.argument("words", nargs=-1, required=True)
@click.option("--model", metavar="NAME", help="Ask this model.")
@click.option("--provider", metavar="NAME", help="Ask this provider.")
@json_option
@click.pass_context
def trace(ctx: click.Context, words: tuple[str, ...], model: str | None, provider: str | None, as_json: bool) -> None:
    """Run a request and show which plugins' hooks were called.

    WORDS... are the request. Each row tells what a hook answered and how long it took: of registration hooks what the plugin
    brought, of resolution hooks who answered and who was not asked any more, of around-hooks the time without what they went
    around. Nothing is kept of the session.
    """
    config = AgentConfig(model=model, provider=provider)
    found = asyncio.run(trace_request(ctx.obj.new_host(), config, " ".join(words)))
    if as_json:
        print_json(found)
    else:
        print_handlers(found["handlers"])
        print_isolated(found["isolated"])
        echo(found["content"] or style(found["error"] or found["outcome"], fg="red"))
    ctx.exit(0 if found["error"] is None else 1)


@inspect.command()
@json_option
@click.pass_context
def hooks(ctx: click.Context, as_json: bool) -> None:
    """Show which plugins answer which hooks. Every hook is called through a synthetic run.

    No model is asked and nothing is kept. The exit code is 1 if a hook failed or a plugin did not load.
    """
    from .synthetic import check_hooks

    found: dict[str, Any] = asyncio.run(check_hooks(ctx.obj.new_host()))
    failed = [row for row in found["handlers"] if row["state"] == "failed"]
    errors = sorted({problem["plugin"] for problem in found["problems"] if problem["severity"] == "error"})
    ok = not failed and not errors
    if as_json:
        print_json({"ok": ok, **found})
    else:
        print_handlers(found["handlers"])
        print_isolated(found["isolated"])
        print_hooks(found["hooks"])
        if errors:
            doctor = as_typed("see 'skillkit plugins doctor'")
            echo(f"{style('✗', fg='red')} problems with {', '.join(errors)}: {doctor}")
    ctx.exit(0 if ok else 1)
