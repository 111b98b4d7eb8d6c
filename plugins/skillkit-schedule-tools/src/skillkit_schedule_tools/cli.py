"""``skillkit schedule``: add, list, show, remove, and the loop that runs what is due."""

from __future__ import annotations

import sys
import time
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from skillkit_core.cli.output import echo, escaped, fields, json_option, print_json, short_path, shorten, table
from skillkit_core.errors import UnknownName, UsageError
from skillkit_core.host.loading import prints_aside

from .store import Schedule, ScheduleRun, Store, store_of
from .when import following, local_zone, read_when, shown_time

if TYPE_CHECKING:
    from skillkit_core import Host

__all__ = ["named", "run_loop", "schedule", "told"]


approvals_option = click.option(
    "--approvals",
    type=click.Choice(["wait", "deny"]),
    default="wait",
    show_default=True,
    help="What becomes of calls that need a person: the session waits for a decision, or they are denied.",
)


@click.group()
def schedule() -> None:
    """Let requests run later, once or again and again, without a person.

    \b
    skillkit schedule add "every weekday at 8" "What is new in my feeds?"
    skillkit schedule add "tomorrow at 9" --remind "Call Ida"
    skillkit schedule run
    """


@schedule.command()
@click.argument("when")
@click.argument("words", nargs=-1, required=True, metavar="REQUEST")
@click.option("--remind", is_flag=True, help="Only remind the person, with these words.")
@click.option("--name", default="", help="Name of the schedule; default: one is made.")
@click.option("--skill", default="", help="The skill that does it.")
@click.option("--zone", help="Time zone, such as Europe/Berlin.")
@click.option(
    "--missed",
    type=click.Choice(["once", "all", "skip"]),
    default="once",
    show_default=True,
    help="What becomes of moments when nothing ran: one run for all, a run for each (24 at most), or none.",
)
@approvals_option
@json_option
@click.pass_context
def add(
    ctx: click.Context, when: str, words: tuple[str, ...], remind: bool, name: str, skill: str, zone: str | None, missed: str,
    approvals: str, as_json: bool,
) -> None:  # fmt: skip
    """Schedule a request in this folder.

    WHEN is in words ("every weekday at 8", "every month on the 1st at 9", "tomorrow at 17:30") or a cron expression, and may end
    with a time zone.
    """
    host: Host = ctx.obj.host
    check_words(host, name, skill)
    now = time.time()
    meant = read_when(when, zone or host.config.section("schedule").zone, now)
    made = store_of(host).add(
        Schedule(name, "remind" if remind else "run", " ".join(words).strip(), skill=skill, folder=str(host.cwd), missed=missed,
                 approvals=approvals, created=now, next=following(meant, now), **meant._asdict())
    )  # fmt: skip
    if as_json:
        print_json(_row(made))
        return
    echo(f"{made.id}: {meant.told()}; next {shown_time(made.next or now, made.zone)}")


@schedule.command("list")
@json_option
@click.pass_context
def list_(ctx: click.Context, as_json: bool) -> None:
    """List the schedules, those that are due next first."""
    store = store_of(ctx.obj.host)
    found = store.schedules("run", "remind")
    if as_json:
        print_json([_row(one, store) for one in found])
        return
    if not found:
        echo("Nothing is scheduled. 'skillkit schedule add' schedules a request.")
        return
    rows = [
        [one.id, one.kind, one.when.told(), shown_time(one.next, one.zone) if one.next else "", _last(store, one),
         shorten(one.text, 60)]
        for one in found
    ]  # fmt: skip
    table(["name", "kind", "when", "next", "last", "what"], rows)


