"""Entry points that cannot be read: what to say about them, and keeping others from failing over them."""

from __future__ import annotations

import os
from collections.abc import Iterable

from .diagnostics import Diagnostic
from .discovery import Wrong

__all__ = ["explain", "spare_pydantic"]


def explain(file: str, distribution: str, version: str, wrong: Iterable[Wrong]) -> list[Diagnostic]:
    """What is wrong with the ``entry_points.txt`` of a distribution; a plugin without a name is called as that."""
    remedy = f"correct the file, or install a release that is whole: pip install --force-reinstall {distribution}"
    out: list[Diagnostic] = []
    for line, message, name, lost in wrong:
        where = f"{file}:{line}" if line else file
        found = Diagnostic(name or distribution, "discovery", f"{where}: {message}", remedy, distribution, version)
        out.append(found if lost else found._replace(severity="warning"))
    return out


def spare_pydantic() -> None:
    """Keep pydantic from looking for plugins of its own, if the metadata of somebody's would end the search in an error.

    The first model of a process would fail with it, whoever made that.
    """
    from importlib.metadata import entry_points

    try:
        entry_points(group="pydantic")
    except (OSError, TypeError, ValueError):
        os.environ["PYDANTIC_DISABLE_PLUGINS"] = "__all__"
