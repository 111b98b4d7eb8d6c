"""Hooks of active skills of trusted sources (``hooks``), as in Claude Code; the plugin ``shell-hooks`` runs them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from skillkit_core.frozen import thaw
from skillkit_core.skills import Skill

from .agent_skills import skills_known
from .content import plugin_root
from .sources import trusted

if TYPE_CHECKING:
    from skillkit_core import AgentRunner, Host

__all__ = ["arm", "hook_lines", "shell_hooks", "unguarded"]


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


def _hooked(agent: AgentRunner, active: Sequence[Skill]) -> list[Skill]:
    """Return the active skills whose hooks count."""
    return [skill for skill in active if skill.hooks and trusted(agent.host, skill)]


def shell_hooks(host: Host) -> Callable[[AgentRunner | None], Sequence[Mapping[str, Any]]]:
    """Return what gives the plugin ``shell-hooks`` the hooks of an agent's active skills."""

    def of(agent: AgentRunner | None) -> Sequence[Mapping[str, Any]]:
        known = skills_known(agent) if agent is not None else None
        if agent is None or known is None or not known.names:
            return ()
        return [_entry(skill) for skill in _hooked(agent, known.active())]

    return of


def _entry(skill: Skill) -> Mapping[str, Any]:
    folder = str(skill.path or "")
    return {
        "origin": f"skill:{skill.name}",
        "file": f"{folder}/SKILL.md" if folder else "",
        "hooks": thaw(skill.hooks),
        "plugin": {
            "name": f"skill:{skill.name}",
            "root": str(plugin_root(skill.path)) if skill.path is not None else "",
            "env": {"SKILL_DIR": folder, "CLAUDE_SKILL_DIR": folder},
        },
    }


def arm(agent: AgentRunner, active: Sequence[Skill]) -> None:
    """Let the handlers of events be called that active skills have hooks for."""
    for skill in _hooked(agent, active):
        agent.events.arm(*(f"shell-hooks.{event}" for event in skill.hooks))


def unguarded(agent: AgentRunner, active: Sequence[Skill]) -> str | None:
    """Return why no call runs: an active skill guards calls by hooks, and nothing here runs hooks."""
    if "shell_hooks" in agent.host.kinds:
        return None
    guarding = next((skill for skill in _hooked(agent, active) if "PreToolUse" in skill.hooks), None)
    if guarding is None:
        return None
    return f"skill {guarding.name} guards calls by hooks, and nothing here runs them: pip install skillkit-shell-hooks"
