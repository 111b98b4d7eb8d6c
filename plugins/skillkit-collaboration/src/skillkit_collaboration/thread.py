"""The thread as participants read it: each message marked as data, what is too long shortened and said so."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from skillkit_engines import context_part

from .models import AgentMessage

__all__ = ["Told", "told"]

SHORT = 200  # characters that stay of a shortened message
_TEXTS = ("proposal", "revision")


class Told(NamedTuple):
    """A thread as text.

    Attributes:
        text: the text.
        chars: how many characters its messages have.
        shortened: how many messages were cut.
    """

    text: str
    chars: int
    shortened: int


def told(messages: Sequence[AgentMessage], chars: int) -> Told:
    """Return a thread of at most about ``chars`` characters.

    Older messages are cut first; the newest proposal or revision and the newest message last, and these to no less than a
    third of the room each.
    """
    contents = [message.content for message in messages]
    total = sum(map(len, contents))
    if total > chars:
        texts = [place for place, message in enumerate(messages) if message.message_type in _TEXTS]
        kept = {*texts[-1:], len(messages) - 1}
        order = [place for place in range(len(messages)) if place not in kept]
        for place in order:
            if sum(map(len, contents)) <= chars:
                break
            contents[place] = _cut(contents[place], SHORT)
        for place in sorted(kept):
            if sum(map(len, contents)) > chars:
                contents[place] = _cut(contents[place], chars // 3)
    shortened = sum(kept != message.content for kept, message in zip(contents, messages, strict=True))
    parts = (
        context_part(f"{message.sender} to {message.recipient}: {message.message_type}", text, step=str(place))
        for place, (message, text) in enumerate(zip(messages, contents, strict=True), 1)
    )
    return Told("\n\n".join(parts), total, shortened)


def _cut(text: str, chars: int) -> str:
    if len(text) <= chars:
        return text
    head, tail = text[: chars * 3 // 4], text[len(text) - chars // 4 :]
    return f"{head}\n[... {len(text) - len(head) - len(tail):,} characters are left out here ...]\n{tail}"
