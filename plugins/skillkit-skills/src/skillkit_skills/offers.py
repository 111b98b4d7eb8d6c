"""What one agent is offered: a tool for every action, the tool that activates a skill, and which skills are active."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from html import unescape
from time import monotonic
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from skillkit_core.frozen import thaw
from skillkit_core.skills import Skill, SkillAction
from skillkit_core.tools import Tool, ToolContext, ToolOutput

from .activation import has_body, skill_content
from .eligibility import surroundings_of
from .gates import Request, gate
from .listing import Listed, listing
from .settings import settings_of

if TYPE_CHECKING:
    from skillkit_core import AgentRunner, Host

__all__ = ["ACTIVATE", "MANY_ACTIONS", "AgentSkills", "skill_tools", "skills_of", "tool_name"]

ACTIVATE = "activate_skill"
MANY_ACTIONS = 40
MOMENT = 1.0  # seconds
_listings: WeakKeyDictionary[Any, tuple[int, float, tuple[Listed, ...]]] = WeakKeyDictionary()
_agents: WeakKeyDictionary[Any, AgentSkills] = WeakKeyDictionary()
_action_tools: WeakKeyDictionary[Any, tuple[int, dict[tuple[str, str], Tool]]] = WeakKeyDictionary()


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
    return skills_of(agent).tools(request_of(agent.session), at_once=at_once)


def request_of(session: Any) -> Request:
    """What is known of the request: the last thing that a person said."""
    for message in reversed(session.messages if session is not None else ()):
        if message.role == "user":
            images = sum(block.type == "image" for block in message.content)
            return Request(message.text, images=images, files=message.text.split())
    return Request()


def _listed_here(host: Host) -> tuple[Listed, ...]:
    """What is offered on this host; agents that begin within a moment share one look at programs and variables."""
    kept = _listings.get(host)
    now = monotonic()
    if kept is None or kept[0] != host.skills.version or now - kept[1] > MOMENT:
        found = [one for one in listing(host, surroundings_of(host)) if one.offered]
        ordered = tuple(sorted(found, key=lambda o: (-o.skill.priority, o.name)))
        kept = _listings[host] = (host.skills.version, now, ordered)
    return kept[2]


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
        self._version = -1
        self._listed: tuple[Listed, ...] = ()
        self._key: Any = None
        self._tools: tuple[Tool, ...] = ()

    def remember(self, session: Any) -> None:
        """Take over what was activated earlier in a session that is resumed."""
        for message in session.messages if session is not None else ():
            if (name := activated_by(message)) is not None and self.host.skills.has(name):
                self._active[name] = None

    def listed(self) -> tuple[Listed, ...]:
        """The skills that a model may use here, by priority and name."""
        version = self.host.skills.version
        if version != self._version:
            self._listed = _listed_here(self.host)
            self._version = self.host.skills.version
        return self._listed

    def offered(self, request: Request) -> list[Skill]:
        """Those whose gates are open for ``request``; an active skill stays."""
        return [
            one.skill for one in self.listed() if one.skill.name in self._active or gate(one.skill, request) is None
        ]

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

    def tools(self, request: Request, *, at_once: bool = False) -> tuple[Tool, ...]:
        """A tool for each action that a model may call, and ``activate_skill`` where there is something to activate.

        ``at_once``: the model would never activate a skill, so it is offered every action however many there are.
        """
        offered = self.offered(request)
        expose = settings_of(self.host).expose_actions
        if at_once:
            expose = "always"
        key = (self._version, expose, tuple(s.name for s in offered), tuple(self._active))
        if key == self._key:
            return self._tools
        callable_ = {s.name: [a for a in s.actions if a.model_callable] for s in offered}
        total = sum(map(len, callable_.values()))
        all_at_once = expose == "always" or (expose == "auto" and total <= MANY_ACTIONS)
        shown = [s for s in offered if all_at_once or s.name in self._active]
        made = self._made()
        tools = [
            made.get((s.name, a.name)) or made.setdefault((s.name, a.name), self._action_tool(s, a, i))
            for s in shown
            for i, a in enumerate(callable_[s.name])
        ]
        waiting = [s for s in offered if has_body(s) or (callable_[s.name] and not all_at_once)]
        if waiting:
            tools.append(self._activation_tool(waiting))
        self._key, self._tools = key, tuple(tools)
        return self._tools

    def _made(self) -> dict[tuple[str, str], Tool]:
        """The action tools of this host that exist already: all its agents share them."""
        kept = _action_tools.get(self.host)
        if kept is None or kept[0] != self._version:
            kept = _action_tools[self.host] = (self._version, {})
        return kept[1]

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

    def _activation_tool(self, skills: Sequence[Skill]) -> Tool:
        return Tool(
            ACTIVATE,
            "Read the instructions of a skill. Do this before a task that the description of an available skill fits.",
            self._run_activation,
            {
                "type": "object",
                "properties": {
                    "name": {"type": "string", "enum": sorted(s.name for s in skills)},
                    "arguments": {"type": "string", "description": "Text for the skill, if it takes any."},
                },
                "required": ["name"],
                "additionalProperties": False,
            },
            replay="safe",
            annotations={"purpose": "activate a skill"},
        )

    async def _run_activation(self, args: Mapping[str, Any], ctx: ToolContext) -> ToolOutput:
        skill = self.host.skills.get(str(args["name"]))
        text = args.get("arguments")
        details = {"skill": skill.name, "path": str(skill.path) if skill.path else None}
        if skill.name in self._active and not text:
            return ToolOutput(f"Skill {skill.name} is active already: its instructions are above.", details)
        self.activate(skill.name)
        content = skill_content(skill, text, session_id=ctx.session_id)
        return ToolOutput(content, {**details, "content": True})


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
