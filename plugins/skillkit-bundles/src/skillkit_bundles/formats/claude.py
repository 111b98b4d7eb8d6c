"""Claude Code's plugins, with or without a manifest, alone or as an entry of a marketplace defines them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from ..model import Bundle, Component, Hook, Part
from .components import agent_of, agents_in, commands_in, skill_in, skills_below, unique
from .hook_files import CLAUDE_EVENTS, hooks_of, hooks_of_file
from .manifest import CLAUDE, FREE, NAME, check_fields
from .server_files import servers_in
from .tree import SKILL, Tree, named_paths, paths_of, text_of

__all__ = ["MANIFEST", "read_claude"]

FOLDER = ".claude-plugin"
MANIFEST = f"{FOLDER}/plugin.json"
COMPONENTS = (
    "skills", "commands", "agents", "hooks", "mcpServers", "lspServers", "workflows", "outputStyles", "themes", "monitors",
)  # fmt: skip
_ENTRY_ONLY = frozenset(("source", "category", "tags", "strict", "relevance"))
_MISPLACED = ("skills", "commands", "agents", "hooks", "output-styles", "themes", "monitors", "workflows", "bin")


def read_claude(tree: Tree, hint: str, entry: Mapping[str, Any] | None) -> Bundle | None:
    """Return the plugin in a folder; ``None``: it does not load, and the problems say why."""
    manifest = _manifest(tree)
    if manifest is None:
        return None
    has_manifest = bool(manifest)
    said = _with_entry(tree, manifest, entry)
    name = text_of(manifest, "name") or text_of(entry or {}, "name") or hint
    if (has_manifest and not text_of(manifest, "name")) or not NAME.match(name):
        where = MANIFEST if has_manifest else name
        tree.complain("name", where, "a plugin needs a name of letters, digits, '.', '_' and '-'", fatal=True)
    data = said or {}
    if any(problem.fatal for problem in tree.problems):
        return None
    prefix = f"{name}:"
    whole = _whole_set(entry)
    skills = unique(tree, _skills(tree, prefix, data, whole))
    commands = unique(tree, _commands(tree, prefix, data), skills)
    agents = unique(tree, _agents(tree, prefix, data))
    hooks = _hooks(tree, data)
    servers, packages = servers_in(tree, ".mcp.json", data.get("mcpServers"), MANIFEST)
    _misplaced(tree)
    _channels(tree, data, {one.name for one in servers})
    if any(problem.fatal for problem in tree.problems):
        return None
    options = data.get("userConfig")
    return Bundle(
        name, tree.root, "claude", MANIFEST if has_manifest else None,
        text_of(manifest, "version") or text_of(entry or {}, "version"),
        text_of(manifest, "description") or text_of(entry or {}, "description") or "",
        skills, commands, agents, tuple(hooks), tuple(servers), (*_parts(tree, data, hooks), *packages),
        {k: v for k, v in options.items() if isinstance(v, dict)} if isinstance(options, dict) else {},
        tuple(_dependencies(data)), data.get("defaultEnabled") is not False,
    )  # fmt: skip


# --- the manifest, and what the entry of a marketplace adds -------------------------------------------------------------


def _manifest(tree: Tree) -> dict[str, Any] | None:
    """Return the manifest; empty: there is none; ``None``: it cannot be used."""
    if not (tree.root / MANIFEST).exists():
        return {}
    data = tree.json(MANIFEST, "manifest-json", fatal=True)
    if not isinstance(data, dict) or not data:
        if data is not None:
            tree.complain("manifest-shape", MANIFEST, "the manifest must be an object with a name", fatal=True)
        tree.complain("manifest-unusable", MANIFEST, "the manifest cannot be read", fatal=True)
        return None
    check_fields(tree, MANIFEST, data, CLAUDE, FREE)
    return data


def _with_entry(tree: Tree, manifest: Mapping[str, Any], entry: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """Return the fields that count: those of the manifest, and those of the entry of a marketplace.

    With ``strict: false`` the entry is the whole definition, and a manifest that names components, too, is a conflict.
    """
    if entry is None:
        return manifest
    given = {key: value for key, value in entry.items() if key not in _ENTRY_ONLY}
    types = {key: check for key, check in CLAUDE.items() if key in given}
    check_fields(tree, "marketplace.json", {k: v for k, v in given.items() if k in types}, types, FREE)
    if entry.get("strict") is False:
        declared = [key for key in COMPONENTS if key in manifest]
        if declared:
            both = any(key in given for key in COMPONENTS)
            text = f"with 'strict: false' the marketplace defines the plugin, and its manifest declares {', '.join(declared)}"
            tree.complain("conflicting-manifests", MANIFEST, text, fatal=both)
            return manifest
        return {**manifest, **given}
    return {
        **given,
        **manifest,
        **{key: _both(given[key], manifest[key]) for key in COMPONENTS if key in given and key in manifest},
    }


def _both(one: Any, other: Any) -> Any:
    """Return the values of a field of components that two places give."""
    if one == other:
        return one
    if isinstance(one, (str, list, dict)) and isinstance(other, (str, list, dict)):
        return [*(one if isinstance(one, list) else [one]), *(other if isinstance(other, list) else [other])]
    return other


def _whole_set(entry: Mapping[str, Any] | None) -> bool:
    """Return whether the skills that an entry lists are all: its source is the root of the marketplace."""
    return entry is not None and "skills" in entry and str(entry.get("source")).rstrip("/") in (".", "")


# --- components ---------------------------------------------------------------------------------------------------------


def _skills(tree: Tree, prefix: str, data: Mapping[str, Any], whole: bool) -> Iterator[Component]:
    if tree.is_folder("skills"):
        if not whole:
            yield from skills_below(tree, tree.root / "skills", prefix)
    elif (tree.root / "skills").exists():
        tree.complain("path-outside", "skills", "a link out of the plugin is not followed")
    elif "skills" not in data and tree.is_file(SKILL) and (root := skill_in(tree, tree.root, prefix)) is not None:
        yield root
    for text, path in named_paths(tree, data.get("skills")):
        if not path.is_dir():
            tree.complain("path-kind", text, "the path of skills is no folder")
        elif (path / SKILL).is_file():
            if (one := skill_in(tree, path, prefix)) is not None:
                yield one
        else:
            yield from skills_below(tree, path, prefix)


def _commands(tree: Tree, prefix: str, data: Mapping[str, Any]) -> Iterator[Component]:
    value = data.get("commands")
    if value is None:
        if tree.is_folder("commands"):
            yield from commands_in(tree, tree.root / "commands", prefix)
        return
    _ignored_default(tree, value, "commands")
    inline = [one for one in (value if isinstance(value, list) else [value]) if isinstance(one, dict)]
    for mapping in inline:
        for name, said in mapping.items():
            yield from _described(tree, prefix, str(name), said)
    for _, path in named_paths(tree, value):
        if path.is_dir():
            yield from commands_in(tree, path, prefix)
        else:
            yield Component(f"{prefix}{path.stem}", path, tree.relative(path))


def _described(tree: Tree, prefix: str, name: str, said: Any) -> Iterator[Component]:
    """Yield a command that the manifest describes: its file (``source``) or its text (``content``)."""
    if isinstance(said, dict) and isinstance(said.get("content"), str):
        head = f"description: {said['description']}\n" if isinstance(said.get("description"), str) else ""
        yield Component(f"{prefix}{name}", tree.root / MANIFEST, MANIFEST, f"---\n{head}---\n\n{said['content']}")
    elif isinstance(said, (dict, str)) and (source := said if isinstance(said, str) else said.get("source")):
        for _, path in named_paths(tree, source):
            yield Component(f"{prefix}{name}", path, tree.relative(path))
    else:
        tree.complain("command-shape", MANIFEST, f"the command {name!r} has neither source nor content")


def _agents(tree: Tree, prefix: str, data: Mapping[str, Any]) -> Iterator[Component]:
    value = data.get("agents")
    if value is None:
        found = list(agents_in(tree, tree.root / "agents", prefix)) if tree.is_folder("agents") else []
    else:
        _ignored_default(tree, value, "agents")
        found = []
        for _, path in named_paths(tree, value):
            found += agents_in(tree, path, prefix) if path.is_dir() else [agent_of(tree, path, prefix)]
    for one in found:
        from ..agents import ignored_fields

        for key in ignored_fields(tree, one):
            text = f"{key!r} has no effect: the agent of a bundle cannot say it"
            tree.complain("agent-field-ignored", one.file, text)
        yield one


def _ignored_default(tree: Tree, value: Any, name: str) -> None:
    """Say that a default folder is not read because the manifest names others."""
    named = {str((tree.root / text).resolve()) for text in paths_of(value) if "\0" not in text}
    if tree.is_folder(name) and not any(
        one == str(tree.root / name) or one.startswith(f"{tree.root / name}/") for one in named
    ):
        tree.complain("default-folder-ignored", name, f"it is not read, because the manifest names other {name}")


def _hooks(tree: Tree, data: Mapping[str, Any]) -> list[Hook]:
    found: list[Hook] = []
    files: list[Path] = []
    if (tree.root / "hooks/hooks.json").exists():
        files.append(tree.root / "hooks/hooks.json")
    value = data.get("hooks")
    for one in value if isinstance(value, list) else [value]:
        if isinstance(one, dict):
            found += hooks_of(tree, one, MANIFEST, "claude", CLAUDE_EVENTS)
        files += [path for _, path in named_paths(tree, one)]
    seen: set[Path] = set()
    for path in files:
        if path.resolve() in seen:
            continue
        seen.add(path.resolve())
        found += hooks_of_file(tree, tree.relative(path), "claude", CLAUDE_EVENTS)
    return found


# --- the other kinds ----------------------------------------------------------------------------------------------------


def _parts(tree: Tree, data: Mapping[str, Any], hooks: list[Hook]) -> Iterator[Part]:
    """Yield what is of another kind, each with its file; the text of what has no effect is :func:`Part.supported`."""
    experimental = data.get("experimental")
    extra = experimental if isinstance(experimental, dict) else {}
    places = (
        ("lsp", ".lsp.json", data.get("lspServers")),
        ("output styles", "output-styles", data.get("outputStyles")),
        ("themes", "themes", extra.get("themes", data.get("themes"))),
        ("monitors", "monitors/monitors.json", extra.get("monitors", data.get("monitors"))),
        ("workflows", "workflows", data.get("workflows")),
    )
    for kind, default, value in places:
        if (tree.root / default).exists():
            yield Part(kind, default)
        if value:
            yield Part(kind, next(iter(paths_of(value)), MANIFEST))
    if tree.is_folder("bin"):
        yield Part("bin", "bin", supported=True)
    if tree.is_file("settings.json"):
        yield from _settings(tree)
    if data.get("userConfig"):
        yield Part("user config", MANIFEST, supported=True)
    if data.get("channels"):
        yield Part("channels", MANIFEST)
    if data.get("dependencies"):
        yield Part("dependencies", MANIFEST, supported=True)
        for one in data["dependencies"]:
            if isinstance(one, dict) and one.get("version"):
                text = f"whether {one.get('name')!r} has a version in {one['version']!r} is not checked"
                tree.complain("dependency-version", MANIFEST, text)
    if any(hook.handler.get("async") or hook.handler.get("asyncRewake") for hook in hooks):
        yield Part("async hooks", next(h.file for h in hooks if h.handler.get("async") or h.handler.get("asyncRewake")))
    if tree.is_file("CLAUDE.md"):
        tree.complain("memory-file", "CLAUDE.md", "a bundle's CLAUDE.md is never read: a skill can say it")


def _settings(tree: Tree) -> Iterator[Part]:
    data = tree.json("settings.json", "settings-json")
    for key in data if isinstance(data, dict) else ():
        if key not in ("agent", "subagentStatusLine"):
            tree.complain("settings-key-ignored", "settings.json", f"a bundle cannot set {key!r}")
    yield Part("settings", "settings.json")


def _dependencies(data: Mapping[str, Any]) -> Iterator[str]:
    for one in data.get("dependencies") or ():
        name = one.get("name") if isinstance(one, dict) else one
        if isinstance(name, str):
            yield name


def _channels(tree: Tree, data: Mapping[str, Any], servers: Collection[str]) -> None:
    for one in data.get("channels") or ():
        name = one.get("server") if isinstance(one, dict) else one
        if name not in servers:
            tree.complain("channel-server", MANIFEST, f"a channel names {name!r}, which is no server of the plugin")


def _misplaced(tree: Tree) -> None:
    for name in _MISPLACED:
        if (tree.root / FOLDER / name).exists():
            text = f"nothing is looked for beside the manifest: move it to {name}/"
            tree.complain("component-in-manifest-folder", f"{FOLDER}/{name}", text)
