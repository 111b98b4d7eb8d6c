"""Patterns of the settings as skills: each has a name, and is called by it, routed to, and planned with, as any skill.

One in a file is written as those in the settings are, and takes its place among them for one command.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skillkit_core import LoadedSkills, SkillLoader, SkillSource
from skillkit_core.errors import UsageError
from skillkit_core.skills import Skill

from .participants import ENGINE
from .settings import settings_of

if TYPE_CHECKING:
    from skillkit_core import Host

__all__ = ["SOURCE", "PatternLoader", "is_file", "pattern_in"]

SOURCE = "collaboration"
_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*\Z")


def is_file(given: str) -> bool:
    """Return whether a person means a file, and no name of a pattern."""
    return "/" in given or given.endswith((".yaml", ".yml"))


def pattern_in(file: Path) -> tuple[str, dict[str, Any]]:
    """Return the name and the fields of the pattern in a file: its fields alone, or as they stand in the settings.

    Fields alone have the name of the file.

    Raises:
        UsageError: the file cannot be read, or is no pattern.
    """
    import yaml
    from pydantic import ValidationError

    from .models import CollaborationConfig, mistakes_in

    try:
        data = yaml.safe_load(file.read_text("utf-8"))
    except (OSError, UnicodeError) as error:
        raise UsageError(f"the pattern cannot be read: {error}", where=str(file)) from None
    except yaml.YAMLError as error:
        raise UsageError(f"it is no YAML: {str(error).splitlines()[0]}", where=str(file)) from None
    name, found = file.stem, data
    if isinstance(data, Mapping) and isinstance(section := data.get(SOURCE), Mapping):
        patterns = section.get("patterns")
        if not isinstance(patterns, Mapping) or len(patterns) != 1:
            raise UsageError("it has not one pattern", where=str(file), hint="write one below collaboration.patterns")
        ((name, found),) = patterns.items()
    if not _NAME.match(str(name)):
        hint = "use lower-case letters, digits and -"
        raise UsageError(f"{name!r} is no name of a pattern", where=str(file), hint=hint)
    if not isinstance(found, Mapping):
        raise UsageError("it is no pattern", where=str(file), hint="write 'participants:' with a list of skills")
    try:
        CollaborationConfig(**found)
    except (ValidationError, TypeError) as error:
        text = "; ".join(mistakes_in(error)) if isinstance(error, ValidationError) else str(error)
        raise UsageError(f"it is no pattern: {text}", where=str(file)) from None
    return str(name), dict(found)


class PatternLoader(SkillLoader):
    """Makes a skill of each pattern."""

    def __init__(self, host: Host) -> None:
        self._host = host

    def accepts(self, source: SkillSource) -> bool:
        """Return whether the source is the patterns."""
        return source.loader == SOURCE

    def load(self, source: SkillSource) -> LoadedSkills:
        """Return the patterns as skills. Without a description only who names it can call one."""
        found = []
        for name, config in settings_of(self._host).patterns.items():
            about = config.model_dump(mode="json", exclude_defaults=True)
            names = ", ".join(config.participants)
            skill = Skill(
                name=name,
                description=config.description or f"A session of {names}.",
                engine=ENGINE,
                source=source.name,
                disable_model_invocation=not config.description,
                metadata={"skillkit": {ENGINE: about}},
            )
            found.append(skill)
        return LoadedSkills(tuple(found))
