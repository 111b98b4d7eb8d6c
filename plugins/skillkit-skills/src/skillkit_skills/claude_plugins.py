"""Claude Code's plugins as sources of skills: the installed ones, and folders with a manifest. Nothing is fetched."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skillkit_core.settings.documents import open_regular
from skillkit_core.skills import SkillProblem

if TYPE_CHECKING:
    from skillkit_core import Host

__all__ = ["installed", "plugin_roots"]

_MANIFEST = ".claude-plugin/plugin.json"
_MARKETPLACE = ".claude-plugin/marketplace.json"
_MAX_BYTES = 1 << 20


def installed(host: Host, folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield name and folder of the plugins that are installed below ``folder`` (``~/.claude``), each name once.

    A plugin that is switched off in ``settings.json`` is left out, and so is one that another project installed.
    """
    path = folder / "plugins/installed_plugins.json"
    if not path.is_file():
        return
    settings = _read(folder / "settings.json", [])
    listed = _read(path, []).get("plugins")
    enabled = settings.get("enabledPlugins")
    taken: set[str] = set()
    for key, value in listed.items() if isinstance(listed, Mapping) else ():
        if isinstance(enabled, Mapping) and enabled.get(key) is False:
            continue
        for entry in value if isinstance(value, list) else [value]:
            where = entry.get("installPath") if isinstance(entry, Mapping) else None
            if not isinstance(where, str) or not _counts(host, entry):
                continue
            name = key.partition("@")[0]
            name = name if name not in taken else key.replace("@", "-")
            if name not in taken:
                taken.add(name)
                yield name, Path(where)


def _counts(host: Host, entry: Mapping[str, Any]) -> bool:
    """Return whether an installed plugin is meant for this project."""
    project = entry.get("projectPath")
    if entry.get("scope", "user") == "user" or not isinstance(project, str):
        return True
    return host.withheld is not None and Path(project).resolve() == host.cwd.resolve()


def plugin_roots(folder: Path, problems: list[SkillProblem]) -> list[tuple[Path, str]] | None:
    """Return the folders with skills of a plugin or of a marketplace, each with its namespace; ``None``: it is neither.

    A path that leaves the plugin is a problem. A plugin of a marketplace that lies elsewhere is not fetched.
    """
    if (folder / _MARKETPLACE).is_file():
        return list(_marketplace(folder, problems))
    if (folder / _MANIFEST).is_file():
        return list(_plugin(folder, {}, problems, str(folder / _MANIFEST)))
    return None


def _marketplace(folder: Path, problems: list[SkillProblem]) -> Iterator[tuple[Path, str]]:
    path = str(folder / _MARKETPLACE)
    data = _read(folder / _MARKETPLACE, problems)
    listed = data.get("plugins")
    for entry in listed if isinstance(listed, list) else ():
        if not isinstance(entry, Mapping):
            continue
        name, source = str(entry.get("name") or "?"), entry.get("source")
        if not isinstance(source, str):
            text = f"the plugin {name!r} of the marketplace is not on this machine: it was not fetched"
            problems.append(SkillProblem("plugin-remote", text, "info", path))
        elif (place := _inside(folder, source, problems, path)) is not None:
            yield from _plugin(place, entry, problems, path)


def _plugin(
    folder: Path, entry: Mapping[str, Any], problems: list[SkillProblem], path: str
) -> Iterator[tuple[Path, str]]:
    """Yield the folders of one plugin: ``skills``, and those that its manifest or its entry in a marketplace names."""
    manifest = _read(folder / _MANIFEST, problems) if (folder / _MANIFEST).is_file() else {}
    name = str(manifest.get("name") or entry.get("name") or folder.name)
    found = [folder / "skills"] if (folder / "skills").is_dir() else []
    for said in (manifest.get("skills"), entry.get("skills")):
        for text in [said] if isinstance(said, str) else said if isinstance(said, list) else ():
            if isinstance(text, str) and (place := _inside(folder, text, problems, path)) is not None:
                found.append(place)
    roots: list[Path] = []
    for place in found:  # a folder below one that is read already would be read twice
        if not any(place.resolve().is_relative_to(root.resolve()) for root in roots):
            roots.append(place)
    yield from ((root, name) for root in roots)


def _inside(folder: Path, text: str, problems: list[SkillProblem], path: str) -> Path | None:
    """Return a folder that a manifest names, unless it leaves the plugin, links followed."""
    place, root = folder / text, os.path.realpath(folder)
    real = os.path.realpath(place)
    if real != root and not real.startswith(root.rstrip(os.sep) + os.sep):
        problems.append(
            SkillProblem("plugin-path-escape", f"{text!r} leaves the plugin and is not read", "error", path)
        )
        return None
    if not place.is_dir():
        problems.append(SkillProblem("plugin-path-missing", f"{text!r} is no folder of the plugin", "warning", path))
        return None
    return place


def _read(path: Path, problems: list[SkillProblem]) -> Mapping[str, Any]:
    try:
        with open_regular(path) as file:
            data = json.loads(file.read(_MAX_BYTES))
        if isinstance(data, Mapping):
            return data
        said = "is no mapping"
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError) as error:
        said = f"cannot be read: {error}"
    problems.append(SkillProblem("plugin-manifest", f"the manifest {said}", "error", str(path)))
    return {}
