"""Agents in files: ``agents/NAME.md``, front matter and a system prompt, in the format that Claude Code reads, too.

The folders, the first of two files of one name wins: ``.skillkit/agents`` and ``.claude/agents`` of a trusted project,
``agents`` in the user's configuration folder, ``~/.claude/agents``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from skillkit_markdown import MarkdownFile, NamedFile, Unusable, collect, flag, folders_of

from skillkit_core.frozen import EMPTY

if TYPE_CHECKING:
    from skillkit_core import Host

__all__ = ["MODES", "AgentFile", "agent_files", "usable"]

_NAME = re.compile(r"[a-z][a-z0-9_-]{0,55}\Z")
_READ = frozenset(
    {
        "name", "description", "tools", "disallowedTools", "model", "maxTurns", "background", "skills", "color",
        "permissionMode", "sandbox", "hooks",
    }
)  # fmt: skip
_RESTRICTING = ("tools", "disallowedTools", "model", "maxTurns", "permissionMode", "sandbox", "hooks")
MODES = ("read-only", "ask", "accept-edits")
"""Modes of permissions, the strictest first."""
_MODES = {"plan": "read-only", "default": "ask", "acceptEdits": "accept-edits", **{mode: mode for mode in MODES}}


@dataclass(frozen=True, slots=True)
class AgentFile(NamedFile):
    """An agent that a file defines; its ``name`` is the one by which it is asked.

    Attributes:
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
        hooks: hooks by event, in the shape of Claude Code's settings, which the plugin ``shell-hooks`` runs.
    """

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
    hooks: Mapping[str, Any] = EMPTY


_KEPT: WeakKeyDictionary[Host, tuple[tuple[str, ...] | None, tuple[AgentFile, ...]]] = WeakKeyDictionary()


def agent_files(host: Host) -> tuple[AgentFile, ...]:
    """Return the agent files that count, also broken and hidden ones.

    They are read once for a host, so that the description of the tool, and what providers cache, stays as it is.
    """
    withheld = host.withheld
    key = None if withheld is None else tuple(withheld)
    kept = _KEPT.get(host)
    if kept is None or kept[0] != key:
        kept = _KEPT[host] = (key, tuple(_all(host)))
    return kept[1]


def usable(host: Host) -> dict[str, AgentFile]:
    """Return the agents that can be asked, by name."""
    return {file.name: file for file in agent_files(host) if not file.broken}


def _all(host: Host) -> Iterator[AgentFile]:
    yield from collect(AgentFile, folders_of(host, "agents"), _read)
    if "agent_sources" in host.kinds:  # a host with this module alone has no registry
        sources = host.registry("agent_sources")
        for name in sources.list():
            yield from map(_brought, sources.get(name)())


def _brought(said: Mapping[str, Any]) -> AgentFile:
    """Return an agent that another plugin brings."""
    tools, left_out = _whole(said.get("tools"))
    problems = (*said.get("problems", ()), *([left_out] if left_out else ()))
    denied = tuple(one.partition("(")[0] for one in said.get("denied") or ())
    return AgentFile(**{**said, "tools": tools, "denied": denied, "problems": problems})


def _read(file: MarkdownFile) -> AgentFile:
    file.require_whole(_RESTRICTING)  # lost, one of them would permit
    head = file.front.natural()
    name = str(head.get("name") or file.name)
    if not _NAME.match(name):
        raise Unusable(f"its name {name!r} must match [a-z][a-z0-9_-]*")
    if not file.front.body:
        raise Unusable("it has no system prompt", name)
    try:
        return _made(name, file, head)
    except ValueError as error:
        raise Unusable(str(error), name) from None


def _made(name: str, file: MarkdownFile, head: dict[str, Any]) -> AgentFile:
    problems = [*file.repairs()]
    if unread := sorted(str(key) for key in head if key not in _READ):
        problems.append(f"no effect here: {', '.join(unread)}")
    description = head.get("description") or file.front.dropped.get("description")
    if not description:
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
    if not isinstance(head.get("hooks") or {}, Mapping):
        raise ValueError("hooks must be a mapping of events")
    listed, denied = _names(head, "tools"), _names(head, "disallowedTools")
    kept, left_out = _whole(listed)
    problems += [left_out] if left_out else []
    return AgentFile(
        name=name,
        path=file.path,
        origin=file.origin,
        description=" ".join(str(description or "").split())[:1000],
        prompt=file.front.body,
        tools=kept,
        # part of a tool cannot be taken away, so the whole tool is
        denied=tuple(one.partition("(")[0] for one in denied or ()),
        model=None if model in (None, "", "inherit") else model,
        mode=_MODES.get(str(mode)),
        sandbox=sandbox,
        turns=turns,
        background=flag((file.front.values or {}).get("background"), False),
        skills=_names(head, "skills") or (),
        hooks=head.get("hooks") or EMPTY,
        problems=tuple(problems),
    )


def _whole(listed: Sequence[str] | None) -> tuple[tuple[str, ...] | None, str]:
    """Return the names that mean whole tools, and what is said of the others."""
    if listed is None:
        return None, ""
    parts = [one for one in listed if "(" in one]
    text = f"left out, because a tool counts as a whole here: {', '.join(parts)} (a rule of permissions can say it)"
    return tuple(one for one in listed if "(" not in one), text if parts else ""


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
