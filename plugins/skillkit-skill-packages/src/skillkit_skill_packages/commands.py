"""``skillkit skills install``, ``update``, ``remove``, ``verify`` and ``outdated``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click
from skillkit_skills import problem_data

from skillkit_core.cli.output import echo, json_option, print_json, short_path, style, table
from skillkit_core.errors import SkillKitError, UnknownName, UsageError
from skillkit_core.program import as_typed

if TYPE_CHECKING:
    from skillkit_core import Host

    from .compare import Compared
    from .target import Target

__all__ = ["install", "outdated", "remove", "update", "verify"]

F = TypeVar("F", bound=Callable[..., Any])


def _where(function: F) -> F:
    function = click.option("--user", is_flag=True, help="The user's skills, in the configuration directory.")(function)
    return click.option("--project", is_flag=True, help="The project's skills, in .skillkit/skills.")(function)


def _consent(function: F) -> F:
    function = click.option("-y", "--yes", is_flag=True, help="Do not ask.")(function)
    return click.option(
        "--allow-findings", "allowed", multiple=True, metavar="RULE", callback=_rules,
        help="Go on although the scan found this, such as hook or remote-exec; may be repeated.",
    )(function)  # fmt: skip


def _rules(ctx: click.Context, param: click.Parameter, value: tuple[str, ...]) -> tuple[str, ...]:
    """The rules that were named, with or without ``scan-``."""
    if not value:
        return value
    from .scan import FINDINGS

    named = tuple(rule.removeprefix("scan-") for text in value for rule in text.split(","))
    if unknown := [rule for rule in named if rule not in FINDINGS]:
        raise UnknownName("rule of the scan", unknown[0], set(FINDINGS))
    return named


@click.command()
@click.argument("source")
@click.option("--ref", help="Branch, tag or full commit of a repository.")
@click.option("--subfolder", default="", help="Only what is below this folder of the source.")
@click.option("--skill", "wanted", multiple=True, help="Only the skill of this name; may be repeated.")
@_where
@click.option("--replace", is_flag=True, help="Replace a skill of the same name that came from elsewhere.")
@click.option("--dry-run", is_flag=True, help="Show what would be installed, and install nothing.")
@_consent
@json_option
@click.pass_context
def install(
    ctx: click.Context,
    source: str,
    ref: str | None,
    subfolder: str,
    wanted: tuple[str, ...],
    user: bool,
    project: bool,
    replace: bool,
    dry_run: bool,
    yes: bool,
    allowed: tuple[str, ...],
    as_json: bool,
) -> None:
    """Show the skills in SOURCE and what a scan finds in them, ask, and install them.

    SOURCE is the address of a git repository, a folder, a zip, tar or .skill file, or a wheel with an entry point in the
    group skillkit.skills. Nothing of it is executed. Without --project they become skills of the user.

    --yes asks nothing and passes no finding: each rule that is broken is named by --allow-findings, a hook too.
    """
    from .plan import Plan, look
    from .report import candidate_data
    from .source import named
    from .target import targets

    host: Host = ctx.obj.host
    target = targets(host, user=user, project=project)[0]
    fetched, found = look(host, named(source, host.cwd, ref=ref, subfolder=subfolder), wanted)
    entries = target.lock().skills
    new = [one for one in found if target.digest(one.name) != one.digest or one.name not in entries]
    taken = [one.name for one in new if target.digest(one.name)]
    plan = Plan(target, [(one, fetched) for one in new], as_json, yes, allowed)
    if not as_json:
        plan.show(host)
    if new and not dry_run:
        here = [name for name, entry in entries.items() if entry.source.place == fetched.source.kept().place]
        foreign = [name for name in taken if name not in here or target.state(name, entries[name]) == "modified"]
        if foreign and not replace and not plan.asks:
            raise UsageError(
                "there is another skill of this name, or one that was changed here",
                where=str(target.folder / foreign[0]),
                hint="remove it, or replace it with --replace",
            )
        plan.ask(f"Install {_count(len(new))} into {short_path(str(target.folder))}", taken)
    if not dry_run:
        plan.carry_out(replacing=taken, unchanged=[(one, fetched) for one in found if one not in new])
    if as_json:
        status = {one.name: "new" if dry_run else "installed" for one in new}
        rows = [{**candidate_data(one, fetched), "status": status.get(one.name, "current")} for one in found]
        print_json({"target": str(target.folder), "lock": str(target.lock_path), "dry_run": dry_run, "skills": rows})
        return
    for one in found:
        if one not in new:
            echo(f"{one.name} is installed already, and as its source has it.")
        elif not dry_run:
            echo(f"{style('✓', fg='green')} {one.name} is installed in {short_path(str(target.folder / one.name))}")
    if new and not dry_run and target.kind == "project" and host.withheld is None:
        echo(as_typed("It counts once the folder is trusted: skillkit config trust"), err=True)


@click.command()
@click.argument("names", nargs=-1)
@_where
@click.option("--replace", is_flag=True, help="Replace skills that were changed here since they were installed.")
@_consent
@json_option
@click.pass_context
def update(
    ctx: click.Context,
    names: tuple[str, ...],
    user: bool,
    project: bool,
    replace: bool,
    yes: bool,
    allowed: tuple[str, ...],
    as_json: bool,
) -> None:
    """Bring installed skills to what their sources hold now; all of them without NAMES.

    What changed is shown and scanned as for a new skill. Exit status 1: a skill could not be updated.
    """
    from .plan import Plan

    host: Host = ctx.obj.host
    shown = [(row, _outcome(row, replace)) for row in _compared(host, names, user, project)]
    by_target: dict[Target, list[tuple[Compared, str]]] = {}
    for row, outcome in shown:
        by_target.setdefault(row.target, []).append((row, outcome))
    for target, mine in by_target.items():
        new = [row.newest for row, outcome in mine if row.newest and outcome == "updated"]
        moved = [row.newest for row, outcome in mine if row.newest and outcome == "current"]
        plan = Plan(target, new, as_json, yes, allowed)
        if new:
            if not as_json:
                plan.show(host)
            plan.ask(f"Update {_count(len(new))} in {short_path(str(target.folder))}", [])
        if new or moved:
            plan.carry_out(replacing=[one.name for one, _ in new], unchanged=moved)
    if as_json:
        print_json([_row(row, outcome) for row, outcome in shown])
    elif shown:
        _table(shown)
    else:
        echo("Nothing is installed.")
    if any(outcome not in ("updated", "current") for _, outcome in shown):
        ctx.exit(1)


def _outcome(row: Compared, replace: bool) -> str:
    """What ``update`` does with a skill: ``updated``, or why not."""
    if row.status in ("gone", "failed"):
        return row.status
    if row.state == "missing" or (row.status == "outdated" and (replace or row.state == "ok")):
        return "updated"
    return "modified" if row.status == "outdated" else "current"


@click.command()
@click.argument("names", nargs=-1)
@_where
@json_option
@click.pass_context
def outdated(ctx: click.Context, names: tuple[str, ...], user: bool, project: bool, as_json: bool) -> None:
    """Say which installed skills differ from what their sources hold now. Nothing is changed."""
    rows = [(row, row.status) for row in _compared(ctx.obj.host, names, user, project)]
    if as_json:
        print_json([_row(row, status) for row, status in rows])
    elif behind := [(row, status) for row, status in rows if status != "current"]:
        _table(behind)
    else:
        echo(f"{_count(len(rows))} installed, as the sources have them." if rows else "Nothing is installed.")


@click.command()
@click.argument("names", nargs=-1)
@_where
@json_option
@click.pass_context
def verify(ctx: click.Context, names: tuple[str, ...], user: bool, project: bool, as_json: bool) -> None:
    """Compare installed skills with the digests in the lock file.

    Exit status 1: a skill was changed or is missing. Skills that 'skillkit skills install' did not install are not looked at.
    """
    from .compare import chosen
    from .target import targets

    found = chosen(targets(ctx.obj.host, user=user, project=project), names)
    rows = [(target, name, entry, target.state(name, entry)) for target, name, entry in found]
    bad = [row for row in rows if row[3] != "ok"]
    if as_json:
        print_json([{**_place(t, name), "digest": entry.digest, "status": state} for t, name, entry, state in rows])
    else:
        for target, name, _, state in bad:
            echo(f"{style(state, fg='red')} {name} ({short_path(str(target.folder / name))})")
        echo(f"{_count(len(rows))} looked at, {len(rows) - len(bad)} as installed.")
    if bad:
        ctx.exit(1)


@click.command()
@click.argument("names", nargs=-1, required=True)
@_where
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@json_option
@click.pass_context
def remove(ctx: click.Context, names: tuple[str, ...], user: bool, project: bool, yes: bool, as_json: bool) -> None:
    """Remove installed skills with their folders, after asking."""
    from .compare import chosen
    from .target import targets

    by_target: dict[Target, list[str]] = {}
    rows = list(chosen(targets(ctx.obj.host, user=user, project=project), names))
    for target, name, entry in rows:
        if len([row for row in rows if row[1] == name]) > 1:
            raise UsageError(f"{name!r} is installed for the user and in the project", hint="say --user or --project")
        by_target.setdefault(target, []).append(name)
        if not as_json:
            changed = " (changed since it was installed)" if target.state(name, entry) == "modified" else ""
            echo(f"{name}{changed}: {short_path(str(target.folder / name))}")
    if not yes:
        if as_json or not sys.stdin.isatty():
            raise UsageError("nobody can be asked here", hint="remove with --yes")
        if not click.confirm(f"Remove {_count(len(rows))}?"):
            raise SkillKitError("nothing was changed")
    for target, mine in by_target.items():
        target.drop(mine)
    if as_json:
        print_json([{**_place(target, name), "status": "removed"} for target, name, _ in rows])
    else:
        echo(f"Removed {_count(len(rows))}.")


def _count(number: int) -> str:
    return f"{number} skill{'' if number == 1 else 's'}"


def _place(target: Target, name: str) -> dict[str, str]:
    return {"name": name, "target": target.kind, "path": str(target.folder / name)}


def _compared(host: Host, names: Sequence[str], user: bool, project: bool) -> list[Compared]:
    from .compare import compare
    from .target import targets

    return list(compare(host, targets(host, user=user, project=project, trusted=True), names))


def _row(row: Compared, status: str) -> dict[str, Any]:
    newest = row.newest
    changes = newest is not None and status in ("outdated", "updated", "modified")
    return {
        **_place(row.target, row.name),
        "status": status,
        "state": row.state,
        "reason": row.reason,
        "source": row.entry.source.model_dump(),
        "installed": {"digest": row.entry.digest, "resolved": row.entry.resolved},
        "available": {"digest": newest[0].digest, "resolved": newest[1].resolved} if newest else None,
        "problems": [problem_data(p) for p in newest[0].problems] if newest and changes else [],
    }


def _table(rows: Sequence[tuple[Compared, str]]) -> None:
    """One line a skill: what was done or is to be done, and why not."""
    from .git import redacted

    why = {
        "modified": "it was changed here: keep it, or update with --replace",
        "gone": "its source has no skill of that name any more",
    }
    table(
        ["skill", "status", "target", "source", "remark"],
        [[r.name, s, r.target.kind, redacted(r.entry.source.place), r.reason or why.get(s, "")] for r, s in rows],
    )
