"""A recording as a script for a replay: who gives what, in which order, and where the user comes in."""

from __future__ import annotations

import sys
from bisect import bisect_right
from collections import Counter
from collections.abc import Container, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from .entrances import Entrances, Key, Played
from .recording import Recording
from .records import (
    STARTS_A_RUN,
    Answered,
    Decision,
    Line,
    Question,
    Request,
    Seen,
    Sent,
    Sleep,
    Streamed,
    StreamEnd,
    Talked,
    Told,
    ToolBegin,
    ToolEnd,
    ToolOutputLine,
    Woke,
)

__all__ = ["Asked", "Called", "Script", "Waited"]

JSON = dict[str, Any]
MODEL = ("id", "provider", "api", "display_name", "context_window", "cost")
SIDE_BY_SIDE = frozenset({"after_tool_result", "tool_execution_end"})  # tools of one answer have them at the same time
UPDATE = "message_update"


@dataclass(slots=True)
class Step:
    """Something that comes from outside, in its place: an item of a stream, an output, a decision, what the user says.

    Attributes:
        place: of its line. party: whose next step it is.
        after: what must have happened before; ``None``: its party is the only one that does anything.
    """

    place: int
    key: Key
    party: Key
    after: Key | None


@dataclass(slots=True)
class Asked:
    """A request, and what came for it. ``end`` is ``None`` after a terminal event, or where the recording ends."""

    place: int
    line: Request
    items: list[tuple[Key, Sent | Answered | Streamed]] = field(default_factory=list)
    end: StreamEnd | None = None

    @property
    def whole(self) -> bool:
        """Whether a terminal event ends it."""
        last = self.items[-1][1] if self.items else None
        return isinstance(last, Streamed) and last.event["type"] in ("done", "error")


@dataclass(slots=True)
class Called:
    """An execution of a tool. ``spared``: the run was aborted, and it ended all the same as if it had not been."""

    place: int
    line: ToolBegin
    outputs: list[tuple[Key, ToolOutputLine]] = field(default_factory=list)
    end: ToolEnd | None = None
    spared: bool = False


@dataclass(slots=True)
class Waited:
    """A question to the approver or a wait, and what ended it."""

    place: int
    end: Decision | Woke | None = None


