"""The removal of packages: of those that somebody asked for, and that nothing else needs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib.metadata import distributions
from typing import TYPE_CHECKING

from skillkit_core.errors import UnknownName, UsageError
from skillkit_core.host.discovery import canonical

from . import brings
from .environment import Environment
from .installing import check_nothing_is_lost, origin
from .running import run
from .staged import check_policy
from .switches import write_list

if TYPE_CHECKING:
    from skillkit_core import Host


OWN = "skillkit-plugin-packages"


class Removal:
    """Packages that are to be removed.

    Raises:
        UnknownName: there is no such package or plugin.
        UsageError: it came with another package, or a policy keeps it.

    Attributes:
        place: the environment.
        packages: normalised names.
        steps: the commands.
    """

    def __init__(self, host: Host, place: Environment, names: Sequence[str], distribution: str | None) -> None:
        self.place, self._host, self._distribution = place, host, distribution
        self.packages = list(dict.fromkeys(package_of(host, name) for name in names))
        for package in self.packages:
            if package == place.own:
                raise UsageError(
                    f"{package} is what {place.title} is there for", hint="remove it with its package manager"
                )
            if package == OWN:
                raise UsageError(
                    f"{package} is what removes packages: without it nothing here could say whether the rest still starts",
                    hint="'skillkit plugins disable plugin-packages' keeps it from running",
                )
            if needed := sorted(needed_by(package) - {*self.packages}):
                plugins = [e.name for e in host.entries if e.distribution == package and e.group == "skillkit.plugins"]
                off = f"skillkit plugins disable {' '.join(plugins)}" if plugins else f"remove {needed[0]}"
                raise UsageError(f"{package} came with {', '.join(needed)}, which needs it", hint=off)
            check_policy(host, package, ())
        self.steps = place.uninstall(self.packages)

    def carry_out(self) -> dict[str, str]:
        """Remove the packages and return what brings each back.

        Raises:
            SkillKitError: the package manager failed.
        """
        import shlex

        back = {}
        for package in self.packages:
            source = origin(package)
            version = next((e.version for e in self._host.entries if e.distribution == package), None)
            words = source.origin if source.origin != package or version is None else f"{package}=={version}"
            back[package] = f"{'--editable ' if source.editable else ''}{shlex.quote(words)}"
        before = {entry.distribution for entry in self._host.entries} - {*self.packages}
        needed = {p for p in before if needed_by(p) <= {*self.packages} and needed_by(p)}  # they may go along
        run(self.steps)
        self._forget()
        found = brings.ask([], self._distribution, self._host.cwd)
        check_nothing_is_lost(before - needed, found["versions"])
        if left := [package for package in self.packages if package in found["versions"]]:
            raise UsageError(
                f"{', '.join(left)} is still there", hint="something else needs it, or it lies beside the environment"
            )
        return back

    def _forget(self) -> None:
        """Take the plugins out of the user's ``plugins.enabled``: a name there that is not installed stops every command."""
        entries = [e for e in self._host.entries if e.group == "skillkit.plugins" and e.distribution in self.packages]
        write_list(self._host.config_dir / "config.yaml", "enabled", remove=[entry.name for entry in entries])


def package_of(host: Host, name: str) -> str:
    """Return the package that is called so, or whose plugin is.

    Raises:
        UnknownName: there is none, or several.
    """
    packages = {entry.distribution for entry in host.entries}
    if canonical(name) in packages:
        return canonical(name)
    found = sorted({e.distribution for e in host.entries if e.group == "skillkit.plugins" and e.name == name})
    if len(found) == 1:
        return found[0]
    if found:
        raise UsageError(f"{' and '.join(found)} bring the plugin {name!r}", hint="name the package")
    raise UnknownName("package", name, packages)


def needed_by(package: str) -> set[str]:
    """Return the installed packages that require a package."""
    found = set()
    for installed in distributions():
        lines = (line.strip() for line in installed.requires or () if "extra ==" not in line)
        if package in {canonical(re.split(r"[^\w.-]", line, maxsplit=1)[0]) for line in lines}:
            found.add(canonical(installed.metadata["Name"] or ""))
    return found - {package}
