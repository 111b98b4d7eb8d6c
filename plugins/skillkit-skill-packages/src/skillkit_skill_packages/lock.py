"""``skillkit-skills.lock``: which skills of a folder were installed, from where, and the digest of each."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from skillkit_core.errors import ConfigError
from skillkit_core.settings.documents import open_regular, write_whole

from .place import safe_name
from .source import Source

__all__ = ["FILE", "Lock", "LockedSkill", "locked", "read_lock", "write_lock"]

FILE = "skillkit-skills.lock"
MAX_BYTES = 4 * 2**20


def _safe(name: str) -> str:
    if not safe_name(name):
        raise ValueError("is no name of a skill's folder")
    return name


class LockedSource(BaseModel):
    """Where a skill came from."""

    model_config = ConfigDict(extra="forbid")

    kind: Literal["git", "folder", "archive", "wheel"]
    place: str
    ref: str | None = None
    subfolder: str = ""


class LockedSkill(BaseModel):
    """One installed skill.

    Attributes:
        resolved: the commit of a repository, name and version of a wheel.
        path: the skill's folder in the source.
    """

    model_config = ConfigDict(extra="forbid")

    digest: str = Field(pattern=r"^sha256-[0-9a-f]{64}$")
    source: LockedSource
    resolved: str = ""
    path: str = ""


class Lock(BaseModel):
    """The lock file."""

    model_config = ConfigDict(extra="forbid")

    version: Literal[1] = 1
    skills: dict[Annotated[str, AfterValidator(_safe)], LockedSkill] = Field(default_factory=dict)


def locked(source: Source, digest: str, resolved: str, path: str) -> LockedSkill:
    """The entry of a skill that is being installed."""
    kept = source.kept()
    origin = LockedSource(kind=kept.kind, place=kept.place, ref=kept.ref, subfolder=kept.subfolder)
    return LockedSkill(digest=digest, source=origin, resolved=resolved, path=path)


def read_lock(path: Path) -> Lock:
    """Read a lock file; none is an empty one.

    Raises:
        ConfigError: it cannot be read, or is damaged.
    """
    try:
        with open_regular(path) as file:
            return Lock.model_validate_json(file.read(MAX_BYTES))
    except FileNotFoundError:
        return Lock()
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror}", where=str(path)) from None
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"]))
        text = f"cannot be used: {f'{place}: ' if place else ''}{first['msg']}"
        raise ConfigError(text, where=str(path), hint="repair it, or remove it and install the skills again") from None


def write_lock(path: Path, lock: Lock) -> None:
    """Write a lock file at once, its entries sorted and one value a line, so that versions can be compared."""
    lock.skills = dict(sorted(lock.skills.items()))
    write_whole(str(path), json.dumps(lock.model_dump(exclude_defaults=False), indent=2, ensure_ascii=False) + "\n")
