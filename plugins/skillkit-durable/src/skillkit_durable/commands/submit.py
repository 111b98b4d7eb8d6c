"""``skillkit submit``: a request becomes a job, or a schedule of jobs."""

from __future__ import annotations

import re
import time
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from skillkit_frontend import action_named, check_plan, choosing, configure, parse_action_args

from skillkit_core import UsageError
from skillkit_core.cli.output import echo, json_option, print_json

from ..config import DEFAULT, settings_of
from ..database import Database
from ..jobs import PRIORITY, Job, Jobs, Spec
from ..schedules import Schedules

if TYPE_CHECKING:
    from skillkit_core import Host

__all__ = ["submit"]

_IN = re.compile(r"\+(\d+(?:\.\d+)?)([smhd])\Z")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_KEPT = (
    "model",
    "provider",
    "api",
    "base_url",
    "skill",
    "max_turns",
    "no_stream",
    "permission_mode",
    "approvals",
    "plan",
    "agent",
)


@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("words", nargs=-1, required=True, type=click.UNPROCESSED, metavar="REQUEST | ACTION [--ARG VALUE]...")
@click.option("--session", metavar="ID", help="Go on with this session; default: a new one with the id of the job.")
@click.option(
    "--folder", type=click.Path(exists=True, file_okay=False, path_type=Path), help="Workspace; default: this folder."
)
@click.option("--queue", default=DEFAULT, show_default=True, metavar="NAME", help="Queue in which the job waits.")
@click.option(
    "--priority",
    type=click.IntRange(1, 1_000_000),
    default=PRIORITY,
    show_default=True,
    help="Jobs with less start first.",
)
@click.option(
    "--partition", default="", metavar="KEY", help="What a partition limit of the queue counts by; default: the folder."
)
@click.option("--at", "when", metavar="TIME", help="Not before: 2026-12-24T18:00, or +90s, +10m, +2h, +1d.")
@click.option("--cron", metavar="EXPR", help="Again and again: '0 7 * * 1-5', in the local time of the worker.")
@click.option("--name", metavar="NAME", help="With --cron: name of the schedule; the same name replaces it.")
@click.option(
    "--key", metavar="KEY", help="Idempotency key: the same key is the same job, however often it is submitted."
)
@click.option("--plan", metavar="NAME", help="Carry out this saved plan with the words of the request.")
@click.option("--agent", metavar="NAME", help="The agent of this file does it: its prompt, tools, model and limits.")
@choosing
@json_option
@click.pass_context
def submit(
    ctx: click.Context, /, words: tuple[str, ...], session: str | None, folder: Path | None, queue: str, priority: int,
    partition: str, when: str | None, cron: str | None, name: str | None, key: str | None, as_json: bool, **given: Any,
) -> None:  # fmt: skip
    """Give a request to the workers, and do not wait for it.

    \b
    skillkit submit "summarise README.md"
    skillkit submit --key invoice-4711 --queue mail "send invoice 4711"
    skillkit submit --skill csv-stats summary sales.csv --column price
    skillkit submit --agent reviewer "review the last commit"
    skillkit submit --cron "0 7 * * 1-5" --name morning "what is new?"

    A worker carries it out ('skillkit worker'). Questions wait, without a worker, until somebody answers ('skillkit
    jobs answer').
    """
    host: Host = ctx.obj.host
    settings = settings_of(host)
    if queue not in settings.queues:
        raise UsageError(f"there is no queue {queue!r}", hint=f"durable.queues has: {', '.join(settings.queues)}")
    if given["approvals"] == "ask":
        raise UsageError("nobody is there to be asked while a job runs", hint="leave --approvals out: questions wait")
    if sum(bool(given[what]) for what in ("agent", "plan", "skill")) > 1:
        raise UsageError("--agent, --skill and --plan exclude each other", hint="name one of them")
    if folder is None:  # what another folder has is known where the job runs
        _check(host, given)
    if cron is None and name is not None:
        raise UsageError("--name goes with --cron", hint="--key names a job")
    if cron is not None and (key is not None or when is not None or session is not None):
        raise UsageError("--cron makes many jobs: --key, --at and --session are about one", hint="leave them out")
    spec = _spec(host, words, (folder or host.cwd).resolve(), session, given)
    database = Database(settings.url)
    try:
        if cron is not None:
            schedules = Schedules(database, Jobs(database))
            place = {"queue": queue, "priority": priority, "partition": partition}
            schedule = schedules.put(
                name or spec.text[:40], cron, spec, queue=queue, priority=priority, partition=partition
            )
            told = {**schedule.to_dict(), **place}
            line = f"schedule {schedule.name!r}: next at {datetime.fromtimestamp(schedule.next):%Y-%m-%d %H:%M}"
        else:
            job, new = Jobs(database).submit(
                spec, key=key, queue=queue, priority=priority, partition=partition, at=_time(when) if when else None
            )
            told, line = {**job.to_dict(), "new": new}, _line(job, new)
    finally:
        database.close()
    if as_json:
        print_json(told)
    else:
        echo(line)


