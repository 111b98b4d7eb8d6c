"""Writes ``packages.json``, the table of what comes with which package, from the entry points and items of all members.

    uv run python plugins/skillkit-plugin-packages/generate.py

A test fails where it is not current.
"""

from __future__ import annotations

import json
import tempfile
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from skillkit_core import Host

ROOT = Path(__file__).resolve().parent.parent.parent
FILE = Path(__file__).parent / "src" / "skillkit_plugin_packages" / "packages.json"
KINDS = (
    "adapters",
    "commands",
    "compactors",
    "config",
    "executors",
    "runtimes",
    "session_stores",
    "slash_commands",
    "tools",
)
GROUPS = {"skill_commands": "skills"}  # kinds of items that are commands in a group


def table() -> dict[str, dict[str, object]]:
    """Return the table of this checkout."""
    with tempfile.TemporaryDirectory() as home:
        host = Host(environ={"HOME": home, "SKILLKIT_HOME": home}, cwd=home)
        try:
            host.collect_all()
            items = {kind: host.registry(kind).entries() for kind in (*KINDS, *GROUPS)}
            return dict(sorted(_packages(items)))
        finally:
            host.close()


def _packages(items: Mapping[str, Sequence[Any]]) -> Iterator[tuple[str, dict[str, object]]]:
    for path in sorted(
        [ROOT / "pyproject.toml", *ROOT.glob("plugins/*/pyproject.toml"), ROOT / "skills" / "pyproject.toml"]
    ):
        project = tomllib.loads(path.read_text())["project"]
        groups = {
            k.partition(".")[2]: list(v)
            for k, v in project.get("entry-points", {}).items()
            if k.startswith("skillkit.")
        }
        groups.pop("packages", None)
        brings = {kind: sorted(names) for kind, names in groups.items()}
        for kind, entries in items.items():
            names = sorted(e.name for e in entries if e.source in groups.get("plugins", ()))
            if kind in GROUPS:
                kind, names = "commands", [f"{GROUPS[kind]} {name}" for name in names]
            if names:
                brings[kind] = sorted({*brings.get(kind, []), *names})
        yield project["name"], {"summary": project["description"], **brings}


def text() -> str:
    """Return the content of the file: a line a package, so that a change is a line, too."""
    lines = [f"  {json.dumps(name)}: {json.dumps(about)}" for name, about in table().items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


if __name__ == "__main__":
    FILE.write_text(text())
