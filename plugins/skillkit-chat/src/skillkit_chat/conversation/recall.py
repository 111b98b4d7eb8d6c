"""What a session that goes on shows of its past: the last messages, short."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.text import Text

from skillkit_core import AssistantMessage, UserMessage

from .paper import fold, note, one_line

if TYPE_CHECKING:
    from skillkit_core import Session

__all__ = ["recall"]

_MESSAGES = 6


def recall(session: Session, width: int) -> Iterator[Text]:
    """Yield the last messages of people and models; of long ones head and tail."""
    said = [m for m in session.messages if isinstance(m, (UserMessage, AssistantMessage)) and m.text.strip()]
    if not said:
        return
    last = said[-_MESSAGES:]
    more = f"; the last {len(last)} of {len(said)} messages" if len(last) < len(said) else ""
    yield Text()
    yield note(f"session {session.id}{more}")
    for message in last:
        if isinstance(message, UserMessage):
            yield Text(f"› {one_line(message.text, width - 3)}", "bold")
        else:
            yield from fold(message.text, width, 2, 1)
