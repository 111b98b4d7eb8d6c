"""Where skills are looked for on this machine."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skillkit_core.contracts.skill_loader import SkillSource

from .settings import HOSTS, settings_of

if TYPE_CHECKING:
    from skillkit_core import Host
    from skillkit_core.host.discovery import EntryPoint
    from skillkit_core.skills import Skill

__all__ = [
    "FOLDER",
    "GROUP",
    "FolderSource",
    "compat_of",
    "package_folders",
    "places",
    "sources",
    "trusted",
    "untrusted_folders",
]

GROUP = "skillkit.skills"
FOLDER = ".skillkit/skills"  # of a project


@dataclass(frozen=True, slots=True)
class FolderSource(SkillSource):
    """A directory whose skills are written for another host.

    Attributes:
        compat: ``claude``: arguments are put in as Claude Code does (``$0`` needs no declaration).
        namespace: ``namespace:name`` means a skill of the source, too.
    """

    compat: str = ""
    namespace: str = ""


def compat_of(host: Host, skill: Skill) -> str:
    """Return the host that the source of a skill is written for; empty: none in particular."""
    sources = host.skill_sources
    return getattr(sources.get(skill.source), "compat", "") if sources.has(skill.source) else ""


def trusted(host: Host, skill: Skill) -> bool:
    """Return whether hooks and commands of a skill's source may ever run."""
    sources = host.skill_sources
    return sources.has(skill.source) and sources.get(skill.source).trusted


def _places(host: Host) -> Iterator[tuple[str, str, str]]:
    """Yield the folders of a project that may hold skills: name of the source, path, and the host that it is for."""
    yield "project", FOLDER, ""
    for name in settings_of(host).hosts:
        for n, place in enumerate(HOSTS[name][0]):
            yield f"project:{name}" + (f"-{n + 1}" if n else ""), place, name
    if "openclaw" in settings_of(host).hosts and (host.cwd / ".clawhub").is_dir():
        yield "project:clawhub", "skills", "openclaw"  # its installer puts them there


def sources(host: Host) -> Iterator[SkillSource]:
    """The sources that exist: the trusted project's, the user's, those of installed packages, configured directories.

    Nothing of a project that is not trusted counts; a directory that somebody configured or named on the command line
    always does, and says so when it is missing.
    """
    if host.withheld is not None:
        for name, place, other in _places(host):
            if (folder := host.cwd / place).is_dir():
                yield _source(name, "project", folder, other)
    if (folder := host.config_dir / "skills").is_dir():
        yield SkillSource("user", "user", folder, trusted=True)
    home = Path(host.environ.get("HOME") or "~").expanduser()
    for other in settings_of(host).hosts:
        for n, place in enumerate(HOSTS[other][1]):
            if (folder := home / place).is_dir():
                yield _source(f"user:{other}" + (f"-{n + 1}" if n else ""), "user", folder, other)
    taken: set[str] = set()
    if "claude" in settings_of(host).hosts and (home / ".claude/plugins/installed_plugins.json").is_file():
        from .claude_plugins import installed

        for plugin, folder in installed(host, home / ".claude"):
            taken.add(plugin)
            yield FolderSource(plugin, "plugin", folder, trusted=True, compat="claude", namespace=plugin)
    for entry in _packages(host):
        kind = "bundled" if entry.distribution == "skillkit-bundled" else "plugin"
        name = entry.name if entry.name not in taken else f"{entry.name}:{entry.distribution}"
        taken.add(name)
        _check_package(host, entry)
        yield SkillSource(name, kind, package=entry.value, trusted=True)  # type: ignore[arg-type]
    settings = settings_of(host)
    for text, other in (*((d, "") for d in settings.dirs), *((d, "claude") for d in settings.claude_dirs)):
        folder = host.cwd / Path(text).expanduser()
        name, n = f"extra:{folder.name or folder.resolve().name}", 2
        while name in taken:
            name, n = f"extra:{folder.name}-{n}", n + 1
        taken.add(name)
        yield _source(name, "extra", folder, other)


