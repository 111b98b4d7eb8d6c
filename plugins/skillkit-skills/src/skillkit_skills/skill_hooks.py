"""Commands that an active skill of a trusted source runs before tool calls (``hooks: PreToolUse``), as in Claude Code."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from skillkit_core.events.results import ToolCallEventResult
from skillkit_core.skills import Skill

from .arguments import PatternError, pattern_found
from .content import plugin_root
from .settings import settings_of
from .sources import trusted

if TYPE_CHECKING:
    from skillkit_core import AgentRunner
    from skillkit_core.events.types import ToolCallEvent

__all__ = ["before_call", "hook_lines", "hooked"]

_SECONDS = 60.0
_MAX_SECONDS = 600.0
_BLOCKS = 2  # exit status
_NAMES = ("PATH", "HOME", "LANG")


def hooked(agent: AgentRunner, active: Sequence[Skill]) -> list[Skill]:
    """Return the active skills whose commands are asked before a call."""
    return [skill for skill in active if "PreToolUse" in skill.hooks and trusted(agent.host, skill)]


def hook_lines(skill: Skill) -> list[str]:
    """Return each event that a skill has hooks for, with the commands that would run."""
    lines = []
    for event, entries in skill.hooks.items():
        hooks = (
            [h for e in entries if isinstance(e, Mapping) for h in e.get("hooks") or ()]
            if isinstance(entries, Sequence)
            else []
        )
        told = [str(h["command"]) for h in hooks if isinstance(h, Mapping) and "command" in h]
        lines += [f"{event}: {command}" for command in told] or [str(event)]
    return lines


async def before_call(
    agent: AgentRunner, event: ToolCallEvent, skills: Sequence[Skill], answer: ToolCallEventResult | None
) -> ToolCallEventResult | None:
    """Return what the commands say of a call, else ``answer``.

    A command gets the call as JSON on its standard input. Exit status 2 blocks the call, and so does a command that cannot be
    started, takes too long, or says so in JSON (``decision: block``, ``permissionDecision: deny``); ``ask`` asks a person.
    """
    for skill in skills:
        for command, seconds in _commands(skill, event.tool_name):
            if (said := await _run(agent, event, skill, command, seconds)) is not None:
                if said.block is True:
                    return said
                answer = said
    return answer


def _commands(skill: Skill, tool: str) -> Iterator[tuple[str, float]]:
    """Yield the commands for a tool, each with its seconds."""
    theirs = "".join(part.capitalize() for part in tool.split("_"))
    for entry in skill.hooks.get("PreToolUse") or ():
        if not isinstance(entry, Mapping):
            continue
        matcher = str(entry.get("matcher") or "*")
        try:
            fits = matcher == "*" or any(pattern_found(f"^(?:{matcher})$", name) for name in (tool, theirs))
        except PatternError:
            fits = True  # nobody knows which calls it is about
        for one in entry.get("hooks") or () if fits else ():
            if isinstance(one, Mapping) and isinstance(command := one.get("command"), str) and command.strip():
                seconds = one.get("timeout")
                own = float(seconds) if isinstance(seconds, (int, float)) and seconds > 0 else _SECONDS
                yield command, min(own, _MAX_SECONDS)


async def _run(
    agent: AgentRunner, event: ToolCallEvent, skill: Skill, command: str, seconds: float
) -> ToolCallEventResult | None:
    host, session = agent.host, agent.session
    env = {name: value for name in _NAMES if (value := host.environ.get(name))}
    folder = str(skill.path or "")
    env |= {"SKILL_DIR": folder, "CLAUDE_SKILL_DIR": folder, "CLAUDE_PROJECT_DIR": str(agent.cwd)}
    env["CLAUDE_PLUGIN_ROOT"] = str(plugin_root(skill.path)) if skill.path is not None else ""
    call = {
        "session_id": session.id if session is not None else None,
        "cwd": str(agent.cwd),
        "hook_event_name": "PreToolUse",
        "tool_name": event.tool_name,
        "tool_input": event.args,
    }
    runtime = await host.find_runtime(settings_of(host).runtime)
    done = await runtime.execute(
        command,
        cwd=agent.cwd,
        env=env,
        timeout=seconds,
        signal=agent.scheduler.signal,
        stdin=json.dumps(call, default=dict).encode(),
    )
    who = f"the hook of skill {skill.name}"
    if done.exit_code == _BLOCKS:
        return ToolCallEventResult(block=True, reason=f"{who}: {done.stderr.strip() or 'no'}")
    if done.exit_code is None or done.timed_out:
        return ToolCallEventResult(block=True, reason=f"{who} did not end")
    return _said(done.stdout, who) if done.exit_code == 0 else None


def _said(text: str, who: str) -> ToolCallEventResult | None:
    """Return what a command says in JSON; other text says nothing."""
    try:
        data: Any = json.loads(text)
    except ValueError:
        return None
    if not isinstance(data, Mapping):
        return None
    inner = data.get("hookSpecificOutput")
    inner = inner if isinstance(inner, Mapping) else {}
    word = inner.get("permissionDecision") or data.get("decision")
    reason = str(inner.get("permissionDecisionReason") or data.get("reason") or "no")
    if word in ("deny", "block"):
        return ToolCallEventResult(block=True, reason=f"{who}: {reason}")
    return ToolCallEventResult(ask=f"{who} asks: {reason}") if word == "ask" else None
