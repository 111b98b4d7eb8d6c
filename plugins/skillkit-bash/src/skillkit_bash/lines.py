"""Whole lines out of chunks: an output callback for subscribers that want one line at a time."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType

__all__ = ["Lines"]


class Lines:
    """Calls ``on_line(line)`` for each line, without its newline; give it to ``execute`` as ``on_output``.

    A line may have any length; a line that spans many chunks is joined once. ``close`` (or leaving the ``with`` block)
    hands over the last line when it has no newline.

    Example:
        >>> found = []
        >>> with Lines(found.append) as lines:
        ...     lines("one\\ntw")
        ...     lines("o")
        >>> found
        ['one', 'two']
    """

    __slots__ = ("_on_line", "_parts")

    def __init__(self, on_line: Callable[[str], object]) -> None:
        self._on_line = on_line
        self._parts: list[str] = []

    def __call__(self, text: str) -> None:
        """Take the next chunk."""
        lines = text.split("\n")
        rest = lines.pop()
        if lines and self._parts:
            self._parts.append(lines[0])
            lines[0] = "".join(self._parts)
            self._parts.clear()
        on_line = self._on_line
        for line in lines:
            on_line(line)
        if rest:
            self._parts.append(rest)

    def close(self) -> None:
        """Hand over what is left. Idempotent."""
        if self._parts:
            line = "".join(self._parts)
            self._parts.clear()
            self._on_line(line)

    def __enter__(self) -> Lines:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        if kind is None:
            self.close()
