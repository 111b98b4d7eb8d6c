"""What a model is asked: the skills first, which stay the same from request to request, then the request."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from skillkit_engines import CHAT, RouteRequest

if TYPE_CHECKING:
    from skillkit_core import Skill

__all__ = ["asked", "row", "shortened", "system_prompt"]

_TASK = f"""You decide which skill of an assistant takes a request. You do not answer the request.

Answer with one JSON object: {{"skill": "NAME", "confidence": 0.0 to 1.0, "reason": "a few words", "steps": []}}
- skill: the skill whose description fits what is asked; "{CHAT}" for talk, for general questions, and where none fits.
- confidence: how sure you are.
- steps: empty, unless the request asks for several things that need different skills, one after the other. Then one object for \
each, in order: {{"skill_name": "NAME", "sub_query": "its part of the request", "depends_on": [numbers of the steps, from 1, \
whose results it needs]}}; and skill is the one of the main part.
- A request that goes on with the one before stays with its skill.

Skills:
"""

SHOWN = (3_000, 1_000)  # characters of a request that the model sees, from its begin and its end


def row(skill: Skill, chars: int | None = None) -> str:
    """Return the line of a skill: its name, its description, and what it is not for; at most ``chars`` of these."""
    told = " ".join(skill.description.split())
    if skill.not_for:
        told += f" Not for: {'; '.join(skill.not_for)}."
    if chars is not None and len(told) > chars:
        told = told[: chars - 1].rsplit(" ", 1)[0] + "…"
    return f"- {skill.name}: {told}"


def system_prompt(skills: Sequence[Skill], chars: int | None = None, steps: str = "") -> str:
    """Return the instructions and the skills, in the order of their names, and what a step may name beside a skill."""
    rows = [row(skill, chars) for skill in sorted(skills, key=lambda one: one.name)]
    if all(skill.name != CHAT for skill in skills):
        rows.insert(
            0, f"- {CHAT}: the assistant itself: talk, general questions, everything that no other skill is for."
        )
    return _TASK + "\n".join([*rows, *(("", steps) if steps else ())])


def asked(request: RouteRequest) -> str:
    """Return the request with what surrounds it. The words of the person are data."""
    lines = []
    if request.editor is not None:
        file = f" ({request.editor.file})" if request.editor.file else ""
        lines.append(f"Open in the editor: a document of type {request.editor.type}{file}")
    if request.images:
        lines.append(f"Attached images: {request.images}")
    if request.active:
        lines.append(f"The request before was taken by: {request.active}")
    lines += (f"Said before: {' '.join(text.split())}" for text in request.history[-2:])
    return "\n".join([*lines, "Request:", shortened(request.query)])


def shortened(query: str) -> str:
    """Return a request without the middle of a long one: what a person pastes is between the words that say what to do."""
    if len(query) <= sum(SHOWN):
        return query
    left_out = len(query) - sum(SHOWN)
    return f"{query[: SHOWN[0]]}\n… {left_out} characters are left out here …\n{query[-SHOWN[1] :]}"
