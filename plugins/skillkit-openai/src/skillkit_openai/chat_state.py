"""What the conversion of a Chat Completions stream remembers between two chunks: immutable values, cheap to replace."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple, TypeAlias

from .versions import Versions

__all__ = [
    "NOTHING",
    "Call",
    "Chain",
    "ChatState",
    "Rest",
    "call_of",
    "joined",
    "listed",
    "longer",
    "state",
    "string",
]

Chain: TypeAlias = Any
"""Links, newest first: ``None`` or ``(link, older chain)``. Appending is O(1) and changes nothing in place."""

_LINK = 1_024  # characters


def longer(chain: Chain, text: str) -> Chain:
    """``chain`` and ``text`` behind it. Short fragments share a link: a link for each would feed the garbage collector."""
    if chain is not None and len(chain[0]) < _LINK:
        return chain[0] + text, chain[1]
    return text, chain


def joined(chain: Chain) -> str:
    """The fragments of a chain as one text, oldest first."""
    return "".join(listed(chain))


def listed(chain: Chain) -> list[Any]:
    """The links of a chain, oldest first."""
    out: list[Any] = []
    while chain is not None:
        link, chain = chain
        out.append(link)
    out.reverse()
    return out


class Call(NamedTuple):
    """A tool call under way. ``key`` is the wire's index; ``block`` is -1 until the name is known, or the answer is over."""

    key: Any
    block: int
    id: str
    name: str
    args: Chain
    extra: Mapping[str, Any]


class Rest(NamedTuple):
    """What changes seldom.

    ``next`` is the index of the next block; ``thinking`` that of the last thinking block, ``refusal`` that of the refusal
    block, or -1; ``calls`` are those so far, by their number; ``numbered``: that is also the wire's index of each; ``field`` the
    name of the field in which thinking comes; ``citations`` those of the open text; ``sourced``: the sources of the whole answer
    are among them; ``audio`` the pieces of a spoken answer; ``finish`` the finish reason; ``usage`` the newest usage object.
    """

    next: int = 0
    thinking: int = -1
    refusal: int = -1
    refused: Chain = None
    calls: Versions[int, Call] = Versions()
    numbered: bool = True
    field: str = ""
    details: Chain = None
    citations: Chain = None
    sourced: bool = False
    audio: Chain = None
    finish: str | None = None
    usage: Mapping[str, Any] | None = None
    response_id: str | None = None
    over: bool = False


NOTHING = Rest()


class ChatState(NamedTuple):
    """The accumulator of :data:`~skillkit_openai.chat_stream.chat_table`; ``ChatState()`` starts a stream.

    ``text_block`` and ``thought_block`` are the indices of the blocks that are open, or -1.
    """

    text_block: int = -1
    text: Chain = None
    thought_block: int = -1
    thought: Chain = None
    rest: Rest = NOTHING


state: Callable[[tuple[int, Chain, int, Chain, Rest]], ChatState] = partial(tuple.__new__, ChatState)
"""``ChatState(*fields)`` in a third of the time, for what happens with every delta."""


def string(value: Any) -> str:
    """Text, empty where there is none."""
    if value is not None and not isinstance(value, str):
        raise TypeError(f"{value!r} is not text")
    return value or ""


def call_of(raw: Mapping[str, Any], calls: Mapping[int, Call], numbered: bool = False) -> int:
    """Which call a fragment belongs to; ``len(calls)``: a new one.

    By the wire's index; servers that leave it out, or give the same to every call, are told apart by id and name. An
    unknown id is a new call only beside a name: some servers make up an id for every fragment. ``numbered``: the indices of
    the calls so far are 0, 1, 2, ...
    """
    key, id, function = raw.get("index"), raw.get("id"), raw.get("function") or raw.get("custom") or {}
    name = function.get("name")
    if numbered and key == len(calls):
        return len(calls)
    for at in range(len(calls) - 1, -1, -1):
        call = calls[at]
        if key is not None and call.key is not None:
            if call.key != key:
                continue
            if not name:
                return _with_id(id, calls, at) if id and id != call.id else at
            return len(calls) if _begins(function, id, call) else at
        if id and name:
            if call.id == id:
                return at
        elif not name:
            return _with_id(id, calls, at) if id and id != call.id else at
    return len(calls)


def _with_id(id: str, calls: Mapping[int, Call], default: int) -> int:
    return next((at for at, call in calls.items() if call.id == id), default)


def _begins(function: Mapping[str, Any], id: Any, call: Call) -> bool:
    """Whether a fragment that names a function begins another call than ``call``, which has the same index.

    Without an id the same name goes on with the call, unless its arguments are whole and others begin.
    """
    if not call.name:
        return False
    if id and call.id:
        return bool(id != call.id)
    if function["name"] != call.name:
        return True
    more = function.get("arguments")
    if not more or (isinstance(more, str) and not more.startswith("{")):
        return False
    try:
        return isinstance(json.loads(joined(call.args)), dict)
    except ValueError:
        return False
