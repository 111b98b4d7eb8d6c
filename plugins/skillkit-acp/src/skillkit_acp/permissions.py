"""Approvals as requests for permission: what a person may choose, and what a choice decides."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from acp import schema as s

from skillkit_core import ApprovalDecision

__all__ = ["decision_of", "options_for"]

_SCOPES = {"session": "in this session", "project": "in this project", "ever": "everywhere"}


def options_for(question: Mapping[str, Any]) -> list[s.PermissionOption]:
    """Return what a person may choose about a call: once, always where guards keep answers, never mind."""
    options = [s.PermissionOption(option_id="allow", name="Allow", kind="allow_once")]
    if question.get("rememberable"):
        rules = [one["rule"] for one in question["questions"] if one.get("rule")]
        shown = f" {' and '.join(rules)}" if rules else ""
        options += [
            s.PermissionOption(option_id=f"allow {scope}", name=f"Always allow{shown} {where}", kind="allow_always")
            for scope, where in _SCOPES.items()
            if rules or scope == "session"
        ]
    return [*options, s.PermissionOption(option_id="deny", name="Deny", kind="reject_once")]


def decision_of(outcome: s.AllowedOutcome | s.DeniedOutcome) -> ApprovalDecision:
    """Return what the person decided; who chooses nothing says no."""
    chosen = outcome.option_id if isinstance(outcome, s.AllowedOutcome) else ""
    word, _, scope = chosen.partition(" ")
    if word != "allow":
        said = "a person said no" if chosen else "the person left the question without an answer"
        return ApprovalDecision("deny", said)
    remember: Any = scope if scope in _SCOPES else False
    return ApprovalDecision("allow", "a person agreed", remember=remember)
