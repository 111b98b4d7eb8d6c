"""Plugins of a test, from a few lines of source: installed for the command line, or embedded in a host."""

from __future__ import annotations

import os
import textwrap
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

HEAD = "from skillkit_core import hookimpl\nfrom skillkit_core.descriptors import *\n"


class Plugins:
    """The plugins of one test, in the order in which they were added."""

    def __init__(self, folder: Path, cli: Any) -> None:
        self.folder, self.cli = folder, cli
        self.sources: dict[str, str] = {}

    def add(self, name: str, source: str) -> None:
        """Install a distribution ``acme-NAME`` with one plugin; ``source`` is its module."""
        self.sources[name] = HEAD + textwrap.dedent(source)
        (self.folder / f"acme_{name}.py").write_text(self.sources[name])
        info = self.folder / f"acme_{name}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: acme-{name}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[skillkit.plugins]\n{name} = acme_{name}\n")

    def embedded(self) -> list[tuple[str, ModuleType]]:
        """The plugins as modules of this process."""
        made = []
        for name, source in self.sources.items():
            module = ModuleType(f"acme_{name}")
            exec(source, vars(module))
            made.append((name, module))
        return made

    def run(self, *arguments: str) -> Any:
        """Run the command line with ``inspect`` and these plugins, and no other one."""
        path = os.pathsep.join([str(self.folder), *filter(None, [os.environ.get("PYTHONPATH")])])
        return self.cli("--plugins", ",".join(["inspect", *self.sources]), *arguments, env={"PYTHONPATH": path})


@pytest.fixture
def plugins(tmp_path: Path, skillkit_cli: Any) -> Plugins:
    folder = tmp_path / "site"
    folder.mkdir()
    return Plugins(folder, skillkit_cli)
