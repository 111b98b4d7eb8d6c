"""Plugins in processes of their own. What counts is ``plugins.isolate`` in the configuration of a distribution or a user."""

__all__: list[str] = []

__version__ = "0.2.0"
