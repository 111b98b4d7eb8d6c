"""``skillkit skills list``, ``show`` and ``check``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from skillkit_core.cli.output import echo, json_option, print_json
from skillkit_core.contracts.skill_loader import SkillSource
from skillkit_core.errors import UsageError
from skillkit_core.skills import Skill, SkillProblem

from ..listing import listing
from ..loader import SkillFolderLoader
from ..scanner import scan
from ..settings import settings_of
from ..sources import untrusted_folders
from .data import problem_data, row_data, skill_data
from .printing import print_problems, print_skill, print_table

if TYPE_CHECKING:
    from skillkit_core import Host

__all__ = ["skills"]


def _host(ctx: click.Context) -> Host:
    host: Host = ctx.obj.host
    return host


@click.group(invoke_without_command=True)
@click.pass_context
def skills(ctx: click.Context) -> None:
    """List, show and check skills."""
    if ctx.invoked_subcommand is None:
        ctx.invoke(list_)


@skills.command("list")
@click.option("--eligible", is_flag=True, help="Only skills that can run here.")
@json_option
@click.pass_context
def list_(ctx: click.Context, eligible: bool = False, as_json: bool = False) -> None:
    """List the skills, where they come from, and whether they can run here."""
    host = _host(ctx)
    rows = sorted(listing(host), key=lambda r: (r.skill.name, not r.wins, r.name))
    if eligible:
        rows = [r for r in rows if r.eligible]
    if as_json:
        print_json([row_data(r) for r in rows])
        return
    if rows:
        print_table(rows)
    else:
        echo(f"No skills. Put folders with a SKILL.md below {host.config_dir / 'skills'}.")
    _notes(host)


def _notes(host: Host) -> None:
    """What a listing does not show, on stderr."""
    for folder in untrusted_folders(host):
        echo(f"The skills in {folder} are not used: trust the folder with 'skillkit config trust'.", err=True)
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
        echo(f"{len(failed)} {what} no skill; see 'skillkit skills check'.", err=True)


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
        print_json(skill_data(row))
        return
    print_skill(row)
    if skill.body:
        echo(f"\n{skill.body}")


@skills.command()
@click.argument("path", required=False, type=click.Path(exists=True, path_type=Path))
@click.option("--strict", is_flag=True, help="Warnings count as errors.")
@json_option
@click.pass_context
def check(ctx: click.Context, path: Path | None, strict: bool, as_json: bool) -> None:
    """Say what is wrong with the skills below PATH, or with all that are installed.

    Includes a look at their texts for what attacks look like (codes that begin with scan-); it finds hints, not proof.

    Exit status 1: there is an error (with --strict also a warning).
    """
    from ..audit import audit
    from ..lines import located

    loaded, problems = _below(path) if path is not None else _installed(_host(ctx))
    found = [replace(s, problems=tuple(located([*s.problems, *audit(s)]))) for s in loaded]
    problems = located(problems)
    bad = ("error", "warning") if strict else ("error",)
    every = [*problems, *(p for s in found for p in s.problems)]
    ok = not any(p.severity in bad for p in every)
    if as_json:
        rows = [
            {"name": s.name, "path": str(s.path) if s.path else None, "problems": [problem_data(p) for p in s.problems]}
            for s in found
        ]
        print_json({"ok": ok, "skills": rows, "problems": [problem_data(p) for p in problems]})
    else:
        _print_check(found, problems)
    if not ok:
        ctx.exit(1)


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
        echo(f"{skill.name} ({skill.path})" if skill.path is not None else skill.name)
        print_problems(skill.problems, folder=skill.path)
    if problems:
        echo("Places that gave no skill:")
        print_problems(problems, limit=len(problems))
    echo(f"{len(found)} skill{'' if len(found) == 1 else 's'}, {clean} without a remark.")
