"""The plugin ``tokens``: estimates of tokens by family of models, and ``skillkit tokens``."""

from __future__ import annotations

from collections.abc import Callable

from skillkit_core import hookimpl
from skillkit_core.descriptors import Command, TokenEstimator


@hookimpl
def register_token_estimators(register: Callable[[TokenEstimator], None]) -> None:
    """Offer the estimator of every model that no other plugin has one for."""
    register(
        TokenEstimator(
            "families",
            "skillkit_tokens.estimate:estimate_text",
            create="skillkit_tokens.estimate:Estimate",
        )
    )


@hookimpl
def register_commands(register: Callable[[Command], None]) -> None:
    """Offer ``skillkit tokens``."""
    register(Command("tokens", "skillkit_tokens.cli:tokens", "Count tokens; tell how far estimates are off."))
