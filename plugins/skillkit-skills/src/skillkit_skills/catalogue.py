"""The list of skills that a model sees (CAT-1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from skillkit_core.skills import Skill

__all__ = ["DESCRIPTION_CHARS", "Catalogue", "render_catalogue", "whole_rows"]

DESCRIPTION_CHARS = 1024
NOTE = "<note>Descriptions were shortened to fit; activate a skill to read all of it.</note>"


@dataclass(frozen=True, slots=True)
class Catalogue:
    """The block for the system prompt (empty: nothing to offer), and whether something was shortened."""

    text: str = ""
    truncated: bool = False


def render_catalogue(
    skills: Sequence[Skill],
    budget: int | None = None,
    usage: Mapping[str, float] | None = None,
    *,
    locations: bool = False,
) -> Catalogue:
    """The block ``<available_skills>`` of the skills a model may know, by priority and name.

    Args:
        skills: any skills; those that are not listed are left out.
        budget: most characters of the block. Descriptions are shortened before names are dropped, first those of skills
            that were used least; when not even the names fit they stay all the same, without descriptions.
        usage: how often or how lately a skill was used, more is better.
        locations: name the folder of each skill (for models that read files themselves).
    """
    shown = sorted((s for s in skills if s.listed and s.description), key=lambda s: (-s.priority, s.name))
    if not shown:
        return Catalogue()
    texts = [_text(s) for s in shown]
    places = [str(s.path / "SKILL.md") if locations and s.path is not None else "" for s in shown]
    rows = [_row(s.name, t, p) for s, t, p in zip(shown, texts, places, strict=True)]
    full = _block(rows)
    if budget is None or len(full) <= budget:
        return Catalogue(full)
    bare = [_row(s.name, "", p) for s, p in zip(shown, places, strict=True)]
    room = budget - len(_block(bare, NOTE))
    used = usage or {}
    by_use = sorted(range(len(shown)), key=lambda i: (-used.get(shown[i].name, 0), i))
    rows = list(bare)
    for rank, i in enumerate(by_use):
        favoured = used.get(shown[i].name, 0) > 0
        share = room if favoured else room // (len(by_use) - rank)
        row = _fit(shown[i].name, texts[i], places[i], len(bare[i]) + max(share, 0))
        room -= len(row) - len(bare[i])
        rows[i] = row
    return Catalogue(_block(rows, NOTE), True)


def whole_rows(skills: Sequence[Skill], budget: int) -> tuple[str, int]:
    """The block of as many of ``skills``, in their order and each with its whole line, as ``budget`` characters allow."""
    rows: list[str] = []
    room = budget - len(_block(()))
    for skill in skills:
        row = _row(skill.name, _text(skill), "")
        room -= len(row) + 1
        if room < 0:
            break
        rows.append(row)
    return (_block(rows) if rows else ""), len(rows)


def _text(skill: Skill) -> str:
    words = f"{skill.description} {skill.when_to_use or ''}".split()
    text = " ".join(words)
    return text if len(text) <= DESCRIPTION_CHARS else text[: DESCRIPTION_CHARS - 1].rstrip() + "…"


def _row(name: str, text: str, place: str) -> str:
    from html import escape

    description = f"\n<description>{escape(text)}</description>" if text else ""
    location = f"\n<location>{escape(place)}</location>" if place else ""
    return f"<skill>\n<name>{escape(' '.join(name.split()))}</name>{description}{location}\n</skill>"


def _fit(name: str, text: str, place: str, size: int) -> str:
    """The row with as much of ``text`` as ``size`` characters allow."""
    row = _row(name, text, place)
    low, high = 0, len(text)
    if len(row) <= size:
        return row
    while low < high:
        middle = (low + high + 1) // 2
        if len(_row(name, text[:middle].rstrip() + "…", place)) <= size:
            low = middle
        else:
            high = middle - 1
    return _row(name, text[:low].rstrip() + "…" if low else "", place)


def _block(rows: Sequence[str], note: str = "") -> str:
    return "\n".join(("<available_skills>", *rows, *((note,) if note else ()), "</available_skills>"))
