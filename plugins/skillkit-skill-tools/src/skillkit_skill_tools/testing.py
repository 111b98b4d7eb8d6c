"""``skillkit skills test``."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from skillkit_core.cli.output import echo, json_option, print_json, style
from skillkit_core.contracts.skill_loader import SkillSource
from skillkit_core.errors import UnknownName, UsageError

if TYPE_CHECKING:
    from skillkit_core import Host
    from skillkit_core.skills import Skill

    from .case_runs import Outcome, SkillTester

__all__ = ["asking", "host_options", "path_of", "run_tests", "skill_place", "skills_below", "test"]


def asking(function: Any) -> Any:
    """Add the options that say who is asked for trigger cases."""
    function = click.option("--model", "-m", metavar="NAME", help="Model that is asked for trigger cases.")(function)
    return click.option("--provider", metavar="NAME", help="Provider that is asked; default: the offline stand-in.")(
        function
    )


skill_place = click.argument("path", metavar="PATH|NAME", type=click.Path(path_type=Path))


def path_of(host: Host, given: Path) -> Path:
    """Return a path as it is, and of a skill's name the folder of the skill.

    Raises:
        UsageError: ``given`` is neither. The error names close matches.
    """
    if given.exists():
        return given
    try:
        skill = host.skills.get(str(given))
    except UnknownName as error:
        raise UsageError(f"{str(given)!r} is neither a path nor the name of a skill", hint=error.hint) from None
    if skill.path is None:
        raise UsageError(f"skill {skill.name!r} has no folder", hint="name the path of one")
    return skill.path


@click.command()
@skill_place
@asking
@json_option
@click.pass_context
def test(ctx: click.Context, path: Path, model: str | None, provider: str | None, as_json: bool) -> None:
    """Run the tests of the skills below PATH, or of the skill NAME: the cases in evals/tests.yaml of each.

    Action cases run for real, each in a workspace of its own. Trigger cases ask for what the case says, among all
    skills that are installed, and run nothing.

    Exit status 1: a case failed, or there is none.
    """
    from .case_runs import SkillTester

    rows: list[dict[str, Any]] = []
    path = path_of(ctx.obj.host, path)
    skills = skills_below(path)
    for skill in skills:
        tests = SkillTester(skill, asked(model, provider), **host_options(ctx.obj.host))
        outcomes = asyncio.run(run_tests(tests, quiet=as_json))
        rows += [
            {
                "skill": skill.name,
                "kind": o.kind,
                "name": o.name,
                "ok": not o.failures,
                "failures": o.failures,
                "ms": o.ms,
            }
            for o in outcomes
        ]
    failed = [row for row in rows if not row["ok"]]
    if as_json:
        print_json({"ok": bool(rows) and not failed, "cases": rows})
    elif rows:
        echo(f"{len(rows)} cases, {len(failed)} failed." if len(rows) > 1 else f"1 case, {len(failed)} failed.")
    else:
        echo(f"No case below {path}: write evals/tests.yaml beside a SKILL.md.", err=True)
    if failed or not rows:
        ctx.exit(1)


def asked(model: str | None, provider: str | None) -> Any:
    """Return the agent's configuration for trigger cases; ``None``: the offline stand-in."""
    from skillkit_core import AgentConfig

    return AgentConfig(model=model, provider=provider) if model or provider else None


def host_options(host: Host) -> dict[str, Any]:
    """Return what makes a host with the plugins of ``host``."""
    from skillkit_core import Selection

    runs = tuple(decision.name for decision in host.decisions if decision.enabled)
    found = host.distribution
    return {"distribution": found.path if found is not None else None, "selection": Selection(runs, "--plugins")}


def skills_below(path: Path) -> list[Skill]:
    """Return the skills below ``path``, which may be one or its SKILL.md.

    Raises:
        UsageError: there is none.
    """
    from skillkit_skills import SkillFolderLoader

    folder = path.parent if path.is_file() else path
    found = SkillFolderLoader().load(SkillSource("tested", "extra", folder.absolute())).skills
    if not found:
        raise UsageError("there is no skill here", where=str(path), hint=f"skillkit skills check {path}")
    return list(found)


async def run_tests(tests: SkillTester, *, quiet: bool = False) -> list[Outcome]:
    """Run the tests of a skill and print how each ended; none where it has no file of tests."""
    from .cases import cases_file, read_cases

    assert tests.skill.path is not None, "it was found in a folder"
    file = cases_file(tests.skill.path)
    if file is None:
        return []
    cases = read_cases(file)
    outcomes = []
    async for outcome in tests.run(cases):
        outcomes.append(outcome)
        if not quiet:
            _print(tests.skill, outcome)
    return outcomes


def _print(skill: Skill, outcome: Outcome) -> None:
    passed = not outcome.failures
    word = style("passed", fg="green") if passed else style("FAILED", fg="red")
    echo(f"{word} {skill.name} {outcome.kind}: {outcome.name}")
    for failure in outcome.failures:
        echo(f"       {failure}")
