"""The tool ``spawn_agent`` as models are told of it: with the agents that files define, and only where one may be asked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from skillkit_core import SkillKitError, Tool

from .definitions import AgentFile, agent_files, usable
from .state import DEFAULTS, Settings

if TYPE_CHECKING:
    from skillkit_core import AgentRunner, Host

__all__ = ["settings_of", "tools"]

_ABOUT = (
    "Ask another agent, which knows nothing of this conversation, and return its last message. Use it for work of many steps "
    "of which only the result matters, and for parts that can be done side by side: calls in one message run at once."
)
_RULES = {"type": "array", "items": {"type": "string", "minLength": 1}}
_PERMISSIONS = {
    "mode": {
        "type": "string",
        "enum": ["ask", "accept-edits", "read-only"],
        "description": "read-only: it changes nothing.",
    },
    "ask": {**_RULES, "description": "Calls about which a person is asked."},
    "deny": {
        **_RULES,
        "description": "Calls that are refused, as Bash(git push:*), Edit(docs/**).",
    },
}


def settings_of(host: Host) -> Settings:
    """Return the section ``subagents``."""
    section: Settings = host.config.section("subagents", DEFAULTS)
    return section


def tools(agent: AgentRunner) -> tuple[Tool, ...]:
    """Return ``spawn_agent``, unless the agent stands too deep to ask another one."""
    ancestors = list(agent.ancestors())
    deepest = agent.host.config.limits(ancestors[-1].config.limits).depth
    if len(ancestors) > min(settings_of(agent.host).depth, deepest):
        return ()
    host = agent.host
    kept: tuple[Any, tuple[Tool, ...]] | None = host.state("subagents").get("offered")
    key = (host.generation, host.config, agent_files(host), bool(agent.config.executor))
    if kept is None or kept[0] != key:  # the same objects are equal at once
        kept = host.state("subagents")["offered"] = (key, (_tool(tuple(usable(host).values()), _policy(agent)),))
    return kept[1]


def _policy(agent: AgentRunner) -> dict[str, Any]:
    """Return the properties of a policy, as far as something here holds an agent to it."""
    found: dict[str, Any] = dict(_PERMISSIONS) if "permission_rules" in agent.host.kinds else {}
    if "sandboxes" in agent.host.kinds and (agent.config.executor or agent.host.config.get("tools.executor")):
        try:
            names = list(agent.host.registry("sandboxes").get("sandbox").names())
        except SkillKitError:
            return found  # the executor refuses its calls, and says why
        about = "Sandbox policy of its commands and file tools, besides the one that holds yours."
        found["sandbox"] = {"type": "string", "enum": names, "description": about}
    return found


def _tool(files: tuple[AgentFile, ...], policy: Mapping[str, Any]) -> Tool:
    properties: dict[str, Any] = {
        "task": {"type": "string", "minLength": 1, "description": "What it is to do, complete in itself."},
        "tools": {
            "type": "array",
            "items": {"type": "string"},
            "description": "The only tools that it may use, of yours; default: all.",
        },
        "model": {"type": "string", "description": "Default: yours."},
        "budget": {
            "type": "object",
            "properties": {
                "turns": {"type": "integer", "minimum": 1},
                "tokens": {"type": "integer", "minimum": 1},
                "cost": {"type": "number", "minimum": 0, "description": "US dollars"},
            },
            "additionalProperties": False,
            "description": "Most that it may use, of your own budget.",
        },
        "background": {
            "type": "boolean",
            "description": "Go on meanwhile; the answer comes as a message.",
        },
    }
    if policy:
        properties["policy"] = {
            "type": "object",
            "properties": policy,
            "additionalProperties": False,
            "description": "What the agent may not do although you may. Nothing here allows more than you may do.",
        }
    about = _ABOUT
    if files:
        known = "\n".join(f"- {file.name}: {file.description or 'no description'}" for file in files)
        about += f"\n\nAgents that are defined here:\n{known}"
        names = [file.name for file in files]
        properties["agent"] = {
            "type": "string",
            "enum": names,
            "description": "Agent that is asked; default: a copy of you.",
        }
    schema = {"type": "object", "properties": properties, "required": ["task"], "additionalProperties": False}
    facts = {"mutates": "none", "purpose": "ask an agent"}  # what the agent calls passes the guards itself
    begin = "skillkit_subagents.spawning:spawn_agent"  # safe to run again: it goes on with the agent that it began
    return Tool("spawn_agent", about, begin, schema, annotations=facts, suspends=True, replay="safe")
