"""``skillkit skills list``, ``show`` and ``why``, and the group to which other plugins add commands."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from skillkit_core.cli.output import echo, fields, json_option, print_json, table
from skillkit_core.descriptors import load_object
from skillkit_core.program import as_typed

from ..listed import Listed, explain, listing
from ..settings import settings_of
from ..sources import untrusted_folders
from .printing import print_problems, print_skill, print_table, safe

if TYPE_CHECKING:
    from skillkit_core import Host

__all__ = ["skills"]


def _host(ctx: click.Context) -> Host:
    host: Host = ctx.obj.host
    return host


class SkillsGroup(click.Group):
    """The commands of this plugin, and those that others register as ``skill_commands``."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all of them, sorted."""
        return sorted({*super().list_commands(ctx), *_host(ctx).registry("skill_commands").list()})

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """Return the command called ``name``."""
        own = super().get_command(ctx, name)
        if own is not None or name not in (others := _host(ctx).registry("skill_commands")):
            return own
        found: click.Command = load_object(others.get(name).target)
        return found


@click.group(cls=SkillsGroup, invoke_without_command=True)
@click.pass_context
def skills(ctx: click.Context) -> None:
    """List, show, check, install and update skills."""
    if ctx.invoked_subcommand is None:
        ctx.invoke(list_)


@skills.command("list")
@click.option("--eligible", is_flag=True, help="Only skills that can run here.")
@click.option(
    "--all",
    "everything",
    is_flag=True,
    help="Also why a model or a person may not use each, and places that gave no skill.",
)
@json_option
@click.pass_context
def list_(ctx: click.Context, eligible: bool = False, everything: bool = False, as_json: bool = False) -> None:
    """List the skills, where they come from, and whether they can run here."""
    host = _host(ctx)
    rows = sorted(listing(host), key=lambda r: (r.skill.name, not r.wins, r.name))
    if eligible:
        rows = [r for r in rows if r.eligible]
    if everything:
        _list_all(host, rows, as_json)
        return
    if as_json:
        from .data import row_data

        print_json([row_data(r) for r in rows])
        _notes(host)  # on stderr: what is not in the list is said, and the list stays one
        return
    if rows:
        print_table(rows)
    else:
        echo(f"No skills. Put folders with a SKILL.md below {host.config_dir / 'skills'}.")
    _notes(host)


def _list_all(host: Host, rows: list[Listed], as_json: bool) -> None:
    """Every skill with every reason against it, and every place that gave none."""
    verdicts = explain(host, rows)
    failed = [problem for _, problem in host.skill_problems]
    if as_json:
        from .data import problem_data, row_data

        skills = [{**row_data(v.row), "model": list(v.model), "user": list(v.user)} for v in verdicts]
        print_json({"skills": skills, "places": [problem_data(p) for p in failed]})
        return
    cells = [
        [v.row.name, v.row.skill.source, "; ".join(v.model) or "yes", "; ".join(v.user) or "yes"] for v in verdicts
    ]
    table(["skill", "source", "for models", "for people"], [list(map(safe, row)) for row in cells])
    if failed:
        echo("Places that gave no skill:")
        print_problems(failed, limit=len(failed))
    _untrusted(host)


@skills.command()
@click.argument("name")
@click.option("--query", default="", help="What would be said, for skills that depend on it.")
@json_option
@click.pass_context
def why(ctx: click.Context, name: str, query: str, as_json: bool) -> None:
    """Say why the skill NAME may be used here, or why not. That is said for a model and for a person."""
    host = _host(ctx)
    if name not in host.skills:
        _untrusted(host)
    rows = [r for r in listing(host) if r.skill is host.skills.get(name)]
    (verdict,) = explain(host, rows, query)
    if as_json:
        from .data import row_data

        print_json({**row_data(verdict.row), "model": list(verdict.model), "user": list(verdict.user)})
        return
    skill = verdict.row.skill
    answers = [
        ("skill", safe(verdict.row.name)),
        ("from", safe(f"{skill.source} ({verdict.row.kind}), {skill.path}")),
        ("for models", [safe(reason) for reason in verdict.model] or "yes"),
        ("for people", [safe(reason) for reason in verdict.user] or "yes"),
    ]
    fields(answers)


def _untrusted(host: Host) -> None:
    for folder in untrusted_folders(host):
        echo(as_typed(f"The skills in {folder} are not used: trust the folder with 'skillkit config trust'."), err=True)


def _notes(host: Host) -> None:
    """What a listing does not show, on stderr."""
    _untrusted(host)
    known = {name for e in host.skills.entries() for name in (e.name, e.item.name, e.item.skill_key, *e.item.aliases)}
    settings = settings_of(host)
    named = {"disabled": settings.disabled, "entries": settings.entries, "allow_bundled": settings.allow_bundled}
    for key, names in named.items():
        for name in names:
            if name not in known:
                where = host.config.origin(f"skills.{key}")
                echo(as_typed(f"{where}: there is no skill {name!r}; 'skillkit skills list' has the names."), err=True)
    failed = [p for _, p in host.skill_problems if p.severity == "error"]
    if failed:
        what = "place gave" if len(failed) == 1 else "places gave"
        echo(as_typed(f"{len(failed)} {what} no skill; see 'skillkit skills list --all'."), err=True)


@skills.command()
@click.argument("name")
@json_option
@click.pass_context
def show(ctx: click.Context, name: str, as_json: bool) -> None:
    """Show everything about the skill NAME."""
    host = _host(ctx)
    skill = host.skills.get(name)
    row = next((r for r in listing(host) if r.skill is skill), None)
    assert row is not None, "the listing has every skill of the registry"
    if as_json:
        from .data import skill_data

        print_json(skill_data(row))
        return
    print_skill(row)
    if skill.body:
        echo(f"\n{safe(skill.body)}")
