"""Hooks in a bundle: the files and inline parts that define them, brought into one form."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from ..model import Dialect, Hook
from .tree import Tree

__all__ = ["CLAUDE_EVENTS", "CODEX_EVENTS", "COPILOT_EVENTS", "hooks_of", "hooks_of_file", "named_files"]

CLAUDE_EVENTS = frozenset(
    (
        "SessionStart", "Setup", "UserPromptSubmit", "UserPromptExpansion", "PreToolUse", "PermissionRequest",
        "PermissionDenied", "PostToolUse", "PostToolUseFailure", "PostToolBatch", "Notification", "MessageDisplay",
        "SubagentStart", "SubagentStop", "TaskCreated", "TaskCompleted", "Stop", "StopFailure", "TeammateIdle",
        "InstructionsLoaded", "ConfigChange", "CwdChanged", "DirectoryAdded", "FileChanged", "WorktreeCreate",
        "WorktreeRemove", "PreCompact", "PostCompact", "Elicitation", "ElicitationResult", "SessionEnd",
    )
)  # fmt: skip
"""The events of Claude Code, as documented in August 2026."""
CODEX_EVENTS = frozenset(
    (
        "SessionStart", "SessionEnd", "UserPromptSubmit", "PreToolUse", "PermissionRequest", "PostToolUse",
        "SubagentStart", "SubagentStop", "Stop", "PreCompact", "PostCompact", "Notification",
    )
)  # fmt: skip
COPILOT_EVENTS: Mapping[str, str] = {
    "sessionStart": "SessionStart",
    "sessionEnd": "SessionEnd",
    "userPromptSubmitted": "UserPromptSubmit",
    "userPromptSubmit": "UserPromptSubmit",
    "preToolUse": "PreToolUse",
    "permissionRequest": "PermissionRequest",
    "postToolUse": "PostToolUse",
    "postToolUseFailure": "PostToolUseFailure",
    "agentStop": "Stop",
    "stop": "Stop",
    "errorOccurred": "StopFailure",
    "subagentStart": "SubagentStart",
    "subagentStop": "SubagentStop",
    "preCompact": "PreCompact",
    "notification": "Notification",
}
"""Copilot's own spelling of events, and what they are called in Claude Code."""

_NEEDS = {
    "command": ("command",),
    "http": ("url",),
    "mcp_tool": ("server", "tool"),
    "prompt": ("prompt",),
    "agent": ("prompt",),
}
_START_ONLY = ("SessionStart", "Setup")
_PLAIN_MATCHER = re.compile(r"[A-Za-z0-9_\-, |]*\Z|\*\Z")
_ROOTED = re.compile(
    r"\$(?:\{(?:CLAUDE_|CODEX_|COPILOT_)?PLUGIN_ROOT(?::-[^}]*)?\}|(?:CLAUDE_|CODEX_|COPILOT_)?PLUGIN_ROOT\b)\"?/([^\s\"'`;|&)$]+)"
)
_USER_CONFIG = re.compile(r"\$\{user_config\.")


def hooks_of_file(tree: Tree, file: str, dialect: Dialect, events: Collection[str]) -> list[Hook]:
    """Return the hooks of a file; what cannot be used is said."""
    data = tree.json(file, "hooks-json")
    if data is None:
        return []
    if not isinstance(data, dict) or not isinstance(data.get("hooks"), dict):
        tree.complain("hooks-shape", file, "it must be an object with 'hooks', an object of events")
        return []
    return hooks_of(tree, data, file, dialect, events)


def hooks_of(tree: Tree, data: Mapping[str, Any], file: str, dialect: Dialect, events: Collection[str]) -> list[Hook]:
    """Return the hooks of an object, which may wrap them in ``hooks``."""
    inner = data.get("hooks") if isinstance(data.get("hooks"), dict) else data
    assert isinstance(inner, Mapping)
    if inner is data:
        inner = {key: value for key, value in data.items() if key not in ("description", "version", "$schema")}
    if dialect == "copilot" and data.get("disableAllHooks") is True:
        tree.complain("hooks-disabled", file, "its hooks are switched off by disableAllHooks")
        return []
    found: list[Hook] = []
    for written, groups in inner.items():
        event = COPILOT_EVENTS.get(written, written) if dialect == "copilot" else written
        if event not in events:
            tree.complain("unknown-event", file, f"the event {written!r} is unknown: its hooks never run")
        elif not isinstance(groups, list):
            tree.complain("hooks-shape", file, f"{written}: it must be a list of {{matcher, hooks}}")
        else:
            for group in groups:
                found += _of_group(tree, group, event, written, file, dialect)
    return found


