"""A skill is opened: its text with arguments and the output of its commands, read here or answered by a run of its own."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from skillkit_core import (
    AgentConfig,
    AgentRunner,
    Limits,
    LLMAdapter,
    StopReason,
    StreamEvent,
    TokenUsage,
    ToolResultMessage,
    current_parent,
)
from skillkit_core.contracts.adapter import ModelSettings
from skillkit_core.skills import Skill

from .agent_skills import skills_of
from .content import skill_content
from .listed import address_of, companions
from .settings import settings_of
from .sources import compat_of, trusted

if TYPE_CHECKING:
    from skillkit_core import AgentResponse, Host, LLMRequest

__all__ = ["Overrides", "answered", "dynamic_policy", "opened", "overrides_of", "text_of", "unknown_agent_of"]

_COMMAND = re.compile(r"(?<![\w`\\])!`([^`\n]+)`|^```![ \t]*\n(.*?)\n```[ \t]*$", re.S | re.M)
_ARGUMENT = re.compile(r"\$(?:ARGUMENTS\b|\d)")
_PLAIN_PATH = re.compile(r"[\w./-]+\Z")
_STRICT = ("allow", "ask", "deny")
_THINKING = {"low": "low", "medium": "medium", "high": "high", "xhigh": "xhigh", "max": "xhigh"}
_MAX_OUTPUT = 30_000  # characters of one command
_LIMITS = ("turns", "requests", "tool_calls", "tokens", "cost")


# --- the text ---------------------------------------------------------------------------------------------------------


def text_of(host: Host, skill: Skill, args: str | None = None, *, session_id: str | None = None) -> str:
    """Return the text of a skill and of its companions. Commands in it stay text."""
    texts = [_content(host, skill, args, session_id)]
    return "\n".join([*texts, *(_content(host, other, None, session_id) for other in companions(host, skill))])


def _content(host: Host, skill: Skill, args: str | None, session_id: str | None, body: str | None = None) -> str:
    mode: Any = "claude" if compat_of(host, skill) == "claude" else "skillkit"
    return skill_content(skill, args, session_id=session_id, name=address_of(host, skill), mode=mode, body=body)


async def opened(agent: AgentRunner, skill: Skill, args: str | None = None) -> str:
    """Return the text of a skill and of its companions, with the output of the commands that may run."""
    session = agent.session
    session_id = session.id if session is not None else None
    parts = []
    for one in (skill, *companions(agent.host, skill)):
        body, outputs = await _filled(agent, one)
        text = _content(agent.host, one, args if one is skill else None, session_id, body)
        for mark, output in outputs.items():
            text = text.replace(mark, output)
        parts.append(text)
    return "\n".join(parts)


# --- commands in the text -----------------------------------------------------------------------------------------------


def dynamic_policy(host: Host, skill: Skill) -> str:
    """Return ``deny``, ``ask`` or ``allow`` for the commands in the text of a skill; a source that is not trusted is denied."""
    if not trusted(host, skill):
        return "deny"
    said = (settings_of(host).shell_injection, skill.shell_injection or "allow")
    return max(said, key=_STRICT.index)


def commands_in(skill: Skill) -> list[str]:
    """Return the commands in the text of a skill, as they are written."""
    return [match[1] or match[2] for match in _COMMAND.finditer(skill.body)]


async def _filled(agent: AgentRunner, skill: Skill) -> tuple[str, dict[str, str]]:
    """Return the body with a mark in place of each command that may run, and the output for each mark.

    Commands are those of the file alone, looked for before anything is put into the text. One with an argument in it stays text:
    what a person or a model says never becomes part of a command.
    """
    if ("!`" not in skill.body and "```!" not in skill.body) or dynamic_policy(agent.host, skill) == "deny":
        return skill.body, {}
    folder = str(skill.path or "")
    nonce = secrets.token_hex(16)  # nobody can write it into an argument
    marks: dict[str, str] = {}
    commands: list[str] = []

    def mark(match: re.Match[str]) -> str:
        command = (match[1] or match[2]).strip()
        placed = re.sub(r"\{baseDir\}|\$\{(?:CLAUDE_)?SKILL_DIR\}", lambda _: folder, command)
        if _ARGUMENT.search(command) or (placed != command and not _PLAIN_PATH.match(folder)):
            return match[0]
        commands.append(placed)
        new = f"\x00{nonce}:{len(marks)}\x00"
        marks[new] = match[0]
        return new

    body = _COMMAND.sub(mark, skill.body)
    outputs = await _run(agent, skill, commands)
    return body, dict(zip(marks, outputs, strict=True)) if outputs is not None else marks


async def _run(agent: AgentRunner, skill: Skill, commands: Sequence[str]) -> list[str] | None:
    """Run commands as calls of the tool ``bash``, which pass guards, approver, runtime and events like those of a model.

    ``None``: the tool is not allowed here, and nothing ran.
    """
    if not commands:
        return []
    async with _below(
        agent, AgentConfig(only_tools=frozenset({"bash"}), parallel_tools=False, compaction=False)
    ) as below:
        if below.offered("bash") is None:
            return None
        skills_of(below).work_for(skill)
        below.set_adapter(_Calls("bash", [{"command": c} for c in commands]))
        await below.chat(f"The commands in the text of the skill {skill.name}.")
        results = [m for m in below.messages if isinstance(m, ToolResultMessage)]
    told = []
    for command, result in zip(commands, results, strict=False):
        text = result.text if len(result.text) <= _MAX_OUTPUT else f"{result.text[:_MAX_OUTPUT]}\n[cut]"
        told.append(text if not result.is_error else f"[{command} failed: {text}]")
    return told + [f"[not run: {c}]" for c in commands[len(told) :]]


class _Calls(LLMAdapter):
    """Makes given calls of one tool, then ends."""

    api = provider = "skills"

    def __init__(self, tool: str, calls: Sequence[Mapping[str, Any]]) -> None:
        self._tool, self._calls = tool, list(calls)

    async def stream(self, request: LLMRequest) -> AsyncIterator[StreamEvent]:
        """First the calls, then nothing."""
        calls, self._calls = self._calls, []
        for i, args in enumerate(calls):
            about: dict[str, Any] = {"index": i, "tool_name": self._tool, "tool_call_id": f"skill_{i}"}
            yield StreamEvent("tool_call_start", **about)
            yield StreamEvent("tool_call_delta", json.dumps(args), **about)
            yield StreamEvent("tool_call_end", **about)
        if not calls:
            yield StreamEvent("text_start", index=0)
            yield StreamEvent("text_delta", "Done.", index=0)
            yield StreamEvent("text_end", index=0)
        yield StreamEvent("done", usage=TokenUsage(), stop_reason=StopReason.tool_calls if calls else StopReason.stop)


# --- model, effort, limits, a run of its own ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Overrides:
    """What a skill sets for the run that it is used in.

    Attributes:
        model: a model of the host; ``None``: the run keeps its own.
        problems: what of it has no effect here, in words.
    """

    model: str | None = None
    thinking: Any = None
    limits: Limits | None = None
    problems: tuple[str, ...] = ()


def overrides_of(host: Host, skill: Skill) -> Overrides:
    """Return what ``model``, ``effort`` and ``limits`` of a skill mean on this host."""
    problems = []
    model = None
    if skill.model and skill.model != "inherit":
        wanted = settings_of(host).model_aliases.get(skill.model, skill.model)
        if host.models.has(wanted):
            model = wanted
        else:
            problems.append(
                f"model {skill.model!r} is not known here: the run keeps its own (setting skills.model_aliases)"
            )
    if skill.agent and skill.context != "fork":
        problems.append("agent counts only for a run of its own (context: fork)")
    elif (nowhere := unknown_agent_of(host, skill)) is not None:
        problems.append(nowhere)
    limits = {k: v for k, v in skill.limits.items() if k in _LIMITS and isinstance(v, (int, float)) and v > 0}
    if unknown := [str(k) for k in skill.limits if k not in limits]:
        problems.append(f"limits: {', '.join(unknown)} cannot be used; known are {', '.join(_LIMITS)}")
    whole: dict[str, Any] = {k: v if k == "cost" else int(v) for k, v in limits.items()}
    return Overrides(model, _THINKING.get(skill.effort or ""), Limits(**whole) if whole else None, tuple(problems))


def unknown_agent_of(host: Host, skill: Skill) -> str | None:
    """Return a sentence about the agent that a skill with ``context: fork`` names, if it is defined nowhere."""
    if not skill.agent or skill.context != "fork" or _who_knows(host, skill.agent) is not None:
        return None
    registry = host.registry("skill_agents")
    names = sorted(name for one in map(registry.get, registry.list()) for name in one.names())
    there = f"agents here: {', '.join(names)}" if names else "there is none here"
    where = f"agent {skill.agent!r} is defined nowhere (agents/{skill.agent}.md)"
    return f"{where}: the skill runs with the agent that uses it; {there}"


def _who_knows(host: Host, name: str) -> Any:
    """Return who can make an agent of that name, see the hook ``register_skill_agents``; ``None``: nobody."""
    known = host.registry("skill_agents")
    return next((one for one in map(known.get, known.list()) if name in one.names()), None)


async def answered(agent: AgentRunner, skill: Skill, text: str) -> AgentResponse:
    """Return the answer of a run of its own (``context: fork``) to the text of a skill, with its model, effort and limits."""
    own = overrides_of(agent.host, skill)
    model = own.model if agent.config.model is None else None  # what a person chose stays
    settings = ModelSettings(thinking=own.thinking) if own.thinking else None
    async with _below(agent, AgentConfig(model=model, settings=settings, limits=own.limits), skill.name) as below:
        if skill.agent and (known := _who_knows(agent.host, skill.agent)) is not None:
            await known.become(below, agent, skill.agent)
        skills_of(below).activate(address_of(agent.host, skill))
        for other in companions(agent.host, skill):
            skills_of(below).activate(address_of(agent.host, other))
        if current_parent() is None and below.config.model is None and agent.target is not None:
            below.set_adapter(agent.target.adapter)
        return await below.chat(text)


def _below(agent: AgentRunner, config: AgentConfig, name: str = "skill") -> AgentRunner:
    """Return an agent for a part of the work of ``agent``; outside of a run it takes over what a run hands on."""
    from dataclasses import replace

    if current_parent() is None:
        mine = agent.config
        only = mine.only_tools
        if config.only_tools is not None:
            only = config.only_tools if only is None else config.only_tools & only
        config = replace(
            config, only_tools=only, approver=mine.approver, ui=agent.ui, cwd=agent.cwd, executor=mine.executor
        )
    return AgentRunner(config, host=agent.host, name=re.sub(r"[^A-Za-z0-9_-]", "-", name)[:64] or "skill")
