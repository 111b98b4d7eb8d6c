"""What is checked: a package as people install it, unpacked from its wheel or where it is installed."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import unquote, urlsplit

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from skillkit_core.errors import UnknownName, UsageError
from skillkit_core.host.discovery import PLUGINS, SKILLS, scan

__all__ = ["Subject", "found"]


@dataclass(frozen=True, slots=True)
class Subject:
    """A package.

    Attributes:
        dist: its metadata.
        site: the folder on Python's path that holds its files and its metadata.
        files: its files below ``site``.
        source: the folder that it was built from; ``None``: only the package is there.
    """

    dist: metadata.Distribution
    site: Path
    files: tuple[str, ...]
    source: Path | None

    @property
    def name(self) -> str:
        """Name of the distribution."""
        return self.dist.metadata["Name"]

    @property
    def plugins(self) -> dict[str, str]:
        """The plugins: name to entry point."""
        return {entry.name: entry.value for entry in self.dist.entry_points if entry.group == PLUGINS}

    @property
    def skill_packages(self) -> dict[str, str]:
        """The packages of skills: name to package."""
        return {entry.name: entry.value for entry in self.dist.entry_points if entry.group == SKILLS}

    @property
    def modules(self) -> list[Path]:
        """The files with code."""
        return [Path(name) for name in self.files if name.endswith(".py") and "templates" not in Path(name).parts]

    @property
    def packages(self) -> set[str]:
        """The names that it can be imported by."""
        return {path.parts[0].removesuffix(".py") for path in self.modules}

    @property
    def requires(self) -> list[Requirement]:
        """What it requires here, without extras."""
        given = [Requirement(text) for text in self.dist.requires or ()]
        return [one for one in given if one.marker is None or one.marker.evaluate({"extra": ""})]

    def unmet(self) -> list[str]:
        """Return the requirements that are not met in this environment."""
        wrong = []
        for one in self.requires:
            try:
                version = metadata.version(one.name)
            except metadata.PackageNotFoundError:
                wrong.append(f"{one} is not installed here")
                continue
            if not one.specifier.contains(version, prereleases=True):
                wrong.append(f"{one} is wanted, {version} is installed here")
        return wrong


@contextmanager
def found(given: str) -> Iterator[Subject]:
    """Find the package that a path, a wheel or a name means; what was unpacked is removed in the end.

    Raises:
        UsageError: it is none of them.
        BuildFailed: the folder cannot be built.
    """
    path = Path(given)
    if path.is_dir() or (path.suffix == ".whl" and path.is_file()):
        with TemporaryDirectory(prefix="skillkit-check-") as folder:
            yield _unpacked(path.resolve(), Path(folder))
        return
    dist = _installed(given)
    source = _editable(dist)
    if source is not None:
        with found(str(source)) as subject:
            yield subject
        return
    yield Subject(dist, Path(str(dist.locate_file(""))), tuple(str(file) for file in dist.files or ()), None)


def _unpacked(path: Path, folder: Path) -> Subject:
    source = path if path.is_dir() else None
    if source is not None:
        from .building import wheel_of

        path = wheel_of(source, folder)
    site = folder / "site"
    with zipfile.ZipFile(path) as wheel:
        wheel.extractall(site)
        files = tuple(name for name in wheel.namelist() if not name.endswith("/"))
    (info,) = site.glob("*.dist-info")
    return Subject(metadata.PathDistribution(info), site, files, source)


def _installed(name: str) -> metadata.Distribution:
    """Return the distribution of a plugin, of a package of skills, or of that name."""
    entries = [entry for entry in scan() if entry.group in (PLUGINS, SKILLS)]
    entries.sort(key=lambda entry: entry.group != PLUGINS)  # a plugin, before a package of skills of the same name
    owner = next((entry.distribution for entry in entries if entry.name == name), name)
    try:
        return metadata.distribution(owner)
    except (metadata.PackageNotFoundError, ValueError):
        if "/" in name or name in (".", ".."):
            raise UsageError(f"there is no folder {name!r}", hint="name a folder, a wheel or a plugin") from None
        known = {entry.name for entry in entries} | {entry.distribution for entry in entries}
        raise UnknownName("plugin", name, known, hint="or name the folder of one") from None


def _editable(dist: metadata.Distribution) -> Path | None:
    """Return the folder of a package that is installed as links to its sources."""
    try:
        origin = json.loads(dist.read_text("direct_url.json") or "{}")
    except ValueError:
        return None
    if not origin.get("dir_info", {}).get("editable"):
        return None
    folder = Path(unquote(urlsplit(origin["url"]).path))
    return folder if folder.is_dir() else None


def same(one: str, other: str) -> bool:
    """Return whether two names mean one distribution."""
    return canonicalize_name(one) == canonicalize_name(other)
