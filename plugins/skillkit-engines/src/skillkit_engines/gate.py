"""Which skills a request may go to, and why not to the others: before any model is asked."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from skillkit_skills import Listed, Request, closed, gate

from skillkit_core.skills import EngineType, Skill

from .registries import Catalog, catalog_of

if TYPE_CHECKING:
    from skillkit_core import Host

    from .types import RouteRequest

__all__ = ["Gated", "filter_eligible", "gate_request"]

_ENGINE = ("missing_engine:", "unknown-engine:")


class Gated(NamedTuple):
    """What the gates leave.

    Attributes:
        eligible: the skills that may be chosen, by name.
        dropped: why others may not, by name: ``code`` or ``code:more``. Codes: ``shadowed``, ``no_description``, those of the
            gates (``internal_only``, ``requires_editor``, ...), ``veto``, ``engine_missing``, ``skill_problem``,
            ``ineligible``, ``tool_missing``, ``pack_missing``.
    """

    eligible: tuple[Skill, ...]
    dropped: Mapping[str, str]


def gate_request(host: Host, request: RouteRequest, session: object = None) -> Request:
    """Return what the gates of skills are told of a request."""
    return Request(
        query=request.query,
        editor=request.editor.type if request.editor is not None else None,
        images=request.images,
        files=request.query.split(),
        caller=request.caller,
        host=host,
        session=session,
    )


def filter_eligible(
    host: Host,
    rows: Iterable[Listed],
    request: Request,
    *,
    tools: Collection[str] | None = None,
    engines: Collection[str] | None = None,
    without: Collection[str] = (),
) -> Gated:
    """Return the skills that a request may go to, and the first reason against each other one, in the order of :class:`Gated`.

    Args:
        rows: the skills, as :func:`skillkit_skills.listing` yields them.
        request: what is known of the request.
        tools: the names of the tools that there are; ``None``: nobody knows, so nothing is missing.
        engines: the names of the engines that there are; default: those that plugins brought, and ``conversational``.
        without: names of skills that have rejected the request.
    """
    catalog = catalog_of(host)
    known = catalog.engines | {str(EngineType.CONVERSATIONAL)} if engines is None else frozenset(engines)
    asked, dropped = [], {}
    for row in rows:
        if row.skill.status == "unlisted" or not row.wins:
            dropped[row.name] = "no_description" if row.wins else "shadowed"
        elif row.name in without:
            dropped[row.name] = "rejected"
        else:
            asked.append(row)
    shut = closed(host, [row.skill for row in asked], request)
    eligible = []
    for row in asked:
        skill = row.skill
        if (why := shut.get(id(skill))) is not None:
            dropped[row.name] = why if why == gate(skill, request) else f"veto:{why}"
        elif why := next(_unfit(row, catalog, known, tools), ""):
            dropped[row.name] = why
        else:
            eligible.append(skill)
    return Gated(tuple(sorted(eligible, key=lambda skill: skill.name)), dropped)


def _unfit(row: Listed, catalog: Catalog, engines: Collection[str], tools: Collection[str] | None) -> Iterator[str]:
    """Yield what keeps a skill from running here, whatever is asked."""
    skill = row.skill
    missing = next((why for why in row.reasons if why.startswith(_ENGINE)), "")
    if skill.engine not in engines:
        yield f"engine_missing:{missing.partition(':')[2] or skill.engine}"
    yield from (f"ineligible:{why}" for why in row.reasons if not why.startswith(_ENGINE))
    yield from (f"skill_problem:{problem}" for problem in catalog.errors(skill))
    yield from _tools_missing(skill, catalog, tools)


def _tools_missing(skill: Skill, catalog: Catalog, tools: Collection[str] | None) -> Iterator[str]:
    yield from (f"pack_missing:{name}" for name in skill.tool_packs if name not in catalog.packs)
    if tools is not None:
        needed: Sequence[str] = catalog.required(skill)
        yield from (f"tool_missing:{name}" for name in needed if name not in tools)
