"""``skillkit skills check``: what is wrong with skills, and what of it can be repaired."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click
from skillkit_skill_packages import scan_skill
from skillkit_skills import SkillFolderLoader, listing, located, print_problems, problem_data, scan

from skillkit_core.cli.output import echo, json_option, print_json, printable
from skillkit_core.contracts.skill_loader import SkillSource
from skillkit_core.errors import UnknownName, UsageError
from skillkit_core.skills import Skill, SkillProblem

from .no_effect import unknown_agent, without_effect
from .repairs import repair_of

if TYPE_CHECKING:
    from skillkit_core import Host

__all__ = ["check", "problems_of_plugins"]


@click.command()
@click.argument("where", metavar="[PATH|NAME]...", nargs=-1)
@click.option("--strict", is_flag=True, help="Warnings count as errors.")
@click.option(
    "--fix",
    is_flag=True,
    help="Write files as they are read: quotes, closing lines, encodings, names. Needs a PATH or NAME.",
)
@click.option("--dry-run", is_flag=True, help="With --fix: show the changes, and write nothing.")
@json_option
@click.pass_context
def check(ctx: click.Context, where: tuple[str, ...], strict: bool, fix: bool, dry_run: bool, as_json: bool) -> None:
    """Say what is wrong with skills. They are those below each PATH, those that are found by NAME, or all that are found.

    What is a path and a name is the path.

    Includes a look at their texts for what attacks look like (codes that begin with scan-); it finds hints, not proof.

    --fix shows each change, writes it, and keeps the file as it was beside it (SKILL.md.orig). A file is changed only
    where every remark that goes away leaves name, description, all other keys and body as they are read today.

    Exit status 1: there is an error (with --strict also a warning).
    """
    if (fix and not where) or (dry_run and not fix):
        said = "--dry-run belongs to --fix" if dry_run and not fix else "--fix needs a PATH or NAME"
        raise UsageError(said, hint="skillkit skills check --fix [--dry-run] PATH")
    host = ctx.obj.host
    paths = [_place(host, text) for text in where]
    if fix:
        for path in paths:
            _fix(path, dry_run)
    loaded, problems = _installed(host) if not where else ([], [])
    for path in paths:
        skills, refused = _below(path)
        loaded, problems = [*loaded, *skills], [*problems, *refused]
    known = host if not where else None
    found = [replace(s, problems=tuple(located(_remarks(s, host, known)))) for s in loaded]
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


def _fix(path: Path, dry_run: bool) -> None:
    """Repair what can be repaired safely, and show it; on stderr, so that --json stays JSON."""
    for skill in _below(path)[0]:
        if (repair := repair_of(skill)) is None:
            continue
        done = "would mend" if dry_run else "mended"
        kept = "" if dry_run else f" (as it was: {repair.write()})"
        echo(f"{done} {repair.path}: {', '.join(repair.codes)}{kept}", err=True)
        if repair.diff:
            echo(printable(repair.diff), err=True)


def _remarks(skill: Skill, host: Host, known: Host | None) -> list[SkillProblem]:
    """Return all there is to say of a skill; ``known``: the host that it was found by, if none was named."""
    said = (
        without_effect(skill, known),
        unknown_agent(skill, host),
        problems_of_plugins(skill, host),
        scan_skill(skill),
    )
    return [*skill.problems, *(problem for some in said for problem in some)]


def problems_of_plugins(skill: Skill, host: Host) -> list[SkillProblem]:
    """Return what plugins say of a skill (the hook ``check_skill``); one that fails is reported and says nothing."""
    found: list[SkillProblem] = []
    for impl in host.impls("check_skill"):
        given = {"skill": skill, "host": host}
        try:
            found += impl.function(*(given[name] for name in impl.argnames)) or ()
        except Exception as error:  # noqa: BLE001 - code of plugins
            host.note(impl.plugin_name, f"{type(error).__name__}: {error}", stage="check_skill")
    return found


def _place(host: Host, text: str) -> Path:
    """The path that was named, or the folder of the skill of that name."""
    path = Path(text)
    if path.exists():
        return path
    rows = list(listing(host))
    found = next((r.skill.path for r in rows if text in (r.name, r.skill.name) and r.skill.path is not None), None)
    if found is None:
        if "/" in text:
            raise UsageError("there is no such folder or file", where=text)
        raise UnknownName("skill", text, {r.name for r in rows})
    return found


def _installed(host: Host) -> tuple[list[Skill], list[SkillProblem]]:
    return [r.skill for r in listing(host)], [p for _, p in host.skill_problems]


def _below(path: Path) -> tuple[list[Skill], list[SkillProblem]]:
    if path.is_file() and path.name.lower() != "skill.md":
        raise UsageError("is no SKILL.md", where=str(path), hint="name a SKILL.md, its folder, or one above it")
    folder = path.parent if path.is_file() else path
    found = SkillFolderLoader().load(SkillSource("check", "extra", folder, trusted=True))
    if not found.skills and not found.problems and not scan(str(folder)).skills:
        return [], [SkillProblem("no-skill", "there is no folder with a SKILL.md here", "error", str(folder))]
    return list(found.skills), list(found.problems)


def _print_check(found: list[Skill], problems: list[SkillProblem]) -> None:
    clean = 0
    for skill in found:
        if not skill.problems:
            clean += 1
            continue
        echo(printable(f"{skill.name} ({skill.path})" if skill.path is not None else skill.name))
        print_problems(skill.problems, folder=skill.path)
    if problems:
        echo("Places that gave no skill:")
        print_problems(problems, limit=len(problems))
    echo(f"{len(found)} skill{'' if len(found) == 1 else 's'}, {clean} without a remark.")
