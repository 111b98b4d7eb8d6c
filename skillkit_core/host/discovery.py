"""Discovery: the entry points of installed distributions, read from their metadata without importing anything.

Importing ``importlib.metadata`` costs more than this whole scan, so the scan reads directories itself and leaves only zip
files, eggs and foreign finders to ``importlib.metadata``.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from ..errors import Diagnostic

PLUGINS = "skillkit.plugins"
DISTRIBUTIONS = "skillkit.distributions"
SKILLS = "skillkit.skills"
PACKAGES = "skillkit.packages"
LISTINGS = "skillkit.listings"


class EntryPoint(NamedTuple):
    """One entry point: ``name = value`` of ``group``, in an installed distribution. An empty value names nothing.

    Values that every start makes are tuples: defining a frozen dataclass takes seven times as long.
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


class Wrong(NamedTuple):
    """A problem of one line of an ``entry_points.txt``, of the whole file for line 0.

    Attributes:
        name: the entry that the line names, if any.
        lost: the entry of the line is lost.
    """

    line: int
    message: str
    name: str = ""
    lost: bool = True


def canonical(name: str) -> str:
    """Return the normalised name of a distribution (PEP 503)."""
    return "-".join(part for part in name.replace("_", "-").replace(".", "-").lower().split("-") if part)


def dist_infos() -> dict[str, tuple[str, str]]:
    """Return version and ``.dist-info`` of the packages on ``sys.path``, by normalised name. As for imports, the first counts."""
    found: dict[str, tuple[str, str]] = {}
    for place in filter(os.path.isdir, dict.fromkeys(sys.path)):
        for name in sorted(os.listdir(place)):
            if name.endswith(".dist-info"):
                package, _, version = name.removesuffix(".dist-info").partition("-")
                found.setdefault(canonical(package), (version, os.path.join(place, name)))
    return found


def parse(
    text: str, group_prefix: str = "skillkit.", wrong: list[Wrong] | None = None
) -> Iterable[tuple[str, str, str]]:
    """Yield the ``(group, name, value)`` triples of an ``entry_points.txt`` whose group begins with the prefix.

    A value that names no object is yielded empty. ``wrong`` collects lines that make no sense or repeat another one.
    """
    wrong = [] if wrong is None else wrong
    group = ""
    seen: set[tuple[str, str]] = set()
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.strip()
        if not line or line.startswith(("#", ";")):
            continue
        if line.startswith("[") and line.endswith("]"):
            group = line[1:-1].strip()
            if (group, "") in seen:
                wrong.append(Wrong(number, f"section [{group}] is there a second time", lost=False))
            elif f"{group}s" in (PLUGINS, DISTRIBUTIONS, SKILLS, PACKAGES, LISTINGS):
                wrong.append(Wrong(number, f"nobody reads section [{group}]: did you mean [{group}s]?"))
            seen.add((group, ""))
            continue
        name, equals, value = (part.strip() for part in line.partition("="))
        if not group and not wrong:
            wrong.append(Wrong(number, f"{line!r} is no '[section]', and nothing counts before the first one"))
        elif group and not (equals and name):
            wrong.append(Wrong(number, f"{line!r} is no 'name = module:attribute'"))
        elif group.startswith(group_prefix):
            if (group, name) in seen:
                wrong.append(Wrong(number, f"{name!r} is there a second time, and the first one counts", name))
                continue
            seen.add((group, name))
            value = value.partition("[")[0].strip()
            if not _names_an_object(value):
                wrong.append(Wrong(number, f"{name!r} needs a 'module:attribute', not {value!r}", name))
                value = ""
            yield group, name, value


def _names_an_object(value: str) -> bool:
    """Return whether ``value`` is ``module`` or ``module:attribute``, both of words and dots."""
    return all(part.replace("_", "a").replace(".", "a").isalnum() for part in value.split(":", 1))


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


def _scan_directory(path: str, seen: set[str], out: list[EntryPoint], problems: list[Diagnostic]) -> None:
    try:
        found = sorted(e.name for e in os.scandir(path) if e.name.endswith((".dist-info", ".egg-info", ".egg")))
        names = sorted(found, key=lambda name: not name.endswith(".dist-info"))  # they count before the older forms
    except OSError:
        return
    for directory in names:
        if directory.endswith(".egg"):
            _scan_metadata(os.path.join(path, directory), seen, out, problems)
            continue
        stem = directory.rpartition(".")[0]
        name, _, version = stem.partition("-")
        key = canonical(name)
        if key in seen:
            continue
        full = os.path.join(path, directory)
        file = os.path.join(full, "entry_points.txt")
        try:
            with open(file, "rb") as stream:
                data = stream.read()
        except OSError as error:
            if version:
                seen.add(key)
            if not isinstance(error, (FileNotFoundError, NotADirectoryError)):
                problems += explain(file, key, version, [Wrong(0, f"it cannot be read: {error.strerror}")])
            continue
        seen.add(key)
        if data.isascii() and b"[skillkit." not in data.replace(b"[ ", b"["):
            continue
        version = version.partition("-py")[0] or _version_in(full)
        _take(data, file, key, version, path, out, problems)


