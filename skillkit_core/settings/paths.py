"""The directories in which SkillKit keeps its files on this platform."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from os.path import expanduser, isabs, join
from typing import NamedTuple


class Paths(NamedTuple):
    """The directories of a user: configuration, data (sessions, trust), and cache. They need not exist.

    The paths are plain strings: importing ``pathlib`` at every start costs as much as deciding which plugins run.
    """

    config: str
    data: str
    cache: str


def relative_directories(environ: Mapping[str, str]) -> list[str]:
    """Return the variables that name a directory by a relative path. Such a variable does not count."""
    names = ("SKILLKIT_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME")
    return [name for name in names if environ.get(name) and not isabs(environ[name])]


def platform_paths(environ: Mapping[str, str] | None = None) -> Paths:
    """Return the user's directories.

    ``SKILLKIT_HOME`` puts all three below one directory; else the XDG variables and defaults count, on macOS
    ``~/Library``, on Windows ``%APPDATA%``; ``SKILLKIT_NAME`` is the directory's name there, default ``skillkit``. A relative
    path does not count, as the XDG Base Directory Specification says: the current directory may be a stranger's.
    """
    env = os.environ if environ is None else environ
    if ignored := relative_directories(env):
        env = {name: value for name, value in env.items() if name not in ignored}
    if home := env.get("SKILLKIT_HOME"):
        return Paths(join(home, "config"), join(home, "data"), join(home, "cache"))
    name = env.get("SKILLKIT_NAME") or "skillkit"
    user = env.get("HOME") or expanduser("~")
    if sys.platform == "darwin":
        support = join(user, "Library", "Application Support", name)
        return Paths(support, join(support, "data"), join(user, "Library", "Caches", name))
    if sys.platform == "win32":
        roaming = join(env.get("APPDATA") or join(user, "AppData", "Roaming"), name)
        local = join(env.get("LOCALAPPDATA") or join(user, "AppData", "Local"), name)
        return Paths(roaming, join(local, "data"), join(local, "cache"))
    return Paths(
        join(env.get("XDG_CONFIG_HOME") or join(user, ".config"), name),
        join(env.get("XDG_DATA_HOME") or join(user, ".local", "share"), name),
        join(env.get("XDG_CACHE_HOME") or join(user, ".cache"), name),
    )
