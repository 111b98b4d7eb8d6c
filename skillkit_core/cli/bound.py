"""Commands that are bound to a distribution. Any name of this module is one, for the console script of a distribution::

    [project.scripts]
    acme = "skillkit_core.cli.bound:acme"

``-`` in the name of a distribution is ``_`` here. Whatever else is installed, chosen or configured changes nothing for it.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial

import click

from .. import __version__
from ..errors import ConfigError
from ..host.discovery import DISTRIBUTIONS, preferred, scan
from ..host.distribution import load_distribution
from ..program import Program, as_typed, become
from ..settings.paths import platform_paths

__all__ = ["bind"]


def __getattr__(name: str) -> Callable[[], None]:
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from .main import entry

    return partial(entry, partial(bind, name))


class _Formatter(click.HelpFormatter):
    """Help with the names that hold in the program."""

    def getvalue(self) -> str:
        return as_typed(super().getvalue())


def bind(name: str) -> None:
    """Bind the process to the installed distribution ``name``: its names, its folders and its environment variables.

    What binds a process is written into ``os.environ``, so that its children belong to the distribution, too.

    Raises:
        UnknownName: it is not installed.
        ConfigError: its file is wrong, or several packages bring one of this name.
    """
    become(Program(name.replace("_", "-"), distribution=name))  # its name holds in errors from here on
    installed = [e for e in scan() if e.group == DISTRIBUTIONS]
    same = [e for e in installed if e.name.replace("-", "_") == name]
    if len(owners := sorted({e.distribution for e in same})) > 1:
        raise ConfigError(f"{' and '.join(owners)} both bring a distribution {name!r}", hint="uninstall one of them")
    name = same[0].name if same else name
    cache = platform_paths({**os.environ, "SKILLKIT_NAME": name}).cache
    found = load_distribution(name, installed, cache)
    title = f"{name} {preferred(same).version} (SkillKit {__version__})"
    become(Program(name, title, name, found.prefix, found.policy.may_leave))
    own = {**found.own_environment(os.environ), "SKILLKIT_DISTRIBUTION": name}
    for key in [key for key in os.environ if key not in own]:
        del os.environ[key]
    os.environ.update(own)

    from .main import root

    click.Context.formatter_class = _Formatter
    root.help = found.command.get("help") or root.help
