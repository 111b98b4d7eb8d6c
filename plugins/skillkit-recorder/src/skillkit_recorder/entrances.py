"""Where in a replay the user says what was said: after something happened, before it, or while an event was handled."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any, TypeAlias

from .records import Line, Seen, Told, ToolBegin

__all__ = ["Entrances", "Key", "Played"]

Key: TypeAlias = tuple[Any, ...]  # the name of something that happens
CONSEQUENCES = {
    "steer": ("input", "queue_update"),
    "follow_up": ("input", "queue_update"),
    "chat": ("input", "queue_update"),
}
OTHERWISE = ("queue_update",)


@dataclass(slots=True)
class Played:
    """What the agent was told, to be told again. ``key`` names it among the steps, ``None``: it was said while nothing ran."""

    place: int
    line: Told
    key: Key | None = None


class Entrances:
    """Collects the places while a recording is read from its beginning.

    Several things said in a row are said at one place, one after the other: what comes of them is not what they wait for.
    """

    def __init__(self) -> None:
        self.after: dict[Key, list[Played]] = {}
        self.before: dict[Key, list[Played]] = {}
        self.during: dict[Key, list[Played]] = {}
        self._errors: dict[Key, int] = {}
        self._last: Key | None = None
        self._here: list[Played] | None = None  # where the last thing was said, if only consequences have come since
        self._said: list[Played] = []
        self._due: Counter[str] = Counter()

    def says(self, played: Played) -> None:
        """The user says something now."""
        during = played.line.during
        if during is not None and played.line.handler:
            self.during.setdefault(("event", *during), []).append(played)
            if self._here is not None:  # a handler of what came of the last thing that was said
                self._due.update(CONSEQUENCES.get(played.line.name, OTHERWISE))
            return
        if during is not None:
            self._here = self.during.setdefault(("event", *during), [])
        elif self._here is None and self._last is not None:
            self._here = self.after.setdefault(self._last, [])
            self._said = []
        if self._here is not None:
            self._here.append(played)
            self._said.append(played)
        self._due.update(CONSEQUENCES.get(played.line.name, OTHERWISE))

    def within(self, key: Key) -> list[list[Played]]:
        """What is said before an event is seen, in queues to be emptied.

        That is what was said while it was handled, and before a failure of a handler is told, what others said before that
        while the same event was handled.
        """
        found = [self.during[key]] if self.during.get(key) else []
        place = self._errors.get(key)
        if place is not None:
            found += [q for q in self.during.values() if q and q[0].place < place]
        return found

    def happens(self, key: Key, line: Line, place: int) -> None:
        """Something happens now."""
        if isinstance(line, Seen) and line.event["type"] == "handler_error":
            self._errors[key] = place
        if isinstance(line, Seen) and self._here is not None and self._due[line.event["type"]]:
            self._due[line.event["type"]] -= 1
            return
        if isinstance(line, ToolBegin) and self._here is not None and self._here is self.after.get(self._last or ()):
            # a tool begins some time after it is announced: the agent had looked elsewhere already when this was said
            self.before[key] = self._said
            for played in self._said:
                self._here.remove(played)
        self._here, self._said, self._last = None, [], key
        self._due.clear()
