"""``skillkit plugins install``, ``uninstall``, ``upgrade``, ``enable``, ``disable``, ``search`` and ``readme``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from skillkit_core.cli.output import echo, escaped, json_option, print_json, style, table, warning
from skillkit_core.errors import SkillKitError, UsageError
from skillkit_core.program import as_typed

if TYPE_CHECKING:
    from skillkit_core import Host

    from .environment import Environment, Step

__all__ = ["disable", "enable", "install", "readme", "search", "uninstall", "upgrade"]

F = TypeVar("F", bound=Callable[..., Any])


def _consent(function: F) -> F:
    function = click.option("--dry-run", is_flag=True, help="Show the command, and run nothing.")(function)
    return click.option("-y", "--yes", is_flag=True, help="Do not ask.")(function)


def _place(host: Host) -> Environment:
    from .environment import environment

    return environment(host.data_dir / "plugin-packages")


def _plan(place: Environment, steps: Sequence[Step], question: str, yes: bool, dry_run: bool, as_json: bool) -> bool:
    """Show the commands and ask; return whether they are to be run."""
    from .running import show, shown

    if as_json and dry_run:
        print_json(
            {
                "environment": place.kind,
                "prefix": str(place.prefix),
                "dry_run": True,
                "commands": [shown(s) for s in steps],
            }
        )
    elif not as_json:
        show(place.title, steps)
    if dry_run or yes:
        return not dry_run
    if as_json or not sys.stdin.isatty():
        raise UsageError("nobody can be asked here", hint="say --yes, or --dry-run to see the command alone")
    if not click.confirm(question, default=True):
        raise SkillKitError("nothing was changed")
    return True


@click.command()
@click.argument("sources", nargs=-1, required=True, metavar="SOURCE...")
@click.option("-e", "--editable", is_flag=True, help="Use the folder in place: changes to its files count at once.")
@_consent
@json_option
@click.pass_context
def install(
    ctx: click.Context, sources: tuple[str, ...], editable: bool, yes: bool, dry_run: bool, as_json: bool
) -> None:
    """Install packages of plugins, and show what they bring.

    SOURCE is the name of a package, a folder, a wheel, or the address of a git repository (git+https://...@TAG). It is installed
    with the package manager of the environment in which SkillKit runs, where that keeps it: with 'uv tool', beside every plugin
    that is there; in a project, as a dependency.

    Before anything changes the package is fetched, which runs the build of a folder or a repository, and refused if it brings
    nothing for SkillKit or the policy of the distribution denies it.
    """
    from .installing import Installation

    host: Host = ctx.obj.host
    work = Installation(host, _place(host), sources, editable, ctx.obj.options.get("distribution"))
    for doubt in work.doubts:
        warning(doubt)
    if not _plan(work.place, work.steps(), _question("Install", [s.text for s in work.sources]), yes, dry_run, as_json):
        return
    found = work.carry_out(say=str if as_json else echo)
    if as_json:
        print_json({"environment": work.place.kind, "prefix": str(work.place.prefix), **found})
    else:
        from .report import show_brought

        show_brought(found)
    if any(problem["severity"] == "error" for plugin in found["plugins"] for problem in plugin["problems"]):
        ctx.exit(1)


@click.command()
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@_consent
@json_option
@click.pass_context
def uninstall(ctx: click.Context, names: tuple[str, ...], yes: bool, dry_run: bool, as_json: bool) -> None:
    """Remove packages of plugins. The rest stays.

    NAME is that of a package, or of a plugin. Settings and files of a plugin stay where they are.
    """
    from .removing import Removal

    host: Host = ctx.obj.host
    work = Removal(host, _place(host), names, ctx.obj.options.get("distribution"))
    if not _plan(work.place, work.steps, _question("Remove", list(work.packages)), yes, dry_run, as_json):
        return
    back = work.carry_out()
    if as_json:
        print_json({"environment": work.place.kind, "removed": list(work.packages), "back": back})
        return
    for package, source in back.items():
        mark = style("✓", fg="green")
        echo(as_typed(f"{mark} {package} is removed. It comes back with: skillkit plugins install {source}"))


@click.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
@_consent
@json_option
@click.pass_context
def upgrade(ctx: click.Context, names: tuple[str, ...], yes: bool, dry_run: bool, as_json: bool) -> None:
    """Upgrade packages of plugins, all of them without NAME.

    Each comes from where it was installed from: an index, a folder, a repository. What was asked for is kept: a package that was
    installed with ==1.0 stays.
    """
    from .upgrading import Upgrade

    host: Host = ctx.obj.host
    work = Upgrade(host, _place(host), names, ctx.obj.options.get("distribution"))
    what = _question("Upgrade", [one.package for one in work.packages] if names else ["all packages"])
    if not _plan(work.place, work.steps, what, yes, dry_run, as_json):
        return
    rows, broken = work.carry_out()
    if as_json:
        print_json({"environment": work.place.kind, "packages": rows, "problems": broken})
    elif moved := [row for row in rows if row["before"] != row["after"]]:
        table(["package", "before", "now"], [[r["package"], r["before"] or "-", r["after"] or "-"] for r in moved])
    else:
        echo("Everything is as new as what was asked for allows.")
    for problem in () if as_json else broken:
        warning(f"{problem['plugin']}: {problem['message']}")
    if any(problem["severity"] == "error" for problem in broken):
        ctx.exit(1)


@click.command()
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@json_option
@click.pass_obj
def enable(state: Any, names: tuple[str, ...], as_json: bool) -> None:
    """Let plugins run, in the user's configuration. 'skillkit plugins disable' undoes it."""
    _switch(state, names, True, as_json)


@click.command()
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@json_option
@click.pass_obj
def disable(state: Any, names: tuple[str, ...], as_json: bool) -> None:
    """Keep plugins from running, in the user's configuration. 'skillkit plugins enable' undoes it."""
    _switch(state, names, False, as_json)


def _switch(state: Any, names: Sequence[str], on: bool, as_json: bool) -> None:
    from .switches import switch

    done = switch(state, names, on)
    if as_json:
        print_json([one._asdict() for one in done])
        return
    for one in done:
        what = "runs" if on else "does not run"
        echo(f"{style('✓', fg='green')} {one.name} {what}{'' if one.changed else ' already'}: {one.reason}")


@click.command()
@click.argument("words", nargs=-1, metavar="[WORD]...")
@json_option
@click.pass_obj
def search(state: Any, words: tuple[str, ...], as_json: bool) -> None:
    """Look for packages of plugins by what they are and bring.

    It looks through the table of known packages, and what is installed. A package index cannot be searched by words: where a
    single WORD fits nothing, the index is asked whether it has a package of that very name.
    """
    from .searching import find

    host: Host = state.host
    rows, index = find(host, _place, list(words))
    if as_json:
        print_json({"packages": rows, "index": index})
        return
    table(
        ["package", "installed", "what"],
        [[r["package"], r["installed"] or "", _what(r)] for r in rows],
        styles=lambda column, _: {"bold": True} if column == 0 else {},
    )
    if not rows:
        echo("No known package fits.")
    if index is not None:
        echo(index["said"])
    echo(
        style(
            "Looked through the known and the installed packages: a package index cannot be searched by words.",
            dim=True,
        )
    )


@click.command()
@click.argument("name")
@json_option
@click.pass_obj
def readme(state: Any, name: str, as_json: bool) -> None:
    """Show the documentation that came with an installed package: its README, which is Markdown.

    NAME is a plugin, a package of skills, or any package that is installed.
    """
    from .table import readme_of

    package, version, text = readme_of(state.host, name)
    if as_json:
        print_json({"package": package, "version": version, "readme": text})
        return
    echo("\n".join(map(escaped, text.strip().splitlines())) or f"{package} {version} came without a README.")


def _what(row: dict[str, Any]) -> str:
    """Return what a package is: in its own words, else by what fitted."""
    said = (
        row["summary"]
        or ", ".join(row["matched"])
        or ", ".join(f"{k} {n}" for k, v in row["brings"].items() for n in v)
    )
    return said if row["brings"] else f"{said} (a library: plugins require it)"


def _question(verb: str, names: Sequence[str]) -> str:
    return f"{verb} {', '.join(names[:3])}{f' and {len(names) - 3} more' if len(names) > 3 else ''}?"
