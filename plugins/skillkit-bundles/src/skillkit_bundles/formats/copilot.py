"""What Copilot reads of a plugin: agents, skills, hooks in two spellings, MCP servers, commands that are listed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..model import Bundle, Component, Hook, Part, Server
from .components import agents_in, commands_in, skill_in, skills_below, unique
from .hook_files import CLAUDE_EVENTS, hooks_of, hooks_of_file
from .manifest import NAME
from .server_files import servers_in
from .tree import SKILL, Tree, named_paths, text_of

__all__ = ["MANIFESTS", "read_copilot"]

MANIFESTS = (".plugin/plugin.json", "plugin.json", ".github/plugin/plugin.json", ".claude-plugin/plugin.json")


def read_copilot(tree: Tree, hint: str) -> Bundle | None:
    """Return the plugin in a folder as Copilot reads it; ``None``: it does not load, and the problems say why."""
    file = next((one for one in MANIFESTS if (tree.root / one).exists()), None)
    data = tree.json(file, "manifest-json", fatal=True) if file is not None else {}
    if not isinstance(data, dict):
        tree.complain("manifest-shape", file or ".", "the manifest must be an object", fatal=True)
        return None
    name = text_of(data, "name") or hint
    if not NAME.match(name):
        tree.complain("name", file or ".", "a plugin needs a name of letters, digits, '.', '_' and '-'", fatal=True)
        return None
    prefix, where = f"{name}:", file or "."
    skills = unique(tree, _skills(tree, prefix, data))
    agents = unique(tree, _agents(tree, prefix, data))
    commands = unique(tree, _commands(tree, prefix, data), skills)
    hooks = _hooks(tree, data, where)
    servers, packages = _servers(tree, data, where)
    if any(problem.fatal for problem in tree.problems):
        return None
    about = text_of(data, "description") or ""
    return Bundle(
        name, tree.root, "copilot", file, text_of(data, "version"), about, skills, commands, agents, tuple(hooks),
        tuple(servers), (*_parts(tree, data, hooks), *packages),
    )  # fmt: skip


def _skills(tree: Tree, prefix: str, data: Mapping[str, Any]) -> Iterator[Component]:
    if "skills" not in data:
        if tree.is_folder("skills"):
            yield from skills_below(tree, tree.root / "skills", prefix)
        return
    for _, path in named_paths(tree, data["skills"], dotted=False):
        if (path / SKILL).is_file():
            if (one := skill_in(tree, path, prefix)) is not None:
                yield one
        elif path.is_dir():
            yield from skills_below(tree, path, prefix)


def _agents(tree: Tree, prefix: str, data: Mapping[str, Any]) -> Iterator[Component]:
    if "agents" in data:
        folders = [path for _, path in named_paths(tree, data["agents"], dotted=False)]
    else:
        folders = [tree.root / "agents"] if tree.is_folder("agents") else []
    for folder in folders:
        if folder.is_dir():
            yield from agents_in(tree, folder, prefix, ending=".agent.md")
        else:
            yield Component(
                f"{prefix}{folder.name.removesuffix('.agent.md').removesuffix('.md')}", folder, tree.relative(folder)
            )


def _commands(tree: Tree, prefix: str, data: Mapping[str, Any]) -> Iterator[Component]:
    if "commands" not in data:
        if tree.is_folder("commands"):
            tree.complain("commands-not-listed", "commands", "Copilot reads the commands that the manifest lists alone")
        return
    for _, path in named_paths(tree, data["commands"], dotted=False):
        if path.is_dir():
            yield from commands_in(tree, path, prefix)
        else:
            yield Component(f"{prefix}{path.stem}", path, tree.relative(path))


def _hooks(tree: Tree, data: Mapping[str, Any], where: str) -> list[Hook]:
    value = data.get("hooks")
    if value is None:
        file = next((one for one in ("hooks.json", "hooks/hooks.json") if (tree.root / one).exists()), None)
        return hooks_of_file(tree, file, "copilot", CLAUDE_EVENTS) if file is not None else []
    found: list[Hook] = []
    for one in value if isinstance(value, list) else [value]:
        if isinstance(one, dict):
            found += hooks_of(tree, one, where, "copilot", CLAUDE_EVENTS)
        for _, path in named_paths(tree, one, dotted=False):
            found += hooks_of_file(tree, tree.relative(path), "copilot", CLAUDE_EVENTS)
    return found


def _servers(tree: Tree, data: Mapping[str, Any], where: str) -> tuple[list[Server], list[Part]]:
    """Return the servers; of one name the last counts."""
    first, _ = servers_in(tree, ".mcp.json", None, where)
    last, packages = servers_in(tree, ".github/mcp.json", data.get("mcpServers"), where)
    return list({one.name: one for one in (*first, *last)}.values()), packages


def _parts(tree: Tree, data: Mapping[str, Any], hooks: list[Hook]) -> Iterator[Part]:
    if data.get("lspServers") or tree.is_file("lsp.json"):
        yield Part("lsp", "lsp.json" if tree.is_file("lsp.json") else "plugin.json")
    extensions = data.get("extensions")
    for name in extensions if isinstance(extensions, dict) else ():
        yield Part(f"extension {name}", "plugin.json")
    if any(hook.handler.get("async") for hook in hooks):
        yield Part("async hooks", next(hook.file for hook in hooks if hook.handler.get("async")))
