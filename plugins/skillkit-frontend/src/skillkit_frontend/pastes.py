"""Long pastes: each stands in the line as a few words, ``[pasted 500 lines]``, and is sent as the whole text.

The words can be opened, which puts the text in their place, and they are rubbed out as one character.
A short paste stays as it is. In a line of one row, every text of several lines is long.
"""

from __future__ import annotations

__all__ = ["Pastes", "is_long"]

_LINES = 12
_CHARACTERS = 3_000


def is_long(text: str, lines: int = _LINES) -> bool:
    """Return whether a text is too long to be looked at in a line, which shows up to so many ``lines``."""
    return text.count("\n", 0, len(text.rstrip())) >= lines or len(text) > _CHARACTERS


class Pastes:
    """The long pastes of one input line.

    Args:
        one_row: the line has one row.
    """

    def __init__(self, *, one_row: bool = False) -> None:
        self._whole: dict[str, str] = {}  # what stands in the line: what was pasted
        self._one_row = one_row

    def taken(self, text: str) -> str:
        """Return what stands in the line for a text that is pasted."""
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        text = text.rstrip("\n") if self._one_row else text
        if not is_long(text, 1 if self._one_row else _LINES):
            return text
        lines = text.count("\n", 0, len(text.rstrip())) + 1
        what = f"{lines:,} lines" if lines > 1 else f"{len(text):,} characters"
        mark, number = f"[pasted {what}]", 1
        while self._whole.get(mark, text) != text:
            number += 1
            mark = f"[pasted {what}, {number}]"
        self._whole[mark] = text
        return mark

    def whole(self, line: str) -> str:
        """Return a line with each paste in full."""
        parts, rest = [], line
        while found := min(((rest.find(mark), mark) for mark in self._whole if mark in rest), default=None):
            place, mark = found
            parts += [rest[:place], self._whole[mark]]
            rest = rest[place + len(mark) :]
        return "".join([*parts, rest])

    def short(self, text: str) -> str:
        """Return a text that comes back into the line, with each paste as it stood there."""
        for mark, whole in self._whole.items():
            text = text.replace(whole.strip(), mark)
        return text

    def before(self, text: str) -> int:
        """Return how many characters at the end of ``text`` stand for a paste: they are rubbed out together."""
        return next((len(mark) for mark in self._whole if text.endswith(mark)), 0)
