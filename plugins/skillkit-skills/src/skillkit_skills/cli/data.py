"""Skills and problems as the ``--json`` output of the commands."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from enum import Enum
from pathlib import Path
from typing import Any

from skillkit_core.skills import SkillAction, SkillProblem

from ..listed import Listed

__all__ = ["problem_data", "row_data", "skill_data"]


def plain(value: Any) -> Any:
    """A value as JSON knows it."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    return str(value) if isinstance(value, (Path, Enum)) else value


def problem_data(problem: SkillProblem) -> dict[str, Any]:
    """A problem with its code, message, severity, path and line; the last two where they are known."""
    return {
        "code": problem.code,
        "message": problem.message,
        "severity": problem.severity,
        "path": problem.path,
        "line": problem.line,
    }


def _action(action: SkillAction) -> dict[str, Any]:
    return {
        "name": action.name,
        "description": action.description,
        "parameters": plain(action.parameters),
        "output": action.output,
        "timeout": action.timeout,
        "confirm": action.confirm,
        "model_callable": action.model_callable,
        "user_callable": action.user_callable,
        "idempotent": action.idempotent,
    }


def row_data(row: Listed) -> dict[str, Any]:
    """A skill in a listing."""
    skill = row.skill
    return {
        "name": row.name,
        "description": skill.description,
        "status": row.status,
        "eligible": row.eligible,
        "reasons": list(row.reasons),
        "source": skill.source,
        "kind": row.kind,
        "path": str(skill.path) if skill.path is not None else None,
        "version": skill.version,
        "actions": [a.name for a in skill.actions],
        "problems": len(skill.problems),
    }


def skill_data(row: Listed) -> dict[str, Any]:
    """Everything about a skill."""
    from ..skill_md.line_numbers import located

    skill = row.skill
    left_out = {"problems", "actions", "name", "source", "path", "status"}
    rest = {f.name: plain(getattr(skill, f.name)) for f in dataclasses.fields(skill) if f.name not in left_out}
    return {
        **rest,
        **row_data(row),
        "actions": [_action(a) for a in skill.actions],
        "problems": [problem_data(p) for p in located(skill.problems)],
    }
