"""Agents in files: ``agents/NAME.md``, front matter and a system prompt, in the format that Claude Code reads, too.

The folders, the first of two files of one name wins: ``.skillkit/agents`` and ``.claude/agents`` of a trusted project,
``agents`` in the user's configuration folder, ``~/.claude/agents``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import yaml

from .plugin import PROJECT_FOLDERS

if TYPE_CHECKING:
    from skillkit_core import Host

__all__ = ["MODES", "AgentFile", "agent_files", "markdown", "usable"]

MAX_BYTES = 256 * 1024
_MAX_FILES = 500  # of one folder
_HEAD = re.compile(r"---[ \t]*\r?\n(.*?)^---[ \t]*(?:\r?\n|\Z)", re.S | re.M)
_NAME = re.compile(r"[a-z][a-z0-9_-]{0,55}\Z")
_READ = frozenset(
    {
        "name", "description", "tools", "disallowedTools", "model", "maxTurns", "background", "skills", "color",
        "permissionMode", "sandbox",
    }
)  # fmt: skip
MODES = ("read-only", "ask", "accept-edits")
"""Modes of permissions, the strictest first."""
_MODES = {"plan": "read-only", "default": "ask", "acceptEdits": "accept-edits", **{mode: mode for mode in MODES}}


@dataclass(frozen=True, slots=True)
class AgentFile:
    """An agent that a file defines.

    Attributes:
        name: name by which the agent is asked.
        path: the file.
        origin: ``project``, ``project:claude``, ``user`` or ``user:claude``.
        description: when to ask the agent.
        prompt: the system prompt of the agent.
        tools: names and patterns of the only tools; ``None``: all that the asking agent may use.
        denied: names and patterns of tools that the agent does not get.
        model: name of a model; ``None``: that of the asking agent.
        mode: mode of permissions, which can only make that of the asking agent stricter.
        sandbox: name of a sandbox policy that holds the agent's tools besides what holds those of the asking agent.
        turns: most rounds with the model.
        background: the agent works in the background unless the call says otherwise.
        skills: skills that are active from the start.
        problems: what is wrong, a line each.
        broken: the file cannot be used.
    """

    name: str
    path: Path
    origin: str
    description: str = ""
    prompt: str = ""
    tools: tuple[str, ...] | None = None
    denied: tuple[str, ...] = ()
    model: str | None = None
    mode: str | None = None
    sandbox: str | None = None
    turns: int | None = None
    background: bool = False
    skills: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    broken: bool = False


_KEPT: WeakKeyDictionary[Host, tuple[bool, tuple[AgentFile, ...]]] = WeakKeyDictionary()


def agent_files(host: Host) -> tuple[AgentFile, ...]:
    """Return the agent files that count, also broken and hidden ones.

    They are read once for a host, so that the description of the tool, and what providers cache, stays as it is.
    """
    trusted = host.trusted
    kept = _KEPT.get(host)
    if kept is None or kept[0] != trusted:
        kept = _KEPT[host] = (trusted, tuple(_all(host, trusted)))
    return kept[1]


def usable(host: Host) -> dict[str, AgentFile]:
    """Return the agents that can be asked, by name."""
    return {file.name: file for file in agent_files(host) if not file.broken}


def _all(host: Host, trusted: bool) -> Iterator[AgentFile]:
    home = Path(host.environ.get("HOME") or "~").expanduser()
    folders = [(o, host.cwd / p) for o, p in zip(("project", "project:claude"), PROJECT_FOLDERS, strict=True)]
    users = [("user", host.config_dir / "agents"), ("user:claude", home / ".claude" / "agents")]
    found: dict[str, AgentFile] = {}
    for origin, folder in (*(folders if trusted else ()), *users):
        for path in markdown(folder):
            file = _read(path, folder, origin)
            if not file.broken and (winner := found.setdefault(file.name, file)) is not file:
                file = _broken(path, origin, f"hidden by {winner.path}, which has the same name", file.name)
            yield file


def markdown(folder: Path) -> list[Path]:
    """Return the Markdown files of a folder, by name."""
    return sorted(p for p in folder.glob("*.md") if p.is_file())[:_MAX_FILES] if folder.is_dir() else []


def _read(path: Path, folder: Path, origin: str) -> AgentFile:
    if not path.resolve().is_relative_to(folder.resolve()):
        return _broken(path, origin, "it is a link out of its folder")
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
        text = data.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        return _broken(path, origin, f"it cannot be read: {error}")
    if len(data) > MAX_BYTES:
        return _broken(path, origin, f"it is larger than {MAX_BYTES // 1024} KiB")
    match = _HEAD.match(text)
    try:
        head: Any = yaml.safe_load(match[1]) if match else {}
    except yaml.YAMLError as error:
        return _broken(path, origin, f"its front matter is no YAML: {' '.join(str(error).split())}")
    if not isinstance(head, dict):
        return _broken(path, origin, "its front matter is no mapping")
    name = str(head.get("name") or path.stem)
    if not _NAME.match(name):
        return _broken(path, origin, f"its name {name!r} must match [a-z][a-z0-9_-]*", path.stem)
    body = (text[match.end() :] if match else text).strip()
    if not body:
        return _broken(path, origin, "it has no system prompt", name)
    try:
        return _made(name, path, origin, head, body)
    except ValueError as error:
        return _broken(path, origin, str(error), name)


def _made(name: str, path: Path, origin: str, head: dict[str, Any], body: str) -> AgentFile:
    problems = []
    if unread := sorted(str(key) for key in head if key not in _READ):
        problems.append(f"no effect here: {', '.join(unread)}")
    if not head.get("description"):
        problems.append("it has no description, so a model cannot know when to ask it")
    turns, model, mode = head.get("maxTurns"), head.get("model"), head.get("permissionMode")
    sandbox = head.get("sandbox")
    if mode is not None and mode not in _MODES:
        problems.append(f"permissionMode: {mode} has no effect here, because no agent may do more than who asks it")
    if turns is not None and (not isinstance(turns, int) or isinstance(turns, bool) or turns < 1):
        raise ValueError("maxTurns must be a number from 1 on")
    if model is not None and not isinstance(model, str):
        raise ValueError("model must be a text")
    if "sandbox" in head and not (isinstance(sandbox, str) and sandbox):
        raise ValueError("sandbox must be the name of a sandbox policy")
    listed, denied = _names(head, "tools"), _names(head, "disallowedTools")
    kept = None if listed is None else tuple(one for one in listed if "(" not in one)
    if kept is not None and len(kept) < len(listed or ()):
        left_out = ", ".join(one for one in listed or () if "(" in one)
        problems.append(
            f"left out, because a tool counts as a whole here: {left_out} (a rule of permissions can say it)"
        )
    return AgentFile(
        name=name,
        path=path,
        origin=origin,
        description=" ".join(str(head.get("description") or "").split())[:1000],
        prompt=body,
        tools=kept,
        # part of a tool cannot be taken away, so the whole tool is
        denied=tuple(one.partition("(")[0] for one in denied or ()),
        model=None if model in (None, "", "inherit") else model,
        mode=_MODES.get(str(mode)),
        sandbox=sandbox,
        turns=turns,
        background=head.get("background") is True,
        skills=_names(head, "skills") or (),
        problems=tuple(problems),
    )


def _names(head: dict[str, Any], key: str) -> tuple[str, ...] | None:
    """Return a list of names, which may be written as one text with commas; ``None`` where there is none."""
    value = head.get(key)
    if value is None:
        return None
    if isinstance(value, str):
        value = re.split(r",(?![^(]*\))", value)
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise ValueError(f"{key} must be a list of names")
    return tuple(one.strip() for one in value if one.strip())


def _broken(path: Path, origin: str, problem: str, name: str = "") -> AgentFile:
    return AgentFile(name or path.stem, path, origin, problems=(problem,), broken=True)
