"""Discovery: the entry points of installed distributions, read from their metadata without importing anything.

``importlib.metadata`` costs more to import than this whole scan, so directories are read here. What only it understands
(zip files, eggs, foreign finders) is left to it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from typing import NamedTuple

__all__ = ["DISTRIBUTIONS", "PLUGINS", "SKILLS", "EntryPoint", "scan"]

PLUGINS = "skillkit.plugins"
DISTRIBUTIONS = "skillkit.distributions"
SKILLS = "skillkit.skills"


class EntryPoint(NamedTuple):
    """One entry point: ``name = value`` of ``group``, in an installed distribution.

    A tuple, as all values that every start makes: a frozen dataclass takes seven times as long to define.
    """

    group: str
    name: str
    value: str
    distribution: str
    version: str
    location: str

    @property
    def sort_key(self) -> tuple[str, str]:
        """Distribution name, then entry point name: never the order of the file system."""
        return (self.distribution, self.name)


def canonical(name: str) -> str:
    """The normalised name of a distribution (PEP 503)."""
    return "-".join(part for part in name.replace("_", "-").replace(".", "-").lower().split("-") if part)


def parse(text: str, group_prefix: str = "skillkit.") -> Iterable[tuple[str, str, str]]:
    """The ``(group, name, value)`` triples of an ``entry_points.txt`` whose group begins with the prefix."""
    group = ""
    for raw in text.splitlines():
        line = raw.strip()
        if line.startswith("[") and line.endswith("]"):
            group = line[1:-1].strip()
        elif group.startswith(group_prefix) and "=" in line and not line.startswith(("#", ";")):
            name, _, value = line.partition("=")
            yield group, name.strip(), value.partition("[")[0].strip()


def _version_in(directory: str) -> str:
    for file in ("METADATA", "PKG-INFO"):
        try:
            with open(os.path.join(directory, file), encoding="utf-8", errors="replace") as lines:
                for line in lines:
                    if line.startswith("Version:"):
                        return line[8:].strip()
                    if not line.strip():
                        break
        except OSError:
            continue
    return ""


def _scan_directory(path: str, seen: set[str], out: list[EntryPoint]) -> None:
    try:
        names = sorted(
            e.name for e in os.scandir(path) if e.name.endswith((".dist-info", ".egg-info")) or e.name.endswith(".egg")
        )
    except OSError:
        return
    for directory in names:
        if directory.endswith(".egg"):
            _scan_metadata(os.path.join(path, directory), seen, out)
            continue
        stem = directory.rpartition(".")[0]
        name, _, version = stem.partition("-")
        key = canonical(name)
        if key in seen:
            continue
        full = os.path.join(path, directory)
        try:
            with open(os.path.join(full, "entry_points.txt"), "rb") as file:
                data = file.read()
        except OSError:
            if version:
                seen.add(key)
            continue
        seen.add(key)
        if b"[skillkit." not in data.replace(b"[ ", b"["):
            continue
        version = version.partition("-py")[0] or _version_in(full)
        for group, entry, value in parse(data.decode("utf-8", "replace")):
            out.append(EntryPoint(group, entry, value, key, version, path))


def _scan_metadata(path: str | None, seen: set[str], out: list[EntryPoint], finder: object = None) -> None:
    from importlib import metadata

    if finder is not None:
        context = metadata.DistributionFinder.Context()
        found: Iterable[metadata.Distribution] = finder.find_distributions(context)  # type: ignore[attr-defined]
    else:
        found = metadata.distributions(path=[path or ""])
    for dist in found:
        key = canonical(dist.metadata["Name"] or "")
        if not key or key in seen:
            continue
        seen.add(key)
        for ep in dist.entry_points:
            if ep.group.startswith("skillkit."):
                out.append(EntryPoint(ep.group, ep.name, ep.value, key, dist.version, path or ""))


def scan(path: Sequence[str] | None = None) -> list[EntryPoint]:
    """Every SkillKit entry point on ``path`` (default: ``sys.path``), sorted by distribution and name.

    As for imports, the first distribution of a name on the path counts. The current directory (an empty path entry)
    is left out: what lies in a project is not an installed plugin.
    """
    out: list[EntryPoint] = []
    seen: set[str] = set()
    for entry in dict.fromkeys(sys.path if path is None else path):
        if not entry:
            continue
        if os.path.isdir(entry):
            _scan_directory(entry, seen, out)
        elif entry.endswith((".zip", ".whl", ".egg")) and os.path.exists(entry):
            _scan_metadata(entry, seen, out)
    if path is None:
        for finder in sys.meta_path:
            if getattr(finder, "__module__", "").startswith(("_frozen", "importlib")):
                continue
            if hasattr(finder, "find_distributions"):
                _scan_metadata(None, seen, out, finder)
    out.sort(key=lambda e: e.sort_key)
    return out
