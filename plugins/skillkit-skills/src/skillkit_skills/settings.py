"""The plugin's settings without pydantic: the defaults, and the validated section once somebody has set something."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol

if TYPE_CHECKING:
    from skillkit_core import Host
    from skillkit_core.skills import Skill

__all__ = ["DEFAULTS", "EntryLike", "SettingsLike", "entry_of", "settings_of"]


class EntryLike(Protocol):
    """What is set for one skill."""

    enabled: bool
    env: Mapping[str, str]
    api_key: str | None


class SettingsLike(Protocol):
    """What :class:`~skillkit_skills.config.SkillsConfig` and :class:`Defaults` have in common."""

    dirs: Any
    expose_actions: Literal["auto", "always", "activated"]
    disabled: Any
    allow_bundled: Any
    max_catalogue_chars: int
    runtime: str | None
    entries: Mapping[str, Any]


@dataclass(slots=True)
class Defaults:
    """The defaults of the section ``skills``."""

    dirs: tuple[str, ...] = ()
    expose_actions: Literal["auto", "always", "activated"] = "auto"
    disabled: tuple[str, ...] = ()
    allow_bundled: tuple[str, ...] = ()
    max_catalogue_chars: int = 8000
    runtime: str | None = None
    entries: Mapping[str, Any] = field(default_factory=dict)


DEFAULTS = Defaults()


def settings_of(host: Host) -> SettingsLike:
    """The section ``skills``; nothing is validated, and pydantic is not imported, while nobody set anything.

    Raises:
        ConfigError: a value does not fit.
    """
    if host.config.raw("skills") is None:
        return DEFAULTS
    section: SettingsLike | None = host.config.section("skills")
    return DEFAULTS if section is None else section


def entry_of(host: Host, skill: Skill) -> EntryLike | None:
    """What is set for ``skill``, under its ``skill_key`` or its name."""
    entries = settings_of(host).entries
    found: EntryLike | None = entries.get(skill.skill_key or skill.name) or entries.get(skill.name)
    return found
