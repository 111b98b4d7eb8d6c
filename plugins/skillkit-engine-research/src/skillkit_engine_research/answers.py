"""An answer as claims: read from what a model said, held against the evidence, and written for a person."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

__all__ = ["SCHEMAS", "Claim", "Draft", "Dropped", "draft_of", "first_object", "problems_of", "settled", "written"]

_IDS = re.compile(r" ?\[(S\d+(?: ?[,;] ?S\d+)*)\]")
MOST_GAPS = 20
MOST_TRIES = 200  # places of a text where an object may begin


@dataclass(frozen=True, slots=True)
class Claim:
    """A statement with the ids of the sources that bear it.

    Attributes:
        text: the statement; of a row of a table its cells, joined.
        sources: ids.
        cells: the cells of a row; empty: it is no row.
        part: the number of the paragraph or section that it stands in.
    """

    text: str
    sources: tuple[str, ...] = ()
    cells: tuple[str, ...] = ()
    part: int = 0


@dataclass(frozen=True, slots=True)
class Draft:
    """An answer.

    Attributes:
        form: ``prose``, ``structured`` or ``tabular``.
        claims: the claims, in order.
        headings: of ``structured`` the heading of each part; of ``tabular`` the columns.
        gaps: what the sources do not say.
        rejected: why the skill does not do that; ``None``: it does.
    """

    form: str
    claims: tuple[Claim, ...] = ()
    headings: tuple[str, ...] = ()
    gaps: tuple[str, ...] = ()
    rejected: str | None = None


class Dropped(NamedTuple):
    """What is left out of an answer, and why.

    Attributes:
        text: the claim.
        why: the reason, as the predicate of a sentence about the claim.
    """

    text: str
    why: str


# --- what a model is asked for --------------------------------------------------------------------------------------


def _object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def _list(items: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


_TEXT = {"type": "string"}
_TEXTS = _list(_TEXT)
_CLAIM = _object(text=_TEXT, sources=_TEXTS)
SCHEMAS: Mapping[str, dict[str, Any]] = {
    "prose": _object(paragraphs=_list(_object(claims=_list(_CLAIM))), gaps=_TEXTS),
    "structured": _object(sections=_list(_object(heading=_TEXT, claims=_list(_CLAIM))), gaps=_TEXTS),
    "tabular": _object(columns=_TEXTS, rows=_list(_object(cells=_TEXTS, sources=_TEXTS)), gaps=_TEXTS),
}
"""The JSON Schema of an answer, by ``output_format``."""


def first_object(text: str) -> Mapping[str, Any] | None:
    """Return the first JSON object of a text, in a fence or among words; ``None``: there is none."""
    decoder, place = json.JSONDecoder(), text.find("{")
    for _ in range(MOST_TRIES):
        if place < 0:
            return None
        try:
            found, _ = decoder.raw_decode(text, place)
        except (ValueError, RecursionError):
            place = text.find("{", place + 1)
            continue
        return found if isinstance(found, Mapping) else None
    return None


# --- what it said -----------------------------------------------------------------------------------------------------


class _WrongShape(ValueError):
    """An answer is not of the shape that was asked for."""


def draft_of(text: str, form: str) -> Draft | str:
    """Return the answer that a text is, or what is wrong with its shape.

    Prose may also be written as text, with ids in brackets behind its sentences.
    """
    found = first_object(text)
    if found is not None and found.get("rejected") is True:
        return Draft(form, rejected=str(found.get("reason") or "no reason given"))
    try:
        if found is None:
            if form != "prose":
                raise _WrongShape("there is no JSON object")
            return Draft(form, tuple(_claims_in(text)))
        return _SHAPES[form](found)
    except _WrongShape as error:
        return f"The answer has not the shape that was asked for: {error}."


def _prose(found: Mapping[str, Any]) -> Draft:
    parts = _items(found, "paragraphs")
    claims = [claim for number, part in enumerate(parts) for claim in _claims(part, number)]
    return Draft("prose", tuple(claims), gaps=_gaps(found))


def _structured(found: Mapping[str, Any]) -> Draft:
    parts = _items(found, "sections")
    claims = [claim for number, part in enumerate(parts) for claim in _claims(part, number)]
    headings = tuple(" ".join(_text(part.get("heading"), "heading").split()) for part in parts)
    return Draft("structured", tuple(claims), headings, _gaps(found))


def _tabular(found: Mapping[str, Any]) -> Draft:
    columns = tuple(_texts(found.get("columns"), "columns"))
    rows = []
    for number, row in enumerate(_items(found, "rows"), 1):
        cells, sources = _texts(row.get("cells"), "cells"), _texts(row.get("sources"), "sources")
        if len(cells) != len(columns):
            raise _WrongShape(f"row {number} has {len(cells)} cells for {len(columns)} columns")
        inline = [ids for cell in cells for ids in _ids_in(cell)]
        bare = tuple(_IDS.sub("", cell).strip() for cell in cells)
        rows.append(Claim(" | ".join(bare), tuple(dict.fromkeys([*map(_id, sources), *inline])), bare))
    return Draft("tabular", tuple(rows), columns, _gaps(found))


_SHAPES = {"prose": _prose, "structured": _structured, "tabular": _tabular}


def _claims(part: Mapping[str, Any], number: int) -> Iterator[Claim]:
    for one in _items(part, "claims"):
        text = " ".join(_text(one.get("text"), "text").split())
        sources = [*map(_id, _texts(one.get("sources"), "sources")), *_ids_in(text)]
        bare = _IDS.sub("", text).strip()
        if bare:
            yield Claim(bare, tuple(dict.fromkeys(sources)), part=number)


def _claims_in(text: str) -> Iterator[Claim]:
    """Yield the claims of plain prose: the sentences up to each group of ids; the rest of a paragraph has no source."""
    for number, paragraph in enumerate(re.split(r"\n[ \t]*\n", text.strip())):
        held: list[str] = []
        for piece in re.split(r"( ?\[S\d+(?: ?[,;] ?S\d+)*\][.!?]?)", " ".join(paragraph.split())):
            ids = _ids_in(piece)
            if not ids:
                held.append(piece)
                continue
            end = piece.strip()[-1]
            words = "".join(held).strip() + (end if end in ".!?" else "")
            if words.strip(".!? "):
                yield Claim(words.strip(), tuple(dict.fromkeys(ids)), part=number)
            held = []
        if rest := "".join(held).strip():
            yield Claim(rest, part=number)


def _ids_in(text: str) -> list[str]:
    return [part.strip() for group in _IDS.findall(text) for part in re.split("[,;]", group)]


def _id(text: str) -> str:
    """Return an id as it is written, without brackets around it."""
    bare = text.strip().strip("[]").strip()
    return bare.upper() if re.fullmatch(r"s\d+", bare) else bare


def _items(found: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    items = found.get(name)
    if not isinstance(items, list) or not all(isinstance(item, Mapping) for item in items):
        raise _WrongShape(f"{name!r} is no list of objects")
    return items


def _texts(value: Any, name: str) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(item, (str, int, float)) for item in value):
        raise _WrongShape(f"{name!r} is no list of texts")
    return [str(item) for item in value]


def _text(value: Any, name: str) -> str:
    if not isinstance(value, str):
        raise _WrongShape(f"{name!r} is no text")
    return value.strip()


def _gaps(found: Mapping[str, Any]) -> tuple[str, ...]:
    gaps = found.get("gaps")
    if not isinstance(gaps, list):
        return ()
    return tuple(" ".join(str(gap).split()) for gap in gaps if str(gap).strip())[:MOST_GAPS]


# --- what of it holds ---------------------------------------------------------------------------------------------------


def problems_of(draft: Draft, known: Collection[str]) -> list[str]:
    """Return what is wrong with the sources of claims, in words for a model."""
    found = []
    for number, claim in enumerate(draft.claims, 1):
        unknown = [one for one in claim.sources if one not in known]
        if unknown:
            found.append(f"Claim {number} names {', '.join(unknown)}, which is no source.")
        elif not claim.sources:
            found.append(f"Claim {number} names no source: {claim.text[:120]}")
    return found


def settled(draft: Draft, known: Collection[str]) -> tuple[Draft, tuple[Dropped, ...]]:
    """Return an answer whose every claim has sources, all of them in ``known``, and what was left out for that."""
    kept, dropped = [], []
    for claim in draft.claims:
        unknown = [one for one in claim.sources if one not in known]
        sources = tuple(one for one in claim.sources if one in known)
        if unknown:
            also = "also " if sources else ""
            dropped.append(Dropped(claim.text, f"{also}names {', '.join(unknown)}, which is no source"))
        elif not sources:
            dropped.append(Dropped(claim.text, "names no source"))
        if sources:
            kept.append(replace(claim, sources=sources))
    return replace(draft, claims=tuple(kept)), tuple(dropped)


# --- for a person -------------------------------------------------------------------------------------------------------


def written(draft: Draft) -> str:
    """Return the claims as Markdown, each with its sources in brackets."""
    if draft.form == "tabular":
        return _table(draft)
    parts: dict[int, list[Claim]] = {}
    for claim in draft.claims:
        parts.setdefault(claim.part, []).append(claim)
    if draft.form == "prose":
        return "\n\n".join(" ".join(map(_said, claims)) for claims in parts.values())
    blocks = []
    for number, claims in parts.items():
        lines = [f"- {_said(claim)}" for claim in claims]
        heading = draft.headings[number] if number < len(draft.headings) else ""
        blocks.append("\n".join([f"## {heading}\n", *lines] if heading else lines))
    return "\n\n".join(blocks)


def _said(claim: Claim) -> str:
    return f"{claim.text} [{', '.join(claim.sources)}]"


def _table(draft: Draft) -> str:
    if not draft.claims:
        return ""
    rows = [[*draft.headings, "Sources"], [":---"] * (len(draft.headings) + 1)]
    rows += ([*claim.cells, ", ".join(claim.sources)] for claim in draft.claims)
    return "\n".join(f"| {' | '.join(map(_cell, row))} |" for row in rows)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
