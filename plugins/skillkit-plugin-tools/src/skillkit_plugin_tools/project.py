"""The package of a plugin as its author writes it, found and offered to this process without an installation."""

from __future__ import annotations

import os
import sys
from importlib import invalidate_caches
from pathlib import Path
from typing import Any

from skillkit_core.errors import UsageError
from skillkit_core.host.discovery import PLUGINS, SKILLS

__all__ = ["Project"]

PLACES = ("src", ".", "lib", "python")


class Project:
    """The package of a plugin as its author writes it.

    Attributes:
        name: name of the distribution.
        plugins: its plugins, name to module.
        packages: its packages of skills, name to package.
        source: the folder in which its modules lie.
    """

    def __init__(self, folder: Path, data: dict[str, Any]) -> None:
        project = data.get("project", {})
        groups = project.get("entry-points", {})
        self.folder = folder
        self.name: str = project.get("name") or folder.name
        self.version: str = project.get("version") or "0"
        self.groups: dict[str, dict[str, str]] = {k: v for k, v in groups.items() if k.startswith("skillkit.")}
        self.plugins, self.packages = self.groups.get(PLUGINS, {}), self.groups.get(SKILLS, {})
        self.source = self._source()

    @classmethod
    def around(cls, place: Path) -> Project:
        """Return the project of a folder or of the nearest one above.

        Raises:
            UsageError: there is none, or it has no plugin.
        """
        import tomllib

        for folder in (place, *place.parents):
            file = folder / "pyproject.toml"
            if not file.is_file():
                continue
            try:
                data = tomllib.loads(file.read_text("utf-8"))
            except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
                raise UsageError(f"{file}: {error}") from None
            project = cls(folder, data)
            if project.groups:
                return project
            raise UsageError(
                f"{file} names no plugin",
                hint='a line under [project.entry-points."skillkit.plugins"]: name = "module"',
            )
        raise UsageError(
            f"there is no pyproject.toml in {place}", hint="skillkit plugins new NAME --kind tool makes a plugin"
        )

    @property
    def tops(self) -> list[Path]:
        """The folders and files with the modules of its entry points."""
        values = [value for group in self.groups.values() for value in group.values()]
        heads = dict.fromkeys(value.partition(":")[0].partition(".")[0] for value in values)
        return [path for head in heads for path in (self.source / head, self.source / f"{head}.py") if path.exists()]

    def offer(self, folder: Path) -> None:
        """Let this process, and those that it starts, find the plugin as an installed one; ``folder`` takes its metadata."""
        info = folder / f"{self.name.replace('-', '_')}-{self.version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {self.name}\nVersion: {self.version}\n")
        lines = [
            f"[{group}]\n" + "".join(f"{k} = {v}\n" for k, v in entries.items())
            for group, entries in self.groups.items()
        ]
        (info / "entry_points.txt").write_text("\n".join(lines))
        places = [str(self.source), str(folder)]
        sys.path[:0] = places
        sys.dont_write_bytecode = True  # two versions saved within one second would have the same bytecode
        known = os.environ.get("PYTHONPATH")
        os.environ["PYTHONPATH"] = os.pathsep.join([*places, *([known] if known else [])])
        invalidate_caches()

    def _source(self) -> Path:
        values = [value for group in self.groups.values() for value in group.values()]
        for place in PLACES if values else ():
            head = values[0].partition(":")[0].partition(".")[0]
            if (self.folder / place / head).is_dir() or (self.folder / place / f"{head}.py").is_file():
                return (self.folder / place).resolve()
        if values:
            raise UsageError(f"{self.folder}: there is no module {values[0]!r}", hint=f"looked in {', '.join(PLACES)}")
        return self.folder
