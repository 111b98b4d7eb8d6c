"""The lock of a distribution: what is installed must be what was locked. It is checked before any plugin is imported."""

from __future__ import annotations

import csv
import json
import os
import sys
from base64 import urlsafe_b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from os.path import basename, dirname, isfile, join, realpath, relpath
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import ConfigError
from .discovery import DISTRIBUTIONS, dist_infos

if TYPE_CHECKING:
    from .discovery import EntryPoint
    from .distribution import Distribution
    from .plan import Plan

LOCK = "skillkit.lock"
PLATFORM = f"{sys.platform} {os.uname().machine} {sys.implementation.cache_tag}"


class Installed(NamedTuple):
    """An installed package: its version, and the path of its ``.dist-info``."""

    version: str
    info: str

    @property
    def files(self) -> dict[str, str]:
        """The files as RECORD has them, each with its digest, without those that an installer writes in its own way."""
        try:
            with open(join(self.info, "RECORD"), encoding="utf-8", newline="") as rows:
                found = {path: digest for path, digest, _ in csv.reader(rows) if digest}
        except (OSError, ValueError):
            return {}
        return {path: digest for path, digest in sorted(found.items()) if is_content(path)}


def is_content(path: str) -> bool:
    """Return whether a file is a part of a package, and none that an installer writes in its own way."""
    if ".dist-info/" in path:
        return path.endswith(("/METADATA", "/entry_points.txt"))
    return not path.startswith(("..", "/")) and "/__pycache__/" not in path and basename(path) != LOCK


class Difference(NamedTuple):
    """What is not as it was locked: ``plugin``, ``package``, ``file`` or ``lock``, the package, and one line about it."""

    kind: str
    package: str
    message: str


def installed() -> dict[str, Installed]:
    """Return the packages on ``sys.path`` by their normalised names."""
    return {name: Installed(*found) for name, found in dist_infos().items()}


def digest(files: Mapping[str, str]) -> str:
    """Return the digest of a package's files, each of which has its own."""
    return "sha256-" + sha256("\n".join(f"{p} {d}" for p, d in files.items()).encode()).hexdigest()


def place_of_lock(distribution: Distribution, folder: str) -> str:
    """Return the path of a distribution's lock: beside its file, else in the ``folder`` of the user's configuration."""
    beside = join(dirname(distribution.path), LOCK)
    return beside if isfile(beside) else join(folder, LOCK)


def read_lock(path: str, distribution: str, named: str = "") -> Mapping[str, Any]:
    """Return the lock of a distribution.

    Args:
        named: how a command names the distribution, where its name is not enough: the path of its file.

    Raises:
        ConfigError: there is none, it is damaged, or it is that of another distribution.
    """
    try:
        with open(path, encoding="utf-8") as file:
            lock: Mapping[str, Any] = json.load(file)
        _ = [one["package"] for one in lock["plugins"].values()], lock["platform"]
        _ = [(one["version"], one["digest"], one["own"]) for one in lock["packages"].values()]
        other = lock["distribution"] if lock["lock_version"] == 1 else "a newer SkillKit"
    except FileNotFoundError:
        way = f"'{sys.executable} -m skillkit_distributions lock {named or distribution}' writes it"
        raise ConfigError("there is no lock", where=path, hint=way) from None
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise ConfigError(f"is no lock that can be read: {error}", where=path) from None
    if other != distribution:
        raise ConfigError(f"is the lock of {other}, not of {distribution}", where=path)
    return lock


