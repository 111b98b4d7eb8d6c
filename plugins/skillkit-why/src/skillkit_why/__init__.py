"""Why an agent did what it did: what a model was sent, what was left out, by whom and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Section"]

__version__ = "0.2.0"


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the page of a turn, which a plugin answers to ``explain``.

    Attributes:
        title: the word on the left.
        rows: the lines, in columns; the last column is wrapped.
    """

    title: str
    rows: Sequence[Sequence[str]] = ()
