"""Estimates of input tokens by family of models: linear, fast, without vocabularies and without a network."""

from .estimate import Estimate, of_request
from .families import family_of

__all__ = ["Estimate", "family_of", "of_request"]
