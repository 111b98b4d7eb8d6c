"""What a person names: a package, a folder, a wheel, a git repository or an address, as package managers take it."""

from __future__ import annotations

import os
import re
import tomllib
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from skillkit_core.errors import UsageError
from skillkit_core.host.discovery import canonical

_NAME = r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?"
_REQUIREMENT = re.compile(rf"({_NAME})\s*(\[[A-Za-z0-9._, -]*\])?\s*((?:[<>=!~]=?=?\s*[^\s;,]+\s*,?\s*)*)(;.*)?")
_SCP = re.compile(r"([\w.-]+@[\w.-]+):(?!//)(\S+)")
_FILES = (".whl", ".tar.gz", ".zip")


class Source(NamedTuple):
    """A source of a package.

    Attributes:
        text: what a package manager takes: a requirement, an absolute path, or an address.
        kind: ``name``, ``folder``, ``file``, ``git`` or ``url``.
        package: the normalised name of the package, ``""`` where only its build tells.
    """

    text: str
    kind: str
    package: str = ""


def read_source(text: str, cwd: Path) -> Source:
    """Return the source that ``text`` names.

    Raises:
        UsageError: it names nothing that can be installed.
    """
    path = Path(os.path.expanduser(text))  # noqa: PTH111 - Path.expanduser fails for a user who does not exist
    if text.startswith("-"):
        raise UsageError(f"{text!r} is no package", hint="name a package, a folder, a wheel or a git repository")
    if text.startswith("git+"):
        return Source(text, "git")
    if scp := _SCP.fullmatch(text):
        return Source(f"git+ssh://{scp[1]}/{scp[2]}", "git")
    if "://" in text:
        return _address(text)
    if "/" in text or text in (".", "..") or path.suffix == ".whl":
        return _local((cwd / path).resolve(), text)
    match = _REQUIREMENT.fullmatch(text.strip())
    if match is None:
        raise UsageError(
            f"{text!r} is no package",
            hint="write a name such as acme-tools, a path such as ./acme-tools, or git+https://...",
        )
    return Source(text.strip(), "name", canonical(match[1]))


def _address(text: str) -> Source:
    parts = urlsplit(text)
    if parts.scheme in ("git", "ssh"):
        return Source(f"git+{text}", "git")
    if parts.scheme not in ("http", "https", "file"):
        raise UsageError(
            f"{text!r} has a scheme that package managers do not know", hint="write https:// or git+https://"
        )
    if parts.path.endswith(_FILES):
        return Source(text, "url", _of_file(parts.path))
    return Source(f"git+{text}", "git")


def _local(path: Path, said: str) -> Source:
    if path.is_dir():
        if not any((path / name).is_file() for name in ("pyproject.toml", "setup.py")):
            raise UsageError("the folder has no pyproject.toml", where=said)
        return Source(str(path), "folder", _of_folder(path))
    if not path.is_file():
        raise UsageError("there is no such file or folder", where=said)
    if not path.name.endswith(_FILES):
        raise UsageError("this is neither a folder nor a wheel", where=said)
    return Source(str(path), "file", _of_file(path.name))


def _of_file(name: str) -> str:
    """Return the package of a wheel or an archive, by the name of the file."""
    stem = name.rpartition("/")[2]
    return canonical(stem.split("-")[0] if stem.endswith(".whl") else stem.rpartition("-")[0])


def _of_folder(path: Path) -> str:
    """Return the package of a project that says its name, which is read and not built."""
    try:
        data = tomllib.loads((path / "pyproject.toml").read_text())
        return canonical(str(data["project"]["name"]))
    except (OSError, ValueError, KeyError, TypeError):
        return ""
