"""A package before it is installed: fetched into a folder that is thrown away, where its entry points are read.

So what brings nothing for SkillKit, or what the policy of the distribution denies, is refused before anything has changed.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from skillkit_core.errors import UsageError
from skillkit_core.host.discovery import EntryPoint, scan

from .running import run

if TYPE_CHECKING:
    from skillkit_core import Host

    from .environment import Environment
    from .source import Source


class Staged(NamedTuple):
    """A package that could be installed.

    Attributes:
        package: its normalised name.
        version: its version.
        entries: its entry points for SkillKit.
    """

    package: str
    version: str
    entries: tuple[EntryPoint, ...]

    @property
    def plugins(self) -> list[str]:
        """The names of its plugins."""
        return [entry.name for entry in self.entries if entry.group == "skillkit.plugins"]


def stage(place: Environment, source: Source) -> Staged:
    """Fetch a package and return what it is.

    Raises:
        UsageError: it brings nothing for SkillKit.
        SkillKitError: it cannot be had.
    """
    if source.kind == "file" and source.text.endswith(".whl"):
        entries = scan([source.text])
    else:
        with tempfile.TemporaryDirectory(prefix="skillkit-package-") as folder:
            run([place.fetch(source, Path(folder))], quiet=True)
            entries = scan([folder])
    if not entries:
        raise UsageError(
            f"{source.package or source.text} brings no plugin and no skills for SkillKit, and was not installed",
            hint="'skillkit plugins search' knows packages that do",
        )
    first = entries[0]
    return Staged(first.distribution, first.version, tuple(entries))


def check_policy(host: Host, package: str, plugins: Iterable[str]) -> None:
    """Refuse what the running distribution denies.

    Raises:
        UsageError: its policy denies a plugin, does not list it, or wants exactly what is locked.
    """
    found = host.distribution
    if found is None:
        return
    policy, ask = found.policy, f"ask those who make {found.name!r}"
    if policy.require_lock:
        raise UsageError(
            f"distribution {found.name!r} runs exactly what is locked, and with a change to {package} nothing would start",
            hint=f"{ask} for a new version of it",
        )
    for name in plugins:
        if name in policy.deny:
            raise UsageError(f"distribution {found.name!r} denies the plugin {name!r} of {package}", hint=ask)
        if policy.only_listed and name not in found.plugins:
            raise UsageError(
                f"distribution {found.name!r} runs only the plugins that it lists, and {name!r} of {package} is none of them",
                hint=f"{ask} to list it",
            )
