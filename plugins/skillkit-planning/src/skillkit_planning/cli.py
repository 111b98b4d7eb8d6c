"""``skillkit plan``: begins a session that plans, shows a plan, or carries one out; ``chat`` and ``run`` do the talking."""

from __future__ import annotations

import asyncio
import sys
import time
from typing import TYPE_CHECKING, Any

import click

from skillkit_core import Session
from skillkit_core.cli.output import echo, print_json
from skillkit_core.cli.sessions import latest_session
from skillkit_core.descriptors import load_object
from skillkit_core.errors import UsageError

from .activity import CARRY_OUT, execute_in
from .plan_file import current_plan, plan_path, plan_to_execute
from .plugin import plan_hosts
from .state import ACTIVITY

if TYPE_CHECKING:
    from skillkit_core import Host
    from skillkit_core.contracts.session_store import SessionStore

__all__ = ["plan"]

_OPTIONS = ("show", "exec")  # meant as options, where at most one word follows
_PIPED = {"--json", "--events", "-v", "--verbose"}  # options of ``run`` alone


@click.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": True})
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="[REQUEST] [OPTIONS OF chat OR run]")
@click.option("--exec", "execute", is_flag=True, help="Carry out the plan of a session in a fresh context.")
@click.option("--show", is_flag=True, help="Print the plan of a session; with --json as an object.")
@click.option("--from", "session", metavar="ID", help="Session of the plan; default: the latest.")
@click.pass_context
def plan(ctx: click.Context, words: tuple[str, ...], execute: bool, show: bool, session: str | None) -> None:
    """Make a plan before anything is changed.

    \b
    skillkit plan "move the settings into one file"
    skillkit plan --show
    skillkit plan --exec

    At a terminal this opens a conversation, as 'skillkit chat' does, else it answers once, as 'skillkit run' does. Their
    options may follow: --model, --session, --json, ...
    """
    host: Host = ctx.obj.host
    if execute and show:
        raise UsageError("--exec and --show exclude each other")
    if session is not None and not (execute or show):
        raise UsageError("--from goes with --exec or --show", hint="--session ID goes on with a session")
    if words and words[0] in _OPTIONS and sum(not word.startswith("-") for word in words) <= 2:
        here = " --from ID" if len(words) > 1 else ""
        hint = f'skillkit plan --{words[0]}{here}; a request stands in quotes: skillkit plan "{words[0]} ..."'
        raise UsageError(f"{words[0]!r} alone is no request", hint=hint)
    if show:
        _print(asyncio.run(_found(host, session)), as_json="--json" in words)
        return
    if execute:
        begun = asyncio.run(_execution(host, session))
        _hand_over(ctx, host, ("--session", begun, *words), CARRY_OUT)
    else:
        plan_hosts.add(host)
        _hand_over(ctx, host, words)


def _hand_over(ctx: click.Context, host: Host, words: tuple[str, ...], default: str = "") -> None:
    """Call ``chat`` at a terminal, else ``run``, as if it had been typed; ``default`` where no request is among the words."""
    talks = sys.stdin.isatty() and sys.stdout.isatty() and not _PIPED & set(words)
    name = "chat" if talks else "run"
    if name not in host.commands:
        raise UsageError(f"there is no command {name!r}", hint="install skillkit-chat")
    if not (talks or words or default):
        raise UsageError("there is no request", hint='write it in quotes: skillkit plan "..."')
    command: click.Command = load_object(host.commands.get(name).target)
    called = str(ctx.info_name)  # what an error of the options refers to
    below = command.make_context(called, list(words), parent=ctx.parent)
    if default and not below.params.get("words"):
        below = command.make_context(called, [*words, default], parent=ctx.parent)
    with below:
        command.invoke(below)


async def _found(host: Host, name: str | None) -> dict[str, Any]:
    """Return ``session``, ``activity``, ``path`` and ``plan`` of a session."""
    store = host.session_store()
    try:
        session = await _opened(store, name)
        try:
            notes = session.notes(ACTIVITY)
            activity = notes[-1].data.get("activity") if notes else "execute"
            text = current_plan(session, host, host.cwd)
        finally:
            await session.close()
    finally:
        await store.close()
    return {"session": session.id, "activity": activity, "path": str(plan_path(host, host.cwd)), "plan": text}


async def _execution(host: Host, name: str | None) -> str:
    """Begin a session that carries out the plan of another one; return its id."""
    store = host.session_store()
    old = await _opened(store, name)
    await old.close()
    text, told = await plan_to_execute(old, host, host.cwd)
    echo(told, err=True)
    new = Session(await store.fork(old.id, None), time.time)
    await execute_in(new, host, text, old.id)
    await new.close()
    return new.id


async def _opened(store: SessionStore, name: str | None) -> Session:
    found = await store.find(name) if name is not None else await latest_session(store)
    if found is None:
        raise UsageError("there is no session yet", hint='make a plan: skillkit plan "..."')
    return await Session.open(store, found, time.time, read_only=True)


def _print(found: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        print_json(found)
    else:
        echo(found["plan"] or f"Session {found['session']} has no plan.")
