"""The work on one request and one action: what is filled so far, and what of the request is used up."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from .descriptors import Argument, Words
from .request import Kind, Request
from .values import IllTyped, typed
from .words import BARRED, EMPTY, normal, word_set
from .workspace import Workspace

__all__ = ["Filling", "Span"]

_EMPTY_SYMBOLS = frozenset(",.;:?!'\"()…`’“”‘")
_ASKS = word_set(
    "do does how that what what's where which who whose with"
)  # before "has": without one it states something


class Span(NamedTuple):
    """An occurrence of declared words in a request; ``argument`` is None for the action's own words."""

    start: int
    end: int
    argument: Argument | None = None
    value: Any = None

    @property
    def places(self) -> set[int]:
        """Places of the pieces."""
        return set(range(self.start, self.end))


@dataclass(slots=True)
class Filling:
    """Work on one request and one action: what is filled, what of the request is used up."""

    request: Request
    arguments: tuple[Argument, ...]
    workspace: Workspace
    words: Words
    args: dict[str, Any] = field(default_factory=dict)
    used: set[int] = field(default_factory=set)
    strong: set[int] = field(default_factory=set)
    problems: list[str] = field(default_factory=list)
    spans: list[Span] = field(default_factory=list)
    stops: set[int] = field(default_factory=set)
    kind: bool = False  # a file of a declared kind is named
    told: bool = False  # a telling word is said

    def open(self) -> list[Argument]:
        """Arguments that have no value yet."""
        return [a for a in self.arguments if a.name not in self.args]

    def left(self) -> list[int]:
        """Places of the pieces that restrict something and are not used."""
        return [i for i in range(len(self.request.pieces)) if i not in self.used and not self.empty(i)]

    def empty(self, place: int) -> bool:
        """Whether the piece at ``place`` restricts nothing."""
        piece = self.request.pieces[place]
        if piece.kind is Kind.word:
            word = normal(piece.text).replace("’", "'")
            if piece.end <= self.request.opening:
                return True
            if word in ("has", "have") or (word == "there" and place == 0):  # what states something asks for nothing
                return self.request.opening > 0 or any(normal(p.text) in _ASKS for p in self.request.pieces[:place])
            if word in ("give", "tell"):  # to somebody: "tell Ann the average"
                return normal(self.request.pieces[min(place + 1, len(self.request.pieces) - 1)].text) in EMPTY - {word}
            shouted = piece.text.isupper() and len(piece.text) > 1 and not self.request.head.isupper()  # IT, US
            return not shouted and word in EMPTY and word not in BARRED
        return piece.kind is Kind.symbol and piece.text in _EMPTY_SYMBOLS

    def barred(self, place: int) -> bool:
        """Whether the piece at ``place`` changes what the request means, so that no argument takes it with the rest."""
        word = normal(self.request.pieces[place].text) if self.request.pieces[place].kind is Kind.word else ""
        return word in BARRED or (word in ("has", "have", "there") and not self.empty(place))

    def put(self, argument: Argument, value: Any, places: set[int], said: set[int] | None = None) -> None:
        """Give an argument its value; a value of the wrong type is a problem. ``said``: places of the words that say which."""
        try:
            self.args[argument.name] = typed(argument, value)
        except IllTyped as error:
            self.problems.append(str(error))
            self.args[argument.name] = None
        self.used |= places | (said or set())
        self.strong |= said or set()
