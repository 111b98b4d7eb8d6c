"""``skillkit jobs``: look at jobs, answer their questions, end them, let them go on, and look at queues and schedules."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from skillkit_core import Survey, UsageError
from skillkit_core.cli.output import echo, escaped, fields, json_option, print_json, shorten, table

from ..config import Settings, settings_of
from ..database import Database
from ..jobs import ENDED, OPEN, Answered, Job, Jobs
from ..lease import workers as known_workers
from ..schedules import Schedules

if TYPE_CHECKING:
    from collections.abc import Iterator

    from skillkit_core import Host

__all__ = ["jobs"]

ALL = "all"
LOOK = 0.3  # seconds between two looks at a job that is waited for


@click.group()
def jobs() -> None:
    """List, show, answer, cancel and retry jobs; see queues, workers and schedules."""


@contextmanager
def _open(ctx: click.Context) -> Iterator[tuple[Database, Jobs, Settings]]:
    settings = settings_of(ctx.obj.host)
    database = Database(settings.url)
    try:
        yield database, Jobs(database), settings
    finally:
        database.close()


def _when(moment: float | None) -> str:
    return datetime.fromtimestamp(moment).strftime("%m-%d %H:%M:%S") if moment else ""


@jobs.command("list")
@click.option("--status", type=click.Choice([*OPEN, *ENDED]), help="Only jobs of this status.")
@click.option("--queue", metavar="NAME", help="Only jobs of this queue.")
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="At most so many, the newest ones.")
@json_option
@click.pass_context
def list_(ctx: click.Context, /, status: str | None, queue: str | None, limit: int | None, as_json: bool) -> None:
    """List jobs, newest first."""
    with _open(ctx) as (_, all_jobs, _):
        found = all_jobs.list(status=status, queue=queue, limit=limit)
    if as_json:
        print_json([ctx.obj.host.redact(job.to_dict()) for job in found])
        return
    if not found:
        some = status or queue
        echo("There are no such jobs." if some else 'There are no jobs. Submit one: skillkit submit "..."')
        return
    colours = {"completed": "green", "failed": "red", "waiting": "yellow", "running": "cyan"}
    rows = [[job.id, job.status, job.queue, _when(job.created), shorten(escaped(job.spec.text), 60)] for job in found]
    table(
        ["job", "status", "queue", "submitted", "request"],
        rows,
        styles=lambda i, cell: {"fg": colours.get(cell)} if i == 1 else {},
    )


@jobs.command()
@click.argument("job")
@json_option
@click.pass_context
def show(ctx: click.Context, /, job: str, as_json: bool) -> None:
    """Show a job, what it asks, and its answer."""
    with _open(ctx) as (_, all_jobs, _):
        found = all_jobs.get(job)
    told = ctx.obj.host.redact(found.to_dict())
    if as_json:
        print_json(told)
        return
    _show(found, ctx.obj.host)


def _show(job: Job, host: Host) -> None:
    rows = [
        ("job", job.id),
        ("status", job.status),
        ("request", escaped(host.redact(job.spec.text))),
        ("session", job.session),
        ("folder", job.spec.folder),
        ("queue", f"{job.queue}, priority {job.priority}"),
        ("submitted", _when(job.created)),
        ("started", _when(job.started)),
        ("ended", _when(job.ended)),
        ("worker", job.worker or ""),
        ("recoveries", str(job.recoveries) if job.recoveries else ""),
        ("schedule", job.schedule or ""),
        ("key", job.key or ""),
        ("error", "\n".join(map(escaped, (job.error or "").splitlines()))),
    ]
    fields([(name, value) for name, value in rows if value])
    for asked in job.waiting:
        echo()
        echo(_question(asked))
        echo(f"Answer with: {_how(job, asked)}")
    if job.result is not None and job.result.get("answer"):
        echo()
        echo(host.redact(str(job.result["answer"])))


def _question(asked: Mapping[str, Any]) -> str:
    """Return what a job asks, in words."""
    about = asked["about"]
    if "survey" in about:
        survey = about["survey"]
        asks = [f"  {escaped(q['id'])}: {escaped(q['text'])}{_choices(q)}" for q in survey["questions"]]
        return "\n".join([f"{asked['call']} asks: {escaped(survey['title'])}", *asks])
    args = shorten(escaped(json.dumps(about["args"], ensure_ascii=False)), 200)
    return "\n".join(
        [
            f"{asked['call']} waits: {escaped(about['tool'])} {args}",
            *(f"  {escaped(q['text'])}" for q in about["questions"]),
        ]
    )


def _choices(question: Mapping[str, Any]) -> str:
    options = [escaped(str(option.get("value") or option["label"])) for option in question.get("options") or ()]
    return f" ({', '.join(options)})" if options else ""


def _how(job: Job, asked: Mapping[str, Any]) -> str:
    if asked["kind"] == "survey":
        return f"skillkit jobs answer {job.id} {asked['call']} --answers '{{...}}'   (or --deny)"
    return f"skillkit jobs answer {job.id} {asked['call']} --allow   (or --deny)"


@jobs.command()
@click.argument("job")
@json_option
@click.pass_context
def cancel(ctx: click.Context, /, job: str, as_json: bool) -> None:
    """End a job; one that runs ends as soon as its worker has seen it. 'skillkit jobs retry' takes it up again."""
    _changed(ctx, as_json, lambda all_jobs: all_jobs.cancel(job))


@jobs.command()
@click.argument("job")
@json_option
@click.pass_context
def retry(ctx: click.Context, /, job: str, as_json: bool) -> None:
    """Let a failed or cancelled job go on.

    It goes on where its session stands.
    """
    _changed(ctx, as_json, lambda all_jobs: all_jobs.retry(job))


def _changed(ctx: click.Context, as_json: bool, change: Callable[[Jobs], Job]) -> None:
    with _open(ctx) as (_, all_jobs, _):
        job = change(all_jobs)
    if as_json:
        print_json(ctx.obj.host.redact(job.to_dict()))
    else:
        echo(
            f"{job.id} ends as soon as its worker sees it"
            if job.cancelled and job.status == "running"
            else f"{job.id} is {job.status}"
        )


@jobs.command()
@click.argument("job")
@click.argument("call", required=False, default=ALL)
@click.option("--allow", "word", flag_value="allow", help="Run the call.")
@click.option("--deny", "word", flag_value="deny", help="Do not run the call, or decline the survey.")
@click.option("--answers", metavar="JSON", help="Answers to a survey, by the id of each question.")
@click.option("--reason", default="", help="With --deny: why; the model reads it.")
@json_option
@click.pass_context
def answer(
    ctx: click.Context, /, job: str, call: str, word: str | None, answers: str | None, reason: str, as_json: bool
) -> None:
    """Answer what a job asks.

    CALL names the question, else all that wait are meant. The first answer counts.
    """
    if (word is None) == (answers is None):
        raise UsageError("say what the answer is", hint="--allow, --deny, or --answers JSON")
    with _open(ctx) as (_, all_jobs, _):
        found = all_jobs.get(job)
        wanted = [asked for asked in found.waiting if call == ALL or asked["call"].startswith(call)]
        if not wanted:
            told: dict[str, Answered] = {call: all_jobs.answer(found.id, call, {}, {}) if call != ALL else "unknown"}
        else:
            given = {asked["call"]: _decision(asked, word, answers, reason) for asked in wanted}
            origin = {"kind": "jobs", "principal": "owner"}
            told = {name: all_jobs.answer(found.id, name, decision, origin) for name, decision in given.items()}
    if as_json:
        print_json({"job": found.id, "answers": told})
    else:
        _tell_answers(found, told)
    ctx.exit(0 if all(outcome == "taken" for outcome in told.values()) else 1)


def _decision(asked: Mapping[str, Any], word: str | None, answers: str | None, reason: str) -> dict[str, Any]:
    """Return an answer as JSON.

    Raises:
        UsageError: it does not fit the question.
    """
    survey = asked["about"].get("survey")
    if answers is None:
        if survey is not None and word == "allow":
            raise UsageError(f"call {asked['call']} asks a survey", hint="--answers JSON, or --deny")
        why = (
            f"a person said no: {reason}" if reason and word == "deny" else "a person said no" if word == "deny" else ""
        )
        return {"decision": word, "reason": why or "a person agreed"}
    if survey is None:
        raise UsageError(f"call {asked['call']} asks for a yes or a no", hint="--allow or --deny")
    try:
        given = json.loads(answers)
    except ValueError as error:
        raise UsageError(f"--answers is no JSON: {error}") from None
    if not isinstance(given, dict):
        raise UsageError("--answers is no JSON object", hint="""--answers '{"question": "answer"}'""")
    return {"decision": "allow", "answer": dict(Survey.from_dict(survey).answer(given))}


def _tell_answers(job: Job, told: Mapping[str, Answered]) -> None:
    words = {
        "taken": "answered; a worker goes on with it",
        "late": "was answered already",
        "unknown": f"does not wait: the job is {job.status}",
    }
    for call, outcome in told.items():
        echo(f"{call if call != ALL else job.id} {words[outcome]}")


@jobs.command()
@click.argument("names", nargs=-1, required=True, metavar="JOB...")
@click.option("--timeout", type=click.FloatRange(min=0), metavar="SECONDS", help="Give up after so long.")
@click.option("--follow", is_flag=True, help="Show what one job does until it ends; with --json as lines.")
@json_option
@click.pass_context
def wait(ctx: click.Context, /, names: tuple[str, ...], timeout: float | None, follow: bool, as_json: bool) -> None:
    """Wait until jobs end or ask something.

    The exit code is 0 if all are completed. With --follow it waits for answers, too, until the job ends.
    """
    give_up = time.monotonic() + timeout if timeout is not None else None
    if follow and len(names) > 1:
        raise UsageError("--follow shows one job", hint="leave the others out, or leave --follow out")
    with _open(ctx) as (_, all_jobs, _):
        if follow:
            found: Sequence[Job] = [_followed(ctx.obj.host, lambda: all_jobs.get(names[0]), give_up, as_json)]
        else:
            found = _rested(lambda: [all_jobs.get(name) for name in names], give_up)
    if as_json and not follow:
        print_json([ctx.obj.host.redact(job.to_dict()) for job in found])
    elif not follow:
        _tell_ends(found, ctx.obj.host)
    ctx.exit(0 if all(job.status == "completed" for job in found) else 1)


def _rested(look: Callable[[], Sequence[Job]], give_up: float | None) -> Sequence[Job]:
    """Return jobs once all have ended or ask, or the time is over."""
    while True:
        found = look()
        rests = all(job.status in (*ENDED, "waiting") for job in found)
        if rests or (give_up is not None and time.monotonic() > give_up):
            return found
        time.sleep(LOOK)


def _followed(host: Host, look: Callable[[], Job], give_up: float | None, as_json: bool) -> Job:
    from .following import Lines, Words, follow

    return follow(host, look, Lines(host) if as_json else Words(host, _questions), give_up)


def _questions(job: Job) -> str:
    return "\n".join(f"{_question(asked)}\nAnswer with: {_how(job, asked)}" for asked in job.waiting)


def _tell_ends(found: Sequence[Job], host: Host) -> None:
    for job in found:
        if len(found) > 1 or job.status != "completed":
            echo(f"{job.id} is {job.status}{': ' + escaped(host.redact(job.error)) if job.error else ''}")
        if job.waiting:
            echo(_questions(job))
        if job.status == "completed" and job.result is not None:
            echo(host.redact(str(job.result["answer"])))


@jobs.command()
@json_option
@click.pass_context
def queues(ctx: click.Context, /, as_json: bool) -> None:
    """List the queues with their limits, and how many jobs each has."""
    with _open(ctx) as (_, all_jobs, settings):
        counts = all_jobs.counts()
    limit = settings.durable.worker_concurrency
    told = []
    for name in dict.fromkeys([*settings.queues, *counts]):
        known = settings.queues.get(name)
        limits = known.model_dump(by_alias=True) if known is not None else {}
        states = {state: counts.get(name, {}).get(state, 0) for state in (*OPEN, *ENDED)}
        told.append(
            {
                "queue": name,
                **limits,
                "worker": limits.get("worker") or limit,
                "configured": known is not None,
                **states,
            }
        )
    if as_json:
        print_json(told)
        return
    table(
        ["queue", "global", "worker", "partition", "rate", *OPEN, *ENDED],
        [
            [
                row["queue"],
                str(row.get("global") or ""),
                str(row["worker"]),
                str(row.get("partition") or ""),
                f"{row['rate']} in {row['period']:g} s" if row.get("rate") else "",
                *(str(row[state]) for state in (*OPEN, *ENDED)),
            ]
            for row in told
        ],
    )


@jobs.command("workers")
@json_option
@click.pass_context
def workers_(ctx: click.Context, /, as_json: bool) -> None:
    """List the workers that beat."""
    with _open(ctx) as (database, _, _):
        alive = [row for row in known_workers(database) if row["silent"] <= row["lease"]]
    if as_json:
        print_json(alive)
        return
    if not alive:
        echo("No worker is there. Start one: skillkit worker")
        return
    rows = [
        [row["id"], row["host"], str(row["pid"]), row["queues"], _when(row["started"]), f"{row['silent']:.1f} s"]
        for row in alive
    ]
    table(["worker", "machine", "pid", "queues", "started", "last beat"], rows)


@jobs.group(invoke_without_command=True)
@json_option
@click.pass_context
def schedules(ctx: click.Context, /, as_json: bool) -> None:
    """List schedules; pause, resume or remove one."""
    if ctx.invoked_subcommand is not None:
        return
    with _open(ctx) as (database, all_jobs, _):
        found = Schedules(database, all_jobs).list()
    if as_json:
        print_json([ctx.obj.host.redact(schedule.to_dict()) for schedule in found])
        return
    if not found:
        echo('There are no schedules. Make one: skillkit submit --cron "0 7 * * *" "..."')
        return
    rows = [
        [s.name, s.cron, "paused" if s.paused else _when(s.next), shorten(escaped(s.job["spec"]["text"]), 60)]
        for s in found
    ]
    table(["schedule", "cron", "next", "request"], rows)


def _of_schedules(name: str, what: str, done: str, change: Callable[[Schedules, str], object]) -> None:
    @schedules.command(name, help=what)
    @click.argument("schedule")
    @click.pass_context
    def command(ctx: click.Context, /, schedule: str) -> None:
        with _open(ctx) as (database, all_jobs, _):
            change(Schedules(database, all_jobs), schedule)
        echo(f"schedule {schedule!r} {done}")


_of_schedules(
    "pause", "Let a schedule make no jobs.", "makes no jobs now", lambda all_of, name: all_of.pause(name, True)
)
_of_schedules(
    "resume", "Let a schedule make jobs again.", "makes jobs again", lambda all_of, name: all_of.pause(name, False)
)
_of_schedules("remove", "Remove a schedule; its jobs stay.", "is removed", lambda all_of, name: all_of.remove(name))