def _of_group(tree: Tree, group: Any, event: str, written: str, file: str, dialect: Dialect) -> Iterator[Hook]:
    flat = dialect == "copilot" and isinstance(group, dict) and "hooks" not in group
    handlers = [group] if flat else group.get("hooks") if isinstance(group, dict) else None
    matcher = group.get("matcher") if isinstance(group, dict) else None
    if not isinstance(handlers, list):
        text = f"{written}: an entry has no inner list 'hooks', so it never runs"
        tree.complain("hooks-shape", file, text)
        return
    if matcher is not None and not isinstance(matcher, str):
        tree.complain("hooks-shape", file, f"{written}: 'matcher' must be a text")
        return
    matcher = "" if matcher in (None, "*") and dialect == "copilot" else matcher or ""
    _check_matcher(tree, matcher, written, file)
    for handler in handlers:
        if (one := _handler(tree, handler, event, written, file, flat)) is not None:
            yield Hook(event, matcher, one, file, dialect, written)


def _check_matcher(tree: Tree, matcher: str, written: str, file: str) -> None:
    if _PLAIN_MATCHER.match(matcher):
        return
    try:
        re.compile(matcher)
    except (re.error, RecursionError, OverflowError) as error:
        text = f"{written}: the matcher {matcher!r} is no regular expression ({error})"
        tree.complain("matcher-regex", file, text)


def _handler(tree: Tree, handler: Any, event: str, written: str, file: str, flat: bool) -> Mapping[str, Any] | None:
    """Return a handler in Claude Code's form; ``None`` where it cannot be used, which is said."""
    if not isinstance(handler, dict):
        tree.complain("hooks-shape", file, f"{written}: a handler is no object")
        return None
    own = {key: value for key, value in handler.items() if key != "matcher"} if flat else dict(handler)
    if "command" not in own and isinstance(own.get("bash"), str):
        own["command"] = own.pop("bash")
        if own.pop("powershell", None):
            tree.complain("powershell", file, f"{written}: 'powershell' has no effect on this system")
    if "timeoutSec" in own:
        own.setdefault("timeout", own.pop("timeoutSec"))
    if flat:
        own.setdefault("type", "command")
    kind = own.get("type")
    if kind not in _NEEDS:
        tree.complain("unknown-hook-type", file, f"{written}: a handler of the unknown type {kind!r} never runs")
        return None
    if missing := [key for key in _NEEDS[kind] if not (isinstance(own.get(key), str) and own[key].strip())]:
        tree.complain("hook-field", file, f"{written}: a handler of the type {kind!r} needs {', '.join(missing)}")
        return None
    if event in _START_ONLY and kind not in ("command", "mcp_tool"):
        tree.complain("hook-type-event", file, f"{kind} on {event} never runs: only command and mcp_tool do")
    if kind == "command" and "args" not in own and _USER_CONFIG.search(own["command"]):
        text = f"{written}: ${{user_config...}} is refused in a shell command, so it never runs: use args"
        tree.complain("user-config-in-shell", file, text)
    for name in named_files(own):
        if not (tree.root / name).exists():
            tree.complain("missing-file", file, f"{written}: there is no file /{name} in the bundle")
    return own


def named_files(handler: Mapping[str, Any]) -> list[str]:
    """Return the files of the bundle that a handler names, from the root."""
    texts = [handler.get("command"), *(handler.get("args") or ())] if handler.get("type") == "command" else []
    found = [name for text in texts if isinstance(text, str) for name in _ROOTED.findall(text)]
    return [name for name in dict.fromkeys(found) if ".." not in name.split("/") and "*" not in name]
