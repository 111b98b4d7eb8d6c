"""The configuration section ``compactors``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from skillkit_core.config import setting

__all__ = ["CompactorsConfig"]


@dataclass(frozen=True, slots=True)
class CompactorsConfig:
    """Sizes of the compactors. Where the model's window is too small for a size, the compactors take less."""

    turns: int = setting(20, "most turns that sliding-window keeps", ge=1)
    budget: int | None = setting(
        None, "most tokens of messages that any compactor leaves; default: half of the model's window", ge=100
    )
    keep_recent: int = setting(20_000, "most tokens of the newest messages that summary keeps word for word", ge=0)
    summary_tokens: int = setting(4_000, "most tokens of the summary", ge=100)
    result_characters: int = setting(
        2_000, "most characters of a tool result that summary shows to the model which summarises", ge=100
    )
    keep_results: int = setting(4, "newest tool results that prune leaves whole", ge=0)
    pruned_characters: int = setting(400, "characters of a tool result that prune leaves, half at each end", ge=0)
    then: Literal["summary", "sliding-window", "token-budget"] | None = setting(
        "summary", "compactor that works where prune frees too little; null: none"
    )
