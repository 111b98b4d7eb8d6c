"""What a model reads when a skill is activated: its body, its folder, and which files lie there."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal

from skillkit_core.skills import Skill

from .scanner import skill_file

__all__ = ["MAX_RESOURCES", "has_body", "plugin_root", "resources", "skill_content", "split_args", "substitute"]

MAX_RESOURCES = 50
_SKIPPED = frozenset(("__pycache__", "node_modules", "agents"))
_BRACED = ("SKILL_DIR", "CLAUDE_SKILL_DIR", "CLAUDE_PLUGIN_ROOT", "CLAUDE_SESSION_ID")


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
    from html import escape

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


# --- arguments and variables in the text (SUB-1): one pass, and what was inserted is never read again ------------------


def split_args(text: str) -> list[str]:
    """Words like a shell's: quotes group, a backslash is an ordinary character, a quote that never closes is text."""
    words: list[str] = []
    word: str | None = None
    i = 0
    while i < len(text):
        c = text[i]
        end = text.find(c, i + 1) if c in "\"'" else -1
        if end > 0:
            word = (word or "") + text[i + 1 : end]
            i = end
        elif c.isspace():
            if word is not None:
                words.append(word)
            word = None
        else:
            word = (word or "") + c
        i += 1
    return words if word is None else [*words, word]


def _pattern(declared: Sequence[str]) -> re.Pattern[str]:
    names = "|".join(re.escape(n) for n in sorted(declared, key=len, reverse=True))
    named = rf"|(?P<escaped_name>\\\$(?:{names})(?!\w))|\$(?P<name>{names})(?!\w)" if names else ""
    return re.compile(
        r"(?P<escaped>\\\$(?:ARGUMENTS(?!\w)|\d+))"
        r"|\$ARGUMENTS\[(?P<index>\d+)\]"
        r"|(?P<all>\$ARGUMENTS(?!\w))"
        r"|\$(?P<number>\d+)(?![.,]\d|\w|%)"
        r"|(?P<base>\{baseDir\})"
        rf"|\$\{{(?P<variable>{'|'.join(_BRACED)})\}}" + named
    )


def substitute(
    body: str,
    args: str | None = None,
    *,
    declared: Sequence[str] = (),
    base: int = 0,
    variables: Mapping[str, str] | None = None,
    mode: Literal["skillkit", "claude"] = "skillkit",
) -> str:
    """The text of a skill for one invocation.

    ``$ARGUMENTS`` is all text, ``$ARGUMENTS[N]`` a word of it counted from 0, ``$name`` a declared argument (empty when
    absent), ``$N`` a word only when arguments are declared and N lies inside them. A backslash before them keeps them.
    ``{baseDir}`` and ``${SKILL_DIR}`` come from ``variables``; the environment is never read. What cannot be filled
    stays. Arguments are appended when they were used nowhere, or when a ``$N`` that has no declaration may have meant one.

    Args:
        body: the text.
        args: what was written behind the skill's name.
        declared: names of the skill's arguments, in order.
        base: what the first ``$N`` is called (1 for files of an older SkillKit).
        variables: values of the names in braces.
        mode: ``claude``: ``$N`` needs no declaration.
    """
    given = args or ""
    words = split_args(given)
    known = dict(variables or {})
    known.setdefault("CLAUDE_SKILL_DIR", known.get("SKILL_DIR", ""))
    used = missed = False

    def word(n: int, text: str) -> str:
        nonlocal used
        if not 0 <= n < len(words):
            return text
        used = True
        return words[n]

    def fill(match: re.Match[str]) -> str:
        nonlocal used, missed
        text = match[0]
        kind = match.lastgroup
        if kind in ("escaped", "escaped_name"):
            return text[1:]
        if kind == "all":
            used = True
            return given
        if kind == "index":
            return word(int(match["index"]), text)
        if kind == "number":
            n = int(match["number"]) - base
            if mode == "claude" or 0 <= n < len(declared):
                return word(n, text)
            missed = missed or 0 <= n < len(words)
            return text
        if kind == "name":
            used = True
            n = declared.index(match["name"])
            return words[n] if n < len(words) else ""
        return known.get("SKILL_DIR" if kind == "base" else match["variable"]) or text

    text = _pattern(declared).sub(fill, body)
    return f"{text.rstrip()}\n\nARGUMENTS: {given}\n" if given.strip() and (missed or not used) else text
