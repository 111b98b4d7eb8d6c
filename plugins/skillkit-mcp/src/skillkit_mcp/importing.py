"""Servers in the files of other programs: Claude Desktop, Claude Code, Cursor (``mcpServers``), VS Code (``servers``)."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from skillkit_core import UsageError
from skillkit_core.settings.documents import write_whole

from .servers import TAKEN, parse_server, read_file

__all__ = ["foreign_servers", "kept_servers", "write_private", "write_servers"]

_MAX_FILE = 5_000_000
_COMMENT = re.compile(r'("(?:\\.|[^"\\])*")|//[^\n]*|/\*.*?\*/', re.S)
_COMMA = re.compile(r'("(?:\\.|[^"\\])*")|,(?=\s*[}\]])')
_VARIABLE = re.compile(r"\$\{(?:(env|input):)?([^}]+)\}")


def foreign_servers(path: Path) -> dict[str, tuple[dict[str, Any] | None, list[str]]]:
    """Return the servers of a file in our shape, each with what is wrong; ``None``: it cannot be used.

    Raises:
        UsageError: the file cannot be read, or holds no servers.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UsageError(f"cannot be read: {error.strerror}", where=str(path)) from None
    try:
        if len(data) > _MAX_FILE:
            raise ValueError("it is too large")
        text = data.decode("utf-8-sig")
        # VS Code's files have comments and commas at the end
        text = _COMMA.sub(lambda m: m[1] or "", _COMMENT.sub(lambda m: m[1] or "", text))
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"is no JSON: {error}", where=str(path)) from None
    servers = _servers_in(found)
    if servers is None:
        raise UsageError("holds no MCP servers", where=str(path), hint="it must have 'mcpServers' or 'servers'")
    return {str(name): _converted(one) for name, one in servers.items()}


def _servers_in(found: Any) -> Mapping[str, Any] | None:
    for keys in (("mcpServers",), ("servers",), ("mcp", "servers")):
        inner = found
        for key in keys:
            inner = inner.get(key) if isinstance(inner, dict) else None
        if isinstance(inner, dict):
            return inner
    return None


def _converted(one: Any) -> tuple[dict[str, Any] | None, list[str]]:
    """Return a server as it is written down here, and what is lost or missing."""
    problems: list[str] = []
    needs: set[str] = set()

    def variable(match: re.Match[str]) -> str:
        kind, name = match[1], match[2]
        if kind is None and name == "workspaceFolder":
            return "."
        if kind is None and name == "userHome":
            return "${HOME}"
        if kind is None:
            needs.add(name.partition(":-")[0])
            return match[0]
        name = name if kind == "env" else re.sub(r"[^A-Z0-9]+", "_", name.upper()).strip("_")
        needs.add(name)
        return f"${{{name}}}"

    def convert(value: Any) -> Any:
        if isinstance(value, str):
            return _VARIABLE.sub(variable, value)
        if isinstance(value, list):
            return [convert(inner) for inner in value]
        if isinstance(value, dict):
            return {str(key): convert(inner) for key, inner in value.items()}
        return value

    if not isinstance(one, dict):
        return None, ["it is no object"]
    converted = convert(one)
    config, found = parse_server(converted)
    problems += found
    if needs - {"HOME"}:
        problems.append(f"set {', '.join(sorted(needs - {'HOME'}))} and name it in mcp.variables")
    if config is None:
        return None, problems
    return {key: value for key, value in converted.items() if key in TAKEN}, problems


def kept_servers(path: Path) -> dict[str, Any]:
    """Return the servers of our own file, as they are written there.

    Raises:
        UsageError: the file cannot be read.
    """
    read_file(path)
    return dict(json.loads(path.read_text("utf-8-sig")).get("mcpServers", {})) if path.exists() else {}


def write_servers(path: Path, servers: Mapping[str, Mapping[str, Any]]) -> None:
    """Write a file of servers that only its owner can read.

    Raises:
        UsageError: the file cannot be written.
    """
    text = json.dumps({"mcpServers": dict(sorted(servers.items()))}, indent=2, ensure_ascii=False) + "\n"
    write_private(path, text)


def write_private(path: Path, text: str) -> None:
    """Write a file of mode 0600 at once.

    Raises:
        UsageError: the file cannot be written.
    """
    import os

    before = os.umask(0o077)
    try:
        write_whole(str(path), text)
    except OSError as error:
        raise UsageError(f"cannot be written: {error.strerror}", where=str(path)) from None
    finally:
        os.umask(before)
