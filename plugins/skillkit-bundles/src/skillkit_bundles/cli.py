"""``skillkit bundles``: bundles are added, shown, updated, verified, switched and removed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from skillkit_core.cli.output import echo, escaped, json_option, print_json, short_path, style, table, warning
from skillkit_core.errors import SkillKitError, UnknownName, UsageError
from skillkit_core.program import as_typed

from .model import DIALECTS

if TYPE_CHECKING:
    from skillkit_core import Host

    from .adding import Candidate, Consent
    from .installed import Installed

__all__ = ["bundles"]

F = TypeVar("F", bound=Callable[..., Any])


@click.group()
def bundles() -> None:
    """Bundles of other hosts: plugins of Claude Code, Codex, Copilot, and Agent Plugins.

    A bundle brings skills, slash commands, agents, MCP servers and hooks under its own name. Nothing of it runs when it is added,
    and a hook runs only after you have consented to its text.
    """


def _where(function: F) -> F:
    function = click.option("--user", is_flag=True, help="Your own bundles, in the configuration directory.")(function)
    return click.option("--project", is_flag=True, help="The project's, in .skillkit/bundles.")(function)


def _consent(function: F) -> F:
    function = click.option("-y", "--yes", is_flag=True, help="Do not ask. It consents to no hook.")(function)
    function = click.option(
        "--allow-hook",
        "hooks",
        multiple=True,
        metavar="DIGEST",
        help="Consent to this hook, or to 'all'; may be repeated.",
    )(function)
    return click.option(
        "--allow-findings", "allowed", multiple=True, metavar="RULE",
        help="Go on although the scan found this; may be repeated.",
    )(function)  # fmt: skip


@bundles.command()
@click.argument("source")
@click.option(
    "--as", "dialect", type=click.Choice(DIALECTS), help="Read it as this host does; default: its own format."
)
@click.option("--ref", help="Branch, tag or full commit of a repository, version of a package.")
@click.option("--subfolder", default="", help="Only what is below this folder of the source.")
@click.option("--digest", help="SHA-256 of an archive.")
@click.option("--dependencies", is_flag=True, help="Add the bundles that it needs, too, from its marketplace.")
@click.option("--dry-run", is_flag=True, help="Show what would be added, and add nothing.")
@_where
@_consent
@json_option
@click.pass_context
def add(
    ctx: click.Context, source: str, dialect: Any, ref: str | None, subfolder: str, digest: str | None,
    dependencies: bool, dry_run: bool, user: bool, project: bool, yes: bool, allowed: tuple[str, ...],
    hooks: tuple[str, ...], as_json: bool,
) -> None:  # fmt: skip
    """Show what a bundle brings and would run, ask, and add it.

    SOURCE is a folder, a zip or tar file, the address of a git repository, owner/name[@ref][#folder] of GitHub, the address of an
    archive with its --digest, npm:package, or name@marketplace.
    """
    from .adding import Consent, install, show
    from .needs import add_needed, needs_of
    from .places import places_of
    from .report import bundle_data, counted

    host: Host = ctx.obj.host
    place = places_of(host, user=user or not project, project=project)[0]
    consent = Consent(yes, _rules(allowed), hooks, quiet=as_json)
    one = _considered(host, source, dialect, ref, subfolder, digest)
    known = place.lock().bundles.get(one.name)
    taken = (place.folder / one.name).exists()
    if not as_json:
        show(host, one, [f"{short_path(str(place.folder / one.name))} is replaced"] if taken else [])
    waiting = len(one.digests)
    if not dry_run:
        if (
            taken
            and known is not None
            and known.source.place != one.fetched.origin.place
            and not consent.asks
            and not yes
        ):
            raise UsageError(f"there is another bundle {one.name!r}", hint="remove it first, or say --yes")
        _ask(one, consent, f"Add {one.name} to {short_path(str(place.folder))}")
        waiting = install(host, one, place, consent)
        needed = list(add_needed(host, one, place, consent, wanted=dependencies))
    else:
        needed = needs_of(host, one.bundle, one.marketplace)
    if as_json:
        data = bundle_data(one.bundle, one.digests, one.missing) | {
            "digest": one.digest,
            "resolved": one.fetched.resolved,
        }
        print_json(data | {"installed": not dry_run, "path": str(place.folder / one.name), "waiting": waiting,
                           "needs": [need._asdict() for need in needed]})  # fmt: skip
    elif not dry_run:
        state = "is added" if one.locked().enabled else "is added and switched off"
        echo(f"{style('✓', fg='green')} {escaped(one.name)} {state}: {short_path(str(place.folder / one.name))}")
        if waiting:
            echo(
                as_typed(
                    f"{counted(waiting, 'hook')} will not run before you consent: skillkit bundles consent {one.name}"
                )
            )
        if not one.locked().enabled:
            echo(as_typed(f"Switch it on: skillkit bundles enable {one.name}"))
        for need in needed:
            warning(f"{one.name} needs {need}")
        if project and host.withheld is None:
            echo(as_typed("It counts once the folder is trusted: skillkit config trust"), err=True)


def _considered(
    host: Host, source: str, dialect: Any, ref: str | None, subfolder: str, digest: str | None
) -> Candidate:
    from .adding import consider
    from .fetching import named
    from .needs import from_market

    return from_market(host, source, dialect) or consider(
        host, named(source, host.cwd, ref=ref, subfolder=subfolder, digest=digest), dialect=dialect
    )


def _rules(allowed: tuple[str, ...]) -> list[str]:
    from skillkit_skill_packages import FINDINGS

    named = [rule.removeprefix("scan-") for text in allowed for rule in text.split(",")]
    if unknown := [rule for rule in named if rule not in FINDINGS]:
        raise UnknownName("rule of the scan", unknown[0], set(FINDINGS))
    return named


def _ask(one: Candidate, consent: Consent, question: str) -> None:
    from .adding import ask

    ask(one, consent, question)


@bundles.command("list")
@json_option
@click.pass_obj
def list_(state: Any, as_json: bool) -> None:
    """List the bundles of this machine and of this folder."""
    from .installed import bundles_of, installed_data, listed_row

    host: Host = state.host
    found = bundles_of(host)
    if as_json:
        print_json([installed_data(one, host.environ) for one in found])
        return
    if not found:
        echo(as_typed("There are no bundles. Add one: skillkit bundles add SOURCE"))
        return
    rows = [listed_row(one) for one in found]
    colours = {"enabled": "green", "disabled": "yellow", "broken": "red", "not trusted": "yellow"}
    table(
        list(rows[0]), [list(row.values()) for row in rows],
        styles=lambda i, cell: {"bold": True} if i == 0 else {"fg": colours.get(cell, "")} if i == 2 and cell in colours else {},
    )  # fmt: skip


@bundles.command()
@click.argument("name")
@click.option("--as", "dialect", type=click.Choice(DIALECTS), help="Read a folder as this host does.")
@json_option
@click.pass_obj
def show(state: Any, name: str, dialect: Any, as_json: bool) -> None:
    """Show what a bundle brings, runs, lacks, and what has no effect.

    NAME is an installed bundle, or the path of a folder with one.
    """
    from .formats.reading import read_bundle
    from .installed import installed_data, named_bundle, shown_source
    from .needs import needs_of
    from .report import bundle_data, digests_of, print_bundle, print_problems
    from .running import missing_programs

    host: Host = state.host
    if "/" in name or name == ".":
        reading = read_bundle(host.cwd / Path(name).expanduser(), dialect)
        if reading.bundle is None:
            why = "; ".join(str(one) for one in reading.problems if one.fatal)
            raise SkillKitError(f"the bundle does not load: {why}", where=name)
        digests, missing = digests_of(reading.bundle), missing_programs(reading.bundle, host.environ)
        if as_json:
            print_json(bundle_data(reading.bundle, digests, missing))
            return
        print_bundle(reading.bundle, digests, missing)
        problems = reading.problems
    else:
        one = named_bundle(host, name)
        if as_json:
            print_json(installed_data(one, host.environ))
            return
        problems = one.problems
        if one.bundle is not None:
            needs = needs_of(host, one.bundle, one.locked.marketplace if one.locked is not None else None)
            about = [("state", one.state), ("from", shown_source(one)), ("folder", short_path(str(one.root))),
                     ("missing bundles", [str(need) for need in needs])]  # fmt: skip
            digests, missing = {**one.consented, **one.waiting}, missing_programs(one.bundle, host.environ)
            print_bundle(one.bundle, digests, missing, about, one.consented)
    if problems:
        echo("problems")
        print_problems(problems, limit=None)


@bundles.command()
@click.argument("names", nargs=-1)
@_where
@click.option("--replace", is_flag=True, help="Replace bundles that were changed here since they were added.")
@_consent
@json_option
@click.pass_context
def update(
    ctx: click.Context, names: tuple[str, ...], user: bool, project: bool, replace: bool, yes: bool, allowed: tuple[str, ...],
    hooks: tuple[str, ...], as_json: bool,
) -> None:  # fmt: skip
    """Bring bundles to what their sources hold now.

    Without NAMES all of them. What changed is shown and scanned as for a new bundle, and a hook whose text changed is asked about
    again. Exit status 1: a bundle could not be updated.
    """
    from .adding import Consent
    from .report import counted

    host: Host = ctx.obj.host
    consent = Consent(yes, _rules(allowed), hooks, quiet=as_json)
    rows: list[dict[str, Any]] = []
    for one in _chosen(host, names, user, project, trusted=True):
        try:
            status, waiting, why = _updated(host, one, consent, replace)
        except SkillKitError as error:
            if consent.asks and str(error) == "nothing was changed":
                raise
            status, waiting, why = "failed", 0, str(error)
        rows.append({"name": one.name, "where": one.where, "status": status, "waiting": waiting, "reason": why})
    if as_json:
        print_json(rows)
    elif not rows:
        echo("No bundle is installed.")
    else:
        waits = [
            f"{counted(int(row['waiting']), 'hook')} wait" if row["waiting"] else str(row["reason"]) for row in rows
        ]
        cells = [[r["name"], r["where"], r["status"], escaped(w)] for r, w in zip(rows, waits, strict=True)]
        table(["bundle", "where", "status", "remark"], cells)
    if any(row["status"] not in ("updated", "current") for row in rows):
        ctx.exit(1)


def _updated(host: Host, one: Installed, consent: Consent, replace: bool) -> tuple[str, int, str]:
    """Update a bundle; return what came of it, how many hooks wait, and why not."""
    from .adding import changes, consider, install, show
    from .fetching import newest
    from .markets import fresh_listing

    place, locked = one.place, one.locked
    assert place is not None and locked is not None
    origin, dialect = locked.source, locked.dialect
    entry: Mapping[str, Any] | None = locked.entry
    if locked.marketplace is not None:
        found = fresh_listing(host, locked.marketplace, one.name)
        if found is None:
            return "gone", 0, "the marketplace does not list it any more"
        origin, entry = found
    state = place.state(one.name, locked)
    if state == "ok" and origin == locked.source and newest(origin, locked.resolved, host.environ):
        return "current", len(one.waiting), ""
    new = consider(host, origin, dialect=dialect, name=one.name, marketplace=locked.marketplace, entry=entry)
    if new.digest == locked.digest and state == "ok":
        place.note(one.name, new.locked().model_copy(update={"enabled": locked.enabled}))
        return "current", len(one.waiting), ""
    if new.name != one.name:
        return "failed", 0, f"it is called {new.name} now: add it anew"
    if state == "modified" and not replace:
        return "modified", 0, "it was changed here: keep it, or update with --replace"
    if not consent.quiet:
        show(host, new, changes(one, new)[:40])
    _ask(new, consent, f"Update {one.name}")
    waiting = install(host, new, place, consent)
    return "updated", waiting, ""


def _chosen(host: Host, names: tuple[str, ...], user: bool, project: bool, *, trusted: bool = False) -> list[Installed]:
    """Return the installed bundles of these names, all without names."""
    from .installed import bundles_of
    from .places import places_of

    wanted = places_of(host, user=user, project=project, trusted=trusted)
    kinds = {place.kind for place in wanted if place.lock() is not None}  # one that is damaged is an error here
    found = [one for one in bundles_of(host) if one.where in kinds]
    known = {one.name for one in found}
    for name in names:
        if name not in known:
            raise UnknownName("bundle", name, known)
    return [one for one in found if not names or one.name in names]


@bundles.command()
@click.argument("names", nargs=-1)
@_where
@json_option
@click.pass_context
def verify(ctx: click.Context, names: tuple[str, ...], user: bool, project: bool, as_json: bool) -> None:
    """Compare installed bundles with the digests in the lock file. Exit status 1: one was changed or is missing."""
    rows = []
    for one in _chosen(ctx.obj.host, names, user, project):
        assert one.place is not None and one.locked is not None
        state = one.place.state(one.name, one.locked)
        rows.append(
            {"name": one.name, "where": one.where, "path": str(one.root), "digest": one.locked.digest, "status": state}
        )
    bad = [row for row in rows if row["status"] != "ok"]
    if as_json:
        print_json(rows)
    else:
        for row in bad:
            echo(f"{style(row['status'], fg='red')} {row['name']} ({short_path(row['path'])})")
        echo(f"{len(rows)} looked at, {len(rows) - len(bad)} as added.")
    if bad:
        ctx.exit(1)


@bundles.command()
@click.argument("names", nargs=-1, required=True)
@_where
@click.option("--data", "with_data", is_flag=True, help="Remove what the bundle kept for itself, too.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@json_option
@click.pass_context
def remove(
    ctx: click.Context, names: tuple[str, ...], user: bool, project: bool, with_data: bool, yes: bool, as_json: bool
) -> None:
    """Remove bundles, their folders, and the consent to hooks.

    It asks before.
    """
    import shutil

    from .books import changing
    from .installed import data_folder

    host: Host = ctx.obj.host
    found = _chosen(host, names, user, project)
    for name in names:
        if sum(one.name == name for one in found) > 1:
            raise UsageError(f"{name!r} is installed for you and in the project", hint="say --user or --project")
    if not yes:
        if as_json or not sys.stdin.isatty():
            raise UsageError("nobody can be asked here", hint="remove with --yes")
        for one in found:
            echo(f"{escaped(one.name)}: {short_path(str(one.root))}")
        if not click.confirm("Remove?"):
            raise SkillKitError("nothing was changed")
    for one in found:
        assert one.place is not None
        one.place.drop([one.name])
        with changing(host) as state:
            for digest in one.consented:
                state.consents.pop(digest, None)
            state.enabled.pop(one.name, None)
            for switched in state.projects.values():
                switched.pop(one.name, None)
            if with_data:
                state.options.pop(one.name, None)
        if with_data:
            shutil.rmtree(data_folder(host, one.name), ignore_errors=True)
    if as_json:
        print_json([{"name": one.name, "where": one.where, "status": "removed"} for one in found])
    else:
        echo(f"Removed {', '.join(one.name for one in found)}.")


def _switch(ctx: click.Context, names: tuple[str, ...], project: bool, on: bool, as_json: bool) -> None:
    from .books import changing
    from .installed import named_bundle

    host: Host = ctx.obj.host
    found = [named_bundle(host, name) for name in names]
    with changing(host) as state:
        key = str(host.cwd.resolve())
        for one in found:
            (state.projects.setdefault(key, {}) if project else state.enabled)[one.name] = on
            if not project:  # what is said everywhere is not hidden by what was said here before
                state.projects.get(key, {}).pop(one.name, None)
    word = "enabled" if on else "disabled"
    if as_json:
        print_json([{"name": one.name, "state": word, "scope": "project" if project else "user"} for one in found])
        return
    for one in found:
        echo(f"{escaped(one.name)} is {word}{' in this folder' if project else ''}.")
        if on and one.waiting:
            echo(as_typed(f"Its hooks wait: skillkit bundles consent {one.name}"))


@bundles.command()
@click.argument("names", nargs=-1, required=True)
@click.option("--project", is_flag=True, help="In this folder alone.")
@json_option
@click.pass_context
def enable(ctx: click.Context, names: tuple[str, ...], project: bool, as_json: bool) -> None:
    """Let bundles count, everywhere or in this folder."""
    _switch(ctx, names, project, True, as_json)


@bundles.command()
@click.argument("names", nargs=-1, required=True)
@click.option("--project", is_flag=True, help="In this folder alone.")
@json_option
@click.pass_context
def disable(ctx: click.Context, names: tuple[str, ...], project: bool, as_json: bool) -> None:
    """Let bundles stay without effect, here or everywhere."""
    _switch(ctx, names, project, False, as_json)


@bundles.command()
@click.argument("name")
@click.option(
    "--allow-hook", "hooks", multiple=True, metavar="DIGEST", help="Consent to this hook, or to 'all'; may be repeated."
)
@click.option("--revoke", is_flag=True, help="Take back the consent to its hooks, all or those of --allow-hook.")
@json_option
@click.pass_context
def consent(ctx: click.Context, name: str, hooks: tuple[str, ...], revoke: bool, as_json: bool) -> None:
    """Show the hooks of a bundle, and ask about each that waits.

    Consent holds for the text of the hook and for the files beside what it names. When one of them changes, it is asked again.
    """
    from .adding import Consent, note_consents
    from .books import changing
    from .installed import named_bundle
    from .report import hook_line

    host: Host = ctx.obj.host
    one = named_bundle(host, name)
    if revoke:
        wanted = [
            d for d in one.consented if not hooks or any(d[7:].startswith(text) or text == "all" for text in hooks)
        ]
        with changing(host) as state:
            for digest in wanted:
                state.consents.pop(digest, None)
        print_json({"name": name, "revoked": wanted}) if as_json else echo(
            f"{len(wanted)} hooks of {name} will not run any more."
        )
        return
    if not as_json:
        for digest, hook in {**one.consented, **one.waiting}.items():
            mark = style("✓", fg="green") if digest in one.consented else style("waits", fg="yellow")
            echo(f"{mark} {digest[7:19]} {escaped(hook_line(hook))}")
            echo(f"    {short_path(str(one.root / hook.file))}")
    asked = Consent(hooks=hooks, quiet=as_json)
    if one.waiting and not hooks and not asked.asks:
        raise UsageError("nobody can be asked here", hint="look at the hooks, then name them with --allow-hook")
    waiting = note_consents(host, name, one.waiting, asked)
    if as_json:
        print_json({"name": name, "consented": len(one.consented) + len(one.waiting) - waiting, "waiting": waiting})
    elif not one.consented and not one.waiting:
        echo(f"{name} has no hooks.")
    else:
        echo(f"{len(one.consented) + len(one.waiting) - waiting} may run, {waiting} wait.")


@bundles.command("set")
@click.argument("name")
@click.argument("answers", nargs=-1, metavar="[KEY=VALUE]...")
@json_option
@click.pass_obj
def set_(state: Any, name: str, answers: tuple[str, ...], as_json: bool) -> None:
    """Answer the questions of a bundle, or show them with their answers."""
    from .installed import named_bundle, options_of, set_option

    host: Host = state.host
    bundle = named_bundle(host, name).bundle
    if bundle is None:
        raise SkillKitError(f"the bundle {name!r} does not load")
    for answer in answers:
        key, equals, value = answer.partition("=")
        if not equals:
            raise UsageError(f"{answer!r} must be KEY=VALUE")
        set_option(host, bundle, key, value)
    given = options_of(host, bundle)
    if as_json:
        print_json({"name": name, "options": given})
        return
    if not bundle.options:
        echo(f"{name} asks nothing.")
        return
    rows = []
    for key, about in bundle.options.items():
        answer = given.get(key, "secret, from the environment" if about.get("sensitive") else "")
        words = " ".join(str(about.get("description") or about.get("title") or "").split())
        rows.append([key, str(about.get("type", "string")), escaped(answer), escaped(words)])
    table(["question", "type", "answer", "about"], rows)
