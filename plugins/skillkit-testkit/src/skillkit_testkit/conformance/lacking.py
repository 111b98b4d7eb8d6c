"""What a wire may lack: the checks that need it are skipped, with the reason."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from typing import Any, Final, TypeVar

import pytest

from skillkit_core.frozen import FrozenDict

__all__ = ["LACKS", "needs", "skip_what_is_lacking", "unknown_lacks"]

F = TypeVar("F", bound=Callable[..., Any])

LACKS: Final[Mapping[str, str]] = FrozenDict(
    tools="the wire has no tools",
    thinking="the wire has no readable thinking",
    streaming="the wire answers whole only",
    whole="the wire answers in streams only",
    usage="the wire does not count cached tokens and thinking apart",
    overflow="the server does not tell a conversation that is too long from other refusals",
    quota="the server does not tell an empty purse from other refusals",
)
"""What a wire may lack, and the reason with which its checks are skipped."""

_NEEDS = "_skillkit_needs"


def needs(*names: str) -> Callable[[F], F]:
    """Mark a check: it is skipped where the wire lacks one of ``names``."""

    def mark(function: F) -> F:
        setattr(function, _NEEDS, names)
        return function

    return mark


def skip_what_is_lacking(function: Any, lacks: Set[str]) -> None:
    """Skip the check ``function`` where it needs what the wire lacks."""
    for name in getattr(function, _NEEDS, ()):
        if name in lacks:
            pytest.skip(LACKS[name])


def unknown_lacks(lacks: Set[str]) -> str:
    """Return what is wrong with ``lacks``; empty: nothing."""
    wrong = sorted(set(lacks) - set(LACKS))
    return f"lacks has {', '.join(map(repr, wrong))}; a wire may lack {', '.join(LACKS)}" if wrong else ""
