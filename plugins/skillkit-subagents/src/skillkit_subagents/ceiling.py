"""Which tools an agent gets: what is listed, without what is denied, never more than the asking agent may use."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from fnmatch import fnmatchcase

__all__ = ["allowed", "unknown"]

# names of Claude Code, which agent files of other hosts have
_ALIASES: Mapping[str, str] = {
    "Agent": "spawn_agent", "Task": "spawn_agent", "AskUserQuestion": "ask_user", "Bash": "bash", "Edit": "edit",
    "Glob": "glob", "Grep": "grep", "LS": "ls", "MultiEdit": "edit", "Read": "read", "Skill": "activate_skill",
    "WebFetch": "web_fetch", "WebSearch": "web_search", "Write": "write",
}  # fmt: skip


def _fits(pattern: str, tool: str) -> bool:
    """Return whether a name or pattern means a tool: ``Read``, ``mcp__git__*``, and ``mcp__git`` for a whole server."""
    pattern = _ALIASES.get(pattern, pattern)
    if pattern.startswith("mcp__") and pattern.count("__") == 1:
        pattern += "__*"
    return fnmatchcase(tool, pattern)


def allowed(
    offered: Collection[str], lists: Iterable[Collection[str] | None], denied: Collection[str]
) -> frozenset[str]:
    """Return the names of ``offered`` tools that every list has and that are not denied; a list of ``None`` has all."""
    names = {name for name in offered if not any(_fits(pattern, name) for pattern in denied)}
    for one in lists:
        if one is not None:
            names = {name for name in names if any(_fits(pattern, name) for pattern in one)}
    return frozenset(names)


def unknown(offered: Collection[str], names: Collection[str]) -> list[str]:
    """Return those of ``names`` that mean none of the ``offered`` tools."""
    return [one for one in names if not any(_fits(one, tool) for tool in offered)]
