"""The plugin's settings without pydantic: the defaults, and the validated section once somebody has set something."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

if TYPE_CHECKING:
    from skillkit_core import Host
    from skillkit_core.skills import Skill

__all__ = ["DEFAULTS", "HOSTS", "EntryLike", "HostName", "SettingsLike", "entry_of", "settings_of"]

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


class EntryLike(Protocol):
    """What is set for one skill."""

    enabled: bool
    env: Mapping[str, str]
    fetch: bool
    api_key: str | None


class SettingsLike(Protocol):
    """What :class:`~skillkit_skills.config.SkillsConfig` and :class:`Defaults` have in common."""

    dirs: Any
    claude_dirs: Any
    hosts: Any
    expose_actions: Literal["auto", "always", "activated"]
    disabled: Any
    allow_bundled: Any
    max_catalogue_chars: int
    runtime: str | None
    shell_injection: Literal["deny", "ask", "allow"]
    model_aliases: Mapping[str, str]
    entries: Mapping[str, Any]


@dataclass(slots=True)
class Defaults:
    """The defaults of the section ``skills``."""

    dirs: tuple[str, ...] = ()
    claude_dirs: tuple[str, ...] = ()
    hosts: tuple[str, ...] = tuple(HOSTS)
    expose_actions: Literal["auto", "always", "activated"] = "auto"
    disabled: tuple[str, ...] = ()
    allow_bundled: tuple[str, ...] = ()
    max_catalogue_chars: int = 8000
    runtime: str | None = None
    shell_injection: Literal["deny", "ask", "allow"] = "ask"
    model_aliases: Mapping[str, str] = field(default_factory=dict)
    entries: Mapping[str, Any] = field(default_factory=dict)


DEFAULTS = Defaults()


def settings_of(host: Host) -> SettingsLike:
    """The section ``skills``; nothing is validated, and pydantic is not imported, while nobody set anything.

    Raises:
        ConfigError: a value does not fit.
    """
    section: SettingsLike = host.config.section("skills", DEFAULTS)
    return section


def entry_of(host: Host, skill: Skill) -> EntryLike | None:
    """What is set for ``skill``, under its ``skill_key`` or its name."""
    entries = settings_of(host).entries
    found: EntryLike | None = entries.get(skill.skill_key or skill.name) or entries.get(skill.name)
    return found
