"""Distributions as products: the commands ``dist`` and ``plugins lock``, ``verify`` and ``export``."""

__version__ = "0.2.0"
__all__: list[str] = []
