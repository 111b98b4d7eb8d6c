"""The file of a marketplace: which bundles it lists, and where each of them comes from."""

from __future__ import annotations

import ipaddress
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from skillkit_markdown import FileError, read_inside

from ..model import Dialect, Problem
from .manifest import NAME

__all__ = ["FILES", "Listing", "Marketplace", "read_marketplace", "root_of"]

FILES: Mapping[Dialect, tuple[str, ...]] = {
    "claude": (".claude-plugin/marketplace.json",),
    "codex": (".agents/plugins/marketplace.json", ".claude-plugin/marketplace.json"),
    "copilot": (
        "marketplace.json", ".plugin/marketplace.json", ".github/plugin/marketplace.json", ".claude-plugin/marketplace.json",
    ),
}  # fmt: skip
"""Where each host looks for the file, from the root of the marketplace."""
_FOLDERS = (".claude-plugin", ".agents/plugins", ".github/plugin", ".plugin")
_MOST_BYTES = 8 << 20
_REPOSITORY = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9_][\w.-]*\Z")
_PACKAGE = re.compile(r"(?:@[a-z0-9~-][a-z0-9._~-]*/)?[a-z0-9~-][a-z0-9._~-]*\Z")
_ADDRESS = re.compile(r"(?:https?|ssh|git|file)://[^\s\x00-\x1f]+\Z|[\w.-]+@[\w.-]+:[^\s\x00-\x1f]+\Z")
_SHA = re.compile(r"[0-9a-f]{40}\Z")


@dataclass(frozen=True, slots=True)
class Listing:
    """A bundle in a marketplace.

    Attributes:
        source: ``kind`` (``path``, ``github``, ``git``, ``git-subdir``, ``npm``, ``archive``, ``command``) and its fields;
            empty where it is refused.
        refused: why it cannot be installed, ``code: reason``; empty: it can.
        entry: the entry as it is written.
    """

    name: str
    source: Mapping[str, Any]
    refused: str
    entry: Mapping[str, Any]

    @property
    def version(self) -> str | None:
        """The version that the entry names."""
        value = self.entry.get("version")
        return value if isinstance(value, str) else None

    @property
    def description(self) -> str:
        """One line for people."""
        value = self.entry.get("description")
        return " ".join(value.split()) if isinstance(value, str) else ""

    @property
    def category(self) -> str:
        """The kind of bundle, in the words of the marketplace."""
        value = self.entry.get("category")
        return value if isinstance(value, str) else ""

    @property
    def strict(self) -> bool:
        """Whether the bundle's own manifest counts."""
        return self.entry.get("strict") is not False

    @property
    def default_enabled(self) -> bool:
        """Whether it counts once it is installed."""
        return self.entry.get("defaultEnabled") is not False


@dataclass(frozen=True, slots=True)
class Marketplace:
    """The file of a marketplace as it was read.

    Attributes:
        loads: whether it can be used.
        renames: former names of bundles, each with the present one; ``None``: the bundle was removed.
    """

    loads: bool
    name: str = ""
    plugins: tuple[Listing, ...] = ()
    renames: Mapping[str, str | None] = field(default_factory=dict)
    description: str = ""
    problems: tuple[Problem, ...] = ()


def root_of(file: Path) -> Path:
    """Return the root of the marketplace that a file describes: paths of bundles count from there."""
    for folder in _FOLDERS:
        if file.parent.as_posix().endswith(f"/{folder}"):
            return file.parents[len(folder.split("/"))]
    return file.parent


def read_marketplace(file: Path, dialect: Dialect = "claude") -> Marketplace:
    """Read the file of a marketplace. A link to a file of the same marketplace is followed, any other is refused."""
    where = file.name
    try:
        data = read_inside(file, (root_of(file),), _MOST_BYTES + 1)
    except FileError as error:
        return _unusable("unreadable", where, str(error))
    if len(data) > _MOST_BYTES:
        return _unusable("too-large", where, "it is larger than 8 MiB")
    return parse_marketplace(data, dialect, where)


