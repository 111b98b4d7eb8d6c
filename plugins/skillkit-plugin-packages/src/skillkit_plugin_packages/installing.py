"""An installation: what is named becomes a command, the package is looked at, the command runs, and what came is told."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError, distribution as metadata
from typing import TYPE_CHECKING, Any

from skillkit_core.errors import UsageError, close_matches
from skillkit_core.host.discovery import canonical

from . import brings
from .environment import Environment, Installed, Step
from .running import run, shown
from .source import Source, read_source
from .staged import Staged, check_policy, stage
from .table import known

if TYPE_CHECKING:
    from skillkit_core import Host


class Installation:
    """Packages that are to be installed.

    Raises:
        UsageError: a source is none, or a policy denies it.

    Attributes:
        place: the environment.
        sources: what is to be installed.
        doubts: what somebody should read before it is installed.
    """

    def __init__(
        self, host: Host, place: Environment, said: Sequence[str], editable: bool, distribution: str | None
    ) -> None:
        self.place, self._host, self._editable, self._distribution = place, host, editable, distribution
        self.doubts: list[str] = []
        self.sources = [read_source(text, host.cwd) for text in said]
        packages = {package.package: package for package in known(host)}
        for source in self.sources:
            if editable and source.kind != "folder":
                raise UsageError(f"{source.text} is no folder, and only a folder can be used in place")
            if source.kind == "name" and source.package not in packages:
                _check_name(source.package, packages.values())
                for meant in close_matches(source.package, packages, 1, 0.8):
                    self.doubts.append(f"{source.package!r} is no package that is known here; did you mean {meant!r}?")
            about = packages.get(source.package)
            check_policy(host, source.package or source.text, about.brings.get("plugins", ()) if about else ())

    def steps(self) -> list[Step]:
        """Return the commands."""
        again = [s.package for s in self.sources if s.kind in ("folder", "file") and _is_installed(s.package)]
        return self.place.install(self.sources, self._editable, again)

    def carry_out(self, say: Callable[[str], object]) -> dict[str, Any]:
        """Look at the packages, install them, and return what they bring.

        Raises:
            UsageError: a package brings nothing, or a policy denies it. Nothing was changed.
            SkillKitError: the package manager failed.
        """
        before = {entry.distribution for entry in self._host.entries}
        staged = [self._look(source) for source in self.sources]
        first = self.steps()
        self.sources = [s._replace(package=one.package) for s, one in zip(self.sources, staged, strict=True)]
        steps = self.steps()
        for step in steps if steps != first else ():  # a repository has told its name
            say(f"  $ {shown(step)}")
        run(steps)
        packages = [one.package for one in staged]
        found = brings.ask(packages, self._distribution, self._host.cwd)
        check_nothing_is_lost(before, found["versions"])
        new = sorted(found["versions"].keys() - before - set(packages))
        return {
            "commands": [shown(s) for s in steps],
            "packages": [_row(p, found) for p in packages],
            "with": new,
            **found,
        }

    def _look(self, source: Source) -> Staged:
        found = stage(self.place, source)
        check_policy(self._host, found.package, found.plugins)
        return found


def _row(package: str, found: dict[str, Any]) -> dict[str, Any]:
    return {"name": package, "version": found["versions"].get(package)}


def _check_name(name: str, packages: Any) -> None:
    """Refuse the name of a plugin where a package is named: the index may have a stranger's package of that name."""
    for package in packages:
        if any(canonical(plugin) == name for plugin in package.brings.get("plugins", ())):
            raise UsageError(
                f"{name!r} is no package, but the plugin of {package.package}",
                hint=f"skillkit plugins install {package.package}",
            )


def _is_installed(package: str) -> bool:
    try:
        return bool(package and metadata(package))
    except PackageNotFoundError:
        return False


def check_nothing_is_lost(before: set[str], versions: dict[str, str]) -> None:
    """Say which packages are gone that nobody wanted gone.

    Raises:
        UsageError: there are such packages.
    """
    if lost := sorted(before - versions.keys()):
        raise UsageError(
            f"the package manager has also removed {', '.join(lost)}",
            hint=f"skillkit plugins install {' '.join(lost)}",
        )


def origin(package: str) -> Installed:
    """Return from where an installed package came, by ``direct_url.json`` (PEP 610); without it, from an index."""
    found: dict[str, Any] = {}
    try:
        found = json.loads(metadata(package).read_text("direct_url.json") or "{}")
    except (PackageNotFoundError, ValueError):
        pass  # an index is the only other place
    url, below = found.get("url", ""), found.get("subdirectory")
    if "vcs_info" in found:
        wanted = found["vcs_info"].get("requested_revision")
        address = f"{found['vcs_info']['vcs']}+{url}{f'@{wanted}' if wanted else ''}{f'#subdirectory={below}' if below else ''}"
        return Installed(package, address)
    if url.startswith("file://"):
        from urllib.parse import unquote, urlsplit

        return Installed(package, unquote(urlsplit(url).path), bool(found.get("dir_info", {}).get("editable")))
    return Installed(package, url or package)
