"""The names of tools and of their arguments: as the tools here have them, and as hooks of other hosts know them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

__all__ = ["camel", "names_of", "ours", "own_name", "theirs"]

_NAMES: Mapping[str, tuple[str, ...]] = {
    "bash": ("Bash",), "read": ("Read",), "write": ("Write",), "edit": ("Edit", "MultiEdit"),
    "apply_patch": ("Edit", "Write"), "grep": ("Grep",), "glob": ("Glob",), "ls": ("LS",), "web_fetch": ("WebFetch",),
    "web_search": ("WebSearch",), "spawn_agent": ("Agent", "Task"), "ask_user": ("AskUserQuestion",),
    "activate_skill": ("Skill",), "tasks": ("TodoWrite",),
}  # fmt: skip
_OURS: Mapping[str, str] = {theirs: ours for ours, names in reversed([*_NAMES.items()]) for theirs in names}
_ARGUMENTS: Mapping[str, Mapping[str, str]] = {
    "read": {"path": "file_path"}, "write": {"path": "file_path"},
    "edit": {"path": "file_path", "old": "old_string", "new": "new_string", "all": "replace_all"},
    "grep": {"ignore_case": "-i", "before": "-B", "after": "-A", "context": "-C", "output": "output_mode"},
    "spawn_agent": {"task": "prompt", "agent": "subagent_type"},
    "activate_skill": {"name": "skill"},
    "apply_patch": {"patch": "command"},
}  # fmt: skip
_PATHS = frozenset({"read", "write", "edit", "grep", "glob", "ls"})
_EXTRA = frozenset({"description", "run_in_background", "dangerouslyDisableSandbox"})  # of Bash, which has no such here


def names_of(tool: str) -> tuple[str, ...]:
    """Return every name that a matcher may have for a tool, given by any of them."""
    mine = own_name(tool)
    return tuple(dict.fromkeys((tool, mine, *_NAMES.get(mine, ()))))


def own_name(tool: str) -> str:
    """Return the name that a tool has here."""
    return _OURS.get(tool, tool)


def theirs(tool: str, args: Mapping[str, Any], cwd: Path) -> tuple[str, dict[str, Any]]:
    """Return a call as hooks of other hosts know it: ``Edit`` with ``file_path``, absolute; an unknown tool as it is."""
    renamed = _ARGUMENTS.get(tool, {})
    found = {renamed.get(key, key): value for key, value in args.items()}
    if isinstance(edits := found.get("edits"), list | tuple) and tool == "edit":
        found["edits"] = [{renamed.get(k, k): v for k, v in one.items()} for one in edits if isinstance(one, Mapping)]
    key = renamed.get("path", "path")
    if tool in _PATHS and isinstance(path := found.get(key), str):
        found[key] = os.path.normpath(cwd / Path(path).expanduser())
    name = _NAMES[tool][0] if tool in _NAMES and tool != "apply_patch" else tool
    return name, found


def ours(tool: str, wanted: Mapping[str, Any], cwd: Path) -> dict[str, Any]:
    """Return the input that a hook wants instead, with the names of the tool here."""
    back = {theirs: ours for ours, theirs in _ARGUMENTS.get(tool, {}).items()}
    found = {back.get(key, key): value for key, value in wanted.items() if not (tool == "bash" and key in _EXTRA)}
    if isinstance(edits := found.get("edits"), list) and tool == "edit":
        found["edits"] = [
            {back.get(k, k): v for k, v in one.items()} if isinstance(one, Mapping) else one for one in edits
        ]
    path = found.get("path")
    if tool in _PATHS and isinstance(path, str) and Path(path).is_absolute():
        inside = os.path.relpath(path, cwd)
        found["path"] = path if inside.startswith("..") else inside
    return found


_CAMEL = {"hook_event_name": "hookEventName", "tool_input": "toolArgs", "tool_response": "toolResult"}


def camel(payload: Mapping[str, Any]) -> dict[str, Any]:
    """Return the input of a hook with names in camelCase, as Copilot writes it."""
    found: dict[str, Any] = {}
    for key, value in payload.items():
        head, *rest = key.split("_")
        found[_CAMEL.get(key) or head + "".join(word.capitalize() for word in rest)] = value
    return found
