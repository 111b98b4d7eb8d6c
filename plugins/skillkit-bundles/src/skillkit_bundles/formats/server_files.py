"""MCP servers in a bundle: the files and inline parts that name them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..model import Part, Server
from .tree import Tree, named_paths

__all__ = ["servers_in", "servers_of_file"]


def servers_of_file(tree: Tree, file: str) -> list[Server]:
    """Return the servers of a file, which may leave out ``mcpServers``."""
    data = tree.json(file, "mcp-json")
    if data is None:
        return []
    if not isinstance(data, dict):
        tree.complain("mcp-shape", file, "it must be an object with 'mcpServers'")
        return []
    return _servers(tree, data, file)


def _servers(tree: Tree, data: Mapping[str, Any], file: str) -> list[Server]:
    inner = data.get("mcpServers", data.get("servers")) if {"mcpServers", "servers"} & data.keys() else data
    if not isinstance(inner, dict):
        tree.complain("mcp-shape", file, "'mcpServers' must be an object of servers")
        return []
    found = []
    for name, config in inner.items():
        if inner is data and name in ("$schema", "description", "version"):
            continue
        if not isinstance(config, dict) or not any(isinstance(config.get(k), str) for k in ("command", "url")):
            tree.complain("mcp-server", file, f"the server {name!r} has neither command nor url")
        else:
            found.append(Server(str(name), config, file))
    return found


def servers_in(tree: Tree, default: str, value: Any, manifest: str) -> tuple[list[Server], list[Part]]:
    """Return the servers of the default file and of a manifest's field, the last of a name, and packages of servers."""
    parts: list[Part] = []
    found = {one.name: one for one in servers_of_file(tree, default)} if tree.is_file(default) else {}
    for one in value if isinstance(value, list) else [value]:
        if isinstance(one, dict):
            found |= {server.name: server for server in _servers(tree, one, manifest)}
        elif isinstance(one, str) and (one.endswith((".mcpb", ".dxt")) or one.startswith(("https://", "http://"))):
            parts.append(Part("mcpb", one))
            tree.complain("mcpb", one, "packages of servers are not supported: name the server's command instead")
        else:
            for _, path in named_paths(tree, one):
                found |= {server.name: server for server in servers_of_file(tree, tree.relative(path))}
    return list(found.values()), parts
