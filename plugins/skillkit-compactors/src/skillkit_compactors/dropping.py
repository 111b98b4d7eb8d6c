"""Compactors that leave the oldest messages out, without asking a model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from skillkit_core.contracts.compactor import CompactionRequest, CompactionResult, Compactor
from skillkit_core.messages import AgentMessage

from .config import CompactorsConfig
from .history import History, Kept
from .note import Note, said

if TYPE_CHECKING:
    from skillkit_core import Host

__all__ = ["SlidingWindowCompactor", "TokenBudgetCompactor"]

DROPPED = "Earlier messages were left out to save room."
NOTE_TOKENS = 1_000


class TokenBudgetCompactor(Compactor):
    """Keeps the newest messages that fit the budget, and leaves out the older ones.

    Args:
        host: gives the section ``compactors``; ``None``: defaults.
        budget: used instead of the section's.
    """

    def __init__(self, host: Host | None = None, *, budget: int | None = None) -> None:
        section: CompactorsConfig | None = host.config.section("compactors") if host is not None else None
        self.budget = budget or (section.budget if section else None)

    async def compact(self, request: CompactionRequest) -> CompactionResult | None:
        """Return the newest messages that fit; ``None`` when all fit."""
        history = History(request, self.budget)
        if history.fits:
            return None
        most, room = history.allowance(min(NOTE_TOKENS, history.room // 4))
        kept = self._kept(history, room)
        note = Note.of(history, kept.cut)
        body = self._body(history.messages[: kept.cut], note.body)
        return history.result(note.text(body, history, most), kept, note.details)

    def _kept(self, history: History, room: int) -> Kept:
        return history.keep(room)

    def _body(self, before: Sequence[AgentMessage], old: str) -> str | Sequence[str]:
        return old or DROPPED


class SlidingWindowCompactor(TokenBudgetCompactor):
    """Keeps the newest turns, fewer where they do not fit, and a line of what the user said in each older one.

    Args:
        host: gives the section ``compactors``; ``None``: defaults.
        turns: most turns that are kept, instead of the section's.
        budget: used instead of the section's.
    """

    def __init__(self, host: Host | None = None, *, turns: int | None = None, budget: int | None = None) -> None:
        super().__init__(host, budget=budget)
        section: CompactorsConfig = (
            host.config.section("compactors") if host is not None else None
        ) or CompactorsConfig()
        self.turns = turns or section.turns

    def _kept(self, history: History, room: int) -> Kept:
        return history.keep(room, self.turns)

    def _body(self, before: Sequence[AgentMessage], old: str) -> Sequence[str]:
        return said(before, old)
