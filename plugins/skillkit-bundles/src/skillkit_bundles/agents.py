"""Agents of bundles: what a file says, in the words of the agents that SkillKit runs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from skillkit_markdown import flag, read_front_matter

from .formats.tree import Tree
from .model import Component
from .prompts import fill

__all__ = ["agent_fields", "ignored_fields"]

_IGNORED = ("hooks", "mcpServers", "permissionMode")
"""What the agent of a bundle cannot say: it would give itself what only its user may give."""
_READ = frozenset(
    ("name", "description", "tools", "disallowedTools", "model", "maxTurns", "skills", "background", "color")
)
_SEPARATOR = re.compile(r",(?![^(]*\))")


def ignored_fields(tree: Tree, agent: Component) -> list[str]:
    """Return the fields of an agent's file that a bundle's agent cannot say."""
    data = tree.read(agent.path)
    values = (read_front_matter(data).values or {}) if data is not None else {}
    return [key for key in _IGNORED if key in values]


def agent_fields(data: bytes, name: str, path: Path, origin: str, variables: Mapping[str, str]) -> dict[str, Any]:
    """Return what a file says of an agent: the fields of an agent file, and ``problems``.

    Args:
        data: the bytes of the file.
        name: the full name of the agent.
        path: the file.
        origin: where the agent comes from.
        variables: values that are put into the text.
    """
    front = read_front_matter(data)
    head = front.natural()
    problems = [f"{key} has no effect: the agent of a bundle cannot say it" for key in _IGNORED if key in head]
    restricting = [key for key in ("tools", "disallowedTools", "maxTurns") if key in front.dropped]
    if restricting:
        problems.append(f"cannot be read: {', '.join(restricting)}: the agent gets no tools")
    if unread := sorted(str(key) for key in head if key not in _READ and key not in _IGNORED):
        problems.append(f"no effect here: {', '.join(unread)}")
    turns, model, skills = head.get("maxTurns"), head.get("model"), head.get("skills")
    if turns is not None and (not isinstance(turns, int) or isinstance(turns, bool) or turns < 1):
        problems.append("maxTurns must be a number from 1 on: it has no effect")
        turns = None
    tools = _names(head, "tools", problems)
    unreadable = "frontmatter-not-mapping" in front.diagnostics or "yaml-unparseable" in front.diagnostics
    if unreadable:
        problems.append("its front matter cannot be read: the agent gets no tools but those that change nothing")
    if not front.body:
        problems.append("it has no system prompt")
    return {
        "name": name,
        "path": path,
        "origin": origin,
        "description": " ".join(str(head.get("description") or "").split())[:1000],
        "prompt": fill(front.body, variables),
        "tools": () if restricting else _READING if unreadable else tools,
        "denied": _names(head, "disallowedTools", problems) or (),
        "model": model if isinstance(model, str) and model not in ("", "inherit") else None,
        "turns": turns,
        "background": flag((front.values or {}).get("background"), False),
        "skills": _names({"skills": skills}, "skills", problems) or (),
        "problems": tuple(problems),
    }


_READING = ("Read", "Grep", "Glob")


def _names(head: Mapping[str, Any], key: str, problems: list[str]) -> tuple[str, ...] | None:
    """Return a list of names, which may be one text with commas; ``None``: there is none. One that is no list allows nothing."""
    if key not in head:
        return None
    value = head[key]
    if value is None:
        value = [] if key == "tools" else None
    if value is None:
        return None
    if isinstance(value, str):
        value = _SEPARATOR.split(value) if "," in value else value.split() if "(" not in value else [value]
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        problems.append(f"{key} must be a list of names")
        return ()
    names = tuple(one.strip() for one in value if one.strip())
    if key == "tools" and not names:
        problems.append("tools is empty: the agent gets none")
    return names if names != ("*",) else None
