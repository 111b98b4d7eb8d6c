"""The directories in which SkillKit keeps its files on this platform."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from os.path import expanduser, join
from typing import NamedTuple


class Paths(NamedTuple):
    """The directories of a user: configuration, data (sessions, trust), and cache. They need not exist.

    The paths are plain strings: importing ``pathlib`` at every start costs as much as deciding which plugins run.
    """

    config: str
    data: str
    cache: str


def platform_paths(environ: Mapping[str, str] | None = None) -> Paths:
    """Return the user's directories.

    ``SKILLKIT_HOME`` puts all three below one directory. Without it the XDG variables and defaults count, on macOS
    ``~/Library``, on Windows ``%APPDATA%``.
    """
    env = os.environ if environ is None else environ
    if home := env.get("SKILLKIT_HOME"):
        return Paths(join(home, "config"), join(home, "data"), join(home, "cache"))
    user = env.get("HOME") or expanduser("~")
    if sys.platform == "darwin":
        support = join(user, "Library", "Application Support", "skillkit")
        return Paths(support, join(support, "data"), join(user, "Library", "Caches", "skillkit"))
    if sys.platform == "win32":
        roaming = join(env.get("APPDATA") or join(user, "AppData", "Roaming"), "skillkit")
        local = join(env.get("LOCALAPPDATA") or join(user, "AppData", "Local"), "skillkit")
        return Paths(roaming, join(local, "data"), join(local, "cache"))
    return Paths(
        join(env.get("XDG_CONFIG_HOME") or join(user, ".config"), "skillkit"),
        join(env.get("XDG_DATA_HOME") or join(user, ".local", "share"), "skillkit"),
        join(env.get("XDG_CACHE_HOME") or join(user, ".cache"), "skillkit"),
    )