@schedule.command()
@click.argument("name")
@click.option("--last", type=click.IntRange(1), default=20, show_default=True, help="Show so many runs.")
@json_option
@click.pass_context
def show(ctx: click.Context, name: str, last: int, as_json: bool) -> None:
    """Show a schedule and its last runs."""
    store = store_of(ctx.obj.host)
    found = named(store, name)
    runs = store.runs(found.id, last)
    if as_json:
        print_json({**_row(found, store), "runs": [_run_row(run) for run in runs]})
        return
    fields([
        ("name", found.id), ("what", found.text), ("skill", found.skill), ("folder", short_path(found.folder)),
        ("when", found.when.told() if found.words else "when it is called"),
        ("next", shown_time(found.next, found.zone) if found.next else ""), ("missed", found.missed),
        ("approvals", found.approvals),
    ])  # fmt: skip
    if runs:
        echo()
        zone = found.zone or local_zone()
        rows = [
            [shown_time(run.due, zone), run.state, run.session, shorten(run.reason or run.text, 80)] for run in runs
        ]
        table(["due", "state", "session", "what came of it"], rows)


@schedule.command()
@click.argument("name")
@click.pass_context
def remove(ctx: click.Context, name: str) -> None:
    """Forget a schedule; the sessions of its runs stay."""
    store = store_of(ctx.obj.host)
    found = named(store, name)
    store.remove(found.id)
    echo(f"Removed {found.id}: {shorten(found.text, 80)}")


@schedule.command()
@click.option("--once", is_flag=True, help="Do what is due now, and end: for cron or a timer of systemd.")
@json_option
@click.pass_context
def run(ctx: click.Context, once: bool, as_json: bool) -> None:
    """Run what is due, until it is stopped.

    Nobody is asked. What a guard wants a person to decide waits in the session, or is denied. A run that was stopped, also by a
    kill, goes on when this command runs again.
    """
    run_loop(ctx.obj.host, once=once, as_json=as_json)


def run_loop(host: Host, *, once: bool, as_json: bool, serve: Any = None) -> None:
    """Run the loop of schedules; ``serve(loop)``: an async context manager that serves meanwhile."""
    from skillkit_frontend import prepare, run_tasks

    store, person = store_of(host), sys.stdout.isatty()

    def tell(found: Schedule | None, run: ScheduleRun) -> None:
        told(found, run, as_json)
        if found is None and person:
            store.update(run.number, state="seen", ended=time.time())

    async def work() -> None:
        import asyncio
        import contextlib
        import signal

        from .loop import Loop

        loop = Loop(host, store, tell)
        task = asyncio.current_task()
        assert task is not None
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
        async with serve(loop) if serve is not None else contextlib.nullcontext():
            with contextlib.suppress(asyncio.CancelledError):
                await loop.run(once=once)

    with prints_aside(descriptor=True):
        prepare(host)
        run_tasks(host, work())


def told(found: Schedule | None, run: ScheduleRun, as_json: bool) -> None:
    """Print what became of a run, or a reminder."""
    if as_json:
        print_json(_run_row(run))
        return
    clock = datetime.now().astimezone().strftime("%H:%M:%S")
    if found is None:
        echo(f"{clock} reminder: {escaped(run.text)}")
        return
    echo(f"{clock} {found.id} {run.state}: {shorten(escaped(run.reason or run.text), 200)}")


def check_words(host: Host, name: str, skill: str) -> None:
    """Refuse a name that could not be a part of a path or an address, and a skill that is not there."""
    if (name and not name.replace("-", "").replace("_", "").isalnum()) or len(name) > 60:
        raise UsageError(f"{name!r} is no name", hint="use letters, digits, - and _, at most 60")
    if skill and not host.skills.has(skill):
        raise UnknownName("skill", skill, host.skills.list())


def named(store: Store, name: str, *kinds: str) -> Schedule:
    """Return the schedule of a name.

    Raises:
        UnknownName: there is none.
    """
    found = {one.id: one for one in store.schedules(*kinds)}
    if name not in found:
        raise UnknownName("schedule", name, list(found), hint=None if found else "there are none")
    return found[name]


def _last(store: Store, found: Schedule) -> str:
    runs = store.runs(found.id, 1)
    return runs[0].state if runs else ""


def _row(found: Schedule, store: Store | None = None) -> dict[str, Any]:
    row = {key: value for key, value in found._asdict().items() if key not in ("secret", "at")}
    row["folder"] = str(Path(found.folder)) if found.folder else ""
    return row if store is None else {**row, "last": _last(store, found)}


def _run_row(run: ScheduleRun) -> dict[str, Any]:
    return {key: value for key, value in run._asdict().items() if key != "data"}
