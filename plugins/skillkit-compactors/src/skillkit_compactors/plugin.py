"""What ``skillkit-compactors`` brings: four compactors and the section ``compactors``."""

from __future__ import annotations

from collections.abc import Callable

from skillkit_core import hookimpl
from skillkit_core.descriptors import ConfigSection, Factory


@hookimpl
def register_config(register: Callable[[ConfigSection], None]) -> None:
    """The section ``compactors``."""
    register(ConfigSection("compactors", "skillkit_compactors.config:CompactorsConfig"))


@hookimpl
def register_compactors(register: Callable[[Factory], None]) -> None:
    """The four compactors. The first works where the setting ``compactor`` names none."""
    of = "skillkit_compactors"
    register(Factory("summary", f"{of}.summary:SummaryCompactor", "the model summarises what is older"))
    register(
        Factory(
            "prune",
            f"{of}.prune:PruneCompactor",
            "old tool results are cut, older turns summarised only if that is too little",
        )
    )
    register(Factory("sliding-window", f"{of}.dropping:SlidingWindowCompactor", "keeps the newest turns"))
    register(Factory("token-budget", f"{of}.dropping:TokenBudgetCompactor", "keeps the newest messages that fit"))
