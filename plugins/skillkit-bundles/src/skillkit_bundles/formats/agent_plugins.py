"""Agent Plugins 1.0.0: a closed manifest, skills one level deep, and ``mcp.json``; nothing else is read."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from skillkit_skills import read

from ..model import Bundle, Component, Part, Server
from .tree import SKILL, Tree, text_of

__all__ = ["SCHEMA", "read_agent_plugin", "version_of"]

MANIFEST = "plugin.json"
SCHEMA = re.compile(r"https://agent-plugins\.org/schemas/(\d+\.\d+\.\d+)/plugin\.schema\.json\Z")
_SERVERS = re.compile(r"https://agent-plugins\.org/schemas/(\d+\.\d+\.\d+)/mcp\.schema\.json\Z")
_NAME = re.compile(r"[a-z0-9](?:[a-z0-9]|[.-](?![.-])){0,63}(?<![.-])\Z")
_SKILL_NAME = re.compile(r"[a-z0-9](?:[a-z0-9]|-(?!-)){0,63}(?<!-)\Z")
_AUTHOR = ("name", "email", "url")
_TRANSPORTS = {"stdio": "command", "streamable-http": "url", "sse": "url"}
_SERVER_KEYS = {
    "stdio": {"type", "command", "args", "env", "cwd"},
    "streamable-http": {"type", "url", "headers"},
    "sse": {"type", "url", "headers"},
}


def _text(value: Any) -> bool:
    return isinstance(value, str)


def _author(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and isinstance(value.get("name"), str)
        and all(key in _AUTHOR and isinstance(one, str) for key, one in value.items())
    )


_FIELDS: Mapping[str, Callable[[Any], bool]] = {
    **dict.fromkeys(("$schema", "name", "version", "description", "homepage", "repository", "license"), _text),
    "author": _author,
    "keywords": lambda value: isinstance(value, list) and all(isinstance(one, str) for one in value),
    "extensions": lambda value: isinstance(value, dict),
}


def version_of(data: Any) -> str | None:
    """Return the version of the format that a manifest names; ``None``: it is none of this format."""
    schema = data.get("$schema") if isinstance(data, dict) else None
    found = SCHEMA.match(schema) if isinstance(schema, str) else None
    return found[1] if found else None


def read_agent_plugin(tree: Tree) -> Bundle | None:
    """Return the plugin in a folder; ``None``: it does not load, and the problems say why."""
    data = tree.json(MANIFEST, "manifest-json", fatal=True) if (tree.root / MANIFEST).exists() else None
    if not isinstance(data, dict):
        tree.complain(
            "manifest-shape", MANIFEST, "there must be a manifest, an object with $schema and name", fatal=True
        )
        return None
    version = version_of(data)
    if version is None or version.partition(".")[0] != "1":
        tree.complain("schema", MANIFEST, "'$schema' must name version 1 of Agent Plugins", fatal=True)
    for key, value in data.items():
        if key not in _FIELDS:
            tree.complain("unknown-field", MANIFEST, f"the field {key!r} has no effect")
        elif not _FIELDS[key](value):
            tree.complain("field-type", MANIFEST, f"the field {key!r} has a wrong type or unknown parts", fatal=True)
    name = text_of(data, "name") or ""
    if not _NAME.match(name):
        text = f"the name {name!r} must be letters a-z, digits, '.' and '-', at most 64"
        tree.complain("name", MANIFEST, text, fatal=True)
    if any(problem.fatal for problem in tree.problems):
        return None
    assert version is not None
    extensions = data.get("extensions")
    parts = [Part(f"extension {key}", MANIFEST) for key in extensions] if isinstance(extensions, dict) else []
    return Bundle(
        name, tree.root, "agent-plugins", MANIFEST, text_of(data, "version"), text_of(data, "description") or "",
        tuple(_skills(tree)), servers=tuple(_servers(tree, version)), parts=tuple(parts),
    )  # fmt: skip


def _skills(tree: Tree) -> Iterator[Component]:
    if not (tree.root / "skills").exists():
        return
    if not tree.is_folder("skills"):
        tree.complain("path-outside", "skills", "it is no folder of the plugin")
        return
    for folder in sorted((tree.root / "skills").iterdir()):
        path = folder / SKILL
        where = tree.relative(path)
        if not folder.is_dir() or not path.exists():
            continue
        if not tree.holds(path):
            tree.complain("path-outside", where, "a skill that leads out of the plugin is skipped")
            continue
        if (data := tree.read(path)) is None:
            continue
        found = read(data, folder.name)
        values = found.values or {}
        name, about = values.get("name"), values.get("description")
        if name != folder.name or not _SKILL_NAME.match(str(name)):
            text = f"the name {name!r} must be that of its folder, {folder.name!r}: the skill is skipped"
            tree.complain("skill-not-conforming", where, text)
        elif not isinstance(about, str) or not 0 < len(about.strip()) <= 1024:
            tree.complain("skill-not-conforming", where, "it needs a description of at most 1,024 characters: skipped")
        else:
            yield Component(str(name), path, where)


# --- servers ------------------------------------------------------------------------------------------------------------


def _servers(tree: Tree, version: str) -> Iterator[Server]:
    if not (tree.root / "mcp.json").exists():
        return
    data = tree.json("mcp.json", "mcp-json")
    schema = data.get("$schema") if isinstance(data, dict) else None
    said = _SERVERS.match(schema) if isinstance(schema, str) else None
    if not isinstance(data, dict) or said is None or said[1] != version or not isinstance(data.get("mcpServers"), dict):
        text = f"it must be an object with the '$schema' of version {version} and 'mcpServers': no server is read"
        tree.complain("mcp-shape", "mcp.json", text)
        return
    for key in data:
        if key not in ("$schema", "mcpServers"):
            tree.complain("unknown-field", "mcp.json", f"the field {key!r} has no effect")
    for name, config in data["mcpServers"].items():
        if (why := _wrong(tree, config)) is not None:
            tree.complain("mcp-server", "mcp.json", f"the server {name!r} is skipped: {why}")
        else:
            for key in sorted(set(config) - _SERVER_KEYS[config["type"]]):
                tree.complain("unknown-field", "mcp.json", f"the field {key!r} of the server {name!r} has no effect")
            yield Server(str(name), config, "mcp.json")


def _wrong(tree: Tree, config: Any) -> str | None:
    """Return what keeps a server from being used."""
    kind = config.get("type") if isinstance(config, dict) else None
    if kind not in _TRANSPORTS:
        return "'type' must be stdio, streamable-http or sse"
    target = config.get(_TRANSPORTS[kind])
    if not isinstance(target, str) or not target.strip():
        return f"{kind} needs {_TRANSPORTS[kind]}"
    if kind != "stdio":
        headers = config.get("headers", {})
        if not isinstance(headers, dict) or not all(isinstance(one, str) for one in headers.values()):
            return "'headers' must be texts by name"
        return _wrong_address(target)
    if not _program(tree, target):
        return "'command' must be a bare name, or a path that begins with './' or ${PLUGIN_ROOT}/ and stays inside"
    cwd = config.get("cwd")
    if cwd is not None and not (isinstance(cwd, str) and _folder(tree, cwd)):
        return "'cwd' must stay in the plugin, ${PLUGIN_ROOT} or ${PLUGIN_DATA}"
    args, env = config.get("args", []), config.get("env", {})
    if not isinstance(args, list) or not all(isinstance(one, str) for one in args):
        return "'args' must be a list of texts"
    if not isinstance(env, dict) or not all(isinstance(one, str) for one in env.values()):
        return "'env' must be texts by name"
    return None


def _program(tree: Tree, text: str) -> bool:
    if "/" not in text and "\\" not in text:
        return True
    return text.startswith("./") and _below(tree, text)


def _folder(tree: Tree, text: str) -> bool:
    for variable in ("${PLUGIN_ROOT}", "${PLUGIN_DATA}"):
        if text == variable or text.startswith(f"{variable}/"):
            return ".." not in text.split("/")
    return not text.startswith(("/", "~", "$")) and _below(tree, text)


def _below(tree: Tree, text: str) -> bool:
    return ".." not in text.replace("\\", "/").split("/") and tree.holds(tree.root / text)


def _wrong_address(text: str) -> str | None:
    try:
        url = urlsplit(text)
        host = url.hostname or ""
    except ValueError:
        return "its address is none"
    if url.username is not None or url.password is not None:
        return "its address holds a user or a password"
    if url.scheme not in ("https", "http") or not host:
        return "its address must begin with https://"
    if url.scheme == "http" and not _loopback(host):
        return "http is for this machine alone: use https"
    return None


def _loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
