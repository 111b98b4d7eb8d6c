"""What the session knows of routes: the note of each, and the skill of the last one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from skillkit_core.messages import UserMessage

from .types import CHAT, Route, RouteRequest

if TYPE_CHECKING:
    from skillkit_core import AgentRunner

__all__ = ["ROUTE", "active_skill", "input_entry", "kept_route", "note_of"]

ROUTE = "engines.route"  # type of the note
MOST_DROPPED = 100  # of a note


def input_entry(agent: AgentRunner, prompt: str) -> str | None:
    """Return the id of the entry with the input; ``None``: the input is not in the session yet."""
    session = agent.session
    ids = dict(zip(map(id, session.context), session.context_ids, strict=True))
    for message in reversed(session.context):
        if isinstance(message, UserMessage) and message.text == prompt:
            return ids[id(message)]
    return None


def note_of(route: Route, engine: str, request: RouteRequest, entry: str | None) -> dict[str, Any]:
    """Return the note of a route."""
    dropped = dict(list(route.dropped.items())[:MOST_DROPPED])
    more = len(route.dropped) - len(dropped)
    return {
        "input": entry,
        "skill": route.skill,
        "engine": engine,
        "confidence": route.confidence,
        "by": route.by,
        "why": route.why,
        "reason": route.reason[:500],
        "calls": route.calls,
        "cost": route.cost,
        "candidates": [{"name": one.skill.name, "score": round(one.score, 4)} for one in route.candidates],
        "dropped": dropped,
        "dropped_more": more,
        "replaced": list(route.replaced),
        **({"plan": [dict(step) for step in route.plan]} if route.plan else {}),
        "answer": route.answer,
        "editor": request.editor.type if request.editor is not None else None,
        "images": request.images,
    }


def kept_route(agent: AgentRunner, entry: str | None) -> Route | None:
    """Return the route of an input that an earlier run was routed to; ``None``: none, or its skill is gone."""
    notes = agent.session.notes(ROUTE)
    found = next((note.data for note in reversed(notes) if entry is not None and note.data.get("input") == entry), None)
    if found is None or not (found["skill"] == CHAT or agent.host.skills.has(found["skill"])):
        return None
    return Route(
        str(found["skill"]),
        reason=str(found.get("reason") or ""),
        by=str(found.get("by") or ""),
        why=str(found.get("why") or ""),
        confidence=float(found.get("confidence") or 0.0),
        calls=int(found.get("calls") or 0),
        cost=found.get("cost"),
        dropped=found.get("dropped") or {},
        replaced=tuple(found.get("replaced") or ()),
        plan=tuple(found.get("plan") or ()),
    )


def active_skill(agent: AgentRunner) -> str | None:
    """Return the skill of the last route of the branch; ``None``: the agent itself answered, or nothing was routed."""
    session = agent.open_session
    notes = session.notes(ROUTE) if session is not None else ()
    name = notes[-1].data.get("skill") if notes else None
    return None if name in (None, CHAT) else str(name)
