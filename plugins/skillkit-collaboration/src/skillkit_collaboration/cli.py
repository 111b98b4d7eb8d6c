"""``skillkit collaborate`` lets skills work together by a pattern; ``skillkit collaborations`` shows what they wrote."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from skillkit_core import Session
from skillkit_core.cli.output import echo, json_option, print_json, table
from skillkit_core.cli.sessions import latest_session
from skillkit_core.descriptors import load_object
from skillkit_core.errors import UnknownName, UsageError

from .checking import reasons
from .exports import as_json as json_of, as_spans, as_text
from .participants import ENGINE
from .patterns import is_file, pattern_in
from .record import Record, records_of
from .settings import settings_of

if TYPE_CHECKING:
    from skillkit_core import Host

__all__ = ["collaborate", "collaborations"]


@click.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": True})
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="REQUEST [OPTIONS OF run]")
@click.option(
    "--pattern",
    metavar="NAME|FILE",
    help="The pattern: one of collaboration.patterns in the settings, or a YAML file of one.",
)
@click.option("--show-collaboration", "show", is_flag=True, help="Print the whole thread behind the result.")
@click.option("--patterns", "lists", is_flag=True, help="List the patterns, and what keeps one from beginning.")
@click.pass_context
def collaborate(ctx: click.Context, words: tuple[str, ...], pattern: str | None, show: bool, lists: bool) -> None:
    """Let several skills work on REQUEST, by a pattern, until their result is approved.

    \b
    skillkit collaborate --patterns
    skillkit collaborate "why do glaciers move?" --pattern fact-checked
    skillkit collaborate "why do glaciers move?" --pattern ./fact-checked.yaml --show-collaboration

    The options of 'skillkit run' may follow: --model, --session, --json, ...
    """
    host: Host = ctx.obj.host
    if lists:
        _list_patterns(host, settings_of(host).patterns, as_json="--json" in words)
        return
    if pattern is not None and is_file(pattern):
        pattern, given = pattern_in(Path(pattern))
        host.configure({f"collaboration.patterns.{pattern}": given})
    patterns = settings_of(host).patterns
    name = _pattern(patterns, pattern)
    if found := reasons(patterns[name], host):
        raise UsageError("; ".join(f"{one.code}: {one.text}" for one in found), where=f"collaboration.patterns.{name}")
    if not host.skills.has(name) or host.skills.get(name).engine != ENGINE:
        raise UsageError(
            f"a skill is called {name!r}, too, and hides the pattern", hint="give the pattern another name"
        )
    if not any(not word.startswith("-") for word in words):
        raise UsageError("there is no request", hint='write it in quotes: skillkit collaborate "..." --pattern NAME')
    if "run" not in host.commands:
        raise UsageError("there is no command 'run'", hint="install skillkit-chat")
    host.configure({"engines.mode": "auto", **({"collaboration.show": True} if show else {})})
    command: click.Command = load_object(host.commands.get("run").target)
    with command.make_context(str(ctx.info_name), [f"/{name}", *words], parent=ctx.parent) as below:
        command.invoke(below)


def _pattern(patterns: Mapping[str, Any], name: str | None) -> str:
    """Return the name of the pattern that is meant."""
    if not patterns:
        hint = "write one below collaboration.patterns in the settings"
        raise UsageError("there is no pattern yet", hint=hint)
    if name is None:
        if len(patterns) > 1:
            raise UsageError("which pattern?", hint=f"--pattern {' or --pattern '.join(patterns)}")
        return next(iter(patterns))
    if name not in patterns:
        raise UnknownName("pattern", name, list(patterns))
    return name


def _list_patterns(host: Host, patterns: Mapping[str, Any], *, as_json: bool) -> None:
    rows = [(name, config, [one.text for one in reasons(config, host)]) for name, config in patterns.items()]
    if as_json:
        told = [{"name": n, **c.model_dump(mode="json", exclude_defaults=True), "problems": w} for n, c, w in rows]
        print_json(told)
    elif not rows:
        echo("There is no pattern yet. Write one below collaboration.patterns in the settings.")
    else:
        shown = [[n, ", ".join(c.participants), c.supervisor_strategy, "; ".join(w) or "ready"] for n, c, w in rows]
        table(["pattern", "participants", "strategy", "state"], shown)


# --- what they wrote --------------------------------------------------------------------------------------------------


@click.group()
def collaborations() -> None:
    """List the sessions of several skills, and show what they wrote to each other.

    \b
    skillkit collaborations list
    skillkit collaborations show latest
    skillkit collaborations show latest --format spans > spans.json
    """


@collaborations.command("list")
@click.option("--last", type=click.IntRange(1), default=50, show_default=True, help="Look at so many sessions.")
@json_option
@click.pass_context
def list_(ctx: click.Context, last: int, as_json: bool) -> None:
    """List the collaborations of the last sessions."""
    found = asyncio.run(_of_sessions(ctx.obj.host, last))
    if as_json:
        print_json([{"session": session, **_row(record)} for session, record in found])
    elif not found:
        echo("No session has a collaboration yet. 'skillkit collaborate' begins one.")
    else:
        rows = [[s, r.id, r.trace().outcome, str(r.turn), str(r.calls), r.query] for s, r in found]
        table(["session", "id", "outcome", "turns", "calls", "request"], rows, right=(3, 4))


def _row(record: Record) -> dict[str, Any]:
    trace = json_of(record.trace())
    names = ("session_id", "participants", "outcome", "total_turns", "model_calls", "convergence_reason", "query")
    return {name: trace[name] for name in names}


@collaborations.command()
@click.argument("session")
@click.option("--id", "which", metavar="ID", help="Which of its collaborations; default: the newest.")
@click.option(
    "--format", "how", type=click.Choice(["text", "json", "spans"]), default="text", show_default=True,
    help="spans: JSON as OpenTelemetry encodes spans.",
)  # fmt: skip
@click.pass_context
def show(ctx: click.Context, session: str, which: str | None, how: str) -> None:
    """Show the messages of a collaboration, and why it ended.

    With each message: who chose the speaker, and what was refused.

    SESSION is an id, the start of one, or 'latest'.
    """
    host: Host = ctx.obj.host
    found, records = asyncio.run(_opened(host, session))
    if not records:
        raise UsageError(
            f"session {found} has no collaboration", hint="'skillkit collaborations list' has those that do"
        )
    record = next((one for one in records if which in (None, one.id)), None) if which else records[-1]
    if record is None:
        raise UnknownName("collaboration", str(which), [one.id for one in records])
    trace = record.trace()
    if how == "text":
        echo(str(host.redact(as_text(trace))))
        if trace.outcome == "active":
            echo(f"It has not ended. 'skillkit resume {found}' goes on with it.", err=True)
    else:
        print_json(host.redact(json_of(trace) if how == "json" else as_spans(trace)))


async def _opened(host: Host, name: str) -> tuple[str, list[Record]]:
    store = host.session_store()
    try:
        wanted = await latest_session(store) if name == "latest" else await store.find(name)
        if wanted is None:
            raise UsageError("there are no sessions yet", hint="'skillkit collaborate' starts one")
        return wanted, await _read(host, store, wanted)
    finally:
        await store.close()


async def _read(host: Host, store: Any, name: str) -> list[Record]:
    handle = await store.open(name, read_only=True)
    try:
        if not any(str(entry.data.get("custom_type", "")).startswith("collaboration.") for entry in handle.entries()):
            return []
        return records_of(host, Session(handle, time.time))
    finally:
        await handle.close()


async def _of_sessions(host: Host, last: int) -> list[tuple[str, Record]]:
    store = host.session_store()
    try:
        rows = [row for row in await store.list(limit=last) if not row.get("error")]
        return [(str(row["id"]), one) for row in rows for one in await _read(host, store, str(row["id"]))]
    finally:
        await store.close()
