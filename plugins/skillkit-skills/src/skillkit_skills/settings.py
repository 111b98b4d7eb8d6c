"""The section ``skills`` of the configuration."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from skillkit_core.config import setting

if TYPE_CHECKING:
    from skillkit_core import Host
    from skillkit_core.skills import Skill

__all__ = ["HOSTS", "HostName", "Settings", "SkillEntry", "entry_of", "settings_of"]

HostName: TypeAlias = Literal[
    "agents", "claude", "codex", "copilot", "cursor", "gemini", "openclaw", "opencode", "windsurf"
]
HOSTS: dict[
    HostName, tuple[tuple[str, ...], tuple[str, ...]]
] = {  # the folders of a project and of the home directory where other hosts keep skills
    "agents": ((".agents/skills",), (".agents/skills",)),
    "claude": ((".claude/skills",), (".claude/skills",)),
    "codex": ((".codex/skills",), (".codex/skills",)),
    "copilot": ((".github/skills",), (".copilot/skills",)),
    "cursor": ((".cursor/skills",), (".cursor/skills",)),
    "gemini": ((".gemini/skills",), (".gemini/skills",)),
    "openclaw": ((".openclaw/skills",), (".openclaw/skills", ".openclaw/workspace/skills")),
    "opencode": ((".opencode/skills", ".opencode/skill"), (".config/opencode/skills", ".config/opencode/skill")),
    "windsurf": ((".windsurf/skills",), (".codeium/windsurf/skills",)),
}


@dataclass(frozen=True, slots=True)
class SkillEntry:
    """Settings of one skill, found under its ``skill_key`` or its name."""

    enabled: bool = setting(True, "the skill may be used")
    env: dict[str, str] = setting(dict, "variables for the skill's actions alone")
    fetch: bool = setting(
        False,
        "uv may fetch the packages that the skill's Python scripts name (PEP 723); a project or a distribution cannot set it",
    )
    api_key: str | None = setting(None, "value of the skill's primary environment variable", repr=False)


@dataclass(frozen=True, slots=True)
class Settings:
    """The section ``skills``: where skills are, which of them run, and how they are offered to models."""

    dirs: tuple[Path, ...] = setting((), "further directories with skills")
    claude_dirs: tuple[Path, ...] = setting(
        (), "further directories with skills for Claude Code: $0 needs no declared arguments"
    )
    hosts: tuple[HostName, ...] = setting(
        tuple(HOSTS), "the other hosts whose folders of skills are read (.claude/skills, ...)"
    )
    expose_actions: Literal["auto", "always", "activated"] = setting(
        "auto",
        "when a model gets the actions of a skill: always, only once the skill is activated, or auto: those of bundled skills "
        "once activated, of others at once up to 40 actions",
    )
    disabled: tuple[str, ...] = setting((), "names of skills that are not used")
    allow_bundled: tuple[str, ...] = setting((), "the only bundled skills to use; empty: all")
    max_catalogue_chars: int = setting(
        8000, "most characters of the list of skills; of more, the best for each request", ge=0
    )
    runtime: str | None = setting(None, "runtime that runs actions; default: the host's (the setting 'runtime')")
    shell_injection: Literal["deny", "ask", "allow"] = setting(
        "ask",
        "whether commands in the text of a skill (!`command`) run: never, after a question that allowed-tools of the skill "
        "spares, always; skills of a source that is not trusted run none",
    )
    model_aliases: dict[str, str] = setting(
        dict, "models for the names that skills use: {sonnet: anthropic/claude-sonnet-4-5}"
    )
    entries: dict[str, SkillEntry] = setting(dict, "settings by skill")


DEFAULTS = Settings()


def settings_of(host: Host) -> Settings:
    """The section ``skills``.

    Raises:
        ConfigError: a value does not fit.
    """
    section: Settings = host.config.section("skills", DEFAULTS)
    return section


def entry_of(host: Host, skill: Skill) -> SkillEntry | None:
    """What is set for ``skill``, under its ``skill_key`` or its name."""
    entries = settings_of(host).entries
    found: SkillEntry | None = entries.get(skill.skill_key or skill.name) or entries.get(skill.name)
    return found
