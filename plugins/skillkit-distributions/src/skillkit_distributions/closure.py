"""The packages that a distribution brings along: those that its package and its plugins require, and so on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from packaging.requirements import InvalidRequirement, Requirement

from skillkit_core import Host
from skillkit_core.host.discovery import DISTRIBUTIONS, canonical
from skillkit_core.host.lock import Installed, installed

from .locking import metadata_of

__all__ = ["closure", "packages_of"]


def packages_of(host: Host) -> list[str]:
    """Return the packages that a host's distribution needs: its own, those of its plugins, and what they require."""
    own = [e.distribution for e in host.entries if e.group == DISTRIBUTIONS and host.distribution is not None
           and e.name == host.distribution.name]  # fmt: skip
    return closure([*own, "skillkit-core", *(d.entry.distribution for d in host.decisions if d.enabled)], installed())


def closure(roots: Iterable[str], here: dict[str, Installed]) -> list[str]:
    """Return the packages of ``roots`` and all that they require here, sorted. What is not installed is left out."""
    found: set[tuple[str, str]] = set()
    open_: list[tuple[str, str]] = [(name, "") for name in roots]
    while open_:
        name, extra = open_.pop()
        if (name, extra) in found or name not in here:
            continue
        found.add((name, extra))
        for required in _requirements(here[name]):
            if required.marker is None or required.marker.evaluate({"extra": extra}):
                other = canonical(required.name)
                open_ += [(other, one) for one in ("", *required.extras)]
    return sorted({name for name, _ in found})


def _requirements(package: Installed) -> Iterator[Requirement]:
    for line in metadata_of(package).requires or ():
        try:
            yield Requirement(line)
        except InvalidRequirement:  # of an old package, which pip did not understand either
            continue
