"""``skillkit skills list``, ``show``, ``why`` and ``check``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from skillkit_core.cli.output import echo, fields, json_option, print_json, table
from skillkit_core.contracts.skill_loader import SkillSource
from skillkit_core.descriptors import load_object
from skillkit_core.errors import UsageError
from skillkit_core.skills import Skill, SkillProblem

from ..listing import Listed, explain, listing
from ..loader import SkillFolderLoader
from ..scanner import scan
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
        echo(f"The skills in {folder} are not used: trust the folder with 'skillkit config trust'.", err=True)


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
                echo(f"{where}: there is no skill {name!r}; 'skillkit skills list' has the names.", err=True)
    failed = [p for _, p in host.skill_problems if p.severity == "error"]
    if failed:
        what = "place gave" if len(failed) == 1 else "places gave"
        echo(f"{len(failed)} {what} no skill; see 'skillkit skills list --all'.", err=True)


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


@skills.command()
@click.argument("path", required=False, type=click.Path(exists=True, path_type=Path))
@click.option("--strict", is_flag=True, help="Warnings count as errors.")
@click.option(
    "--fix", is_flag=True, help="Write files as they are read: quotes, closing lines, encodings, names. Needs PATH."
)
@click.option("--dry-run", is_flag=True, help="With --fix: show the changes, and write nothing.")
@json_option
@click.pass_context
def check(ctx: click.Context, path: Path | None, strict: bool, fix: bool, dry_run: bool, as_json: bool) -> None:
    """Say what is wrong with skills. They are those below PATH, or all that are installed.

    Includes a look at their texts for what attacks look like (codes that begin with scan-); it finds hints, not proof.

    --fix shows each change, writes it, and keeps the file as it was beside it (SKILL.md.orig). A file is changed only
    where every remark that goes away leaves name, description, all other keys and body as they are read today.

    Exit status 1: there is an error (with --strict also a warning).
    """
    from ..audit import audit
    from ..effects import without_effect
    from ..lines import located

    if (fix and path is None) or (dry_run and not fix):
        said = "--dry-run belongs to --fix" if dry_run and not fix else "--fix needs a PATH"
        raise UsageError(said, hint="skillkit skills check --fix [--dry-run] PATH")
    if fix and path is not None:
        _fix(path, dry_run)
    loaded, problems = _below(path) if path is not None else _installed(_host(ctx))
    host = _host(ctx) if path is None else None
    found = [replace(s, problems=tuple(located([*s.problems, *without_effect(s, host), *audit(s)]))) for s in loaded]
    problems = located(problems)
    bad = ("error", "warning") if strict else ("error",)
    every = [*problems, *(p for s in found for p in s.problems)]
    ok = not any(p.severity in bad for p in every)
    if as_json:
        from .data import problem_data

        rows = [
            {"name": s.name, "path": str(s.path) if s.path else None, "problems": [problem_data(p) for p in s.problems]}
            for s in found
        ]
        print_json({"ok": ok, "skills": rows, "problems": [problem_data(p) for p in problems]})
    else:
        _print_check(found, problems)
    if not ok:
        ctx.exit(1)


def _fix(path: Path, dry_run: bool) -> None:
    """Repair what can be repaired safely, and show it; on stderr, so that --json stays JSON."""
    from ..fixing import repair_of

    for skill in _below(path)[0]:
        if (repair := repair_of(skill)) is None:
            continue
        done = "would mend" if dry_run else "mended"
        kept = "" if dry_run else f" (as it was: {repair.write()})"
        echo(f"{done} {repair.path}: {', '.join(repair.codes)}{kept}", err=True)
        if repair.diff:
            echo(safe(repair.diff), err=True)


def _installed(host: Host) -> tuple[list[Skill], list[SkillProblem]]:
    return [r.skill for r in listing(host)], [p for _, p in host.skill_problems]


def _below(path: Path) -> tuple[list[Skill], list[SkillProblem]]:
    if path.is_file() and path.name.lower() != "skill.md":
        raise UsageError("is no SKILL.md", where=str(path), hint="name a SKILL.md, its folder, or one above it")
    folder = path.parent if path.is_file() else path
    found = SkillFolderLoader().load(SkillSource("check", "extra", folder))
    if not found.skills and not found.problems and not scan(str(folder)).skills:
        return [], [SkillProblem("no-skill", "there is no folder with a SKILL.md here", "error", str(folder))]
    return list(found.skills), list(found.problems)


def _print_check(found: list[Skill], problems: list[SkillProblem]) -> None:
    clean = 0
    for skill in found:
        if not skill.problems:
            clean += 1
            continue
        echo(safe(f"{skill.name} ({skill.path})" if skill.path is not None else skill.name))
        print_problems(skill.problems, folder=skill.path)
    if problems:
        echo("Places that gave no skill:")
        print_problems(problems, limit=len(problems))
    echo(f"{len(found)} skill{'' if len(found) == 1 else 's'}, {clean} without a remark.")
