"""One turn: what it is routed to, the note of it, and who answers (:func:`Dispatcher.begin`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary, ref

from skillkit_skills import skills_of

from skillkit_core import BeforeAgentStartResult, TurnStartResult, UsageError
from skillkit_core.errors import in_words
from skillkit_core.messages import ImageBlock, UserMessage
from skillkit_core.skills import EngineType

from .choosing import choose
from .driver import RoutedRun
from .events import RouteSelectedEvent
from .gate import gated_now
from .notes import active_skill, input_entry, kept_route
from .pins import called_skill, named_plan, pin_of
from .registries import engine_of, is_routed
from .settings import settings_of, shadow_of
from .types import CHAT, Caller, EditorContext, Route, RouteRequest

if TYPE_CHECKING:
    from skillkit_core import AgentRunner, HandlerContext
    from skillkit_core.events.types import BeforeAgentStartEvent, TurnStartEvent
    from skillkit_core.skills import Skill

__all__ = ["Dispatcher", "editor_of", "has_routed_skills", "last_route", "name_plan"]

PERSON = "person"  # chose the skill by its name
HISTORY = 3  # words of the person before that a router may read
HISTORY_CHARS = 300
_dispatchers: WeakKeyDictionary[AgentRunner, Dispatcher] = WeakKeyDictionary()


def has_routed_skills(agent: AgentRunner) -> bool:
    """Return whether any skill that can run here names an engine that is there; every skill without one is conversational."""
    rows = (row for row in skills_of(agent).offer.rows if not row.reasons)
    return any(is_routed(agent.host, row.skill) and row.skill.engine != EngineType.CONVERSATIONAL for row in rows)


def editor_of(agent: AgentRunner) -> EditorContext | None:
    """Return what is open in the editor: ``AgentConfig.options["editor"]``, an :class:`EditorContext` or its fields.

    What is neither is told of once, and counts as no editor.
    """
    given = agent.config.options.get("editor")
    if given is None or isinstance(given, EditorContext):
        return given
    try:
        return EditorContext(**dict(given))
    except (TypeError, ValueError, UsageError) as error:
        kept = agent.state("engines")
        if kept.get("no_editor") is not given:
            kept["no_editor"] = given
            agent.host.note("engines", f"options['editor'] is no document of an editor: {in_words(error)}")
        return None


def name_plan(agent: AgentRunner, name: str) -> None:
    """Let a saved plan carry out the next input, as a person has said; the plugin that keeps plans knows what it is."""
    agent.state("engines")["plan"] = name
    Dispatcher.of(agent).listen()


def last_route(agent: AgentRunner) -> tuple[RouteRequest, Route | None] | None:
    """Return the request of the last run, and its route (``None`` with ``engines.mode: shadow``); ``None``: it was not routed."""
    dispatcher = _dispatchers.get(agent)
    if dispatcher is None or dispatcher.request is None:
        return None
    return dispatcher.request, dispatcher.route


class Dispatcher:
    """Routes the inputs of one agent. Handlers of its events are its methods, added where there are routed skills.

    Attributes:
        route: what the last run was routed to; ``None``: it was not routed.
        engine: the engine of its skill; empty: the agent itself answers.
        planned: whether the route has several steps, and a plugin is there that carries them out.
        request: the request of the last run; ``None``: it is not routed.
    """

    def __init__(self, agent: AgentRunner) -> None:
        self._ref = ref(agent)
        self._listens = False
        self.route: Route | None = None
        self.engine = ""
        self.planned = False
        self.request: RouteRequest | None = None

    @property
    def agent(self) -> AgentRunner:
        """The agent."""
        agent = self._ref()
        assert agent is not None
        return agent

    @classmethod
    def of(cls, agent: AgentRunner) -> Dispatcher:
        """Return the dispatcher of an agent, whose handlers outlive a change of the session."""
        found: Dispatcher | None = _dispatchers.get(agent)
        if found is None:
            found = _dispatchers[agent] = cls(agent)
        return found

    def listen(self) -> None:
        """Add the handlers, once."""
        if self._listens:
            return
        self._listens = True
        events = self.agent.events
        events.on("before_agent_start", self.begin, phase="first", timeout=3600)
        events.on("turn_start", self.new_input, phase="first")

    async def begin(self, event: BeforeAgentStartEvent, ctx: HandlerContext) -> BeforeAgentStartResult | None:
        """Route the input of a run; name a driver where a skill with an engine was chosen."""
        agent = self.agent
        self.route, self.engine, self.planned, self.request = None, "", False, None
        mode, target = settings_of(agent.host).mode, agent.target
        stands_in = target is not None and not target.adapter.progressive
        if mode == "off" or (stands_in and not named_plan(agent)):
            return None  # a stand-in for a model chooses skills itself
        images = sum(isinstance(block, ImageBlock) for block in event.images)
        request = self.request_of(event.prompt, images, ctx if target is not None else None)
        if mode == "shadow":
            self.request = request
            return None
        entry = input_entry(agent, event.prompt)
        route = self.kept(entry, request) if event.resumed else None
        fresh = route is None
        if route is None:
            route = self.named(called_skill(event.prompt)[0], request) or await self.chosen(request)
            route = await self.with_plan(route, request)
        rules = agent.state("engines")["rules"] = self._rules(event.parts)
        run = RoutedRun(self, request, route, entry, event.run_id or "", rules)
        if fresh:
            await run.selected(route)
        self.request = request
        if self.engine or self.planned:
            return BeforeAgentStartResult(driver=run)
        return None

    def new_input(self, event: TurnStartEvent) -> TurnStartResult | None:
        """Route what a person says while the agent itself answers, as any other input."""
        if not event.inputs or self.request is None or self.engine or self.planned:
            return None
        if settings_of(self.agent.host).mode != "auto":
            return None
        return TurnStartResult(restart=True)

    # --- what a route is made of ------------------------------------------------------------------------------------

    def request_of(self, query: str, images: int, ctx: HandlerContext | None) -> RouteRequest:
        """Return the request of an input; ``ctx`` asks for the routers."""
        agent = self.agent
        name, words = called_skill(query)
        said = [m.text for m in agent.messages if isinstance(m, UserMessage) and m.text != query]
        return RouteRequest(
            query=words if name else query,
            images=images,
            editor=editor_of(agent),
            active=active_skill(agent),
            history=tuple(text[:HISTORY_CHARS] for text in said[-HISTORY:]),
            ask=ctx.complete if ctx is not None else None,
        )

    def kept(self, entry: str | None, request: RouteRequest) -> Route | None:
        """Return the route that the input had before the run was resumed; ``None``: none, or its skill may not take it now."""
        route = kept_route(self.agent, entry)
        if route is None or route.skill == CHAT:
            return route
        caller: Caller = "user" if route.by == PERSON else request.caller
        gated = gated_now(self.agent, replace(request, caller=caller))
        return route if any(skill.name == route.skill for skill in gated.eligible) else None

    def named(self, called: str, request: RouteRequest) -> Route | None:
        """Return the route that a person has named, by ``/NAME`` or a pin; ``None``: nobody has, or the skill may not take it."""
        name = called or pin_of(self.agent)
        if not name:
            return None
        reason = f"/{name}" if called else f"/route {name}"
        if name == CHAT:
            return Route(CHAT, by=PERSON, why="pinned", reason=reason)
        gated = gated_now(self.agent, replace(request, caller="user"))
        if any(skill.name == name for skill in gated.eligible):
            return Route(name, by=PERSON, why="pinned", reason=reason, dropped=gated.dropped)
        if not called:
            self.agent.host.note("engines", f"/route {name}: {gated.dropped.get(name, 'there is no such skill')}")
        return None

    async def chosen(self, request: RouteRequest, without: Sequence[str] = ()) -> Route:
        """Return the route of a request, without the skills that have rejected it."""
        agent = self.agent
        spent = agent.session.cost
        skip = shadow_of(agent.host)
        route = await choose(agent.host, request, gated_now(agent, request, without), agent, skip=skip)
        cost = agent.session.cost - spent
        return replace(route, replaced=tuple(without), cost=cost if route.calls and cost else route.cost)

    async def with_plan(self, route: Route, request: RouteRequest) -> Route:
        """Return a route with the plan that its skill brings, where the request has none of its own."""
        agent, skill = self.agent, self.skill(route)
        if skill is None or route.plan:
            return route
        for impl in agent.host.impls("skill_plan"):
            given = {"skill": skill, "request": request, "agent": agent}
            try:
                steps = await impl.function(*(given[name] for name in impl.argnames))
            except Exception as error:  # noqa: BLE001 - code of a plugin
                agent.host.note(impl.plugin_name, f"skill_plan failed: {in_words(error)}")
                continue
            if steps is not None:
                return replace(route, plan=tuple(steps))
        return route

    def skill(self, route: Route) -> Skill | None:
        """Return the skill of a route; ``None``: the agent itself answers, also where a skill is called ``chat``."""
        skills = self.agent.host.skills
        return skills.get(route.skill) if route.skill != CHAT and skills.has(route.skill) else None

    def take(self, route: Route) -> None:
        """Make a route that of the run."""
        skill = self.skill(route)
        self.route, self.engine = route, ""
        if skill is not None and engine_of(self.agent.host, skill) is not None:
            self.engine = skill.engine
        self.planned = bool(route.plan) and bool(self.agent.host.impls("drive_plan"))
        self.agent.state("engines")["dispatcher"] = self

    def event_of(self, route: Route, query: str) -> RouteSelectedEvent:
        """Return the event that tells of a route."""
        about = {
            name: getattr(route, name) for name in ("skill", "confidence", "reason", "by", "why", "calls", "replaced")
        }
        return self.agent.events.make(RouteSelectedEvent, query=query, engine=self.engine, **about)

    def _rules(self, parts: Mapping[str, str]) -> str:
        kept = settings_of(self.agent.host).keep_parts
        return "\n\n".join(text for name, text in parts.items() if name in kept)
