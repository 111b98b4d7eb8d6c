"""What the commands about packages show: skills before they are installed, progress, and the same as data."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import click
from skillkit_skills import problem_data

from skillkit_core.cli.output import columns, echo, escaped, fields, printable, shorten, style

from .git import Tell, redacted
from .review import Candidate
from .source import Fetched

__all__ = ["candidate_data", "print_candidate", "working"]


def print_candidate(one: Candidate, fetched: Fetched, notes: Sequence[str] = ()) -> None:
    """Everything that a person should know before a skill is installed."""
    from skillkit_skills import commands_in, hook_lines, print_problems

    skill = one.skill
    started = [path for path, file in one.files.items() if file.executable]
    size = sum(len(file.data) for file in one.files.values())
    brought = f"{len(one.files)} file{'' if len(one.files) == 1 else 's'}, {size:,} bytes"
    place = f"{fetched.source.shown}{f' ({one.path})' if one.path else ''}"
    brings = [
        ("description", " ".join(skill.description.split())),
        ("from", f"{place}{f' at {fetched.resolved[:12]}' if fetched.source.kind == 'git' else ''}"),
        ("license", skill.license or ""),
        ("files", brought + (f", executable: {', '.join(started)}" if started else "")),
        ("actions", [f"{a.name}: {a.script or ' '.join(a.run or ())}" for a in skill.actions]),
        ("allowed tools", " ".join(skill.allowed_tools)),
        ("hooks", hook_lines(skill)),
        ("runs when read", commands_in(skill)),
        ("permissions", [f"{key}: {value}" for key, value in skill.permissions.items()]),
        ("note", list(notes)),
    ]
    name = style(escaped(one.name), bold=True) + (f" {escaped(skill.version)}" if skill.version else "")
    # nothing that a skill says may look like a line of this screen
    said = [(n, [escaped(v) for v in ([told] if isinstance(told, str) else told)]) for n, told in brings if told]
    fields([("skill", name), *said])
    if one.problems:
        echo("problems")
        print_problems(one.problems, limit=len(one.problems))


def candidate_data(one: Candidate, fetched: Fetched) -> dict[str, Any]:
    """A skill of a package as JSON."""
    source = fetched.source.kept()
    return {
        "name": one.name,
        "version": one.skill.version,
        "description": one.skill.description,
        "source": {"kind": source.kind, "place": source.place, "ref": source.ref, "subfolder": source.subfolder},
        "resolved": fetched.resolved,
        "path": one.path,
        "digest": one.digest,
        "files": len(one.files),
        "bytes": sum(len(file.data) for file in one.files.values()),
        "actions": [action.name for action in one.skill.actions],
        "allowed_tools": list(one.skill.allowed_tools),
        "problems": [problem_data(p) for p in one.problems],
    }


@contextmanager
def working(what: str, beginning: str) -> Iterator[Tell | None]:
    """A line on the terminal that says what is going on and how far it got; ``None`` where stderr is no terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    width = columns() - 1

    def say(text: str) -> None:
        line = printable(shorten(redacted(f"{what}: {text}"), width))
        click.echo(f"\r{line.ljust(width)}", err=True, nl=False)

    say(beginning)
    try:
        yield say
    finally:
        click.echo(f"\r{' ' * width}\r", err=True, nl=False)
