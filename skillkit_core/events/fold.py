"""How the answers of several handlers become one: the rules that each result type's fields declare."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any, cast

from ..messages import blocks_of
from .results import UNSET, EventResult, Merge
from .types import Event

_rules_of: dict[type[Any], tuple[tuple[str, Merge], ...]] = {}


def _rules(cls: type[Any]) -> tuple[tuple[str, Merge], ...]:
    found = _rules_of.get(cls)
    if found is None:
        merging = tuple((f.name, cast(Merge, f.metadata["merge"])) for f in fields(cls) if "merge" in f.metadata)
        found = _rules_of[cls] = merging
    return found


def _normal(name: str, value: Any) -> Any:
    if name in ("content", "images"):
        return blocks_of(value)
    if name == "messages":
        return tuple(value)
    return value


class Fold:
    """Collects answers in handler order; ``event`` is what the next handler should see."""

    __slots__ = ("_values", "event", "last", "stopped")

    def __init__(self, event: Event) -> None:
        self.event = event
        self.last: EventResult | None = None
        self.stopped = False
        self._values: dict[str, Any] = {}

    def add(self, answer: EventResult) -> str | None:
        """Take one more answer, already checked; gives a field that came too late to count."""
        if getattr(answer, "stops", False):
            self.last, self.stopped = answer, True
            return None
        rules = _rules(type(answer))
        if self.last is None or rules:
            self.last = answer
        surplus = None
        for name, rule in rules:
            value = getattr(answer, name)
            if value is UNSET:
                continue
            if rule is Merge.first and name in self._values:
                surplus = name
            self._merge(name, rule, _normal(name, value))
        return surplus

    def _merge(self, name: str, rule: Merge, value: Any) -> None:
        values = self._values
        if rule is Merge.first:
            values.setdefault(name, value)
        elif rule is Merge.last:
            values[name] = value
        elif rule is Merge.lowest:
            values[name] = values[name].lowered(value) if name in values else value
        elif rule is Merge.any:
            values[name] = bool(value) or values.get(name, False)
        elif rule is Merge.concat:
            values[name] = (*values.get(name, ()), *value)
        elif rule is Merge.joined:
            values[name] = f"{values[name]}\n\n{value}" if values.get(name) else value
        else:
            if rule is Merge.patch:
                value = {**getattr(self.event, name, values.get(name, {})), **value}
            values[name] = value
            if hasattr(self.event, name):
                self.event = replace(self.event, **{name: value})

    def result(self) -> EventResult:
        """All answers as one."""
        if self.last is None or self.stopped:
            return self.last or NO_ANSWER
        return replace(self.last, **{name: self._values.get(name, UNSET) for name, _ in _rules(type(self.last))})


NO_ANSWER = EventResult()