def parse_marketplace(data: bytes, dialect: Dialect = "claude", where: str = "marketplace.json") -> Marketplace:
    """Read the bytes of a marketplace's file."""
    try:
        found = json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        return _unusable("json", where, f"is no JSON: {error}")
    if not isinstance(found, dict):
        return _unusable("required-field", where, "it must be an object with name, owner and plugins")
    name, owner, plugins = found.get("name"), found.get("owner"), found.get("plugins")
    if not isinstance(name, str) or not isinstance(plugins, list):
        return _unusable("required-field", where, "it needs 'name' and 'plugins'")
    if dialect == "claude" and not (isinstance(owner, dict) and isinstance(owner.get("name"), str)):
        return _unusable("required-field", where, "it needs 'owner', with a 'name'")
    if not NAME.match(name):
        return _unusable("name", where, f"the name {name!r} must be letters, digits, '.', '_' and '-'")
    problems: list[Problem] = []
    metadata = found.get("metadata")
    base = metadata.get("pluginRoot") if isinstance(metadata, dict) else None
    listed: dict[str, Listing] = {}
    for number, entry in enumerate(plugins):
        own = entry.get("name") if isinstance(entry, dict) else None
        if not isinstance(own, str) or not NAME.match(own):
            problems.append(Problem("entry-name", f"plugins[{number}]", f"the name {own!r} is none of a bundle"))
        elif own in listed:
            problems.append(Problem("duplicate", own, "is listed twice: the first entry counts"))
        else:
            source, refused = _source(entry, base if isinstance(base, str) else None, dialect)
            if refused:
                problems.append(Problem(refused.partition(":")[0], own, f"cannot be installed: {refused}"))
            listed[own] = Listing(own, source, refused, entry)
    renames = _renames(found.get("renames"), listed, problems)
    about = found.get("description") or (metadata.get("description") if isinstance(metadata, dict) else "")
    return Marketplace(
        True, name, tuple(listed.values()), renames, about if isinstance(about, str) else "", tuple(problems)
    )


def _unusable(code: str, where: str, what: str) -> Marketplace:
    return Marketplace(False, problems=(Problem(code, where, what, fatal=True),))


def _renames(value: Any, listed: Mapping[str, Listing], problems: list[Problem]) -> dict[str, str | None]:
    """Return where each former name leads; a loop and a dead end are said."""
    found: dict[str, str | None] = {}
    for name in value if isinstance(value, dict) else ():
        seen, now = [name], value[name]
        while isinstance(now, str) and now in value and now not in seen and now not in listed:
            seen.append(now)
            now = value[now]
        if now is None or (isinstance(now, str) and now in listed):
            found[name] = now
        else:
            problems.append(Problem("rename", name, "it was renamed to a name that nothing has"))
    return found


# --- sources ------------------------------------------------------------------------------------------------------------


def _source(entry: Mapping[str, Any], base: str | None, dialect: Dialect) -> tuple[dict[str, Any], str]:
    """Return the source of an entry and an empty text, or nothing and why it is refused."""
    source = entry.get("source")
    if isinstance(source, str):
        return _path(source, base, dialect)
    if not isinstance(source, dict):
        return {}, "source-shape: the source must be a path or an object"
    kind = source.get("source")
    known = _KINDS.get(str(kind))
    if known is None:
        return {}, f"source-unknown: nobody here knows a source {kind!r}"
    if kind == "local":
        return _path(str(source.get("path") or ""), base, "copilot")
    found: tuple[dict[str, Any], str] = known(source)
    return found


def _path(text: str, base: str | None, dialect: Dialect) -> tuple[dict[str, Any], str]:
    plain = text.replace("\\", "/")
    if plain.startswith(("/", "~")) or re.match(r"[A-Za-z]:", plain) or ".." in plain.split("/") or "\0" in plain:
        return {}, "path-outside: the path leaves the marketplace"
    if plain != "." and not plain.startswith("./") and dialect == "claude":
        if base is None or "/" in plain or not plain:
            return {}, "path-form: a path must begin with './'"
        plain = f"{base.rstrip('/')}/{plain}"
        if ".." in plain.split("/") or plain.startswith("/"):
            return {}, "path-outside: the path leaves the marketplace"
    elif not plain:
        return {}, "path-form: the path is empty"
    parts = [part for part in plain.split("/") if part not in ("", ".")]
    return {"kind": "path", "path": "/".join(parts) or "."}, ""


def _kept(source: Mapping[str, Any], *names: str) -> Iterator[tuple[str, Any]]:
    return ((name, source[name]) for name in names if source.get(name) is not None)


