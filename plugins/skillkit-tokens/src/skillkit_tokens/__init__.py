"""Estimates of input tokens by family of models: linear, fast, without vocabularies and without a network."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .estimate import Estimate, of_request
    from .families import family_of

__all__ = ["Estimate", "family_of", "of_request"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from . import estimate  # a run without an estimate imports none of it

    return getattr(estimate, name)