def _spec(host: Host, words: tuple[str, ...], folder: Path, session: str | None, given: dict[str, Any]) -> Spec:
    """Return what the job is about."""
    text = " ".join(words).strip()
    if not text:
        raise UsageError("there is no request", hint='write it in quotes: skillkit submit "..."')
    unknown = next((word for word in words if word.startswith("--") and " " not in word), None)
    if unknown is not None and given["skill"] is None:
        raise UsageError(f"no such option {unknown}", hint="see 'skillkit submit --help'; a request goes in quotes")
    options = {option: given[option] for option in _KEPT if given.get(option)}
    options |= {"permit": list(given["permit"])} if given["permit"] else {}
    options |= {"skills_dirs": [str(one.resolve()) for one in given["skills_dirs"]]} if given["skills_dirs"] else {}
    if given["skill"] is not None:
        configure(host, skills_dirs=given["skills_dirs"], permit=(), permission_mode=None, max_turns=None)
        action = action_named(host, given["skill"], words)
        if action is not None:
            options["action"] = {"name": action.name, "args": parse_action_args(given["skill"], action, words[1:])}
            text = " ".join(["/" + given["skill"], *words])
    trace = host.environ.get("TRACEPARENT")
    return Spec(
        text=text,
        folder=str(folder),
        kind=_kind(given),
        session=session or "",
        distribution=host.distribution.name if host.distribution is not None else None,
        options=options,
        origin={"kind": "submit", "principal": "owner", **({"meta": {"traceparent": trace}} if trace else {})},
    )


def _check(host: Host, given: dict[str, Any]) -> None:
    """Refuse a plan or an agent that is not here."""
    if given["plan"]:
        check_plan(host, given["plan"])
    if given["agent"]:
        from ..advance import agent_of

        agent_of(host, given["agent"])


def _kind(given: dict[str, Any]) -> str:
    kinds = {"plan": "run_plan", "agent": "run_subagent", "skill": "run_skill"}
    return next((kind for name, kind in kinds.items() if given[name]), "run_turn")


def _time(text: str) -> float:
    """Return a time that a person typed.

    Raises:
        UsageError: it is none.
    """
    if found := _IN.match(text):
        return time.time() + float(found[1]) * _SECONDS[found[2]]
    try:
        return datetime.fromisoformat(text).astimezone().timestamp()
    except ValueError:
        raise UsageError(f"{text!r} is no time", hint="write 2026-12-24T18:00, or +90s, +10m, +2h, +1d") from None


def _line(job: Job, new: bool) -> str:
    state = f"is {job.status} already" if not new else "waits in " + job.queue
    later = f", not before {datetime.fromtimestamp(job.at):%Y-%m-%d %H:%M:%S}" if job.at > job.created + 1 else ""
    return f"{job.id} {state}{later}"
