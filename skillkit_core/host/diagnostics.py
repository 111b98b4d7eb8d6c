"""Diagnostics: what went wrong with which plugin, at which stage, and what to do about it."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

__all__ = ["Diagnostic"]


class Diagnostic(NamedTuple):
    """One thing that is wrong with a plugin.

    Attributes:
        plugin: the plugin's name. distribution, version: where it comes from, if it was installed.
        stage: where it failed: ``discovery``, ``import``, ``api``, ``hooks``, ``config``, or the name of a hook.
        message: what happened, one line. remedy: what to do.
        severity: ``error``: the plugin (or this hook of it) is out; ``warning``: it works, but not as it seems.
        traceback: for ``--debug``.
    """

    plugin: str
    stage: str
    message: str
    remedy: str = ""
    distribution: str | None = None
    version: str | None = None
    severity: Literal["error", "warning"] = "error"
    traceback: str | None = None

    def __str__(self) -> str:
        owner = f"plugin {self.plugin!r}"
        if self.distribution:
            owner += f" ({self.distribution} {self.version or '?'})"
        text = f"{owner}, {self.stage}: {self.message}"
        return f"{text}; {self.remedy}" if self.remedy else text

    def to_dict(self) -> dict[str, Any]:
        """The diagnostic as ``--json`` shows it."""
        return {
            "plugin": self.plugin,
            "distribution": self.distribution,
            "version": self.version,
            "stage": self.stage,
            "severity": self.severity,
            "message": self.message,
            "remedy": self.remedy,
        }
