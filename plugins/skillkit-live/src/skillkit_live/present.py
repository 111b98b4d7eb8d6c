"""What of a session has begun and not ended: the events that a client which comes now has missed, as few as possible."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Any

from .journal import text_of, with_text

__all__ = ["OUTPUT", "Present", "delta_of"]

OUTPUT = 64 * 1024  # characters of a running tool's output that are kept
Line = Mapping[str, Any]
Place = tuple[Hashable, ...]


def delta_of(line: Line) -> Place | None:
    """Return the name of the text that an event goes on with: agent, message or call, and block; ``None``: with none."""
    path = tuple(line["agent_path"])
    if line["type"] == "tool_execution_update":
        return (path, line["tool_call_id"], line.get("stream"))
    if line["type"] == "message_update" and line["event"]["type"].endswith("_delta"):
        return (path, None, line["event"]["type"], line["event"].get("index"))
    return None


class Present:
    """Follows the events of a session, without what has ended.

    Args:
        kept: tells whether the session holds an entry.
    """

    def __init__(self, kept: Callable[[str], bool]) -> None:
        self._kept = kept
        self._runs: dict[Place, Line] = {}  # agent_start by path
        self._open: dict[Place, dict[Place, list[Line]]] = {}  # by path and message or call: what it said
        self._ended: list[Line] = []  # messages that the session does not hold yet

    def saw(self, line: Line) -> Place | None:
        """Take in an event; return the place of the texts that end with it."""
        path = tuple(line["agent_path"])
        match line["type"]:
            case "agent_start":
                self._runs[path] = line
                if len(path) == 1:
                    self._ended = []  # what an earlier run said is in the session, or never will be
            case "agent_end":
                self._runs.pop(path, None)
                self._open.pop(path, None)
            case "message_start":
                if line.get("role") == "assistant":
                    self._open.setdefault(path, {})[(None,)] = [line]
            case "message_end":
                if len(path) == 1:  # the session has nothing of the agents inside a run
                    self._ended = [one for one in self._ended if not self._kept(one["entry_id"])] + [line]
                if line["message"]["role"] == "assistant":
                    return self._close(path, None)
            case "tool_execution_start":
                self._open.setdefault(path, {})[(line["tool_call_id"],)] = [line]
            case "tool_execution_end":
                return self._close(path, line["tool_call_id"])
            case "message_update" | "tool_execution_update":
                call = line.get("tool_call_id") if line["type"] == "tool_execution_update" else None
                lines = self._open.get(path, {}).get((call,))
                if lines is not None:
                    self._go_on(lines, line)
            case _:
                pass
        return None

    def _close(self, path: Place, call: Hashable) -> Place:
        self._open.get(path, {}).pop((call,), None)
        return (path, call)

    def _go_on(self, lines: list[Line], line: Line) -> None:
        """Add a piece to the text that it goes on with, the last of its name; only the end of a tool's output is kept."""
        name = delta_of(line)
        if name is not None:
            for place in range(len(lines) - 1, 0, -1):
                if delta_of(lines[place]) == name:
                    text = text_of(lines[place]) + text_of(line)
                    lines[place] = with_text(line, text[-OUTPUT:] if "event" not in line else text)
                    return
        lines.append(line)

    def events(self) -> list[Line]:
        """Return the events of what is open, in an order in which they could have come."""
        self._ended = [one for one in self._ended if not self._kept(one["entry_id"])]
        opened = [line for texts in self._open.values() for lines in texts.values() for line in lines]
        return [*self._runs.values(), *self._ended, *opened]