class Script:
    """The lines of a recording by what they are for.

    Args:
        recording: what happened.
        present: plugins of the replay; what their handlers told the agent they tell it again by themselves.
    """

    def __init__(self, recording: Recording, present: Container[str] = ()) -> None:
        self.header = recording.header
        self.steps: list[Step] = []
        self.requests: list[Asked] = []
        self.calls: dict[tuple[str, int], Called] = {}
        self.questions: dict[tuple[str, int], Waited] = {}
        self.sleeps: list[Waited] = []
        self.events: list[tuple[int, JSON]] = []
        self.awaits: dict[
            Key, Key
        ] = {}  # what happened before a tool began or an event of it, which somebody may have made wait
        self.idle: list[Played] = []
        self.told: dict[int, Told] = {}
        self.sessions: list[tuple[int, Talked]] = []
        self.entrances = Entrances()
        self.complete = True  # no run goes on where the recording ends
        self._late = _told_late(recording)
        self._aborted = False  # the run
        self._chosen = sys.maxsize  # where another model or adapter was chosen first
        self._of_call: dict[str, list[Step]] = {}
        self._present = present
        self._count: Counter[Key] = Counter()
        self._last: Key | None = None  # what happened last
        for place, line in enumerate(recording.lines):
            key = self._told(place, line) if isinstance(line, Told) else self._line(place, line)
            if key is not None:
                beside = isinstance(line, ToolBegin) or (key[0] == "event" and key[1] in SIDE_BY_SIDE)
                if beside and self._last is not None:
                    self.awaits[key] = self._last
                self._last = key
                self.entrances.happens(key, line, place)
        self._settled = [place for place, event in self.events if event["type"] == "agent_settled"]
        begun = {str(event["run"]) for _, event in self.events if "run" in event}
        over = {str(event.get("run")) for _, event in self.events if event["type"] == "agent_settled"}
        starts = max((played.place for played in self.idle if played.line.begins), default=-1)
        self.complete = begun <= over and starts < max((place for place, _ in self.events), default=0)

    def _nth(self, *key: Any) -> int:
        self._count[key] += 1
        return self._count[key]

    def _step(self, place: int, key: Key, party: Key) -> Key:
        alone = (
            party[0] == "request" and bool(self.steps) and self.steps[-1].party == party
        )  # nothing is beside an answer
        step = Step(place, key, party, None if alone else self._last)
        self.steps.append(step)
        if party[0] in ("tool", "approver"):
            self._of_call.setdefault(party[1], []).append(step)
        return key

    # --- lines --------------------------------------------------------------------------------------------------

    def _line(self, place: int, line: Line) -> Key | None:
        """Take up a line; gives the name of what happened, if it happens in a replay, too."""
        if isinstance(line, Seen):
            if line.event.get("below"):
                return None
            self.events.append((place, line.event))
            self._aborted = self._aborted and line.event["type"] != "agent_settled"
            about = line.event["type"], line.event.get("tool_call_id", "")
            if self._late and about[0] == UPDATE:
                return None
            return ("event", *about, self._nth("event", *about))
        if isinstance(line, Talked):
            self.sessions.append((place, line))
            return None
        if isinstance(line, Request):
            self.requests.append(Asked(place, line))
            return ("request", len(self.requests))
        if isinstance(line, (Sent, Answered, Streamed, StreamEnd)):
            return self._of_request(place, line)
        if isinstance(line, (ToolBegin, ToolOutputLine, ToolEnd)):
            return self._of_tool(place, line)
        return self._of_waiting(place, line)

    def _of_request(self, place: int, line: Sent | Answered | Streamed | StreamEnd) -> Key | None:
        if not 0 < line.request <= len(self.requests):
            return None
        asked, party = self.requests[line.request - 1], ("request", line.request)
        if isinstance(line, StreamEnd):
            asked.end = line
            key: Key = ("stream_end", line.request)
            return key if line.how == "cut" else self._step(place, key, party)
        key = ("item", line.request, len(asked.items))
        asked.items.append((key, line))
        self._step(place, key, party)
        if self._late and isinstance(line, Streamed) and not asked.line.aside and not asked.whole:
            return ("event", UPDATE, "", self._nth("event", UPDATE, ""))  # the replay tells each by itself
        return key

    def _of_tool(self, place: int, line: ToolBegin | ToolOutputLine | ToolEnd) -> Key | None:
        which = (line.call, line.again)
        if isinstance(line, ToolBegin):
            self.calls[which] = Called(place, line)
            return ("tool", *which)
        called = self.calls.get(which)
        if called is None:
            return None
        party = ("tool", *which)
        if isinstance(line, ToolOutputLine):
            key: Key = ("output", *which, len(called.outputs))
            called.outputs.append((key, line))
            return self._step(place, key, party)
        called.end = line
        called.spared = line.late or self._aborted
        key = ("tool_end", *which)
        return key if line.cancelled else self._step(place, key, party)

    def _of_waiting(self, place: int, line: Line) -> Key | None:
        if isinstance(line, Question):
            which = (line.call, self._nth("question", line.call))
            self.questions[which] = Waited(place)
            return ("question", *which)
        if isinstance(line, Decision):
            which = (line.call, self._nth("decision", line.call))
            if which not in self.questions:
                return None
            self.questions[which].end = line
            return self._step(place, ("decision", *which), ("approver", *which))
        if isinstance(line, Sleep):
            self.sleeps.append(Waited(place))
            return ("sleep", len(self.sleeps))
        if isinstance(line, Woke) and self.sleeps:
            self.sleeps[-1].end = line
            return self._step(place, ("woke", len(self.sleeps)), ("clock",))
        return None

    def _told(self, place: int, line: Told) -> Key | None:
        if line.refused or (line.by is not None and line.by in self._present):
            return None
        if line.name in ("set_adapter", "set_model"):
            self._chosen = min(self._chosen, place)
        if line.idle and (line.begins or not line.handler):
            self.idle.append(Played(place, line))
            return ("start", place) if line.begins else None
        if line.name in STARTS_A_RUN and line.arguments.get("delivery") is None:
            return None  # it was refused
        self.told[place] = line
        if line.name == "abort":
            self._aborted = True
        played = Played(place, line, ("told", place))
        self.entrances.says(played)
        self._step(place, ("told", place), ("user",))
        return None

    # --- what is still to come ----------------------------------------------------------------------------------

    def coming(self, served: int) -> Request | None:
        """The next turn's request when ``served`` requests have been answered."""
        left = islice(self.requests, served, None)
        return next((asked.line for asked in left if not asked.line.aside), None)

    def request_after(self, place: int) -> Request:
        """The first turn's request behind a place; without one, as much of it as the next event tells that knows of it."""
        found = next((a.line for a in self.requests if a.place > place and not a.line.aside), None)
        return found or _request_of(self.later(place, "agent_start") or self.later(place, "model_select") or {})

    def later(self, place: int, kind: str) -> JSON | None:
        """The first event of a type behind a place."""
        begin = bisect_right(self.events, place, key=lambda found: found[0])
        return next((event for _, event in islice(self.events, begin, None) if event["type"] == kind), None)

    def session_of(self, played: Played) -> Talked | None:
        """The session that something said while nothing ran has led to."""
        after = next((other.place for other in self.idle if other.place > played.place), sys.maxsize)
        return next((line for place, line in self.sessions if played.place < place < after), None)

    def settled(self, nth: int) -> int:
        """The place where the n-th run was over; behind everything when there were not so many."""
        return self._settled[nth - 1] if nth <= len(self._settled) else sys.maxsize

    def steps_of(self, call: str) -> list[Key]:
        """The steps of a tool call, questions about it included."""
        return [step.key for step in self._of_call.get(call, ())]

    # --- how it begins and ends -----------------------------------------------------------------------------------

    @property
    def opens_first(self) -> bool:
        """Whether the session was opened before anything was said."""
        event = self.later(-1, "session_start")
        return event is not None and "run" not in event

    @property
    def closes(self) -> bool:
        """Whether the agent was closed."""
        return self.later(-1, "session_shutdown") is not None

    @property
    def announces_first(self) -> bool:
        """Whether another model was chosen before the recording began, and told with its first request."""
        places = [place for place, event in self.events if event["type"] == "model_select"]
        first = min((a.place for a in self.requests), default=sys.maxsize)
        return bool(places) and places[0] < min(first, self._chosen)


def _told_late(recording: Recording) -> bool:
    """Whether updates were told beside the stream, to handlers that waited: several at once, and some time later."""
    last: JSON = {}
    for line in recording.lines:
        if isinstance(line, Streamed):
            last = line.event
        elif isinstance(line, Seen) and line.event["type"] == UPDATE and "below" not in line.event:
            if line.event.get("event") == last:
                continue
            return True
    return False


def _request_of(event: Mapping[str, Any]) -> Request:
    """What an event tells of the request that would have been made: the model, and names of tools."""
    shown = event.get("model")
    model = {k: v for k, v in shown.items() if k in MODEL and v} if isinstance(shown, Mapping) else {}
    return Request(
        type="request",
        n=0,
        provider=str(event.get("provider", "")),
        api=str(model.get("api", "")),
        model={"id": "unknown", **model},
        system="",
        tools=[{"name": str(name), "description": ""} for name in event.get("tools", ())],
        messages=[],
    )
