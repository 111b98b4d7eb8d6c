"""Lines that say only what is new: what the line before of the same kind said already is referred to.

Conversations repeat themselves: each request holds all messages of the one before. ``"as_before"`` mirrors a line; ``true`` says
that the whole value is as in the line before, a number that a list begins with so many of its items. So a file grows with
what happened, and a difference between two files is where something differs.
"""

from __future__ import annotations

from typing import Any

from skillkit_core.frozen import same_json

__all__ = ["Packer", "Unpacker"]

JSON = dict[str, Any]
KEY = "as_before"
LONG = 80  # a shorter text is written again
SAME_KIND = {"stream": "message_update", "sent": "before_provider_request"}  # the event tells of what the line says


def _subject(line: JSON) -> tuple[str, JSON]:
    """What a line is about: its kind, and the object that is compared."""
    if line.get("type") == "event" and isinstance(line.get("event"), dict):
        return str(line["event"].get("type")), line["event"]
    kind = str(line.get("type"))
    return SAME_KIND.get(kind, kind), line


def _same(a: Any, b: Any) -> bool:
    return a is b or same_json(a, b)


def _pack(value: JSON, before: JSON) -> tuple[JSON, JSON]:
    """The part of ``value`` that is new, and what is as before."""
    new: JSON = {}
    same: JSON = {}
    for key, item in value.items():
        old = before.get(key)
        if isinstance(item, list) and isinstance(old, list) and item:
            kept = 0
            for mine, other in zip(item, old, strict=False):
                if not _same(mine, other):
                    break
                kept += 1
            if kept == len(item) == len(old):
                same[key] = True
                continue
            if kept:
                same[key], item = kept, item[kept:]
        elif isinstance(item, dict) and isinstance(old, dict) and item:
            if _same(item, old):
                same[key] = True
                continue
            item, below = _pack(item, old)
            if below:
                same[key] = below
        elif isinstance(item, str) and len(item) > LONG and item == old:
            same[key] = True
            continue
        new[key] = item
    return new, dict(sorted(same.items()))


def _unpack(value: JSON, same: Any, before: JSON) -> JSON:
    """The whole of what :func:`_pack` took apart; raises :class:`ValueError`."""
    if not isinstance(same, dict):
        raise ValueError(f"{KEY} must be an object")
    out = dict(value)
    for key, how in same.items():
        old = before.get(key)
        if how is True and old is not None and key not in out:
            out[key] = old
        elif type(how) is int and isinstance(old, list) and 0 < how <= len(old) and isinstance(out.get(key), list):
            out[key] = [*old[:how], *out[key]]
        elif isinstance(how, dict) and isinstance(old, dict) and isinstance(out.get(key), dict):
            out[key] = _unpack(out[key], how, old)
        else:
            raise ValueError(f"{KEY} refers to a {key!r} that no line before has")
    return out


class Packer:
    """Takes lines apart, in order."""

    def __init__(self) -> None:
        self._before: dict[str, JSON] = {}

    def pack(self, line: JSON) -> JSON:
        """The line as it is written."""
        kind, subject = _subject(line)
        new, same = _pack(subject, self._before.get(kind, {}))
        self._before[kind] = subject
        if not same:
            return line
        return {**line, "event": new, KEY: same} if line["type"] == "event" else {**new, KEY: same}


class Unpacker:
    """Puts lines together again, in the same order."""

    def __init__(self) -> None:
        self._before: dict[str, JSON] = {}

    def unpack(self, line: JSON) -> JSON:
        """The whole line; raises :class:`ValueError` when it refers to what is not there."""
        same = line.get(KEY)
        line = {k: v for k, v in line.items() if k != KEY}
        kind, subject = _subject(line)
        if same is not None:
            subject = _unpack(subject, same, self._before.get(kind, {}))
        self._before[kind] = subject
        return {**line, "event": subject} if line.get("type") == "event" else subject
