"""Writes packages with plugins, and looks at the processes of isolated ones."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

HEAD = """
import asyncio, os, signal, sys, threading, time
from skillkit_core import *
from skillkit_core.events.results import *
"""


def write_package(site: Path, name: str, code: str, needs: str | None = None) -> str:
    """Put an installed package with a plugin into a folder."""
    package, info = site / f"isolated_{name}", site / f"isolated_{name}-1.0.dist-info"
    for folder in (package, info):
        folder.mkdir()
    (package / "__init__.py").write_text(HEAD + textwrap.dedent(code))
    if needs is not None:
        (package / "plugin.yaml").write_text(f"needs: {needs}\n")
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: isolated-{name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[skillkit.plugins]\n{name} = isolated_{name}\n")
    return name


def processes(host: Any) -> list[int]:
    """The keepers of a host's isolated plugins."""
    return [
        p.connection.pid for p in host.state("isolation").get("plugins", {}).values() if p.connection.pid is not None
    ]


def gone(pid: int) -> bool:
    """Whether a process has ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True
