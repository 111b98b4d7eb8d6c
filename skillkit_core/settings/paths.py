"""Where SkillKit keeps its files on this platform."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Paths", "platform_paths"]


@dataclass(frozen=True, slots=True)
class Paths:
    """The directories of a user: configuration, data (sessions, trust), and cache. They need not exist."""

    config: Path
    data: Path
    cache: Path


def platform_paths(environ: os._Environ[str] | dict[str, str] | None = None) -> Paths:
    """The user's directories.

    ``SKILLKIT_HOME`` puts all three below one directory; else the XDG variables and defaults count, on macOS
    ``~/Library``, on Windows ``%APPDATA%``.
    """
    env = os.environ if environ is None else environ
    if home := env.get("SKILLKIT_HOME"):
        base = Path(home)
        return Paths(base / "config", base / "data", base / "cache")
    user = Path(env.get("HOME") or Path.home())
    if sys.platform == "darwin":
        library = user / "Library"
        support = library / "Application Support" / "skillkit"
        return Paths(support, support / "data", library / "Caches" / "skillkit")
    if sys.platform == "win32":
        roaming = Path(env.get("APPDATA") or user / "AppData" / "Roaming") / "skillkit"
        local = Path(env.get("LOCALAPPDATA") or user / "AppData" / "Local") / "skillkit"
        return Paths(roaming, local / "data", local / "cache")
    return Paths(
        Path(env.get("XDG_CONFIG_HOME") or user / ".config") / "skillkit",
        Path(env.get("XDG_DATA_HOME") or user / ".local" / "share") / "skillkit",
        Path(env.get("XDG_CACHE_HOME") or user / ".cache") / "skillkit",
    )
