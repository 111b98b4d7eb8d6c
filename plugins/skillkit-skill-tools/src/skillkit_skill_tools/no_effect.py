"""Keys of a skill that have no effect on this host: they are said, so that nobody relies on them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from typing import TYPE_CHECKING, Literal

from skillkit_core.skills import Skill, SkillProblem

if TYPE_CHECKING:
    from skillkit_core import Host

__all__ = ["INFORMATION", "NO_EFFECT", "unknown_agent", "without_effect"]

INFORMATION = frozenset(("compatibility", "display_name", "license", "metadata", "tags", "version"))
"""Fields that are shown and searched, and change nothing."""

NO_EFFECT = {
    "context_loader": "no plugin here loads context",
    "domains": "no plugin here routes by domains",
    "intents": "no plugin here routes by intents",
    "not_for": "no plugin here routes requests",
    "optional_tools": "no engine here gives a skill tools",
    "outputs": "no plugin here hands values of one skill to another",
    "override_continuity": "no plugin here keeps a conversation with one skill",
    "permissions": "they are shown, and nothing enforces them: guards decide about each call",
    "subgraphs": "no plugin here runs sub-graphs",
    "supports_hitl": "what is asked is said by confirm, here and in actions",
    "system_prompt": "no engine here wants a prompt of its own: the body is used",
    "tool_packs": "no plugin here brings packs of tools",
}
"""Fields that nothing reads, each with the reason."""

_DEFAULTS = {field.name: getattr(Skill(name="x"), field.name) for field in fields(Skill)}


def without_effect(skill: Skill, host: Host | None = None) -> Iterator[SkillProblem]:
    """Yield a remark for each key of a skill that has no effect; ``host``: also those whose value means nothing there."""
    used = used_fields(host) if host is not None else frozenset()
    for key, why in (*_said(skill, used), *(_of_host(skill, host) if host is not None else ())):
        yield _remark(skill, key, f"{key} has no effect: {why}", "info")


def unknown_agent(skill: Skill, host: Host) -> Iterator[SkillProblem]:
    """Yield a warning where a skill with ``context: fork`` names an agent that is defined nowhere."""
    from skillkit_skills import unknown_agent_of

    if (why := unknown_agent_of(host, skill)) is not None:
        yield _remark(skill, "agent", why, "warning")


def _remark(skill: Skill, key: str, text: str, severity: Literal["warning", "info"]) -> SkillProblem:
    path = str(skill.path / "SKILL.md") if skill.path is not None else None
    return SkillProblem(f"no-effect:{key}", text, severity, path)


def used_fields(host: Host) -> frozenset[str]:
    """Return the fields that plugins use (the hook ``used_fields``)."""
    from skillkit_skills import answers

    return frozenset(name for names in answers(host, "used_fields") for name in names)


def _said(skill: Skill, used: frozenset[str]) -> Iterator[tuple[str, str]]:
    for name, why in NO_EFFECT.items():
        if name not in used and getattr(skill, name) != _DEFAULTS[name]:
            yield name, why
    if skill.effort is not None and skill.context != "fork":
        yield "effort", "only a run of its own (context: fork) can think harder or less"
    for key in ("tools", "mcp"):
        if getattr(skill.requires, key):
            yield f"requires.{key}", "nobody knows before a run which there are"


def _of_host(skill: Skill, host: Host) -> Iterator[tuple[str, str]]:
    from skillkit_skills import commands_in, dynamic_policy, overrides_of, unknown_agent_of

    unknown = unknown_agent_of(host, skill)  # a warning of its own
    yield from _hooks(skill, host)
    for problem in overrides_of(host, skill).problems:
        if problem != unknown:
            key, _, why = problem.partition(" ")
            yield key.rstrip(":"), why
    if commands_in(skill) and dynamic_policy(host, skill) == "deny":
        yield "!`command`", "commands in the text of this skill do not run here, a model reads them as text"


def _hooks(skill: Skill, host: Host) -> Iterator[tuple[str, str]]:
    if not skill.hooks:
        return
    if "shell_hook_events" not in host.kinds:
        yield "hooks", "nothing here runs hooks: pip install skillkit-shell-hooks"
        return
    events = host.registry("shell_hook_events").get("events")
    for event in skill.hooks:
        if (why := events.get(event, "there is no such event")) != "":
            yield f"hooks.{event}", why
