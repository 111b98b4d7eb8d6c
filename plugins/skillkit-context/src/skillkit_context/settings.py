"""The section ``context`` of the configuration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from skillkit_core.config import setting

__all__ = ["DEFAULTS", "Fact", "Settings", "names_inside"]

Fact: TypeAlias = Literal["cwd", "date", "platform", "git"]
_NAMES = "skillkit_context.config:Names"


def _names(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return names, none of which is empty."""
    if not all(names):
        raise ValueError
    return names


def names_inside(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return names of files inside of a folder.

    Raises:
        ValueError: a name leads out of it.
    """
    if any(name.startswith(("/", "~")) or ".." in name.split("/") for name in _names(names)):
        raise ValueError
    return names


@dataclass(frozen=True, slots=True)
class Settings:
    """Which context files are read, how much of them, and which facts a model is told."""

    names: tuple[str, ...] = setting(
        ("AGENTS.md", "CLAUDE.md", ".claude/CLAUDE.md", "CLAUDE.local.md"),
        "Names of context files, relative to each folder.",
        check=names_inside,
        of="skillkit_context.config:Inside",
    )
    per_folder: Literal["all", "first"] = setting(
        "all", "Whether all files of a folder count, or the first of the names that is there."
    )
    user_files: tuple[str, ...] = setting(
        ("AGENTS.md", "~/.agents/AGENTS.md", "~/.claude/CLAUDE.md"),
        "The user's own context files: below ~, or relative to the configuration folder.",
        check=_names,
        of=_NAMES,
    )
    root_markers: tuple[str, ...] = setting(
        (".git",), "What marks the root folder of a project.", check=_names, of=_NAMES
    )
    max_total: int = setting(65_536, "Most bytes of all context files; the nearest come first.", ge=0)
    max_file: int = setting(32_768, "Most bytes of one file; its beginning is kept.", ge=1)
    import_depth: int = setting(4, "How many hops of imports are followed.", ge=0, le=20)
    imports_in: tuple[str, ...] = setting(
        ("CLAUDE.md", "CLAUDE.local.md"),
        "Names of files whose @path lines are imports, as in what they import.",
        check=_names,
        of=_NAMES,
    )
    order: Literal["nearest-first", "nearest-last"] = setting(
        "nearest-first", "Whether the nearest file is told first or last."
    )
    facts: tuple[Fact, ...] = setting(
        ("cwd", "date", "platform", "git"), "Facts of the environment that a model is told."
    )
    work: bool = setting(True, "Whether a model without a system prompt of its own is told how to work on files.")


DEFAULTS = Settings()
