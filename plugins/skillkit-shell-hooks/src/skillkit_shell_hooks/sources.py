"""Where hooks come from: settings, ``hooks.json`` of the user and of a trusted project, and other plugins."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skillkit_core.errors import ConfigError

from .definitions import Hook, hooks_of
from .events import EVENTS

if TYPE_CHECKING:
    from skillkit_core import AgentRunner, Host

__all__ = ["PROJECT_FILE", "all_hooks", "brought_hooks", "note_problems", "own_hooks", "setting", "where"]

PROJECT_FILE = ".skillkit/hooks.json"
_ORIGINS = {"flags": "settings", "environment": "settings"}


def setting(host: Host, name: str, default: Any) -> Any:
    """Return a setting of how hooks run, which no project can change."""
    for layer in reversed(host.config.layers):
        section = layer.data.get("hooks")
        if layer.name != "project" and isinstance(section, Mapping) and section.get(name) is not None:
            value = section[name]
            return [one.strip() for one in value.split(",")] if name == "env" and isinstance(value, str) else value
    return default


def own_hooks(host: Host) -> list[Hook]:
    """Return the hooks of settings and files, in the order of the layers: all of them count, none replaces another."""
    host.config.section("hooks", None)  # an unknown key is an error here
    found: list[Hook] = []
    for layer in host.config.layers:
        section = layer.data.get("hooks")
        if isinstance(section, Mapping):
            events = {name: groups for name, groups in section.items() if name in EVENTS}
            mine = hooks_of(events, origin=_ORIGINS.get(layer.name, layer.name))
            found += (replace(hook, file=layer.where(f"hooks.{hook.at}")) for hook in mine)
    found += _of_file(host.config_dir / "hooks.json", "user")
    if host.trusts(PROJECT_FILE):
        found += _of_file(host.cwd / PROJECT_FILE, "project")
    return found


def _of_file(file: Path, origin: str) -> list[Hook]:
    try:
        text = file.read_text("utf-8-sig")
    except FileNotFoundError:
        return []
    except (OSError, ValueError) as error:
        return _lost(file, origin, str(error))
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        return _lost(file, origin, f"it is no JSON: {error}")
    if not isinstance(data, Mapping):
        return _lost(file, origin, "it is no object")
    return [] if data.get("disableAllHooks") is True else hooks_of(data, origin=origin, file=str(file))


def _lost(file: Path, origin: str, why: str) -> list[Hook]:
    """Return hooks in the place of those of a file that cannot be read: nobody knows what they guard."""
    problem = f"{file} cannot be read, so nobody knows what its hooks guard: {why}"
    return [Hook(event, "", {}, origin, str(file), problem=problem) for event in ("PreToolUse", "UserPromptSubmit")]


def brought_hooks(host: Host, agent: AgentRunner | None) -> Iterator[Hook]:
    """Yield the hooks that other plugins bring for an agent at this moment (``register_shell_hooks``)."""
    registry = host.registry("shell_hooks")
    for entry in registry.entries():
        for said in registry.get(entry.address)(agent):
            yield from hooks_of(
                said["hooks"],
                origin=str(said.get("origin") or entry.source),
                file=str(said.get("file") or ""),
                dialect=str(said.get("dialect") or "claude"),
                wire=str(said.get("wire") or "claude"),
                plugin=said.get("plugin"),
                digest=str(said.get("digest") or ""),
            )


def where(hook: Hook) -> str:
    """Return file, line and path of a hook, as far as they are known; empty: nothing is."""
    if not hook.at or not hook.file.endswith(f"/{Path(PROJECT_FILE).name}") or hook.origin not in ("user", "project"):
        return hook.file
    from skillkit_core.settings.documents import read_document

    try:
        document = read_document(hook.file)  # JSON is YAML, whose reader knows the lines
    except ConfigError:
        return hook.file
    if document is None:
        return hook.file
    return document.where(f"hooks.{hook.at}" if isinstance(document.data.get("hooks"), Mapping) else hook.at)


def all_hooks(host: Host, agent: AgentRunner | None = None) -> Sequence[Hook]:
    """Return all hooks there are."""
    return [*own_hooks(host), *brought_hooks(host, agent)]


def described(file: Path) -> list[str]:
    """Return a line for each hook of a file, for the question whether a folder is trusted."""
    return [f"{hook.event} hook: {hook.shown}" for hook in _of_file(file, "project")]


def note_problems(host: Host) -> None:
    """Tell ``plugins doctor`` of hooks that cannot run, and of events that do not happen here."""
    from .running import problems

    for hook, why in problems(all_hooks(host)):
        host.note("shell-hooks", f"{hook.label}: {why}", remedy=f"see {where(hook) or 'the section hooks'}")
