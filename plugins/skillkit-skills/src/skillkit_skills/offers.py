"""What one agent is offered: a tool for every action, the tool that activates a skill, and which skills are active."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from html import unescape
from time import monotonic
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from skillkit_core.errors import UnknownName
from skillkit_core.frozen import freeze, thaw
from skillkit_core.skills import Skill, SkillAction
from skillkit_core.tools import Tool, ToolContext, ToolOutput

from .activation import has_body
from .catalogue import render_catalogue
from .eligibility import surroundings_of
from .gates import Request, closed, filters, gated
from .listed import Listed, listing
from .settings import settings_of

if TYPE_CHECKING:
    from skillkit_core import AgentRunner, Host

__all__ = ["ACTIVATE", "FIND", "MANY_ACTIONS", "AgentSkills", "Plan", "skill_tools", "skills_of", "tool_name"]

ACTIVATE = "activate_skill"
FIND = "find_skills"
MANY_ACTIONS = 40
ACTIONS_CHARS = 10_000  # of the actions that a model gets before it activated a skill
PART_CHARS = (
    14_000  # of skills in a request, four to a token: the list, or what is named with the request, and those actions
)
LEAST_ROOM = 2_000
MOMENT = 1.0  # seconds
_offers: WeakKeyDictionary[Any, Offer] = WeakKeyDictionary()
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


def _reads(host: Host) -> bool:
    """Whether there is a tool that reads the files of active skills."""
    return any(entry.name in ("read", "files") for entry in host.tools.entries())


def skill_file_tool(host: Host, active: Collection[str]) -> Tool:
    """The tool ``skill_file``, for hosts without the plugin ``files``."""
    from .file_tool import PARAMETERS, read_skill_file

    return Tool(
        "skill_file",
        "Read a text file of an active skill: its references, scripts and assets.",
        partial(read_skill_file, host, active),
        PARAMETERS,
        replay="safe",
        annotations={"mutates": "none"},
    )


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
        found = _agents[agent] = AgentSkills(agent.host, agent.config.skills)
        found.remember(agent.session)
    return found


def skill_tools(agent: AgentRunner) -> tuple[Tool, ...]:
    """The tools that skills give ``agent`` now; the same tuple while nothing changed."""
    target = agent.target
    at_once = target is not None and not target.adapter.progressive
    return skills_of(agent).tools(agent.session, at_once=at_once)


def request_of(session: Any, host: Host | None = None) -> Request:
    """What is known of the request: the last thing that a person said."""
    for message in reversed(session.messages if session is not None else ()):
        if message.role == "user":
            images = sum(block.type == "image" for block in message.content)
            return Request(message.text, images=images, files=message.text.split(), host=host, session=session)
    return Request(host=host, session=session)


def _offer_of(host: Host) -> Offer:
    """What is offered on this host; agents that begin within a moment share one look at programs and variables."""
    kept = _offers.get(host)
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
    offer = _offers[host] = Offer(host.skills.version, now, rows, listed, skills, gates, eligible, steady)
    return offer


class AgentSkills:
    """The skills of one agent. Eligibility is looked at again whenever the registry of skills changes.

    Args:
        host: whose skills.
        active: names of skills that are active from the start.
    """

    def __init__(self, host: Host, active: Sequence[str] = ()) -> None:
        self.host = host
        self.from_start = tuple(dict.fromkeys(map(self._address, active)))
        self._active: dict[str, None] = dict.fromkeys(self.from_start)
        for name in self.from_start:
            self.open(host.skills.get(name))
        self.commands_of: Skill | None = None
        """The skill whose commands an agent runs that was made for nothing else."""
        self._offer: Offer | None = None
        self._open: tuple[int, Request, frozenset[int]] | None = None
        self._key: Any = None
        self._tools: tuple[Tool, ...] = ()

    def _address(self, name: str) -> str:
        from .opening import address_of

        return address_of(self.host, self.host.skills.get(name))

    def remember(self, session: Any) -> None:
        """Take over what was activated earlier in a session that is resumed."""
        for message in session.messages if session is not None else ():
            if (name := activated_by(message)) is not None and self.host.skills.has(name):
                self.open(self.host.skills.get(name))

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
        return tuple(s for s in offer.skills if id(s) in left or s.name in self._active)

    def active(self) -> list[Skill]:
        """The active skills, in the order of their activation."""
        skills = self.host.skills
        return [skills.get(name) for name in self._active if skills.has(name)]

    def is_active(self, name: str) -> bool:
        """Whether the skill called ``name`` is active."""
        return name in self._active

    def activate(self, name: str) -> None:
        """Make a skill active for the rest of the session."""
        self._active[name] = None

    def open(self, skill: Skill) -> None:
        """Make a skill active for the rest of the session, and the internal skills that it requires."""
        from .opening import address_of, companions

        for one in (skill, *companions(self.host, skill)):
            self._active[address_of(self.host, one)] = None

    def tools(self, session: Any, *, at_once: bool = False) -> tuple[Tool, ...]:
        """A tool for each action that a model may call, and ``activate_skill`` where there is something to activate.

        ``at_once``: the model would never activate a skill, so it is offered every action however many there are.
        """
        offered = self.offered(session)
        if self._active:  # a skill that a person or code opened, too, though no model may choose it
            opened = (s for s in self.active() if s not in offered and id(s) in self.offer.eligible)
            offered = (*offered, *opened)
        expose = "always" if at_once else settings_of(self.host).expose_actions
        key = (self.offer.version, offered, expose, *self._active)
        if key != self._key:  # tuples of the same objects compare without a look into them
            plan = self._plan(offered, expose)
            tools = list(plan.tools)
            if plan.parameters is not None:
                tools.append(self._activation_tool(plan.parameters, offered))
            if plan.searched and not at_once:
                from .finding import find_tool

                tools.append(find_tool(self.host, offered))
            if self._active and not _reads(self.host):
                tools.append(skill_file_tool(self.host, self._active))
            self._key, self._tools = key, tuple(tools)
        return self._tools

    def plan(self, session: Any) -> Plan:
        """What a model is told of the skills whose gates are open for what was last said in ``session``."""
        return self._plan(self.offered(session), settings_of(self.host).expose_actions)

    def _plan(self, offered: tuple[Skill, ...], expose: str) -> Plan:
        """What a model is told of ``offered``; all agents of the host share it."""
        offer = self.offer
        key = (expose, None if offered is offer.skills else tuple(s.name for s in offered), tuple(self._active))
        found = offer.plans.get(key)
        if found is None:
            found = offer.plans[key] = self._made(offered, expose)
        return found

    def _made(self, offered: tuple[Skill, ...], expose: str) -> Plan:
        callable_ = {s.name: [a for a in s.actions if a.model_callable] for s in offered}
        all_at_once = expose == "always" or (expose == "auto" and sum(map(len, callable_.values())) <= MANY_ACTIONS)
        every = [self._shared(s, a, i) for s in offered for i, a in enumerate(callable_[s.name])] if all_at_once else []
        size = sum(map(_size, every))
        if all_at_once and expose == "auto" and size > ACTIONS_CHARS:
            all_at_once, every, size = False, [], 0
        mine = (
            self._shared(s, a, i) for s in offered if s.name in self._active for i, a in enumerate(callable_[s.name])
        )
        waiting = [s for s in offered if (s.listed and has_body(s)) or (callable_[s.name] and not all_at_once)]
        # what active skills add does not count: a list that is there would go with the first activation
        room = min(settings_of(self.host).max_catalogue_chars, max(PART_CHARS - size, LEAST_ROOM))
        catalogue = self.offer.catalogue_of(offered)
        searched = len(catalogue) > room
        return Plan(
            tuple(every or mine),
            _activation_parameters(waiting, listed=not searched) if waiting else None,
            "" if searched else catalogue,
            searched,
            room,
        )

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

    def _activation_tool(self, parameters: Mapping[str, Any], offered: Sequence[Skill]) -> Tool:
        return Tool(
            ACTIVATE,
            "Read the instructions of a skill. Do this before a task that the description of an available skill fits.",
            partial(
                _run_activation, self.host, self._active, frozenset(s.name for s in offered)
            ),  # not a method: it would lead back to the tool
            parameters,
            replay="safe",
            annotations=_ACTIVATION,
        )


async def _run_activation(
    host: Host, active: dict[str, None], offered: frozenset[str], args: Mapping[str, Any], ctx: ToolContext
) -> ToolOutput:
    from .opening import address_of, answered, companions, opened

    name = str(args["name"])
    if name not in offered:  # a skill that is hidden from models is as unknown as one that is not there
        raise UnknownName("skill", name, offered)
    skill = host.skills.get(name)
    text = args.get("arguments")
    details = {"skill": skill.name, "path": str(skill.path) if skill.path else None}
    if skill.name in active and not text:
        return ToolOutput(f"Skill {skill.name} is active already: its instructions are above.", details)
    content = await opened(ctx.agent, skill, text)
    if skill.context == "fork":
        answer = await answered(ctx.agent, skill, content)
        ended = "" if answer.outcome == "completed" else f"[the run of the skill ended early: {answer.outcome}]"
        told = "\n".join(filter(None, (answer.content, ended)))
        return ToolOutput(told, {**details, "forked": True}, is_error=bool(ended))
    for one in (skill, *companions(host, skill)):
        active[address_of(host, one)] = None
    return ToolOutput(content, {**details, "content": True}, pinned=True)


_ACTIVATION = freeze({"purpose": "activate a skill", "mutates": "none"})


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
        return unescape(match[1]) if match else None
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
