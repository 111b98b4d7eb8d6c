"""The configuration section ``compactors``."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

__all__ = ["CompactorsConfig"]


class CompactorsConfig(BaseModel):
    """Sizes of the compactors. Where the model's window is too small for a size, the compactors take less.

    Attributes:
        turns: most turns that ``sliding-window`` keeps.
        budget: most tokens of messages that any compactor leaves; default: half of the model's window.
        keep_recent: most tokens of the newest messages that ``summary`` keeps word for word.
        summary_tokens: most tokens of the summary.
        result_characters: most characters of a tool result that ``summary`` shows to the model which summarises.
        keep_results: newest tool results that ``prune`` leaves whole.
        pruned_characters: characters of a tool result that ``prune`` leaves, half from its head and half from its tail.
        then: compactor that works where ``prune`` frees too little; ``null``: none.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    turns: int = Field(default=20, ge=1)
    budget: int | None = Field(default=None, ge=100)
    keep_recent: int = Field(default=20_000, ge=0)
    summary_tokens: int = Field(default=4_000, ge=100)
    result_characters: int = Field(default=2_000, ge=100)
    keep_results: int = Field(default=4, ge=0)
    pruned_characters: int = Field(default=400, ge=0)
    then: Literal["summary", "sliding-window", "token-budget"] | None = "summary"
