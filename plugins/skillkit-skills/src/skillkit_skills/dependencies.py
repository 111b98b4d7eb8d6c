"""What a Python script says it needs (PEP 723), and what runs it with that: this interpreter, or uv where it may fetch.

Packages are code of strangers, so the user allows fetching for each skill by name (``skills.entries.NAME.fetch``). Neither
a project nor a distribution can.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from shutil import which
from typing import TYPE_CHECKING, Any

from packaging.markers import default_environment
from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from skillkit_markdown import flag

from skillkit_core.errors import ToolError
from skillkit_core.skills import Skill

if TYPE_CHECKING:
    from skillkit_core import Host

__all__ = ["may_fetch", "python_argv"]

# The expression of PEP 723.
_BLOCK = re.compile(r"(?m)^# /// (?P<type>[a-zA-Z0-9-]+)$\s(?P<content>(^#(| .*)$\s)+)^# ///$")
_USERS = ("user", "environment", "flags")


def python_argv(host: Host, skill: Skill, script: Path) -> list[str]:
    """How to start a Python script: with this interpreter, else with ``uv run --script`` if something is missing here.

    uv reads the settings of the user and of the script's header, not those of the folders around the script or the
    workspace: an index that is named there could serve anything.

    Raises:
        ToolError: the header is wrong, something is missing that may not be fetched, or uv is not installed.
    """
    missing = _missing(script)
    if not missing:
        return [sys.executable, str(script)]
    verb = "is" if len(missing) == 1 else "are"
    needs = f"{script.name} needs {', '.join(missing)}, which {verb} not installed beside SkillKit"
    if not may_fetch(host, skill):
        key = skill.skill_key or skill.name
        raise ToolError(
            needs,
            hint=f"install it there, or let uv fetch it for this skill: 'skills.entries.{key}.fetch: true' in "
            f"{host.config_dir / 'config.yaml'}",
        )
    uv = which("uv", path=host.environ.get("PATH"))
    if uv is None:
        raise ToolError(f"{needs}, and uv, which would fetch it, is not on PATH", hint="install uv: pip install uv")
    return [uv, "run", "--quiet", "--project", "/", "--script", str(script)]


def may_fetch(host: Host, skill: Skill) -> bool:
    """Whether the user, or the application, lets uv fetch packages for this skill. A project or a distribution cannot."""
    allowed = False
    for layer in host.config.layers:
        for name in dict.fromkeys((skill.name, skill.skill_key or skill.name)):
            value: Any = layer.data
            for part in ("skills", "entries", name, "fetch"):
                value = value.get(part) if isinstance(value, Mapping) else None
            if value is not None and (layer.name in _USERS or not flag(value, False)):
                allowed = flag(value, False)
    return allowed


def _missing(script: Path) -> list[str]:
    """The requirements of a script that this interpreter does not meet; none without a header."""
    try:
        text = script.read_text(encoding="utf-8")
        blocks = [m for m in _BLOCK.finditer(text) if m["type"] == "script"]
        if len(blocks) > 1:
            raise ValueError("it has two 'script' blocks")
        lines = blocks[0]["content"].splitlines(keepends=True) if blocks else []
        header = tomllib.loads("".join(line[2:] if line.startswith("# ") else line[1:] for line in lines))
        python = str(header.get("requires-python") or "")
        here = default_environment()["python_full_version"]
        missing = [] if SpecifierSet(python).contains(here, prereleases=True) else [f"Python {python}"]
        return [*missing, *(need for need in header.get("dependencies") or () if not _met(Requirement(need)))]
    except (ValueError, TypeError, InvalidRequirement, InvalidSpecifier) as error:
        raise ToolError(f"the header of {script.name} (PEP 723) cannot be read: {error}") from None


def _met(need: Requirement) -> bool:
    if need.marker is not None and not need.marker.evaluate():
        return True
    try:
        return need.url is None and need.specifier.contains(metadata.version(need.name), prereleases=True)
    except metadata.PackageNotFoundError:
        return False
