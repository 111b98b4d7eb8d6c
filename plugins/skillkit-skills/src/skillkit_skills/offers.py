"""What one agent is offered: a tool for every action, the tool that activates a skill, and which skills are active."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from html import unescape
from time import monotonic
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from skillkit_core.frozen import freeze, thaw
from skillkit_core.skills import Skill, SkillAction
from skillkit_core.tools import Tool, ToolContext, ToolOutput

from .activation import has_body, skill_content
from .eligibility import surroundings_of
from .gates import Request, gate, gated
from .listing import Listed, listing
from .settings import settings_of

if TYPE_CHECKING:
    from skillkit_core import AgentRunner, Host

__all__ = ["ACTIVATE", "MANY_ACTIONS", "AgentSkills", "skill_tools", "skills_of", "tool_name"]

ACTIVATE = "activate_skill"
MANY_ACTIONS = 40
MOMENT = 1.0  # seconds
_offers: WeakKeyDictionary[Any, Offer] = WeakKeyDictionary()
_agents: WeakKeyDictionary[Any, AgentSkills] = WeakKeyDictionary()


@dataclass(slots=True, eq=False)
class Offer:
    """What a host offers to all of its agents, as of one moment; what was made of it once serves all of them.

    Attributes:
        listed: the skills that a model may use here, by priority and name. skills: the same, bare.
        gated: whether a gate of any of them depends on the request.
        tools: the tool of an action, by the names of skill and action.
        plans: the tools of actions, and the parameters of ``activate_skill`` (``None``: nothing to activate), by what they
            depend on.
    """

    version: int
    looked: float
    listed: tuple[Listed, ...]
    skills: tuple[Skill, ...]
    gated: bool
    tools: dict[tuple[str, str], Tool] = field(default_factory=dict)
    plans: dict[Any, tuple[tuple[Tool, ...], Mapping[str, Any] | None]] = field(default_factory=dict)


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


def request_of(session: Any) -> Request:
    """What is known of the request: the last thing that a person said."""
    for message in reversed(session.messages if session is not None else ()):
        if message.role == "user":
            images = sum(block.type == "image" for block in message.content)
            return Request(message.text, images=images, files=message.text.split())
    return Request()


def _offer_of(host: Host) -> Offer:
    """What is offered on this host; agents that begin within a moment share one look at programs and variables."""
    kept = _offers.get(host)
    now = monotonic()
    if kept is not None and kept.version == host.skills.version and now - kept.looked <= MOMENT:
        return kept
    found = [one for one in listing(host, surroundings_of(host)) if one.offered]
    listed = tuple(sorted(found, key=lambda o: (-o.skill.priority, o.name)))
    if kept is not None and kept.version == host.skills.version and kept.listed == listed:
        kept.looked = now  # nothing changed: keep the objects that agents share
        return kept
    skills = tuple(one.skill for one in listed)
    offer = _offers[host] = Offer(host.skills.version, now, listed, skills, any(map(gated, skills)))
    return offer


class AgentSkills:
    """The skills of one agent. Eligibility is looked at again whenever the registry of skills changes.

    Args:
        host: whose skills.
        active: names of skills that are active from the start.
    """

    def __init__(self, host: Host, active: Sequence[str] = ()) -> None:
        self.host = host
        self.from_start = tuple(dict.fromkeys(host.skills.get(name).name for name in active))
        self._active: dict[str, None] = dict.fromkeys(self.from_start)
        self._offer: Offer | None = None
        self._key: Any = None
        self._tools: tuple[Tool, ...] = ()

    def remember(self, session: Any) -> None:
        """Take over what was activated earlier in a session that is resumed."""
        for message in session.messages if session is not None else ():
            if (name := activated_by(message)) is not None and self.host.skills.has(name):
                self._active[name] = None

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
        request = request_of(session)
        return tuple(s for s in offer.skills if s.name in self._active or gate(s, request) is None)

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

    def tools(self, session: Any, *, at_once: bool = False) -> tuple[Tool, ...]:
        """A tool for each action that a model may call, and ``activate_skill`` where there is something to activate.

        ``at_once``: the model would never activate a skill, so it is offered every action however many there are.
        """
        offered = self.offered(session)
        expose = "always" if at_once else settings_of(self.host).expose_actions
        key = (self.offer.version, offered, expose, *self._active)
        if key != self._key:  # tuples of the same objects compare without a look into them
            tools, parameters = self._plan(offered, expose)
            self._key = key
            self._tools = tools if parameters is None else (*tools, self._activation_tool(parameters))
        return self._tools

    def _plan(self, offered: Sequence[Skill], expose: str) -> tuple[tuple[Tool, ...], Mapping[str, Any] | None]:
        """The tools of actions and the parameters of ``activate_skill``; all agents of the host share them."""
        offer = self.offer
        key = (expose, tuple(s.name for s in offered), tuple(self._active))
        found = offer.plans.get(key)
        if found is None:
            callable_ = {s.name: [a for a in s.actions if a.model_callable] for s in offered}
            total = sum(map(len, callable_.values()))
            all_at_once = expose == "always" or (expose == "auto" and total <= MANY_ACTIONS)
            shown = [s for s in offered if all_at_once or s.name in self._active]
            tools = tuple(self._shared(s, a, i) for s in shown for i, a in enumerate(callable_[s.name]))
            waiting = [s for s in offered if has_body(s) or (callable_[s.name] and not all_at_once)]
            found = offer.plans[key] = (tools, _activation_parameters(waiting) if waiting else None)
        return found

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
                "args": {
                    a.name: {"type": a.type, "required": a.required, "position": a.position, "secret": a.secret}
                    | dict(a.extra)
                    for a in action.args
                },
            },
        )

    def _activation_tool(self, parameters: Mapping[str, Any]) -> Tool:
        return Tool(
            ACTIVATE,
            "Read the instructions of a skill. Do this before a task that the description of an available skill fits.",
            partial(_run_activation, self.host, self._active),  # not a method: it would lead back to the tool
            parameters,
            replay="safe",
            annotations=_ACTIVATION,
        )


async def _run_activation(host: Host, active: dict[str, None], args: Mapping[str, Any], ctx: ToolContext) -> ToolOutput:
    skill = host.skills.get(str(args["name"]))
    text = args.get("arguments")
    details = {"skill": skill.name, "path": str(skill.path) if skill.path else None}
    if skill.name in active and not text:
        return ToolOutput(f"Skill {skill.name} is active already: its instructions are above.", details)
    active[skill.name] = None
    content = skill_content(skill, text, session_id=ctx.session_id)
    return ToolOutput(content, {**details, "content": True})


_ACTIVATION = freeze({"purpose": "activate a skill", "mutates": "none"})


def _activation_parameters(skills: Sequence[Skill]) -> Mapping[str, Any]:
    parameters: Mapping[str, Any] = freeze(
        {
            "type": "object",
            "properties": {
                "name": {"type": "string", "enum": sorted(s.name for s in skills)},
                "arguments": {"type": "string", "description": "Text for the skill, if it takes any."},
            },
            "required": ["name"],
            "additionalProperties": False,
        }
    )
    return parameters


def activated_by(message: Any) -> str | None:
    """Name of the skill whose instructions a message brought, if it did."""
    if message.role == "user":  # a person called it
        match = re.match(r'<skill_content name="([^"]+)">', message.text)
        return unescape(match[1]) if match else None
    if message.role != "tool_result" or message.tool_name != ACTIVATE or message.is_error:
        return None
    details = message.details
    name = details.get("skill") if isinstance(details, Mapping) and details.get("content") else None
    return name if isinstance(name, str) else None


def _runner(host: Host, skill: Skill, action: SkillAction) -> Callable[..., Any]:
    async def execute(args: Mapping[str, Any], ctx: ToolContext) -> ToolOutput:
        from .actions import run_action
        from .outputs import tool_output

        result = await run_action(
            host,
            skill,
            action,
            thaw(args),
            cwd=ctx.cwd,
            signal=ctx.signal,
            on_output=ctx.on_output if action.output == "text" else None,  # data is for programs, not for watching
            on_error_output=lambda text: ctx.on_output(text, "stderr"),
        )
        return tool_output(action, result)

    return execute
