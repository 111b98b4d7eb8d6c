"""Codes that other parts of the reader ask for."""

from __future__ import annotations

__all__ = ["REPAIRS"]

REPAIRS = frozenset(
    (
        "frontmatter-unclosed",
        "merge-conflict-markers",
        "metadata-json-repaired",
        "yaml-control-chars",
        "yaml-stray-lines",
        "yaml-tabs",
        "yaml-unparseable",
        "yaml-unquoted-scalar",
        "yaml-value-dropped",
    )
)