def _wrong_fields(source: Mapping[str, Any], needed: tuple[str, ...], more: tuple[str, ...] = ()) -> str:
    for name in needed:
        if not isinstance(source.get(name), str) or not source[name].strip():
            return f"source-field: {name!r} is missing"
    for name in more:
        if source.get(name) is not None and not isinstance(source[name], str):
            return f"source-field: {name!r} must be a text"
    sha = source.get("sha")
    if sha is not None and not (isinstance(sha, str) and _SHA.match(sha)):
        return "source-field: 'sha' must be a full commit id"
    ref = source.get("ref")
    if isinstance(ref, str) and (ref.startswith("-") or ".." in ref or re.search(r"[\s\x00-\x1f~^:?*\[\\]", ref)):
        return f"source-field: {ref!r} is no branch or tag"
    path = source.get("path")
    if isinstance(path, str):
        plain = path.replace("\\", "/")
        if plain.startswith(("/", "~")) or ".." in plain.split("/") or "\0" in plain:
            return "path-outside: the path leaves the repository"
    return ""


def _below(path: Any) -> dict[str, str]:
    parts = [part for part in str(path or "").replace("\\", "/").split("/") if part not in ("", ".")]
    return {"path": "/".join(parts)} if parts else {}


def _github(source: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    if why := _wrong_fields(source, ("repo",), ("ref", "path")):
        return {}, why
    if not _REPOSITORY.match(source["repo"]):
        return {}, "source-field: 'repo' must be owner/name"
    return {"kind": "github", **dict(_kept(source, "repo", "ref", "sha")), **_below(source.get("path"))}, ""


def _git(source: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    if why := _wrong_fields(source, ("url",), ("ref", "path")):
        return {}, why
    if not _ADDRESS.match(source["url"]):
        return {}, "source-field: 'url' must be the address of a repository"
    kind = "git-subdir" if _below(source.get("path")) else "git"
    return {"kind": kind, **dict(_kept(source, "url", "ref", "sha")), **_below(source.get("path"))}, ""


def _subdir(source: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    if why := _wrong_fields(source, ("url", "path"), ("ref",)):
        return {}, why
    if not _ADDRESS.match(source["url"]) and not _REPOSITORY.match(source["url"]):
        return {}, "source-field: 'url' must be the address of a repository, or owner/name"
    return {"kind": "git-subdir", **dict(_kept(source, "url", "ref", "sha")), **_below(source["path"])}, ""


def _npm(source: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    if why := _wrong_fields(source, ("package",), ("version", "registry")):
        return {}, why
    if not _PACKAGE.match(source["package"]) or source["package"].startswith("-"):
        return {}, "source-field: 'package' is no name of a package"
    if source.get("registry") is not None and not source["registry"].startswith("https://"):
        return {}, "source-field: 'registry' must begin with https://"
    return {"kind": "npm", **dict(_kept(source, "package", "version", "registry"))}, ""


def _archive(source: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    if why := _wrong_fields(source, ("url",), ("sha256",)):
        return {}, why
    if why := _private_address(source["url"]):
        return {}, f"archive-url: {why}"
    digest = source.get("sha256")
    if digest is not None and not re.fullmatch(r"(?:sha256[-:])?[0-9a-fA-F]{64}", digest):
        return {}, "source-field: 'sha256' must be 64 hexadecimal digits"
    return {"kind": "archive", **dict(_kept(source, "url", "sha256"))}, ""


def _private_address(text: str) -> str:
    """Return why an archive is not fetched from an address; empty: it may be."""
    try:
        url = urlsplit(text)
        host = url.hostname or ""
    except ValueError:
        return "it is no address"
    if url.scheme != "https" or not host:
        return "it must begin with https://"
    if url.username is not None:
        return "it holds a user"
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        local = host == "localhost" or host.endswith((".localhost", ".local", ".internal")) or "." not in host
        return "it names a machine of a private network" if local or re.fullmatch(r"[\dxa-f.]+", host) else ""
    return "" if address.is_global else "it names a machine of a private network"


def _command(source: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    if why := _wrong_fields(source, ("command",), ("mode",)):
        return {}, why
    text = source["command"]
    hidden = re.search(r"\s{4,}", text) or any(not char.isprintable() for char in text)
    if hidden or len(text) > 500:
        return {}, "command-form: the command is longer than 500 characters, or hides a part of itself"
    return {"kind": "command", **dict(_kept(source, "command", "timeout", "mode"))}, ""


_KINDS: Mapping[str, Any] = {
    "github": _github,
    "url": _git,
    "git": _git,
    "git-subdir": _subdir,
    "npm": _npm,
    "archive": _archive,
    "command": _command,
    "local": True,
}
