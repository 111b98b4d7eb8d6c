"""The values of the section ``context``, for code that does without pydantic."""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

__all__ = ["DEFAULTS", "Fact", "Settings"]

Fact: TypeAlias = Literal["cwd", "date", "platform", "git"]


class Settings(NamedTuple):
    """The values of the section ``context``, whose model describes them, for code that does without pydantic."""

    names: tuple[str, ...] = ("AGENTS.md", "CLAUDE.md", ".claude/CLAUDE.md", "CLAUDE.local.md")
    per_folder: Literal["all", "first"] = "all"
    user_files: tuple[str, ...] = ("AGENTS.md", "~/.agents/AGENTS.md", "~/.claude/CLAUDE.md")
    root_markers: tuple[str, ...] = (".git",)
    max_total: int = 65_536
    max_file: int = 32_768
    import_depth: int = 4
    imports_in: tuple[str, ...] = ("CLAUDE.md", "CLAUDE.local.md")
    order: Literal["nearest-first", "nearest-last"] = "nearest-first"
    facts: tuple[Fact, ...] = ("cwd", "date", "platform", "git")
    work: bool = True


DEFAULTS = Settings()
