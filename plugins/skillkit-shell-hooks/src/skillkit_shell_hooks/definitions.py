"""A hook as it is written in settings: event, matcher, handler, and where it comes from."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["TYPES", "Hook", "hooks_of"]

TYPES = ("command", "http", "mcp_tool", "prompt", "agent")
_NEEDS = {"command": "command", "http": "url", "mcp_tool": "tool", "prompt": "prompt", "agent": "prompt"}
_IDENTITY = ("type", "command", "args", "shell", "url", "headers", "server", "tool", "input", "prompt", "model", "if")
_SECONDS = {"prompt": 30.0, "agent": 60.0}
_SECONDS_OF_EVENT = {"UserPromptSubmit": 30.0, "SessionEnd": 1.5}
MOST_SECONDS = 3500.0
"""What a handler may take at most, whatever its ``timeout`` says: the handler of the event that waits for it has an hour."""


@dataclass(frozen=True, slots=True)
class Hook:
    """One handler of one event.

    Attributes:
        event: name of the event, such as ``PreToolUse``.
        matcher: which of these events; empty: all.
        handler: the handler as it is written.
        origin: who brings it, as people read it: ``user``, ``bundle:acme``, ``skill:careful``.
        file: the file that says it; empty: the settings.
        dialect: whose rules of input hold: ``claude``, ``codex`` or ``copilot``.
        wire: ``camel``: the names of the input are in camelCase.
        plugin: the bundle: ``name``, ``root``, ``data``, ``options``, ``bin``; ``None``: it comes from no bundle.
        problem: why it cannot run; empty: it can. A hook of a guard that cannot run denies.
        digest: what a person consented to; empty where nobody is asked.
        at: where it stands in the settings, as a dotted path: ``PreToolUse.0.hooks.1``.
    """

    event: str
    matcher: str
    handler: Mapping[str, Any]
    origin: str = "settings"
    file: str = ""
    dialect: str = "claude"
    wire: str = "claude"
    plugin: Mapping[str, Any] | None = field(default=None, hash=False)
    problem: str = ""
    digest: str = ""
    at: str = ""

    @property
    def type(self) -> str:
        """The kind of handler."""
        return str(self.handler.get("type", "command"))

    @property
    def shown(self) -> str:
        """What it runs, in one line."""
        text = str(self.handler.get(_NEEDS.get(self.type, ""), ""))
        args = self.handler.get("args")
        words = [text, *map(str, args)] if isinstance(args, list) else [text]
        return " ".join(" ".join(words).split())

    @property
    def label(self) -> str:
        """The hook in the words of a reason."""
        return f"{self.event} hook of {self.origin}"

    @property
    def identity(self) -> str:
        """Equal for handlers that run once where they stand twice."""
        plugin = str(self.plugin.get("name")) if self.plugin is not None else ""
        mine = {key: self.handler[key] for key in _IDENTITY if key in self.handler}
        return json.dumps([plugin, self.event, mine], sort_keys=True, default=str)

    @property
    def seconds(self) -> float:
        """What it may take."""
        default = (
            30.0 if self.dialect == "copilot" else _SECONDS_OF_EVENT.get(self.event, _SECONDS.get(self.type, 600.0))
        )
        given = _number(self.handler.get("timeout"))
        seconds = default if given is None or given <= 0 else given
        return min(seconds, 1.5 if self.event == "SessionEnd" else MOST_SECONDS)

    @property
    def blocks_on_failure(self) -> bool:
        """Whether the hook itself says that its failure blocks (``onFailure: block``)."""
        return self.handler.get("onFailure") == "block"


def hooks_of(settings: Any, **about: Any) -> list[Hook]:
    """Return the handlers of settings in the order in which they are written: ``{event: [{matcher, hooks: [handler]}]}``.

    What is written wrongly becomes a hook with a ``problem``, so that no guard is lost in silence.

    Args:
        settings: the settings, also wrapped in ``hooks`` as files of bundles are.
        about: further attributes of each hook.
    """
    if isinstance(settings, Mapping) and isinstance(settings.get("hooks"), Mapping):
        settings = settings["hooks"]
    if not isinstance(settings, Mapping):
        return []
    return [hook for event, groups in settings.items() for hook in _of_event(str(event), groups, about)]


def _of_event(event: str, groups: Any, about: Mapping[str, Any]) -> Iterator[Hook]:
    if groups is None:
        return
    for number, group in enumerate(groups if isinstance(groups, list) else [groups]):
        at = f"{event}.{number}" if isinstance(groups, list) else event
        if not isinstance(group, Mapping):
            yield Hook(event, "", {}, problem=f"a group of {event} is no mapping", at=at, **about)
            continue
        matcher = group.get("matcher")
        matcher = "" if matcher is None else matcher
        if not isinstance(matcher, str):
            yield Hook(event, "", {}, problem="matcher is no text", at=f"{at}.matcher", **about)
            continue
        # the inner list forgotten: the group is the handler
        inner = group["hooks"] if "hooks" in group else [{k: v for k, v in group.items() if k != "matcher"}]
        for place, handler in enumerate(inner if isinstance(inner, list) else [inner]):
            here = f"{at}.hooks.{place}"  # where there is no such line, that of the group is the nearest
            if not isinstance(handler, Mapping):
                yield Hook(event, matcher, {}, problem="a handler is no mapping", at=here, **about)
            else:
                yield Hook(event, matcher, dict(handler), problem=_problem(handler), at=here, **about)


def _problem(handler: Mapping[str, Any]) -> str:
    """Return why a handler cannot run."""
    kind = handler.get("type", "command")
    if kind not in TYPES:
        return f"there are no handlers of type {kind!r}; there are {', '.join(TYPES)}"
    need = handler.get(_NEEDS[kind])
    if not isinstance(need, str) or not need.strip():
        return f"{_NEEDS[kind]} is empty" if isinstance(need, str) or need is None else f"{_NEEDS[kind]} is no text"
    args = handler.get("args")
    if args is not None and not (isinstance(args, list) and all(isinstance(one, str) for one in args)):
        return "args is no list of texts"
    timeout = handler.get("timeout")
    if timeout is not None and _number(timeout) is None:
        return f"timeout is {timeout!r}; it is a number of seconds"
    if kind == "command" and args is None and "${user_config." in need:
        return "${user_config...} is refused in a shell line: write it in args, or use $CLAUDE_PLUGIN_OPTION_NAME"
    return ""


def _number(value: Any) -> float | None:
    if isinstance(value, bool):
        return None
    try:
        return float(value)
    except (TypeError, ValueError):
        return None
