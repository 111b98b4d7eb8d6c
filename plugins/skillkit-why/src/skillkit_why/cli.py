"""``skillkit why``: explains a turn of a session, or what changed between two."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import click

from skillkit_core.cli.output import columns, echo, json_option, print_json, style, table
from skillkit_core.cli.sessions import latest_session
from skillkit_core.errors import UsageError

from .page import difference, page, page_of_difference
from .texts import Texts
from .turns import History

if TYPE_CHECKING:
    from skillkit_core import Host
    from skillkit_core.contracts.session_store import SessionStore

__all__ = ["why"]


@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("session", required=False)
@click.argument("turn", required=False, type=int)
@click.option("--diff", nargs=2, type=int, metavar="TURN TURN", help="Show what changed between two turns.")
@click.option("--list", "as_list", is_flag=True, help="List the turns.")
@click.option("--store", metavar="NAME", help="Use this session store instead of the configured one.")
@json_option
@click.pass_context
def why(
    ctx: click.Context, session: str | None, turn: int | None, diff: tuple[int, int] | None, as_list: bool,
    store: str | None, as_json: bool,
) -> None:  # fmt: skip
    """Explain what the model was sent in a turn, what was left out, by whom and why.

    SESSION is the id of a session, the start of it, or 'latest' (the default). TURN counts from 1, from the end with a
    minus; default: the last one.

    \b
    skillkit why
    skillkit why latest 3
    skillkit why 0198 --diff 3 4
    """
    host: Host = ctx.obj.host
    if diff and turn is not None:
        raise UsageError("--diff names its two turns itself", hint="skillkit why SESSION --diff 3 4")
    history = asyncio.run(
        _history(host, host.session_store() if store is None else host.session_stores.get(store), session)
    )
    if as_list:
        _list(history, as_json)
        return
    if diff:
        found = difference([history.explain(history.turn(n)) for n in diff], history.texts)
        text = page_of_difference
    else:
        found, text = history.explain(history.turn(turn)), page
    if as_json:
        print_json(found)
    else:
        echo(text(found, columns(), style))


async def _history(host: Host, store: SessionStore, name: str | None) -> History:
    try:
        wanted = await latest_session(store) if name in (None, "latest") else await store.find(str(name))
        if wanted is None:
            raise UsageError("there are no sessions yet", hint="'skillkit run' starts one")
        handle = await store.open(wanted, read_only=True)
        try:
            return History(handle.header, list(handle.entries()), Texts(host.data_dir / "why"))
        finally:
            await handle.close()
    finally:
        await store.close()


def _list(history: History, as_json: bool) -> None:
    rows: list[dict[str, Any]] = []
    for turn in history.turns:
        found = history.explain(turn)
        rows.append({
            "turn": turn.number, "recorded": found["recorded"], "model": f"{found['model']['provider']}/{found['model']['id']}",
            "messages": found["messages"]["sent"],
            "input": sum(found["usage"][k] for k in ("input", "cache_read", "cache_write")),
            "output": found["usage"]["output"], "cost": found["usage"]["cost"], "guards": len(found["guards"]),
            "compactions": len(found["compactions"]), "failed": turn.failed, "asked": turn.asked,
        })  # fmt: skip
    if as_json:
        print_json(rows)
        return
    shown = []
    for row in rows:
        marks = [
            *(["no answer"] if row["failed"] else []),
            *(["compaction"] if row["compactions"] else []),
            *([f"{row['guards']} guarded"] if row["guards"] else []),
        ]
        cost = f"${row['cost']:.4f}" if row["cost"] is not None else ""
        shown.append(
            [
                row["turn"],
                row["model"],
                row["messages"],
                f"{row['input']:,}",
                f"{row['output']:,}",
                cost,
                ", ".join(marks),
                row["asked"],
            ]
        )
    table(["turn", "model", "messages", "in", "out", "cost", "", "asked"], shown, right=(0, 2, 3, 4, 5))
