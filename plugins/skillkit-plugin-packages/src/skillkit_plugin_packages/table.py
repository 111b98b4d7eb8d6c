"""The table of packages: what comes with which, of all files ``packages.json`` that installed packages name.

A package joins with an entry point of the group ``skillkit.packages`` whose package holds the file::

    {"acme-tools": {"summary": "Tools of Acme.", "plugins": ["acme"], "commands": ["acme"], "config": ["acme"]}}

``generate.py`` beside the source of this package writes the one of the project's own packages.
"""

from __future__ import annotations

import re
from importlib.metadata import PackageNotFoundError, metadata, version
from typing import TYPE_CHECKING, Any, NamedTuple

from skillkit_core.errors import UnknownName
from skillkit_core.host.discovery import canonical, package_tables

if TYPE_CHECKING:
    from skillkit_core import Host


_FOLD = re.compile(r"[-_.,:;()\s]+")


class Known(NamedTuple):
    """A package of the table.

    Attributes:
        package: its normalised name.
        summary: what it is, in a sentence.
        brings: names by kind: ``plugins``, ``commands``, ``config`` and the other kinds of items.
        installed: the version that is installed.
    """

    package: str
    summary: str
    brings: dict[str, list[str]]
    installed: str | None


def known(host: Host) -> list[Known]:
    """Return all packages of the table and all that are installed, by name."""
    installed = {entry.distribution: entry.version for entry in host.entries}
    found: dict[str, dict[str, Any]] = {}
    for table in package_tables(host.entries):
        for name, about in table.items():
            found.setdefault(canonical(name), dict(about))
    for entry in host.entries:
        if entry.distribution not in found:
            found[entry.distribution] = {}
    for entry in host.entries:
        kind = entry.group.partition(".")[2]
        names = found[entry.distribution].setdefault(kind, [])
        if kind in ("plugins", "skills", "distributions") and entry.name not in names:
            names.append(entry.name)
    return [
        Known(
            name,
            about.get("summary") or _summary(name),
            {k: v for k, v in about.items() if isinstance(v, list)},
            installed.get(name) or _version(name),
        )
        for name, about in sorted(found.items())
    ]


def _summary(package: str) -> str:
    """Return what an installed package says about itself, where no table does."""
    try:
        return metadata(package)["Summary"] or ""
    except (PackageNotFoundError, KeyError):
        return ""


def readme_of(host: Host, name: str) -> tuple[str, str, str]:
    """Return the package of an installed plugin, its version, and the README that came with it.

    Raises:
        UnknownName: nothing of this name is installed.
    """
    package = next((entry.distribution for entry in host.entries if entry.name == name), canonical(name))
    try:
        about = metadata(package)
    except PackageNotFoundError:
        known = {name for entry in host.entries for name in (entry.name, entry.distribution)}
        raise UnknownName("plugin", name, sorted(known)) from None
    return package, version(package), str(about.json.get("description", ""))


def _version(package: str) -> str | None:
    """Return the version of an installed package that has no entry point of SkillKit: a library of plugins."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def matching(packages: list[Known], words: list[str]) -> list[tuple[Known, list[str]]]:
    """Return the packages in which every word is found, in names, summary or what they bring, with what matched; best first."""
    rows = []
    for package in packages:
        texts = [
            package.package,
            package.summary,
            *(f"{kind} {name}" for kind, names in package.brings.items() for name in names),
        ]
        hits = [[text for text in texts if _in(word, text)] for word in words]
        if all(hits):
            named = sum(_in(word, package.package) for word in words)
            matched = [text for found in hits for text in found if text not in (package.package, package.summary)]
            rows.append((-named, package.package, package, list(dict.fromkeys(matched))))
    return [(package, matched) for _, _, package, matched in sorted(rows, key=lambda row: row[:2])]


def _in(word: str, text: str) -> bool:
    """Return whether a word of ``text`` begins with ``word``; the name of the project says nothing."""
    wanted, found = (_FOLD.sub(" ", one.lower()).strip() for one in (word, text))
    if "skillkit" not in wanted:
        found = found.replace("skillkit", "")
    return f" {wanted}" in f" {found}"
