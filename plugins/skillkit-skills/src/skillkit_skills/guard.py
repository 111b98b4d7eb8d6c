"""What skills demand of tool calls: a question before an action that wants one, and the limits of active skills."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from skillkit_core.events.results import ToolCallEventResult
from skillkit_core.skills import Skill

from .agent_skills import ACTIVATE, ACTIVE, FIND, skills_of, tool_name
from .preapproval import disallowed, in_our_words, pre_approved, single_rules

if TYPE_CHECKING:
    from skillkit_core import AgentRunner, HandlerContext, Host
    from skillkit_core.events.types import ToolCallEvent

__all__ = ["PermissionRules", "before_tool_call", "forbidden_by"]


def before_tool_call(event: ToolCallEvent, ctx: HandlerContext) -> ToolCallEventResult | None:
    """The answer to one call.

    - An action with ``confirm: always`` asks each time, with ``first`` once per session.
    - A call that matches the ``confirm`` patterns of an active skill asks each time.
    - While a skill with ``tools_only`` is active, only its tools, its actions, ``activate_skill`` and ``find_skills`` run; what
      its ``disallowed-tools`` match never does.
    - While an active skill guards calls by ``hooks`` that nothing here runs, none runs.
    """
    state = skills_of(ctx.agent) if ctx.agent is not None else None
    if state is not None and state.commands_of is not None:
        return _dynamic(event, state.host, state.commands_of)
    active = state.active() if state is not None else []
    if ctx.agent is not None and any(one.hooks for one in active):
        from .skill_hooks import unguarded

        if reason := unguarded(ctx.agent, active):
            return ToolCallEventResult(block=True, reason=reason)
    return _answer(event, active)


def _answer(event: ToolCallEvent, active: Sequence[Skill]) -> ToolCallEventResult | None:
    if reason := forbidden_by(event.tool_name, event.args, active):
        return ToolCallEventResult(block=True, reason=reason)
    skill, action = event.annotations.get("skill"), event.annotations.get("action")
    confirm = event.annotations.get("confirm")
    if skill and action and confirm in ("first", "always"):
        key = f"skill-action:{skill}:{action}" if confirm == "first" else None
        return ToolCallEventResult(ask=f"Run action {action} of skill {skill}?", ask_key=key)
    for one in active:
        if any(fnmatchcase(event.tool_name, pattern) for pattern in one.confirm):
            return ToolCallEventResult(ask=f"Skill {one.name} wants {event.tool_name} to be confirmed. Run it?")
    return None


def _dynamic(event: ToolCallEvent, host: Host, skill: Skill) -> ToolCallEventResult | None:
    """The answer to a command in the text of a skill: run, unless the policy wants a question that allowed-tools do not spare."""
    from .activation import dynamic_policy

    policy = dynamic_policy(host, skill)
    if policy == "deny":
        return ToolCallEventResult(block=True, reason="commands in the text of skills do not run here")
    folder = str(skill.path) if skill.path is not None else None
    if policy == "allow" or pre_approved(
        in_our_words(skill.allowed_tools), event.tool_name, event.args, skill_dir=folder
    ):
        return None
    return ToolCallEventResult(ask=f"Skill {skill.name} wants the output of a command in its text. Run it?")


def forbidden_by(name: str, args: Mapping[str, Any], active: Sequence[Skill]) -> str | None:
    """Return why active skills refuse a call of the tool ``name``; ``None``: they do not."""
    for skill in active:
        folder = str(skill.path) if skill.path is not None else None
        if disallowed(in_our_words(skill.disallowed_tools), name, args, skill_dir=folder):
            return f"skill {skill.name} does not allow {name}"
    limiting = [s for s in active if s.tools_only]
    if not limiting or name in (ACTIVATE, FIND):
        return None
    for skill in active:
        own = {tool_name(skill.name, a.name) for a in skill.actions}
        if name in own or name in skill.tools:
            return None
    return f"skill {limiting[0].name} allows only its own tools: {', '.join(limiting[0].tools) or 'none'}"


class PermissionRules:
    """What active skills say for the plugin ``permissions``.

    The files of the skill can be read; ``allowed-tools`` approves, ``disallowed-tools`` denies.
    """

    while_ = (ACTIVE,)

    def __init__(self, host: Host) -> None:
        pass

    def __call__(self, agent: AgentRunner) -> Sequence[tuple[str, Mapping[str, Sequence[str]]]]:
        """Return the rules of the skills that are active."""
        found = []
        state = skills_of(agent)
        for skill in [state.commands_of] if state.commands_of is not None else state.active():
            folder = str(skill.path) if skill.path is not None else None
            allow, deny = (single_rules(t, skill_dir=folder) for t in (skill.allowed_tools, skill.disallowed_tools))
            if skill.path is not None:
                # a folder that was put there by a link has two names, and both are asked about
                import glob

                names = dict.fromkeys(glob.escape(f) for f in (str(skill.path), os.path.realpath(skill.path)))
                allow += [rule for name in names for rule in (f"Read(/{name})", f"Read(/{name}/**)")]
            if allow or deny:
                found.append((f"skill {skill.name}", {"allow": allow, "deny": deny}))
        return found
