"""What is known without reading a file: the version, and where projects have Markdown. Plugins ask at every start."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["__version__", "project_places"]

__version__ = "0.2.0"


def project_places(kind: str) -> Mapping[str, str]:
    """Return the folders of a kind in a project, relative to it, by their origin.

    ``project_places("agents")`` is ``{"project": ".skillkit/agents", "project:claude": ".claude/agents"}``.
    """
    return {"project": f".skillkit/{kind}", "project:claude": f".claude/{kind}"}
