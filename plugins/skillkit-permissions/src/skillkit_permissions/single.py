"""One rule and one call: whether the rule is about the call, for plugins that have rules of their own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .decide import decide_request
from .policy import request_for
from .rules import EDITS, READS, Rule, Rules

if TYPE_CHECKING:
    from skillkit_core import Host

__all__ = ["rule_check"]


def rule_check(host: Host) -> Callable[[str, str, Mapping[str, Any], Mapping[str, Any], Path], bool]:
    """Return ``(rule, tool, args, annotations, cwd) -> bool``.

    A rule is about a call where it would forbid the call if it were a deny rule: any command of a shell line, in whatever
    spelling, and any file are enough. It is also about a shell line that cannot be understood, and a rule that cannot be read is
    about everything.
    """

    def check(rule: str, tool: str, args: Mapping[str, Any], annotations: Mapping[str, Any], cwd: Path) -> bool:
        rules = Rules.of(deny=[rule])
        one = rules.deny[0]
        if one.problem:
            return True
        request = request_for(host, tool, args, annotations, "bypass", cwd)
        if not _names(one, request.name):
            return False
        found = decide_request(rules, request)
        return found.outcome == "deny" or (found.outcome == "ask" and request.line is not None)

    return check


def _names(rule: Rule, tool: str) -> bool:
    """Return whether a rule names a tool: by its name, as one of those that edit or read, by stars, or by its server."""
    if rule.tool == tool or tool in {"Edit": EDITS, "Read": READS}.get(rule.tool, ()):
        return True
    wide = "*" in rule.tool or "?" in rule.tool or rule.tool.startswith("mcp__")
    return wide and rule.names(tool)
