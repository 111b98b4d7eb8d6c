"""The recorder: it watches one agent from outside and writes down whatever happens to it."""

from __future__ import annotations

import asyncio
import inspect
from collections import Counter
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any

from skillkit_core import (
    IN_PROCESS,
    UNSET,
    AgentRunner,
    HandlerRecord,
    SkillKitError,
    Target,
    Tool,
    UsageError,
    __version__,
)
from skillkit_core.contracts.session_store import OFF_PATH
from skillkit_core.events.types import Event

from .config import config_to_json
from .directives import Directive, put_before, watch_directives
from .forms import event_about
from .recording import Recording
from .records import VERSION
from .redaction import redacted
from .seams import Journal, WatchedAdapter, WatchedApprover, WatchedClock, WatchedExecutor, in_call
from .user import LEAVING
from .values import blocks_to_json, decision_to_json, plain, sparse

__all__ = ["Recorder"]

JSON = dict[str, Any]
QUEUED = frozenset({"steer", "follow_up"})
ELSEWHERE = frozenset({"resume", "new", "reload"})  # reasons of session_start: a fork is made of what is known
_handling: ContextVar[tuple[HandlerRecord, Event] | None] = ContextVar("skillkit_recorder_handling", default=None)


class Recorder:
    """Records what happens to an agent, in a ``with`` block around whatever is done with it.

    Args:
        agent: it must be idle, and nothing may wait in its queues.
        path: where to save the recording when the block is left, also because of an exception.

    The agent does what it does without a recorder. Recorded are: what it was told, its requests and every event of the
    answers, what tools returned and showed, decisions of the approver, and every event of its bus, also those of agents
    below it. Secrets that the host knows are replaced by ``***``; endpoints and credentials of the configuration are left out.

    When the agent goes to another session (``switch``), the recording holds what that has said until then; a ``fork``, a
    ``move_to`` and a ``reload`` are recorded, too.

    Example:
        >>> async def work():
        ...     with Recorder(agent, "bug.jsonl"):
        ...         await agent.chat("Go.")
    """

    def __init__(self, agent: AgentRunner, path: str | Path | None = None) -> None:
        self.agent = agent
        self.path = Path(path) if path is not None else None
        self._journal = Journal(agent)
        self._header: JSON = {}
        self._undo: list[Callable[[], object]] = []
        self._handled_now: dict[
            int, tuple[Event, int]
        ] = {}  # events that nobody has seen yet, and how much was known then
        self._count: Counter[tuple[str, str]] = Counter()
        self._spoken_in: set[int] = set()  # events during which the agent was told something
        self._coming_in: dict[Any, list[JSON]] = {}  # what each task has told the agent, and was not seen yet
        self._inner_probe: Any = None

    # --- beginning and end --------------------------------------------------------------------------------------

    def start(self) -> Recorder:
        """Begin to record; ``with`` does it.

        Raises:
            UsageError: the agent is busy, messages wait in its queues, or this recorder has begun already.
        """
        agent, journal = self.agent, self._journal
        if self._undo or self._header:
            raise UsageError("this recorder has been used already", hint="make another one")
        if agent.events.run_id is not None:
            raise UsageError("a run is active", hint="begin to record before it")
        if any(agent.queues.waiting(kind) for kind in ("steer", "follow_up", "next_run")):
            raise UsageError("messages wait in the agent's queues", hint="begin to record before they are queued")
        opened = agent.events.session_id is not None
        self._header = self._head(opened)
        if opened:
            self._keep_session()
        self._undo = [
            agent.events.observe(self._event),
            watch_directives(agent, self._told),
            put_before(agent.selection, "current", self._watched),
        ]
        executor, approver = agent.config.executor or IN_PROCESS, agent.config.approver
        watched = WatchedApprover(approver, journal) if approver is not None else None
        agent.config = replace(agent.config, executor=WatchedExecutor(executor, journal), approver=watched)
        agent.clock = WatchedClock(agent.clock, journal)
        self._inner_probe, agent.events.probe = agent.events.probe, self._probe
        return self

    def stop(self) -> Recording:
        """Leave the agent as it was; gives the recording, and saves it where that was asked for."""
        agent = self.agent
        if self._undo:
            for undo in self._undo:
                undo()
            self._undo = []
            executor, approver, clock = agent.config.executor, agent.config.approver, agent.clock
            if isinstance(executor, WatchedExecutor):
                inside = executor.inside if executor.inside is not IN_PROCESS else None
                agent.config = replace(agent.config, executor=inside)
            if isinstance(approver, WatchedApprover):
                agent.config = replace(agent.config, approver=approver.inside)
            if isinstance(clock, WatchedClock):
                agent.clock = clock.inside
            if agent.events.probe == self._probe:
                agent.events.probe = self._inner_probe
            self._journal.open = False
        recording = self.recording
        if self.path is not None:
            recording.save(self.path)
        return recording

    def __enter__(self) -> Recorder:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def recording(self) -> Recording:
        """What was recorded until now."""
        lines = [self._header, *self._journal.entries, *self._journal.lines]
        return Recording.of(redacted(lines, self.agent.host.redact))

    def _head(self, opened: bool) -> JSON:
        host = self.agent.host
        plugins = {
            name: str(loaded.owner["version"] or "")
            for name, loaded in host.plugins.items()
            if not getattr(loaded.plugin, "watches_only", False)
        }
        return {
            "type": "recording",
            "version": VERSION,
            "core": __version__,
            "plugins": plugins,
            "context_providers": [entry.name for entry in host.context_providers.entries()],
            "config": config_to_json(self.agent),
            "approver": self.agent.config.approver is not None,
            "opened": opened,
        }

    def _keep_session(self) -> None:
        """What the session holds before anything happens."""
        self._header["session"] = self.agent.session.id
        self._journal.entries = [{"type": "entry", **entry} for entry in self._entries()]

    def _entries(self) -> list[JSON]:
        """What the session of the agent holds."""
        return [
            {"seq": e.seq, "id": e.id, "parent": e.parent_id, "kind": e.type, "data": plain(e.data)}
            for e in self.agent.session.entries
        ]

    def _watched(self, current: Callable[[], Awaitable[Target]]) -> Callable[[], Awaitable[Target]]:
        """What answers the next request, with its adapter watched."""

        async def watched() -> Target:
            target = await current()
            return replace(target, adapter=WatchedAdapter(target.adapter, self._journal))

        return watched

    # --- what happens -------------------------------------------------------------------------------------------

    def _event(self, event: Event) -> None:
        bus = self.agent.events
        if event.agent_path != bus.agent_path:
            below = in_call.get()
            if below is not None and event.type == "usage":
                below.append([sparse(event.usage), event.cost])  # type: ignore[attr-defined]
        else:
            if event.type == "session_start":
                self._talks_in(event)
            self._begin(event)
            self._handled_now.pop(event.seq)
            if event.type == "input":
                self._came_in(event)
            self._count[event_about(event)] += 1
        self._journal.add("event", event=self._journal.events.of(event, bus.agent_path))

    def _talks_in(self, event: Any) -> None:
        """A session has been opened."""
        if not self._count[event_about(event)] and not self._header["opened"]:
            self._keep_session()
        elif event.reason in ELSEWHERE:
            self._journal.add("session", id=self.agent.session.id, entries=self._entries())

    def _begin(self, event: Event) -> None:
        """An event of the agent begins to be handled, or nobody but the recorder sees it."""
        if event.seq not in self._handled_now:
            if event.type == "tool_execution_update":
                self._journal.seen(event.tool_call_id)  # type: ignore[attr-defined]
            self._handled_now[event.seq] = (event, len(self._journal.lines))

    def _probe(self, record: HandlerRecord, event: Any, call: Callable[[], Any]) -> Any:
        """As ``bus.probe``: notes whose handler of which event is at work."""
        if record.function == self._event:
            return call()
        if event.agent_path == self.agent.events.agent_path:
            self._begin(event)
        inner = self._inner_probe
        token = _handling.set((record, event))
        try:
            answer = call() if inner is None else inner(record, event, call)
        finally:
            _handling.reset(token)
        return self._handled(record, event, answer) if inspect.isawaitable(answer) else answer

    @staticmethod
    async def _handled(record: HandlerRecord, event: Any, answer: Any) -> Any:
        token = _handling.set((record, event))
        try:
            return await answer
        finally:
            _handling.reset(token)

    def _told(self, directive: Directive) -> None:
        name = directive.name
        during = self._during()
        line = self._journal.add("told", name=name, arguments=self._arguments(directive), **during)
        if self.agent.events.run_id is None:
            line["idle"] = True
            if name in LEAVING and self._cannot_leave(directive):
                line["refused"] = True
        elif name in LEAVING:
            line["refused"] = True
        elif "delivery" in line["arguments"] or name in QUEUED:
            if self._refused(name, line["arguments"]):
                line["refused"] = True
            elif self.agent.scheduler.steerable:
                self._coming_in.setdefault(_task(), []).append(line)

    def _refused(self, name: str, arguments: JSON) -> bool:
        """Whether something cannot be queued."""
        # follow_up waits for the next run then, and with a trigger they begin one
        steerable = self.agent.scheduler.steerable or name == "follow_up" or bool(arguments.get("trigger"))
        return not steerable or str(arguments.get("message", "")).startswith("/")

    def _cannot_leave(self, directive: Directive) -> bool:
        """Whether something else is going on with the session, or the agent is asked to go where it is."""
        agent = self.agent
        try:
            agent.scheduler.require_idle(directive.name)
        except SkillKitError:
            return True
        return agent.session_id is not None and directive.arguments.get("session") == agent.session_id

    def _came_in(self, event: Any) -> None:
        """What was told to be queued comes in when the handlers of ``input`` are done with it: that is where its line belongs."""
        waiting = self._coming_in.get(_task())
        if event.delivery == "prompt" or not waiting:
            return
        line, lines = waiting.pop(), self._journal.lines
        if lines and lines[-1] is line:
            return
        if event.seq in self._spoken_in:
            return  # its own handlers told the agent something: that came in before it, and is part of it
        place = next((n for n in reversed(range(len(lines))) if lines[n] is line), None)
        if place is not None:
            kept = {k: v for k, v in lines.pop(place).items() if k not in ("by", "during", "handler")}
            lines.append({**kept, **self._during()})

    def _during(self) -> JSON:
        """Which event of the agent is being handled now, and the plugin whose handler is at work."""
        handling, found = _handling.get(), JSON()
        event: Event | None = None
        if handling is not None and handling[1].agent_path == self.agent.events.agent_path:
            record, event = handling
            found |= {} if record.plugin is None else {"by": record.plugin}
        if event is not None and event.seq in self._handled_now:
            found["handler"] = True
        else:  # perhaps a handler waits, and this is somebody else
            known = len(self._journal.lines)
            event = next((e for e, then in reversed(self._handled_now.values()) if then == known), None)
        if event is not None:
            self._spoken_in.add(event.seq)
            about = event_about(event)
            found["during"] = [*about, self._count[about] + 1]
        return found

    def _arguments(self, directive: Directive) -> JSON:
        """What of the arguments can be written down; what is left out is not needed to do it again."""
        given: JSON = {}
        for key, value in directive.arguments.items():
            if key == "images":
                given |= {key: blocks_to_json(value)} if value else {}
            elif key == "decisions":
                given[key] = {str(call): decision_to_json(d) for call, d in (value or {}).items()}
            elif key == "origin":
                given |= {key: value.to_dict()} if value is not None else {}
            elif key == "item_id":
                given[key] = self._journal.events.item(value)
            elif key in ("at", "entry_id"):
                given |= {} if value is UNSET else {key: self._place(value)}
            elif key in ("adapter", "model", "tool"):
                given[key] = _name(value)
            elif value is not None and value is not False and not (key == "delivery" and value == "prompt"):
                given[key] = plain(value)
        return given

    def _place(self, entry_id: str | None) -> int | str | None:
        """An entry, counted among those of its session: notes beside the path, which a replay may not write, do not count."""
        session = self.agent.open_session
        path = [e.id for e in session.entries if e.type not in OFF_PATH] if session is not None else []
        return path.index(entry_id) if entry_id in path else entry_id


def _task() -> asyncio.Task[Any] | None:
    try:
        return asyncio.current_task()
    except RuntimeError:
        return None


def _name(value: Any) -> str:
    """An adapter, a model or a tool in a word."""
    if isinstance(value, (str, Tool)):
        return value if isinstance(value, str) else value.name
    return str(getattr(value, "id", None) or getattr(value, "provider", None) or type(value).__name__)
