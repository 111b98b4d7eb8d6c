"""Lifecycle events: their types, the answers handlers may give, how answers combine, and the one dispatcher."""