def differences(lock: Mapping[str, Any], entries: Iterable[EntryPoint], *, deep: bool = False) -> Iterator[Difference]:
    """Yield what is not as it was locked: plugins, versions of all packages, the files of those that build on SkillKit.

    Args:
        entries: the plugins that are to run.
        deep: compare the files of all packages. Those of another platform differ, and are passed over.
    """
    here, same = installed(), lock["platform"] == PLATFORM
    for entry in entries:
        name, package = entry.name, entry.distribution
        if lock["plugins"].get(name, {}).get("package") != package:
            yield Difference("plugin", package, f"plugin {name!r} of {package} was not there when the lock was written")
        elif package in here and entry.location != dirname(here[package].info):
            yield Difference("plugin", package, f"plugin {name!r} is in {entry.location}, where nothing is locked")
    compared: dict[str, tuple[Installed, dict[str, str]]] = {}
    for package, locked in lock["packages"].items():
        if not (locked["own"] or same):
            continue
        if (found := here.get(package)) is None:
            yield Difference("package", package, f"{package} {locked['version']} is not installed")
        elif found.version != locked["version"]:
            yield Difference("package", package, f"{package} is {found.version}, and {locked['version']} is locked")
        elif locked["own"] or deep:
            compared[package] = found, found.files
            if digest(compared[package][1]) != locked["digest"]:
                yield Difference("package", package, f"{package} {found.version} has other files than were locked")
    known = {path for one in here.values() for path in one.files} if deep else set()
    known.update(path for _, files in compared.values() for path in files)
    for package, (found, files) in compared.items():
        yield from (Difference("file", package, line) for line in _changes(dirname(found.info), files, known))
    yield from _astray(here, [here[p] for p, one in lock["packages"].items() if p in here and (one["own"] or same)])


def _changes(root: str, files: Mapping[str, str], known: Iterable[str]) -> Iterator[str]:
    """Yield a line for each file that was changed, is gone, or was added where the package has its own."""
    for path, locked in files.items():
        try:
            with open(join(root, path), "rb") as file:
                found = urlsafe_b64encode(sha256(file.read()).digest()).decode().rstrip("=")
        except OSError:
            yield f"{join(root, path)} is gone"
            continue
        if locked.rstrip("=") != f"sha256={found}":
            yield f"{join(root, path)} was changed"
    for top in {path.partition("/")[0] for path in files if "/" in path and ".dist-info/" not in path}:
        for folder, _, names in os.walk(join(root, top)):
            for path in (join(folder, name) for name in sorted(names)):
                if is_content(relpath(path, root)) and relpath(path, root) not in known:
                    yield f"{path} was added"


def _astray(here: Mapping[str, Installed], locked: Sequence[Installed]) -> Iterator[Difference]:
    """Yield what Python takes in place of a locked module, earlier on the path, and what it runs at its start."""
    from importlib.util import find_spec

    owners: dict[str, set[str]] = {}  # the paths of each top-level module
    for one in locked:
        for top in {path.partition("/")[0] for path in one.files}:
            if (name := top.partition(".")[0]).isidentifier() and not top.endswith(".pth"):
                owners.setdefault(name, set()).add(realpath(join(dirname(one.info), top)))
    for name, paths in owners.items():
        spec = find_spec(name)
        for place in (spec.submodule_search_locations or [str(spec.origin)]) if spec is not None else ():
            if realpath(place) not in paths:
                yield Difference("file", "", f"{place} comes before {min(paths)}, which is locked")
    known = {path for one in here.values() for path in one.files} | {"_virtualenv.pth"}  # which uv writes
    for root in sorted({dirname(one.info) for one in locked}):
        added = (name for name in sorted(os.listdir(root)) if name.endswith(".pth") and name not in known)
        yield from (Difference("file", "", f"{join(root, name)} was added") for name in added)
    for name in ("sitecustomize", "usercustomize"):
        file = getattr(sys.modules.get(name), "__file__", None) or os.__file__
        if dirname(file) != dirname(os.__file__):
            yield Difference("file", "", f"{file} runs at the start of Python, and is not locked")


def check_lock(plan: Plan, every: bool = False) -> str:
    """Return the path of the lock of a plan's distribution.

    Raises:
        ConfigError: something is not as it was locked. The error names the first difference, or ``every`` one.
    """
    found = plan.distribution
    assert found is not None
    path = place_of_lock(found, plan.paths.config)
    plugins = [d.entry for d in plan.decisions if d.enabled]
    named = found.name if any(e.name == found.name for e in plan.entries_of(DISTRIBUTIONS)) else found.path
    wrong = [one.message for one in differences(read_lock(path, found.name, named), plugins)]
    if wrong:
        more = f", and {len(wrong) - 1} more" if wrong[1:] else ""
        text = "; ".join(wrong) if every else f"{wrong[0]}{more}; nothing of the distribution runs"
        hint = "" if every else "; 'skillkit doctor' shows every difference"
        raise ConfigError(text, where=path, hint=f"install what was locked{hint}")
    return path
