"""What skills demand of tool calls: a question before an action that wants one, and the limits of active skills."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from skillkit_core.events.results import ToolCallEventResult
from skillkit_core.skills import Skill

from .offers import ACTIVATE, skills_of, tool_name
from .preapproval import disallowed, in_our_words, single_rules

if TYPE_CHECKING:
    from skillkit_core import AgentRunner, HandlerContext, Host
    from skillkit_core.events.types import ToolCallEvent

__all__ = ["before_tool_call", "permission_rules"]


def before_tool_call(event: ToolCallEvent, ctx: HandlerContext) -> ToolCallEventResult | None:
    """The answer to one call.

    - An action with ``confirm: always`` asks each time, with ``first`` once per session.
    - A call that matches the ``confirm`` patterns of an active skill asks each time.
    - While a skill with ``tools_only`` is active, only its tools, its actions and ``activate_skill`` run; what its
      ``disallowed-tools`` match never does.
    """
    active = skills_of(ctx.agent).active() if ctx.agent is not None else []
    if reason := _forbidden(event, active):
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


def _forbidden(event: ToolCallEvent, active: Sequence[Skill]) -> str | None:
    name = event.tool_name
    for skill in active:
        folder = str(skill.path) if skill.path is not None else None
        if disallowed(in_our_words(skill.disallowed_tools), name, event.args, skill_dir=folder):
            return f"skill {skill.name} does not allow {name}"
    limiting = [s for s in active if s.tools_only]
    if not limiting or name == ACTIVATE:
        return None
    for skill in active:
        own = {tool_name(skill.name, a.name) for a in skill.actions}
        if name in own or name in skill.tools:
            return None
    return f"skill {limiting[0].name} allows only its own tools: {', '.join(limiting[0].tools) or 'none'}"


def permission_rules(host: Host) -> Callable[[AgentRunner], Sequence[tuple[str, Mapping[str, Sequence[str]]]]]:
    """What active skills say for the plugin ``permissions``: ``allowed-tools`` approves, ``disallowed-tools`` denies."""

    def rules(agent: AgentRunner) -> Sequence[tuple[str, Mapping[str, Sequence[str]]]]:
        found = []
        for skill in skills_of(agent).active():
            folder = str(skill.path) if skill.path is not None else None
            allow, deny = (single_rules(t, skill_dir=folder) for t in (skill.allowed_tools, skill.disallowed_tools))
            if allow or deny:
                found.append((f"skill {skill.name}", {"allow": allow, "deny": deny}))
        return found

    return rules
