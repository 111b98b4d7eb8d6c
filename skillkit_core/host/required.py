"""Plugins without which nothing runs: ``plugins.required`` in the configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import ConfigError
from .kinds import KINDS

if TYPE_CHECKING:
    from .diagnostics import Diagnostic
    from .manager import Host

__all__ = ["check_required"]

_BEFORE = ("discovery", "import", "api", "hooks", "config", "host_configure", "host_started")
_PLUGINS = "'skillkit plugins list' shows which run"


def check_required(host: Host) -> None:
    """Make sure that the required plugins run and have registered what they bring. Called before every run.

    A guard that is not there would let everything pass.

    Raises:
        ConfigError: one of them does not.
    """
    required = host.config.get("plugins.required", ())
    if not required:
        return
    host.load()
    for kind in KINDS:
        host.registry(kind)
    where = host.config.origin("plugins.required")
    broken = [p for p in host.problems if p.severity == "error" and _came_up_short(p)]
    for name in required:
        problem = next((p for p in broken if p.plugin == name), None)
        if problem is not None:
            raise ConfigError(f"required plugin {problem}", where=where)
        if name not in host.plugins:
            why = next((d.reason for d in host.decisions if d.name == name and not d.enabled), "it is not installed")
            raise ConfigError(f"required plugin {name!r} does not run: {why}", where=where, hint=_PLUGINS)


def _came_up_short(problem: Diagnostic) -> bool:
    """Whether the plugin did not come up whole; a question that it failed to answer later has an error of its own."""
    return problem.stage in _BEFORE or problem.stage.startswith("register_")
