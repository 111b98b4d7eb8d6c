"""The history of a session, kept serialised between its requests."""

from __future__ import annotations

import json
import operator
from collections.abc import Sequence

from skillkit_transport import encode

from skillkit_core.messages import AgentMessage, AssistantMessage

from .encode import Target, assistant_blocks, user_blocks

__all__ = ["History"]

# The wire refuses a conversation that the assistant opens (a greeting of another system, a cut history).
_OPENING = b'{"role":"user","content":[{"type":"text","text":"(The conversation starts here.)"}]}'
_MARKS = 2


class _WireMessage:
    """One message as it will be sent: encoded blocks; of a user message the tool results stand first."""

    __slots__ = ("rest", "results", "role")

    def __init__(self, role: bytes) -> None:
        self.role = role
        self.results: list[bytes] = []
        self.rest: list[bytes] = []

    def render(self, mark: bytes = b"") -> bytes:
        """The message; ``mark`` (a member ``,"cache_control":...``) goes into its last block."""
        blocks = [*self.results, *self.rest]
        if mark:
            blocks[-1] = blocks[-1][:-1] + mark + b"}"
        return b'{"role":"%b","content":[%b]}' % (self.role, b",".join(blocks))


class History:
    """Messages encoded once, in the order they came.

    ``update`` encodes what is new while the sequence only grows at its end (identical message objects); anything else
    starts again. ``render`` gives the JSON of all messages. Cache breakpoints sit in the last two user messages; they
    are put in while rendering, so moving them encodes nothing. Everything before them is one growing piece of bytes.
    """

    __slots__ = ("_asked", "_open", "_seen", "_stable", "starts_with_thinking", "target")

    def __init__(self, target: Target) -> None:
        self.target = target
        self._seen: list[AgentMessage] = []
        self._stable = bytearray()  # rendered messages that will not change, each followed by a comma
        self._open: list[_WireMessage] = []
        self._asked: set[str] = set()
        self.starts_with_thinking: bool | None = None  # of the turn that is open; None: the model has not spoken in it

    def update(self, messages: Sequence[AgentMessage]) -> None:
        """Take the conversation of the next request."""
        seen = self._seen
        if len(messages) < len(seen) or not all(map(operator.is_, seen, messages)):
            self.__init__(self.target)  # type: ignore[misc]
            seen = self._seen
        for message in messages[len(seen) :]:
            self._add(message)
            seen.append(message)

    def _add(self, message: AgentMessage) -> None:
        if isinstance(message, AssistantMessage):
            blocks = assistant_blocks(message, self.target, self._asked)
            if blocks:
                if not self._open and not self._stable:
                    self._stable += _OPENING + b","
                wire = _WireMessage(b"assistant")
                wire.rest = [encode(b) for b in blocks]
                self._open.append(wire)
                if self.starts_with_thinking is None:
                    self.starts_with_thinking = blocks[0]["type"] in ("thinking", "redacted_thinking")
            return
        results, rest = user_blocks(message, self.target)
        if not results and not rest:
            return
        if not self._open or self._open[-1].role != b"user":
            self._open.append(_WireMessage(b"user"))
        wire = self._open[-1]
        wire.results += [encode(b) for b in results]
        wire.rest += [encode(b) for b in rest]
        if rest and not results:
            self.starts_with_thinking = None

    def render(self, mark: bytes = b"") -> list[bytes | bytearray]:
        """Pieces that joined are the messages as JSON, without the brackets of the list.

        ``mark`` as in a wire message; empty: no breakpoints. The pieces are valid until the next call.
        """
        marked = [i for i, m in enumerate(self._open) if m.role == b"user"][-_MARKS:]
        settled = marked[0] if marked else 0
        for wire in self._open[:settled]:
            self._stable += wire.render() + b","
        del self._open[:settled]
        tail = [m.render(mark if m.role == b"user" else b"") for m in self._open]
        if self._open and self._open[-1].role == b"assistant":
            tail[-1] = _without_trailing_space(self._open[-1])
        return [self._stable, b",".join(tail)] if tail else [self._stable[:-1]]


def _without_trailing_space(wire: _WireMessage) -> bytes:
    """A last message of the assistant, which the model continues: the wire refuses whitespace at its end."""
    last = json.loads(wire.rest[-1])
    if last["type"] != "text" or last["text"] == last["text"].rstrip():
        return wire.render()
    copy = _WireMessage(wire.role)
    copy.rest = [*wire.rest[:-1], encode({**last, "text": last["text"].rstrip()})]
    return copy.render()
