"""How skills and problems look on a terminal."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from skillkit_core.cli.output import echo, escaped, fields, printable, style, table
from skillkit_core.skills import SkillAction, SkillProblem

from ..listed import Listed
from ..scanner import FILE

__all__ = ["print_problems", "print_skill", "print_table", "safe"]

MAX_SHOWN = 20
_COLOURS = {"ready": "green", "unavailable": "yellow", "error": "red", "warning": "yellow"}


def _colour(text: str) -> dict[str, Any]:
    colour = _COLOURS.get(text.strip())
    return {"fg": colour} if colour else {}


def print_table(rows: Sequence[Listed]) -> None:
    """One line a skill; why a skill cannot run stands in front of its description."""
    table(
        ["skill", "status", "source", "actions", "description"],
        [
            [
                safe(row.name),
                row.status,
                safe(row.skill.source),
                ", ".join(a.name for a in row.skill.actions) or "-",
                safe(
                    (f"[{', '.join(row.reasons)}] " if row.reasons else "")
                    + (row.skill.short_description or row.skill.description)
                ),
            ]
            for row in rows
        ],
        styles=lambda i, cell: {"bold": True} if i == 0 else _colour(cell) if i == 1 else {},
    )


def print_skill(row: Listed) -> None:
    """Everything about one skill but its body."""
    from ..skill_md.line_numbers import located

    skill = row.skill
    _fields(
        [
            ("skill", row.name),
            ("description", " ".join(skill.description.split()) or "(none: only people may call it)"),
            ("status", row.status + (f" ({', '.join(row.reasons)})" if row.reasons else "")),
            ("source", f"{skill.source} ({row.kind})"),
            ("path", skill.path),
            ("version", skill.version),
            ("license", skill.license),
            ("engine", skill.engine),
            ("keywords", ", ".join(skill.keywords)),
            ("allowed tools", " ".join(skill.allowed_tools)),
            ("examples", skill.examples),
            ("actions", [line for action in skill.actions for line in _action(action)]),
            ("installers", [f"{i.get('kind')}: {i.get('label') or i.get('id') or ''}" for i in skill.install]),
        ]
    )
    if skill.problems:
        echo("problems")
        print_problems(located(skill.problems), folder=skill.path)


def safe(text: object) -> str:
    """Text of a skill as people may see it: characters that turn text around become escape sequences."""
    return printable(str(text))


def _fields(pairs: Sequence[tuple[str, Any]]) -> None:
    """Names and values, the first of them bold; no value can look like a line of its own."""
    told = [
        (n, [escaped(str(v)) for v in value] if isinstance(value, (list, tuple)) else value and escaped(str(value)))
        for n, value in pairs
    ]
    fields([(told[0][0], style(str(told[0][1]), bold=True)), *told[1:]])


def _action(action: SkillAction) -> list[str]:
    asks = {"first": " (asks once)", "always": " (asks each time)"}.get(action.confirm, "")
    lines = [f"{action.name}: {action.description}".rstrip(": ") + asks]
    for arg in action.args:
        needed = ", required" if arg.required else ""
        lines.append(f"  {arg.name} ({arg.type}{needed}) {arg.description}".rstrip())
    return lines


def print_problems(problems: Sequence[SkillProblem], *, folder: Path | None = None, limit: int = MAX_SHOWN) -> None:
    """One line a problem, the worst first, at most ``limit``; paths below ``folder``, which the reader knows, are short."""
    order = ("error", "warning", "info")
    ranked = sorted(problems, key=lambda p: order.index(p.severity))
    for problem in ranked[:limit]:
        place = _place(problem, folder)
        severity = style(f"{problem.severity:7}", **_colour(problem.severity))
        echo(f"  {severity} {safe(f'{problem.code}: {problem.message}' + (f' ({place})' if place else ''))}")
    if len(ranked) > limit:
        echo(f"  … and {len(ranked) - limit} more")


def _place(problem: SkillProblem, folder: Path | None) -> str:
    """``path:line``, as editors open it; nothing for a remark about the folder's SKILL.md as a whole."""
    path, line = problem.path or "", f":{problem.line}" if problem.line is not None else ""
    if folder is not None and path:
        if not line and path == str(folder / FILE):
            return ""
        path = path.removeprefix(f"{folder}{os.sep}")
    return f"{path}{line}" if path else ""
