"""What Codex reads of a plugin: skills, hooks, MCP servers, apps, and the commands that need no template."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from skillkit_markdown import read_front_matter

from ..model import Bundle, Component, Hook, Part
from . import agent_plugins
from .components import commands_in, skill_in, unique
from .hook_files import CODEX_EVENTS, hooks_of, hooks_of_file
from .manifest import NAME
from .server_files import servers_in
from .tree import SKILL, Tree, named_paths, text_of

__all__ = ["MANIFESTS", "read_codex"]

MANIFESTS = (".codex-plugin/plugin.json", ".claude-plugin/plugin.json", ".cursor-plugin/plugin.json")
_TEMPLATE = re.compile(r"\$ARGUMENTS|\$\d|!`|^```!|(?<![\w`])@[\w./~]|\{\{", re.M)
_DEEPEST = 6


def read_codex(tree: Tree, hint: str) -> Bundle | None:
    """Return the plugin in a folder as Codex reads it; ``None``: it does not load, and the problems say why."""
    if tree.is_file(agent_plugins.MANIFEST):
        root = tree.json(agent_plugins.MANIFEST, "manifest-json")
        if agent_plugins.version_of(root) is not None:
            return agent_plugins.read_agent_plugin(tree)
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
    commands = unique(tree, _commands(tree, prefix), skills)
    hooks = _hooks(tree, data, where)
    servers, packages = servers_in(tree, ".mcp.json", data.get("mcpServers"), where)
    if tree.is_folder("agents"):
        tree.complain("agents-not-read", "agents", "Codex reads no agents: add the bundle as one of Claude Code")
    if any(problem.fatal for problem in tree.problems):
        return None
    about = text_of(data, "description") or ""
    return Bundle(
        name, tree.root, "codex", file, text_of(data, "version"), about, skills, commands, (), tuple(hooks),
        tuple(servers), (*_parts(tree, data, hooks), *packages),
    )  # fmt: skip


def _skills(tree: Tree, prefix: str, data: Mapping[str, Any]) -> Iterator[Component]:
    folders = [path for _, path in named_paths(tree, data.get("skills"), dotted=False)]
    if "skills" not in data and tree.is_folder("skills"):
        folders.append(tree.root / "skills")
    for folder in folders:
        yield from _below(tree, folder, prefix, set(), 0)


def _below(tree: Tree, folder: Path, prefix: str, seen: set[Path], deep: int) -> Iterator[Component]:
    """Yield the skills below a folder at any depth; what lies in a skill belongs to it."""
    if folder.resolve() in seen or deep > _DEEPEST:
        return
    seen.add(folder.resolve())
    if (folder / SKILL).is_file():
        if (one := skill_in(tree, folder, prefix)) is not None:
            yield one
        return
    for child in tree.children(folder):
        if child.is_dir():
            yield from _below(tree, child, prefix, seen, deep + 1)


def _commands(tree: Tree, prefix: str) -> Iterator[Component]:
    """Yield the commands that need nothing put in; of the others is said why they are left out."""
    if not tree.is_folder("commands"):
        return
    for one in commands_in(tree, tree.root / "commands", prefix):
        data = tree.read(one.path)
        front = read_front_matter(data) if data is not None else None
        about = (front.values or {}).get("description") if front is not None else None
        if not isinstance(about, str) or not about.strip():
            tree.complain("command-not-migrated", one.file, "Codex takes no command without a description")
        elif front is not None and _TEMPLATE.search(front.body):
            tree.complain("command-not-migrated", one.file, "Codex takes no command with template features")
        else:
            yield one


def _hooks(tree: Tree, data: Mapping[str, Any], where: str) -> list[Hook]:
    value = data.get("hooks")
    found: list[Hook] = []
    if value is None:
        if (tree.root / "hooks/hooks.json").exists():
            found = hooks_of_file(tree, "hooks/hooks.json", "codex", CODEX_EVENTS)
        if (tree.root / "hooks.json").exists():
            text = "Codex reads hooks/hooks.json, or what the manifest names: these hooks never run"
            tree.complain("hooks-not-read", "hooks.json", text)
        return found
    for one in value if isinstance(value, list) else [value]:
        if isinstance(one, dict):
            found += hooks_of(tree, one, where, "codex", CODEX_EVENTS)
        for _, path in named_paths(tree, one, dotted=False):
            found += hooks_of_file(tree, tree.relative(path), "codex", CODEX_EVENTS)
    return found


def _parts(tree: Tree, data: Mapping[str, Any], hooks: list[Hook]) -> Iterator[Part]:
    named = data.get("apps")
    if isinstance(named, str) or tree.is_file(".app.json"):
        yield Part("apps", named if isinstance(named, str) else ".app.json")
    for kind, places in (
        ("lsp", (".lsp.json",)),
        ("monitors", ("monitors/monitors.json",)),
        ("workflows", ("workflows",)),
    ):
        for place in places:
            if (tree.root / place).exists():
                yield Part(kind, place)
    if any(hook.handler.get("async") for hook in hooks):
        yield Part("async hooks", next(hook.file for hook in hooks if hook.handler.get("async")))