def _packages(host: Host) -> list[EntryPoint]:
    """Return the packages of skills that count.

    The skills of a distribution's own package are for that distribution, and those that extend it. Where a distribution runs
    only what it lists, the packages that it requires count, and no others.
    """
    packages, found = [e for e in host.entries if e.group == GROUP], host.distribution
    products: dict[str, set[str]] = {}  # the distributions of each package that brings some
    for entry in host.entries:
        if entry.group == "skillkit.distributions":
            products.setdefault(entry.distribution, set()).add(entry.name)
    if found is None:
        return packages
    packages = [e for e in packages if e.distribution not in products or products[e.distribution] & {*found.family}]
    owners = [package for package, names in products.items() if found.name in names]
    if not packages or not owners or not found.policy.only_listed:
        return packages
    needed = _required([*owners, *(d.entry.distribution for d in host.decisions if d.enabled)])
    return [e for e in packages if e.distribution in needed]


def _required(packages: Iterable[str]) -> set[str]:
    """Return packages and all that they require, as far as it is installed, by their metadata."""
    from skillkit_core.host.discovery import canonical, dist_infos

    here, found, open_ = dist_infos(), set[str](), list(packages)
    while open_:
        name = open_.pop()
        if name in found or name not in here:
            continue
        found.add(name)
        with suppress(OSError):
            head = Path(here[name][1], "METADATA").read_text("utf-8", "replace").partition("\n\n")[0]
            open_ += [canonical(word) for word in re.findall(r"(?mi)^Requires-Dist:\s*([\w.-]+)", head)]
    return found


def _source(name: str, kind: Any, folder: Path, other: str) -> SkillSource:
    """Return a source of skills that may run commands, read as ``other``, a host, reads them."""
    if other == "claude":
        return FolderSource(name, kind, folder, trusted=True, compat=other)
    return SkillSource(name, kind, folder, trusted=True)


def places(host: Host) -> list[Path]:
    """Return the directories that hold skills on this machine or may come to; those inside packages are left out."""
    home = Path(host.environ.get("HOME") or "~").expanduser()
    named = [host.cwd / place for _, place, _ in _places(host)] if host.withheld is not None else []
    named += [
        host.config_dir / "skills",
        *(home / place for name in settings_of(host).hosts for place in HOSTS[name][1]),
    ]
    named += [entry.item.path for entry in host.skill_sources.entries() if entry.item.path is not None]
    return list(dict.fromkeys(named))


def _check_package(host: Host, entry: EntryPoint) -> None:
    """Report a package that names itself as one of skills and was packed without them."""
    if not any(next(folder.glob("**/SKILL.md"), None) for folder in package_folders(entry.value)):
        host.note(
            "skills",
            f"the package {entry.value!r} of {entry.distribution} has no SKILL.md in it",
            stage="register_skill_sources",
            remedy="its build left the files out: see package-data of setuptools",
        )


def untrusted_folders(host: Host) -> list[Path]:
    """Folders with skills of a project that is not trusted: they are not even looked into."""
    if host.withheld is not None:
        return []
    return [folder for _, place, _ in _places(host) if (folder := host.cwd / place).is_dir()]


def _package_path(name: str) -> Iterable[str]:
    """``__path__`` of a top-level package; what ``importlib.util.find_spec`` does, without its imports."""
    if name in sys.modules:
        return getattr(sys.modules[name], "__path__", ())
    for finder in sys.meta_path:
        spec = finder.find_spec(name, None) if hasattr(finder, "find_spec") else None
        if spec is not None:
            return spec.submodule_search_locations or ()
    return ()


def package_folders(package: str) -> list[Path]:
    """The directories of an importable package, found without importing it or its parents' code."""
    top, _, rest = package.partition(".")
    places = list(_package_path(top))
    below = rest.split(".") if rest else []
    return [folder for place in places if (folder := Path(place, *below)).is_dir()]
