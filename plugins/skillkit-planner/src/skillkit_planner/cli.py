"""``skillkit plans``: the plans of sessions, drawn with states, times, tokens and costs; and saved ones."""

from __future__ import annotations

import asyncio
import json
import time
from typing import TYPE_CHECKING, Any

import click

from skillkit_core import Session
from skillkit_core.cli.output import columns, echo, json_option, print_json, short_path, table
from skillkit_core.cli.sessions import latest_session
from skillkit_core.errors import UnknownName, UsageError

from .drawing import as_json, as_svg, as_text
from .notes import PlanView, plans_of
from .telling import line_of
from .templates import load, names, save

if TYPE_CHECKING:
    from skillkit_core import Host

__all__ = ["plans"]


@click.group()
def plans() -> None:
    """List, show and save the plans of sessions.

    \b
    skillkit plans list
    skillkit plans show latest
    skillkit plans save morning latest
    skillkit run --plan morning "what is on today?"
    """


def _views(host: Host, name: str) -> tuple[str, list[PlanView]]:
    """Return the id of a session, and its plans."""

    async def read() -> tuple[str, list[PlanView]]:
        store = host.session_store()
        try:
            wanted = await latest_session(store) if name == "latest" else await store.find(name)
            if wanted is None:
                raise UsageError("there are no sessions yet", hint="'skillkit run' starts one")
            handle = await store.open(wanted, read_only=True)
            try:
                return wanted, plans_of(host, Session(handle, time.time))
            finally:
                await handle.close()
        finally:
            await store.close()

    return asyncio.run(read())


def _one(session: str, views: list[PlanView], plan: str | None) -> PlanView:
    if not views:
        raise UsageError(f"session {session} has no plan", hint="'skillkit plans list' has the sessions with plans")
    if plan is None:
        return views[-1]
    found = next((view for view in views if view.plan.id == plan), None)
    if found is None:
        raise UnknownName("plan", plan, [view.plan.id for view in views])
    return found


# --- listing ----------------------------------------------------------------------------------------------------------


@plans.command("list")
@click.option("--last", type=click.IntRange(1), default=50, show_default=True, help="Look at so many sessions.")
@json_option
@click.pass_context
def list_(ctx: click.Context, last: int, as_json: bool) -> None:
    """List the saved plans, and the plans of the last sessions."""
    host: Host = ctx.obj.host
    saved = [(name, load(host, name)) for name in names(host)]
    found = asyncio.run(_of_sessions(host, last))
    if as_json:
        rows = [{"session": session, **_row(view)} for session, view in found]
        print_json({"saved": [{"name": name, **plan.to_dict()} for name, plan in saved], "sessions": rows})
        return
    if saved:
        table(["saved plan", "steps"], [[name, " → ".join(step.target for step in plan.steps)] for name, plan in saved])
        echo()
    if not found:
        echo("No session has a plan yet. A request of several parts makes one, where its skills have engines.")
        return
    rows_ = [[s, v.plan.id, v.status, f"{_done(v)}/{len(v.steps)}", f"{v.tokens:,}", v.query] for s, v in found]
    table(["session", "plan", "status", "done", "tokens", "request"], rows_, right=(4,))


def _done(view: PlanView) -> int:
    return sum(step.state == "completed" for step in view.steps.values())


def _row(view: PlanView) -> dict[str, Any]:
    about = as_json(view)
    return {name: about[name] for name in ("id", "query", "by", "status", "ms", "calls", "tokens", "cost")} | {
        "steps": len(view.steps),
        "done": _done(view),
    }


async def _of_sessions(host: Host, last: int) -> list[tuple[str, PlanView]]:
    store = host.session_store()
    found = []
    try:
        for row in await store.list(limit=last):
            if row.get("error") or row.get("nested"):
                continue
            handle = await store.open(str(row["id"]), read_only=True)
            try:
                if any(str(entry.data.get("custom_type", "")).startswith("planner.") for entry in handle.entries()):
                    views = plans_of(host, Session(handle, time.time))
                    found += [(str(row["id"]), view) for view in views]
            finally:
                await handle.close()
    finally:
        await store.close()
    return found


# --- one plan ---------------------------------------------------------------------------------------------------------


@plans.command()
@click.argument("session")
@click.option("--plan", metavar="PLAN", help="Which of its plans; default: the newest.")
@click.option("--svg", is_flag=True, help="Print the graph as SVG.")
@click.option("--trace", is_flag=True, help="Print what became of the steps, a JSON line for each change.")
@json_option
@click.pass_context
def show(ctx: click.Context, session: str, plan: str | None, svg: bool, trace: bool, as_json: bool) -> None:
    """Draw a plan of a session.

    SESSION is an id, the start of one, or 'latest'. Each step has its state, time, tokens and cost.

    \b
    skillkit plans show latest
    skillkit plans show latest --svg > plan.svg
    """
    _show(ctx, session, plan, svg=svg, trace=trace, json_=as_json)


def _show(ctx: click.Context, session: str, plan: str | None, *, svg: bool, trace: bool, json_: bool) -> None:
    if svg + trace + json_ > 1:
        raise UsageError("--svg, --trace and --json exclude each other")
    host: Host = ctx.obj.host
    found, views = _views(host, session)
    view = _one(found, views, plan)
    if json_:
        print_json({"session": found, **as_json(view)})
    elif svg:
        echo(as_svg(view))
    elif trace:
        for row in as_json(view)["trace"]:
            echo(json.dumps(row, ensure_ascii=False, sort_keys=True))
    else:
        _draw(view)


def _draw(view: PlanView) -> None:
    echo(as_text(view, columns()))
    failed = [step for step in view.steps.values() if step.reason and step.state in ("failed", "waiting")]
    for step in failed:
        echo(f"{step.step.step_id}: {step.reason}")
    for step in view.steps.values():
        if step.session is not None:
            echo(f"{step.step.step_id} is session {step.session}")


@plans.command("save")
@click.argument("name")
@click.argument("session", default="latest")
@click.option("--plan", metavar="PLAN", help="Which of its plans; default: the newest.")
@click.option("--replace", is_flag=True, help="Replace a plan of that name.")
@click.pass_context
def save_(ctx: click.Context, name: str, session: str, plan: str | None, replace: bool) -> None:
    """Save a plan of a session under a name.

    SESSION is the latest one by default. Where its steps have the words of the request, the saved plan has {query},
    and takes the words of the next request.

    \b
    skillkit plans save research-and-file
    skillkit run --plan research-and-file "glaciers"
    """
    host: Host = ctx.obj.host
    found, views = _views(host, session)
    view = _one(found, views, plan)
    file = save(host, name, view.plan, view.query, replace=replace)
    echo(f"Saved {len(view.plan.steps)} steps as {short_path(str(file))}:")
    for step in view.plan.steps:
        echo(f"  {line_of(view.plan, step.step_id)}")