def _take(
    data: bytes, file: str, key: str, version: str, location: str, out: list[EntryPoint], problems: list[Diagnostic]
) -> None:
    """Add the entries of a file to ``out``, and its problems to ``problems`` if the file may be a plugin's."""
    wrong: list[Wrong] = []
    try:
        entries = list(parse(data.decode(), wrong=wrong))
        ours = "[skillkit." in data.decode().replace("[ ", "[")
    except UnicodeDecodeError as error:
        entries, ours = list(parse(data.decode("utf-8", "replace"))), True  # the file may be a plugin's
        wrong = [Wrong(data.count(b"\n", 0, error.start) + 1, "there are bytes that are no UTF-8")]
    out.extend(EntryPoint(group, entry, value, key, version, location) for group, entry, value in entries)
    if wrong and ours:
        problems += explain(file, key, version, wrong)


def _scan_metadata(
    path: str | None, seen: set[str], out: list[EntryPoint], problems: list[Diagnostic], finder: object = None
) -> None:
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
        try:
            data = (dist.read_text("entry_points.txt") or "").encode()
        except UnicodeDecodeError as error:
            data = error.object
        file = os.path.join(str(getattr(dist, "_path", path or key)), "entry_points.txt")
        _take(data, file, key, dist.version, path or "", out, problems)


def scan(path: Sequence[str] | None = None, problems: list[Diagnostic] | None = None) -> list[EntryPoint]:
    """Return every SkillKit entry point on ``path`` (default: ``sys.path``), sorted by distribution and name.

    As for imports, the first distribution of a name on the path counts. The current directory (an empty path entry) is left
    out, because a file in a project is no installed plugin. ``problems`` collects the problems of plugins' metadata.
    """
    out: list[EntryPoint] = []
    seen: set[str] = set()
    problems = [] if problems is None else problems
    for entry in dict.fromkeys(sys.path if path is None else path):
        if not entry:
            continue
        if os.path.isdir(entry):
            _scan_directory(entry, seen, out, problems)
        elif entry.endswith((".zip", ".whl", ".egg")) and os.path.exists(entry):
            _scan_metadata(entry, seen, out, problems)
    if path is None:
        for finder in sys.meta_path:
            if getattr(finder, "__module__", "").startswith(("_frozen", "importlib")):
                continue
            if hasattr(finder, "find_distributions"):
                _scan_metadata(None, seen, out, problems, finder)
    out.sort(key=lambda e: e.sort_key)
    return out


def find_beside(entry: EntryPoint, name: str) -> str | None:
    """Return the file ``name`` in the package that an entry point names, or whose module it names, importing neither."""
    from importlib.machinery import PathFinder

    places: list[str] = []
    module = ""
    for part in entry.value.partition(":")[0].split("."):
        module = f"{module}.{part}" if module else part
        found = getattr(sys.modules.get(module), "__spec__", None) or PathFinder.find_spec(module, places or None)
        if found is None or found.submodule_search_locations is None:
            break
        places = list(found.submodule_search_locations)
    return next((path for place in places if os.path.isfile(path := os.path.join(place, name))), None)


def package_tables(entries: Iterable[EntryPoint]) -> Iterator[Mapping[str, Mapping[str, Any]]]:
    """Yield the tables ``packages.json``: names by package and kind, ``{"acme-tools": {"plugins": ["acme"]}}``."""
    import json

    for entry in entries:
        path = find_beside(entry, "packages.json") if entry.group == PACKAGES else None
        if path is not None:
            with suppress(OSError, ValueError), open(path, encoding="utf-8") as file:  # a table is a hint, no more
                table = json.load(file)
                yield table if isinstance(table, dict) else {}


def explain(file: str, distribution: str, version: str, wrong: Iterable[Wrong]) -> list[Diagnostic]:
    """Return diagnostics of an ``entry_points.txt``. A problem without a plugin's name carries the distribution's."""
    remedy = f"correct the file, or install a release that is whole: pip install --force-reinstall {distribution}"
    out: list[Diagnostic] = []
    for line, message, name, lost in wrong:
        where = f"{file}:{line}" if line else file
        found = Diagnostic(name or distribution, "discovery", f"{where}: {message}", remedy, distribution, version)
        out.append(found if lost else found._replace(severity="warning"))
    return out


def spare_pydantic() -> None:
    """Make pydantic search for its own plugins now, if broken metadata ends that search in an error.

    Pydantic searches once in a process, when the first model is made, and an error of the search fails this model. So the
    function makes a model that nobody needs. Environment variables, which child processes would inherit, stay as they are.
    """
    from importlib.metadata import entry_points

    try:
        entry_points(group="pydantic")
    except (OSError, TypeError, ValueError):
        from pydantic import create_model

        with suppress(OSError, TypeError, ValueError):
            create_model("FirstOfTheProcess")


def preferred(entries: Sequence[EntryPoint]) -> EntryPoint:
    """Return which of several distributions gets a plugin name: ``skillkit-<name>``, else the first by name.

    So a stranger cannot take over ``permissions`` with a distribution name that sorts early.
    """
    for entry in entries:
        if entry.distribution == f"skillkit-{entry.name}":
            return entry
    return min(entries, key=lambda e: e.sort_key)
