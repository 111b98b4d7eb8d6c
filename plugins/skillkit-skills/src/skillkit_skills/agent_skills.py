"""The skills of one agent: which are active, which a model is told of, and a tool for every action that it may call."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from time import monotonic
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary, ref

from skillkit_core.frozen import freeze, thaw
from skillkit_core.skills import Skill, SkillAction
from skillkit_core.tools import Tool, ToolContext, ToolOutput

from .catalogue import render_catalogue
from .content import has_body
from .eligibility import surroundings_of
from .gates import Request, closed, filters, gated
from .listed import Listed, address_of, companions, listing
from .settings import settings_of

if TYPE_CHECKING:
    from skillkit_core import AgentRunner, Host

__all__ = [
    "ACTIVATE",
    "ACTIVE",
    "FIND",
    "MANY_ACTIONS",
    "SEARCHED",
    "AgentSkills",
    "Offer",
    "Plan",
    "request_of",
    "skills_known",
    "skills_of",
    "tool_name",
]

ACTIVATE = "activate_skill"
ACTIVE = "skills.active"  # the topic of the guard and of the rules of active skills
FIND = "find_skills"
SEARCHED = "skills.searched"  # the topic of what names skills with a request, because there are too many to list
MANY_ACTIONS = 40
ACTIONS_CHARS = 10_000  # of the actions that a model gets before it activated a skill
PART_CHARS = (
    14_000  # of skills in a request, four to a token: the list, or what is named with the request, and those actions
)
LEAST_ROOM = 2_000
MOMENT = 1.0  # seconds
_agents: WeakKeyDictionary[Any, AgentSkills] = WeakKeyDictionary()


@dataclass(frozen=True, slots=True)
class Plan:
    """What a model is told of skills.

    Attributes:
        tools: a tool for each action that it may call.
        parameters: of ``activate_skill``; ``None``: there is nothing to activate.
        catalogue: the list of all skills; empty where they are ``searched``.
        searched: the list would be too long: the best skills come with a request, ``find_skills`` looks through all.
        room: characters for what comes with a request.
    """

    tools: tuple[Tool, ...]
    parameters: Mapping[str, Any] | None
    catalogue: str
    searched: bool
    room: int


@dataclass(slots=True, eq=False)
class Offer:
    """What a host offers to all of its agents, as of one moment; what was made of it once serves all of them.

    Attributes:
        listed: the skills that a model may use here, by priority and name. skills: the same, bare.
        gated: whether a gate of any of them depends on the request.
        eligible: identities of the skills that can run here, hidden ones included.
        tools: the tool of an action, by the names of skill and action.
        plans: what a model is told, by what it depends on.
        catalogues: the last few lists as text.
        rows: every skill, as it was looked at.
        steady: what is wrong with a skill is the same for each request.
        told: why each skill is offered or hidden, by the identities of the offered and the active ones.
    """

    version: int
    looked: float
    rows: tuple[Listed, ...]
    listed: tuple[Listed, ...]
    skills: tuple[Skill, ...]
    gated: bool
    eligible: frozenset[int]
    steady: bool
    tools: dict[tuple[str, str], Tool] = field(default_factory=dict)
    plans: dict[Any, Plan] = field(default_factory=dict)
    catalogues: list[tuple[tuple[Skill, ...], str]] = field(default_factory=list)
    told: dict[Any, Sequence[Mapping[str, str]]] = field(default_factory=dict)

    def catalogue_of(self, offered: tuple[Skill, ...]) -> str:
        """The list of ``offered``; rendered once while the same ones are offered."""
        found = next((text for skills, text in self.catalogues if skills is offered), None)
        if found is None:
            found = render_catalogue(offered).text
            self.catalogues[:] = [(offered, found), *self.catalogues[:3]]
        return found


def tool_name(skill: str, action: str) -> str:
    """``skill__action`` as providers allow it: other characters become ``-``, and what is changed or too long ends in a hash."""
    full = f"{skill}__{action}"
    clean = "".join(c if (c.isascii() and c.isalnum()) or c in "_-" else "-" for c in full)
    if clean == full and len(full) <= 64:
        return full
    return f"{clean[:55]}_{sha256(full.encode()).hexdigest()[:8]}"


def skills_of(agent: AgentRunner) -> AgentSkills:
    """The state of ``agent``; made at first, gone with the agent."""
    found = _agents.get(agent)
    if found is None:
        if agent.config.skills:
            agent.events.arm(ACTIVE)  # also where one of them is not there, so that its guard refuses
        found = _agents[agent] = AgentSkills(agent.host, agent.config.skills, agent)
        found.remember(agent.session)
    return found


def skills_known(agent: AgentRunner) -> AgentSkills | None:
    """The state of ``agent``, ``None`` before anybody asked for it."""
    return _agents.get(agent)


def request_of(session: Any, host: Host | None = None) -> Request:
    """What is known of the request: the last thing that a person said."""
    for message in reversed(session.messages if session is not None else ()):
        if message.role == "user":
            images = sum(block.type == "image" for block in message.content)
            return Request(message.text, images=images, files=message.text.split(), host=host, session=session)
    return Request(host=host, session=session)


def _offer_of(host: Host) -> Offer:
    """What is offered on this host; agents that begin within a moment share one look at programs and variables."""
    kept: Offer | None = host.state("skills").get("offer")
    now = monotonic()
    if kept is not None and kept.version == host.skills.version and now - kept.looked <= MOMENT:
        return kept
    rows = tuple(listing(host, surroundings_of(host)))
    if kept is not None and kept.version == host.skills.version and kept.rows == rows:
        kept.looked = now  # nothing changed: keep the objects that agents share
        return kept
    eligible = frozenset(id(one.skill) for one in rows if one.eligible)
    listed = tuple(sorted((one for one in rows if one.offered), key=lambda o: (-o.skill.priority, o.name)))
    skills = tuple(one.skill for one in listed)
    filtered = filters(host)
    gates = filtered or any(map(gated, skills))
    steady = not filtered and not any(row.skill.paths or row.skill.requires_explicit_keywords for row in rows)
    offer = Offer(host.skills.version, now, rows, listed, skills, gates, eligible, steady)
    host.state("skills")["offer"] = offer
    return offer


class AgentSkills:
    """The skills of one agent. Eligibility is looked at again whenever the registry of skills changes.

    Args:
        host: whose skills.
        active: names of skills that are active from the start.
        agent: whose skills; what is kept of it does not keep it alive.
    """

    def __init__(self, host: Host, active: Sequence[str], agent: AgentRunner) -> None:
        self.host = host
        self._agent = ref(agent)
        self.from_start = tuple(dict.fromkeys(map(self._address, active)))
        self.names: dict[str, Skill | None] = dict.fromkeys(self.from_start)
        """Of the active skills, in the order of their activation, with the skill as the model read it in this process."""
        for name in self.from_start:
            self.open(host.skills.get(name))
        self.commands_of: Skill | None = None
        """The skill whose commands an agent runs that was made for nothing else."""
        self._offer: Offer | None = None
        self._open: tuple[int, Request, frozenset[int]] | None = None
        self.made: tuple[Any, tuple[Tool, ...]] = (None, ())
        """The tools that were made last, behind what they were made of."""

    def _address(self, name: str) -> str:
        return address_of(self.host, self.host.skills.get(name))

    def remember(self, session: Any) -> None:
        """Take over what was activated earlier in a session that is resumed."""
        for message in session.messages if session is not None else ():
            if (name := activated_by(message)) is not None and self.host.skills.has(name):
                self.open(self.host.skills.get(name))
                self.names[self._address(name)] = None  # what the model has read may be older

    @property
    def offer(self) -> Offer:
        """What the host offers, as it was when this agent began or when the skills last changed."""
        if self._offer is None or self._offer.version != self.host.skills.version:
            self._offer = _offer_of(self.host)
        return self._offer

    def offered(self, session: Any) -> tuple[Skill, ...]:
        """The skills whose gates are open for what was last said in ``session``; an active skill stays."""
        offer = self.offer
        if not offer.gated:
            return offer.skills
        request = request_of(session, self.host)
        if self._open is None or self._open[:2] != (offer.version, request):
            shut = closed(self.host, offer.skills, request)
            self._open = (offer.version, request, frozenset(id(s) for s in offer.skills if id(s) not in shut))
        left = self._open[2]
        return tuple(s for s in offer.skills if id(s) in left or s.name in self.names)

    def active(self) -> list[Skill]:
        """The active skills, in the order of their activation."""
        skills = self.host.skills
        return [skills.get(name) for name in self.names if skills.has(name)]

    def is_active(self, name: str) -> bool:
        """Whether the skill called ``name`` is active."""
        return name in self.names

    def activate(self, name: str) -> None:
        """Make a skill active for the rest of the session."""
        self.names[name] = self.host.skills.get(name)
        self.changed()

    def changed(self) -> None:
        """Guard calls from now on, and look at the tools again."""
        if (agent := self._agent()) is not None:
            agent.events.arm(ACTIVE)
            agent.toolbox.changed()

    def work_for(self, skill: Skill) -> None:
        """Run the commands of a skill, and nothing else."""
        self.commands_of = skill
        self.changed()

    def open(self, skill: Skill) -> None:
        """Make a skill active for the rest of the session, and the internal skills that it requires."""
        for one in (skill, *companions(self.host, skill)):
            self.activate(address_of(self.host, one))

    def usable(self, session: Any) -> tuple[Skill, ...]:
        """The skills that are offered, and those that a person or code opened, though no model may choose them."""
        offered = self.offered(session)
        opened = (s for s in self.active() if s not in offered and id(s) in self.offer.eligible)
        return (*offered, *opened) if self.names else offered

    def plan(self, session: Any) -> Plan:
        """What a model is told of the skills whose gates are open for what was last said in ``session``."""
        return self.plan_of(self.offered(session), settings_of(self.host).expose_actions)

    def plan_of(self, offered: tuple[Skill, ...], expose: str) -> Plan:
        """What a model is told of ``offered``; all agents of the host share it."""
        offer = self.offer
        key = (expose, None if offered is offer.skills else tuple(s.name for s in offered), tuple(self.names))
        found = offer.plans.get(key)
        if found is None:
            found = offer.plans[key] = self._made(offered, expose)
        return found

    def _made(self, offered: tuple[Skill, ...], expose: str) -> Plan:
        callable_ = {s.name: [a for a in s.actions if a.model_callable] for s in offered}
        first = self._at_once(offered, expose, callable_)
        size = sum(_size(tool) for s in offered if s.name in first for tool in self._tools_of(s, callable_))
        if expose == "auto" and size > ACTIONS_CHARS:
            first, size = frozenset(), 0
        tools = [t for s in offered if s.name in first or s.name in self.names for t in self._tools_of(s, callable_)]
        waiting = [s for s in offered if (s.listed and has_body(s)) or (callable_[s.name] and s.name not in first)]
        # what active skills add does not count: a list that is there would go with the first activation
        room = min(settings_of(self.host).max_catalogue_chars, max(PART_CHARS - size, LEAST_ROOM))
        catalogue = self.offer.catalogue_of(offered)
        searched = len(catalogue) > room
        return Plan(
            tuple(tools),
            _activation_parameters(waiting, listed=not searched) if waiting else None,
            "" if searched else catalogue,
            searched,
            room,
        )

    def _at_once(
        self, offered: tuple[Skill, ...], expose: str, callable_: Mapping[str, Sequence[SkillAction]]
    ) -> frozenset[str]:
        """The skills whose actions a model gets before it activates them: with ``auto`` a person's own, if they are few.

        The bundled skills show what skills are; their actions would cost every request of every person.
        """
        sources = self.host.skill_sources
        bundled = {name for name in sources.list() if sources.get(name).kind == "bundled"} if expose == "auto" else ()
        first = [s for s in offered if s.source not in bundled] if expose != "activated" else []
        many = expose == "auto" and sum(len(callable_[s.name]) for s in first) > MANY_ACTIONS
        return frozenset() if many else frozenset(s.name for s in first)

    def _tools_of(self, skill: Skill, callable_: Mapping[str, Sequence[SkillAction]]) -> Iterator[Tool]:
        return (self._shared(skill, action, i) for i, action in enumerate(callable_[skill.name]))

    def _shared(self, skill: Skill, action: SkillAction, order: int) -> Tool:
        made, key = self.offer.tools, (skill.name, action.name)
        return made.get(key) or made.setdefault(key, self._action_tool(skill, action, order))

    def _action_tool(self, skill: Skill, action: SkillAction, order: int) -> Tool:
        return Tool(
            tool_name(skill.name, action.name),
            action.description or skill.description,
            _runner(self.host, skill, action),
            action.parameters,
            replay="safe" if action.idempotent else "never",
            annotations={
                "skill": skill.name,
                "action": action.name,
                "skill_description": skill.description,
                "keywords": skill.keywords,
                "words": action.extra.get("x-words", ()),
                "telling": action.extra.get("x-keywords", ()),
                "examples": skill.examples,
                "order": order,
                "confirm": action.confirm,
                # with what counts where they are not given
                "paths": {a.name: a.default for a in action.args if a.type == "file"},
                "args": {
                    a.name: {"type": a.type, "required": a.required, "position": a.position, "secret": a.secret}
                    | dict(a.extra)
                    for a in action.args
                },
            },
        )


def _activation_parameters(skills: Sequence[Skill], *, listed: bool) -> Mapping[str, Any]:
    """The parameters of ``activate_skill``: of skills that are listed every name is given, of too many none is."""
    name: dict[str, Any] = {"type": "string"}
    if listed:
        name["enum"] = sorted(s.name for s in skills)
    parameters: Mapping[str, Any] = freeze(
        {
            "type": "object",
            "properties": {
                "name": name,
                "arguments": {"type": "string", "description": "Text for the skill, if it takes any."},
            },
            "required": ["name"],
            "additionalProperties": False,
        }
    )
    return parameters


def _size(tool: Tool) -> int:
    """Characters of a tool's definition in a request."""
    return len(tool.name) + len(tool.description) + len(json.dumps(thaw(tool.parameters), ensure_ascii=False))


def activated_by(message: Any) -> str | None:
    """Name of the skill whose instructions a message brought, if it did."""
    if message.role == "user" or (
        message.role == "custom" and message.pinned
    ):  # a person called it; it outlived a compaction
        match = re.match(r'<skill_content name="([^"]+)">', message.text)
        if match is None:
            return None
        from html import unescape

        return unescape(match[1])
    if message.role != "tool_result" or message.tool_name != ACTIVATE or message.is_error:
        return None
    details = message.details
    name = details.get("skill") if isinstance(details, Mapping) and details.get("content") else None
    return name if isinstance(name, str) else None


def _runner(host: Host, skill: Skill, action: SkillAction) -> Callable[..., Any]:
    async def execute(args: Mapping[str, Any], ctx: ToolContext) -> ToolOutput:
        from .actions import run_action, tool_output

        result = await run_action(
            host,
            skill,
            action,
            thaw(args),
            cwd=ctx.cwd,
            signal=ctx.signal,
            on_output=ctx.on_output if action.output == "text" else None,  # data is for programs, not for watching
            on_error_output=lambda text: ctx.on_output(text, "stderr"),
            ui=ctx.ui,
        )
        return tool_output(action, result)

    return execute
