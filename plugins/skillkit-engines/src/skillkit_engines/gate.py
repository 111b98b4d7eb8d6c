"""Which skills a request may go to, and why not to the others: before any model is asked."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from skillkit_skills import Listed, Request, closed, filters, gate, gated, skills_of

from skillkit_core.skills import EngineType, Skill

from .registries import Catalog, catalog_of

if TYPE_CHECKING:
    from skillkit_core import AgentRunner, Host

    from .types import RouteRequest

__all__ = ["Gated", "filter_eligible", "gate_request", "gated_now"]

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
        host: the host.
        rows: the skills, as :func:`skillkit_skills.listing` yields them. What does not depend on the request is looked at once
            for one tuple.
        request: what is known of the request.
        tools: the names of the tools that there are; ``None``: nobody knows, so nothing is missing.
        engines: the names of the engines that there are; default: those that plugins brought, and ``conversational``.
        without: names of skills that have rejected the request.
    """
    looked = _looked(host, tuple(rows), tools, engines)
    shut = closed(host, looked.fit if filters(host) else looked.gated, request)
    dropped = dict(looked.unnamed)
    dropped |= {row.name: gate(row.skill, request) or why for row, why in looked.unfit}
    if not shut and not without:
        return Gated(looked.fit, dropped)
    for skill in looked.fit:
        if (why := shut.get(id(skill))) is not None:
            dropped[skill.name] = why if why == gate(skill, request) else f"veto:{why}"
        elif skill.name in without:
            dropped[skill.name] = "rejected"
    return Gated(tuple(skill for skill in looked.fit if skill.name not in dropped), dropped)


class _Looked(NamedTuple):
    """What does not depend on a request.

    Attributes:
        rows, tools, engines, catalog: what was looked at.
        fit: the skills that can run here, by name.
        gated: those of ``fit`` whose gates may be closed for a request.
        unfit: the skills that cannot run here, each with the reason.
        unnamed: the reasons against skills that nobody can name.
    """

    rows: tuple[Listed, ...]
    tools: Collection[str] | None
    engines: Collection[str]
    catalog: Catalog
    fit: tuple[Skill, ...]
    gated: tuple[Skill, ...]
    unfit: tuple[tuple[Listed, str], ...]
    unnamed: Mapping[str, str]


def _looked(
    host: Host, rows: tuple[Listed, ...], tools: Collection[str] | None, engines: Collection[str] | None
) -> _Looked:
    """Return what is known of skills without a request, made anew when anything of it changes."""
    catalog, kept = catalog_of(host), host.state("engines")
    known = catalog.engines | {str(EngineType.CONVERSATIONAL)} if engines is None else frozenset(engines)
    found: _Looked | None = kept.get("looked")
    same = found is not None and found.rows is rows and found.catalog is catalog
    if found is not None and same and found.tools == tools and found.engines == known:
        return found
    unnamed = {row.name: "no_description" if row.wins else "shadowed" for row in rows if not _named(row)}
    judged = [(row, next(_unfit(row, catalog, known, tools), "")) for row in rows if _named(row)]
    fit = tuple(sorted((row.skill for row, why in judged if not why), key=lambda skill: skill.name))
    found = kept["looked"] = _Looked(
        rows=rows,
        tools=tools,
        engines=known,
        catalog=catalog,
        fit=fit,
        gated=tuple(skill for skill in fit if gated(skill)),
        unfit=tuple((row, why) for row, why in judged if why),
        unnamed=unnamed,
    )
    return found


def _named(row: Listed) -> bool:
    return row.wins and row.skill.status != "unlisted"


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


def gated_now(agent: AgentRunner, request: RouteRequest, without: Sequence[str] = ()) -> Gated:
    """Return the skills of an agent that a request may go to now, and why not to the others."""
    names = {tool.name for tool in agent.tools}
    asked = gate_request(agent.host, request, agent.open_session)
    return filter_eligible(agent.host, skills_of(agent).offer.rows, asked, tools=names, without=without)
