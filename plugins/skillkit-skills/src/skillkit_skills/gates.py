"""The hard gates of skills-architecture (GATE-1): which skills may even be considered for a request."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from skillkit_core.skills import Skill

from .globs import matches

__all__ = ["Request", "gate", "gated"]


@dataclass(frozen=True, slots=True)
class Request:
    """What is known of a request.

    Attributes:
        query: the words of the person.
        editor: type of the document in the editor; ``None``: no editor.
        images: number of attached images.
        files: paths that the request is about, relative to the workspace.
        caller: who wants the skill.
    """

    query: str = ""
    editor: str | None = None
    images: int = 0
    files: Sequence[str] = ()
    caller: Literal["model", "user"] = "model"


def gate(skill: Skill, request: Request) -> str | None:
    """The first rule that keeps ``skill`` from ``request``, ``None`` when it may be used."""
    by_model = request.caller == "model"
    kinds = [k.casefold() for k in skill.editor_types]
    rules = (
        ("internal_only", skill.internal_only),
        ("disable_model_invocation", by_model and skill.disable_model_invocation),
        ("user_invocable", not by_model and not skill.user_invocable),
        ("requires_editor", request.editor is None and _needs_editor(skill)),
        ("editor_types", request.editor is not None and bool(kinds) and request.editor.casefold() not in kinds),
        ("requires_image_context", skill.requires_image_context and request.images < 1),
        ("paths", by_model and bool(skill.paths) and not _on_path(skill, request)),
        ("requires_explicit_keywords", by_model and skill.requires_explicit_keywords and not _named(skill, request)),
    )
    return next((name for name, fails in rules if fails), None)


def gated(skill: Skill) -> bool:
    """Whether :func:`gate` could ever keep a model from ``skill``."""
    return bool(
        skill.internal_only
        or skill.disable_model_invocation
        or _needs_editor(skill)
        or skill.editor_types
        or skill.requires_image_context
        or skill.paths
        or skill.requires_explicit_keywords
    )


def _needs_editor(skill: Skill) -> bool:
    return skill.requires_editor or skill.editor_preference == "require"


def _on_path(skill: Skill, request: Request) -> bool:
    return any(matches(pattern, file) for pattern in skill.paths for file in request.files)


def _named(skill: Skill, request: Request) -> bool:
    query = request.query.casefold()
    return any(re.search(rf"(?<!\w){re.escape(k.casefold())}(?!\w)", query) for k in skill.keywords)
