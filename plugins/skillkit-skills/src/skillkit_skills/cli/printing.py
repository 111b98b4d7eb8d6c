"""How skills and problems look on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click

from skillkit_core.skills import SkillProblem

from ..listing import Listed

__all__ = ["print_problems", "print_skill", "print_table", "shorten"]

MAX_SHOWN = 20
_COLOURS = {"ready": "green", "unavailable": "yellow", "error": "red", "warning": "yellow"}


def shorten(text: str, width: int) -> str:
    """``text`` on one line of at most ``width`` characters, cut at a word where that loses little."""
    line = " ".join(text.split())
    if len(line) <= width:
        return line
    cut = line[: max(width - 1, 0)]
    space = cut.rfind(" ")
    return (cut[:space] if space > width // 2 else cut).rstrip(" ,.;:") + "…"


def _width() -> int | None:
    """Columns of the terminal; ``None``: the output goes elsewhere and nothing is shortened."""
    if not sys.stdout.isatty():
        return None
    from shutil import get_terminal_size

    return get_terminal_size().columns


def print_table(rows: Sequence[Listed]) -> None:
    """One line a skill: name, status, source, actions, description; reasons on a line of their own."""
    names = max(len(r.name) for r in rows)
    sources = max(len(r.skill.source) for r in rows)
    width = _width()
    for row in rows:
        actions = ", ".join(a.name for a in row.skill.actions)
        head = f"{row.name:{names}}  "
        status = f"{row.status:11}"
        tail = f"  {row.skill.source:{sources}}  "
        text = (f"[{actions}] " if actions else "") + (row.skill.short_description or row.skill.description)
        room = None if width is None else max(width - len(head) - len(status) - len(tail), 20)
        text = " ".join(text.split()) if room is None else shorten(text, room)
        click.echo(head + click.style(status, fg=_COLOURS.get(row.status)) + tail + text)
        if row.reasons:
            click.echo(f"{'':{names}}  not here: {', '.join(row.reasons)}")


def print_skill(row: Listed, path: str | None) -> None:
    """Everything about one skill."""
    skill = row.skill
    click.secho(row.name, bold=True)
    click.echo(skill.description or "(no description: only people may call it)")
    facts = {
        "status": row.status + (f" ({', '.join(row.reasons)})" if row.reasons else ""),
        "source": f"{skill.source} ({row.kind})",
        "path": path,
        "version": skill.version,
        "license": skill.license,
        "engine": skill.engine,
        "keywords": ", ".join(skill.keywords),
        "allowed tools": " ".join(skill.allowed_tools),
    }
    for name, value in facts.items():
        if value:
            click.echo(f"  {name + ':':15} {value}")
    for title, items in (("Examples", skill.examples), ("Actions", ())):
        if items or (title == "Actions" and skill.actions):
            click.echo(f"\n{title}:")
        for item in items:
            click.echo(f"  {item}")
    for action in skill.actions:
        click.echo(f"  {action.name}: {action.description}".rstrip(": "))
        for arg in action.args:
            needed = ", required" if arg.required else ""
            click.echo(f"    {arg.name} ({arg.type}{needed}) {arg.description}".rstrip())
    if skill.problems:
        click.echo("\nProblems:")
        print_problems(skill.problems)


def print_problems(problems: Sequence[SkillProblem], *, paths: bool = False, limit: int = MAX_SHOWN) -> None:
    """One line a problem, the worst first, at most ``limit``."""
    order = ("error", "warning", "info")
    ranked = sorted(problems, key=lambda p: order.index(p.severity))
    for problem in ranked[:limit]:
        place = f" ({problem.path})" if paths and problem.path else ""
        severity = click.style(f"{problem.severity:7}", fg=_COLOURS.get(problem.severity))
        click.echo(f"  {severity} {problem.code}: {problem.message}{place}")
    if len(ranked) > limit:
        click.echo(f"  … and {len(ranked) - limit} more")
