"""The project of a distribution: what its ``pyproject.toml`` and its ``distribution.yaml`` say."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any, NamedTuple

from skillkit_core import Host
from skillkit_core.errors import ConfigError
from skillkit_core.host.discovery import DISTRIBUTIONS, canonical

__all__ = ["Project", "read_project"]


class Project(NamedTuple):
    """A project that is a distribution.

    Attributes:
        folder: its folder.
        package: normalised name of the package.
        version: version of the package.
        name: name of the distribution.
        file: its ``distribution.yaml``.
        command: its console script; ``None``: it has none.
        plugins: the plugins that it lists, in order.
        extends: the installed distributions that it extends.
    """

    folder: Path
    package: str
    version: str
    name: str
    file: Path
    command: str | None
    plugins: tuple[str, ...]
    extends: tuple[str, ...] = ()


def read_project(folder: Path) -> Project:
    """Return the project in ``folder``, whose ``distribution.yaml`` is checked as at a start.

    Raises:
        ConfigError: the folder is no project of a distribution, or a file of it is wrong. The error names file and line.
    """
    path = folder / "pyproject.toml"
    try:
        data = tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise ConfigError(
            "there is no pyproject.toml",
            where=str(folder),
            hint="'skillkit dist new' makes a distribution",
        ) from None
    except (OSError, ValueError) as error:
        raise ConfigError(f"cannot be read: {error}", where=str(path)) from None
    project: dict[str, Any] = data.get("project", {})
    entries: dict[str, str] = project.get("entry-points", {}).get("skillkit.distributions", {})
    for key in ("name", "version"):
        if not isinstance(project.get(key), str):
            raise ConfigError(
                f"must have project.{key}", where=str(path), hint="a lock pins a version that stands there"
            )
    if len(entries) != 1:
        raise ConfigError(
            "must have one entry point in the group skillkit.distributions", where=str(path),
            hint=f'[project.entry-points."skillkit.distributions"] with {project["name"]} = "PACKAGE"',
        )  # fmt: skip
    ((name, module),) = entries.items()
    inside = Path(*module.split("."), "distribution.yaml")
    file = next((place / inside for place in (folder / "src", folder) if (place / inside).is_file()), None)
    if file is None:
        raise ConfigError(f"there is neither src/{inside} nor {inside}", where=str(folder))
    host = Host(str(file), cwd=folder)
    try:
        found = host.distribution
    except ConfigError as error:
        if error.message.startswith("unknown distribution"):
            error.hint = f"install its package here, too, and add it to project.dependencies of {path}"
        raise
    assert found is not None
    if found.name != name:
        raise ConfigError(f"is the distribution {found.name!r}, and pyproject.toml names it {name!r}", where=str(file))
    scripts = {key for key, value in project.get("scripts", {}).items() if value.startswith("skillkit_core.cli")}
    command = name if name in scripts else next(iter(sorted(scripts)), None)
    others = {entry.name for entry in host.entries if entry.group == DISTRIBUTIONS} - {name}
    package, extends = canonical(project["name"]), tuple(one for one in found.family if one in others)
    return Project(folder, package, project["version"], name, file, command, found.plugins, extends)
