"""What a model reads when a skill is activated: its body, its folder, and which files lie there."""

from __future__ import annotations

import os
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Literal

from skillkit_core.skills import Skill

from .scanner import skill_file
from .substitution import substitute

__all__ = ["MAX_RESOURCES", "has_body", "plugin_root", "resources", "skill_content"]

MAX_RESOURCES = 50
_SKIPPED = frozenset(("__pycache__", "node_modules", "agents"))


def has_body(skill: Skill) -> bool:
    """Whether the body says more than headings."""
    return any(line.strip() and not line.startswith("#") for line in skill.body.splitlines())


def resources(skill: Skill) -> list[str]:
    """The files of the skill beside its SKILL.md, as relative paths in order; none of them is read.

    Hidden files, ``agents/`` and links to folders are left out; at most one more than 50 is looked for.
    """
    if skill.path is None:
        return []
    found = []
    for name in _walk(str(skill.path), ""):
        found.append(name)
        if len(found) > MAX_RESOURCES:
            break
    return found


def _walk(folder: str, prefix: str) -> Iterator[str]:
    try:
        with os.scandir(folder) as listing:
            entries = sorted(listing, key=lambda e: e.name)
    except OSError:
        return
    own = skill_file([e.name for e in entries]) if not prefix else None
    for entry in entries:
        if entry.name.startswith(".") or entry.name in _SKIPPED or entry.name == own:
            continue
        if not prefix and entry.name.lower().startswith("skill.md.orig"):  # what "skills check --fix" keeps
            continue
        if entry.is_dir(follow_symlinks=False):
            yield from _walk(entry.path, f"{prefix}{entry.name}/")
        elif entry.is_file():
            yield prefix + entry.name


def skill_content(
    skill: Skill,
    args: str | None = None,
    *,
    session_id: str | None = None,
    name: str | None = None,
    mode: Literal["skillkit", "claude"] = "skillkit",
    body: str | None = None,
) -> str:
    """The skill for a model: its body with arguments and variables filled in, wrapped so that it can be told apart.

    Nothing in the body is executed, dynamic commands (``!`...` ``) included: the model reads them as text.

    Args:
        skill: the skill.
        args: what was written behind its name.
        session_id: the value of ``${CLAUDE_SESSION_ID}``.
        name: what means the skill here, default: its name.
        mode: how arguments are put in (:func:`~skillkit_skills.substitute`).
        body: used in place of the skill's.
    """
    folder = str(skill.path) if skill.path is not None else ""
    variables = {"SKILL_DIR": folder, "CLAUDE_PLUGIN_ROOT": str(plugin_root(skill.path)) if skill.path else ""}
    if session_id:
        variables["CLAUDE_SESSION_ID"] = session_id
    text = skill.body if body is None else body
    declared = [a.name for a in skill.arguments]
    text = substitute(text, args, declared=declared, base=skill.argument_base, variables=variables, mode=mode)
    lines = [f'<skill_content name="{escape(name or skill.name)}">', text.strip()]
    if folder:
        lines += ["", f"SKILL_DIR: {folder}"]
    if found := resources(skill):
        more = ["(and more)"] if len(found) > MAX_RESOURCES else []
        lines += ["<skill_resources>", *(escape(f) for f in found[:MAX_RESOURCES]), *more, "</skill_resources>"]
    return "\n".join((*lines, "</skill_content>"))


def plugin_root(folder: Path) -> Path:
    """The folder of the Claude Code plugin that the skill belongs to; without one, the skill's own."""
    root = folder.parent.parent
    return root if folder.parent.name == "skills" and (root / ".claude-plugin").is_dir() else folder
