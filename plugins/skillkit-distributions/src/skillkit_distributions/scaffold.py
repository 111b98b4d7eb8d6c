"""A new distribution: the files of a template, with its name in them."""

from __future__ import annotations

import re
from collections.abc import Collection
from datetime import UTC, datetime
from pathlib import Path

from skillkit_core import __version__
from skillkit_core.errors import ConfigError, UsageError

__all__ = ["write_project"]

_TEMPLATES = Path(__file__).with_name("templates")
_HIDDEN = {"gitignore": ".gitignore"}  # names that a build backend would obey or leave out
_TAKEN = ("default", "skillkit")


def write_project(
    name: str, template: str, path: Path | None = None, taken: Collection[str] = ()
) -> tuple[Path, list[str]]:
    """Write the project of a distribution, and return its folder and its files.

    Args:
        name: name of the distribution and of its command, lower case with dashes.
        template: ``minimal`` or ``company``.
        path: the folder; default: ``skillkit-NAME`` in the current one.
        taken: normalised names of packages that exist.

    Raises:
        UsageError: the name does not fit.
        ConfigError: the folder is there and not empty, or cannot be made.
    """
    if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", name):
        raise UsageError(f"{name!r} cannot be a command", hint="write lower case letters, digits and single dashes")
    if name in _TAKEN:
        raise UsageError(f"{name!r} is the name of the standard distribution or its command", hint="take another one")
    if f"skillkit-{name}" in taken:
        raise UsageError(f"there is a package called 'skillkit-{name}'", hint="take another name")
    folder = path or Path(f"skillkit-{name}")
    if folder.is_symlink() and not folder.exists():
        raise ConfigError(f"is a link to {folder.readlink()}, which is not there", where=str(folder), hint="remove it")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ConfigError("exists already", where=str(folder), hint="name another folder with --path")
    values = _values(name)
    files: list[str] = []
    root = _TEMPLATES / template
    for source in sorted(root.rglob("*.in")):
        relative = str(source.relative_to(root).with_suffix("")).replace("__module__", values["module"])
        target = folder / _HIDDEN.get(relative, relative)
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ConfigError(f"cannot be made: {error.strerror}", where=str(target.parent)) from None
        text = re.sub(r"\{\{(\w+)\}\}", lambda match: values[match[1]], source.read_text("utf-8"))
        target.write_text(text, encoding="utf-8")
        files.append(str(target.relative_to(folder)))
    return folder, files


def _values(name: str) -> dict[str, str]:
    major, minor = (int(part) for part in re.findall(r"\d+", __version__)[:2])
    below = f"{major}.{minor + 1}" if major == 0 else str(major + 1)
    plain = name.replace("-", "_")
    return {
        "name": name,
        "title": name.replace("-", " ").title(),
        "package": f"skillkit-{name}",
        "module": f"skillkit_{plain}",
        "attribute": plain,
        "prefix": plain.upper(),
        "range": f">={major}.{minor},<{below}",
        "year": str(datetime.now(UTC).year),
    }
