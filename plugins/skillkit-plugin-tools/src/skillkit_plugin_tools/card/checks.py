"""One check of a card: the promise, whether it holds, and what breaks it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

__all__ = ["Check", "held", "skipped", "verdict"]

State: TypeAlias = Literal["passed", "failed", "skipped"]


@dataclass(frozen=True, slots=True)
class Check:
    """One check.

    Attributes:
        name: one word.
        promise: what holds where it passed.
        state: whether it does.
        line: what breaks it, why it was skipped, or what was measured; may be empty.
        details: everything that breaks it, and what to do.
    """

    name: str
    promise: str
    state: State
    line: str = ""
    details: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the check as JSON values."""
        shown = {"name": self.name, "state": self.state, "promise": self.promise}
        return {**shown, "line": self.line, "details": list(self.details)}


def held(name: str, promise: str, line: str = "", details: Sequence[str] = ()) -> Check:
    """Return a check that passed; ``line``: what was measured."""
    return Check(name, promise, "passed", line, tuple(details))


def skipped(name: str, promise: str, why: str) -> Check:
    """Return a check that could not be made, or has nothing to look at."""
    return Check(name, promise, "skipped", why)


def verdict(name: str, promise: str, wrong: Iterable[str], line: str = "") -> Check:
    """Return a check that failed by the first of what is ``wrong``, with the rest as details, or that passed."""
    found = list(wrong)
    if not found:
        return held(name, promise, line)
    more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
    return Check(name, promise, "failed", f"{found[0]}{more}", tuple(found))
