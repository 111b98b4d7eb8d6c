"""A route for people: the section of ``skillkit why``, the text of ``/route``, and the status line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .choosing import MOST_KEPT
from .types import CHAT, Route

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from skillkit_core import AgentRunner, Host

    from .dispatch import Dispatcher

__all__ = ["indicator", "route_rows", "sections"]


def _dispatcher(agent: AgentRunner) -> Dispatcher | None:
    return agent.state("engines").get("dispatcher")


def route_rows(route: Route, engine: str, query: str = "", *, planned: bool = False) -> list[tuple[str, str]]:
    """Return the lines of a route: a word, and what there is to say.

    Args:
        route: the route.
        engine: the engine of its skill.
        query: the words of the person.
        planned: whether a plugin carries out the steps of a compound request.
    """
    chosen = f"{route.skill} via {engine}" if engine else f"{route.skill}: the agent itself answers"
    calls = "no model call" if not route.calls else f"{route.calls} model call{'' if route.calls == 1 else 's'}"
    cost = f", ${route.cost:.4f}" if route.cost else ""
    rows = [("words", query)] if query else []
    rows += [
        ("skill", chosen),
        ("confidence", f"{route.confidence:g}"),
        ("by", f"{route.by}: {route.why}, {calls}{cost}"),
    ]
    if route.reason:
        rows.append(("because", route.reason))
    if route.replaced:
        rows.append(("replaced", f"{', '.join(route.replaced)} rejected it"))
    if route.plan:
        steps = (_target(step) for step in route.plan)
        rows.append(
            ("compound", " → ".join(steps) + ("" if planned else "; no planner is installed, so one skill answers"))
        )
    if route.candidates:
        shown = ", ".join(_named(one.skill.name, one.score) for one in route.candidates[:MOST_KEPT])
        rows.append(("candidates", shown))
    rows += (("dropped", f"{name}  {why}") for name, why in _by_reason(route))
    return rows


def _target(step: Mapping[str, Any]) -> str:
    together = step.get("collaboration")
    names = together.get("participants") if isinstance(together, Mapping) else ()
    return str(step.get("skill_name") or step.get("subgraph_name") or " with ".join(map(str, names or ())) or "?")


def _named(name: str, score: float) -> str:
    return f"{name} {score:.2f}" if score else name


def _by_reason(route: Route) -> list[tuple[str, str]]:
    """Return the dropped skills, those with one reason together."""
    found: dict[str, list[str]] = {}
    for name, why in route.dropped.items():
        found.setdefault(why, []).append(name)
    return [(", ".join(names), why) for why, names in found.items()]


def sections(agent: AgentRunner) -> Sequence[Any]:
    """Return the section Route of a turn that was routed."""
    dispatcher = _dispatcher(agent)
    if dispatcher is None or dispatcher.route is None or dispatcher.request is None:
        return ()
    from skillkit_why import Section

    query, planned = dispatcher.request.query, dispatcher.planned
    return (Section("Route", route_rows(dispatcher.route, dispatcher.engine, query, planned=planned)),)


def indicator(host: Host) -> Callable[[AgentRunner], str]:
    """Return what reads the status line: ``weather via automation .9``; nothing where the agent itself answers."""

    def read(agent: AgentRunner) -> str:
        dispatcher = _dispatcher(agent)
        if dispatcher is None or dispatcher.route is None or not (dispatcher.engine or dispatcher.planned):
            return ""
        route = dispatcher.route
        if dispatcher.planned:
            return f"plan of {len(route.plan)} steps"
        confidence = f"{route.confidence:.2g}".lstrip("0")
        return f"{route.skill} via {dispatcher.engine} {confidence}" if route.skill != CHAT else ""

    return read
