"""Events that plugins bring: known while a host has such a plugin, and then like those of the core."""

from __future__ import annotations

from collections import Counter
from typing import Any

from ..errors import PluginError
from .types import ALIASES, EVENTS, Event

__all__ = ["add_events", "remove_event"]

_users: Counter[str] = Counter()  # how many hosts have a plugin that brings the event


def add_events(space: Any) -> list[type[Event]]:
    """Make the event classes in a module or class known under their ``type``; gives those that are new there.

    Raises:
        PluginError: one has no name of its own, or the name is taken.
    """
    found = [v for v in vars(space).values() if isinstance(v, type) and issubclass(v, Event) and _is_own(v)]
    for cls in found:
        _check(cls)
    for cls in found:
        EVENTS[cls.type] = cls
        _users[cls.type] += 1
    return found


def remove_event(cls: type[Event]) -> None:
    """Take an event back; it stays known as long as another host has it."""
    _users[cls.type] -= 1
    if _users[cls.type] <= 0:
        del _users[cls.type]
        EVENTS.pop(cls.type, None)


def _is_own(cls: type[Event]) -> bool:
    return cls is not Event and not cls.__module__.startswith(__package__ or "")


def _check(cls: type[Event]) -> None:
    where = f"event class {cls.__qualname__!r}"
    name = cls.__dict__.get("type")
    if not isinstance(name, str) or not name.isidentifier():
        raise PluginError("an event needs a type: the name of its hook", where=where)
    known = EVENTS.get(ALIASES.get(name, name))
    if known is not None and (known.__module__, known.__qualname__) != (cls.__module__, cls.__qualname__):
        raise PluginError(
            f"there is an event {name!r} already ({known.__module__}.{known.__qualname__})",
            where=where,
            hint="give it another name",
        )
