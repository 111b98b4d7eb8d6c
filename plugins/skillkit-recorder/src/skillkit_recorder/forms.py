"""Events and requests of one agent as JSON that does not vary between two runs that did the same.

Left out of events: session ids, sequence numbers, times, durations, estimates of tokens, ids and places of entries (the
target of a switch, a fork or a move is one), and whatever a handler alone could read (``preparation``, tracebacks). Runs and
queued items are counted from 1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from skillkit_core import AgentMessage, LLMAdapter, LLMRequest, MessageUpdateEvent, StreamEvent, event_to_dict
from skillkit_core.events.types import Event
from skillkit_core.tools import plain_details

from .values import message_to_json, model_to_json, plain, settings_to_json, stream_to_json, tool_to_json

__all__ = ["EventForms", "MessageForms", "RequestForms", "event_about", "title"]

JSON = dict[str, Any]
VOLATILE = frozenset(
    {"session_id", "sessions", "run_id", "runs", "request", "agent_path", "seq", "ts", "duration", "latency", "delay",
     "traceback", "path", "previous", "preparation", "target", "tokens", "before_tokens", "after_tokens", "leaf_id",
     "entry_id", "summary_id", "message", "messages", "tool_results", "details"}
)  # fmt: skip
QUEUES = ("steering", "follow_up", "next_run")


class MessageForms:
    """Messages as JSON, each written once: messages never change, and most events hold the same ones."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[AgentMessage, JSON]] = {}

    def one(self, message: AgentMessage) -> JSON:
        """The message; the same message is the identical object."""
        found = self._known.get(id(message))
        if found is None:
            found = self._known[id(message)] = (message, message_to_json(message))
        return found[1]

    def all(self, messages: Sequence[AgentMessage]) -> list[JSON]:
        """Several messages."""
        return [self.one(message) for message in messages]


class EventForms:
    """Events of one agent, and of those below it, as JSON."""

    def __init__(self, messages: MessageForms | None = None) -> None:
        self._messages = messages or MessageForms()
        self._last: tuple[StreamEvent | None, JSON] = (None, {})
        self._items: dict[str, str] = {}
        self._runs: dict[tuple[str | None, str], int] = {}
        self._in_session: Counter[str | None] = Counter()
        self._agents: dict[tuple[str, ...], int] = {}

    def stream(self, event: StreamEvent) -> JSON:
        """A stream event; asked again about the last one, the identical object."""
        if self._last[0] is not event:
            self._last = (event, stream_to_json(event))
        return self._last[1]

    def item(self, item_id: str) -> str:
        """The id of a queued message, counted in the order in which they were seen."""
        return self._items.setdefault(item_id, f"q{len(self._items) + 1}")

    def of(self, event: Event, own: tuple[str, ...] = ("main",)) -> JSON:
        """The event. ``own``: the path of the agent; those of agents below it say how deep, and which agent of all below."""
        out: JSON = {"type": event.type}
        if event.run_id is not None:
            key = (event.session_id, event.run_id)
            if key not in self._runs:
                self._in_session[event.session_id] += 1
                self._runs[key] = self._in_session[event.session_id]
            out["run"] = self._runs[key]
        if event.agent_path != own:
            out["below"] = len(event.agent_path) - len(own)
            out["agent"] = self._agents.setdefault(event.agent_path, len(self._agents) + 1)
        if isinstance(event, MessageUpdateEvent):
            out["event"] = self.stream(event.event)
        else:
            self._fields(event, out)
        return out

    def _fields(self, event: Event, out: JSON) -> None:
        messages = getattr(event, "messages", None)
        short = replace(event, messages=()) if messages else event  # type: ignore[call-arg]
        out |= {k: plain(v) for k, v in event_to_dict(short).items() if k not in VOLATILE and k != "type"}
        for name in QUEUES if event.type == "queue_update" else ():
            out[name] = [self.item(i) for i in getattr(event, name)]
        if event.type == "message_end":
            out["kept"] = bool(getattr(event, "entry_id", ""))
        if getattr(event, "details", None) is not None:
            out["details"] = plain_details(event.details)  # type: ignore[attr-defined]
        message = getattr(event, "message", None)
        if isinstance(message, AgentMessage):
            out["message"] = self._messages.one(message)
        for name in ("inputs", "tool_results"):
            if (several := getattr(event, name, None)) is not None:
                out[name] = self._messages.all(several)
        if messages is not None:
            out["messages"] = self._messages.all(messages)


class RequestForms:
    """Requests as JSON."""

    def __init__(self, messages: MessageForms) -> None:
        self._messages = messages
        self._tools: tuple[Any, list[JSON]] = (None, [])

    def of(self, request: LLMRequest, adapter: LLMAdapter, provider: str, sources: Any) -> JSON:
        """What is asked.

        Args:
            provider: the name by which the agent knows the adapter. sources: from a tool's name to the plugin that brought it.
        """
        if self._tools[0] is not request.tools:
            self._tools = (request.tools, [tool_to_json(t, sources(t.name)) for t in request.tools])
        out: JSON = {"provider": provider, "api": adapter.api, "model": model_to_json(request.model)}
        out |= {"system": request.system, "tools": self._tools[1], "messages": self._messages.all(request.messages)}
        settings = settings_to_json(request.settings)
        if settings:
            out["settings"] = settings
        if not request.stream:
            out["stream"] = False
        if not adapter.progressive:
            out["progressive"] = False
        if request.session_id is None:
            out["aside"] = True
        return out


def event_about(event: Event) -> tuple[str, str]:
    """What an event is about: its type, and the tool call if it is about one. Those of one kind are never under way at once."""
    return event.type, getattr(event, "tool_call_id", "")


def title(event: Mapping[str, Any]) -> str:
    """An event in a few words: its type, and what it is about."""
    text = str(event.get("type"))
    about = event.get("tool_call_id")
    if about:
        return f"{text} of {event.get('tool_name')} ({about})"
    if isinstance(event.get("message"), Mapping):
        return f"{text} ({event['message'].get('role')})"
    if text == "message_update":
        return f"{text} ({event['event'].get('type')})"
    return text
