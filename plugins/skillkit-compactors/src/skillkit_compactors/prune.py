"""The compactor ``prune``: old tool results are cut, everything that was said stays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from skillkit_core.contracts.compactor import CompactionRequest, CompactionResult, Compactor
from skillkit_core.messages import ToolResultMessage

from .config import CompactorsConfig
from .dropping import SlidingWindowCompactor, TokenBudgetCompactor
from .history import History, Kept, is_pinned
from .summary import SummaryCompactor

if TYPE_CHECKING:
    from skillkit_core import Host

__all__ = ["PruneCompactor"]

PROGRESS = 10  # the core takes a compaction that frees less than a tenth for none
NEXT = {"summary": SummaryCompactor, "sliding-window": SlidingWindowCompactor, "token-budget": TokenBudgetCompactor}


class PruneCompactor(Compactor):
    """Cuts tool results, the oldest first, until the rest fits; hands over to another compactor where that is too little.

    Args:
        host: gives the section ``compactors``; ``None``: defaults.
        then: the other compactor, instead of the section's; ``None``: none.
    """

    def __init__(
        self,
        host: Host | None = None,
        *,
        then: Literal["summary", "sliding-window", "token-budget", "section"] | None = "section",
    ) -> None:
        section: CompactorsConfig = (
            host.config.section("compactors") if host is not None else None
        ) or CompactorsConfig()
        self.section = section
        name = section.then if then == "section" else then
        self.then: Compactor | None = NEXT[name](host) if name is not None else None

    async def compact(self, request: CompactionRequest) -> CompactionResult | None:
        """Return the shortened results, or what the other compactor makes of the whole history."""
        history = History(request, self.section.budget)
        if history.fits:
            return None
        kept = self._pruned(history)
        if self.then is not None and not self._is_enough(request, history, kept):
            return await self.then.compact(request)
        return history.result("", kept, {"pruned_results": len(kept.replacements)})

    def _pruned(self, history: History) -> Kept:
        """Return the whole history with the results cut that must be, the oldest first."""
        results = [i for i, m in enumerate(history.messages) if isinstance(m, ToolResultMessage)]
        old = results[: len(results) - self.section.keep_results]
        return history.pruned([i for i in old if not is_pinned(history.messages[i])], self.section.pruned_characters)

    def _is_enough(self, request: CompactionRequest, history: History, kept: Kept) -> bool:
        """Return whether the core will see progress, and room for the next turns."""
        freed = history.size - kept.tokens
        most = history.room
        if request.reason == "threshold" and request.window:
            most = request.window * 3 // 4 - history.overhead
        return freed * PROGRESS >= request.tokens and kept.tokens <= most
