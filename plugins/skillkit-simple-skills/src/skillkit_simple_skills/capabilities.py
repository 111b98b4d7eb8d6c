"""What is installed, for the skill ``help``: skills with what they need, tools, commands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from skillkit_skills import skills_of

from skillkit_core import ToolOutput

if TYPE_CHECKING:
    from skillkit_core import AgentRunner, ToolContext

__all__ = ["list_capabilities"]


async def list_capabilities(args: Mapping[str, Any], ctx: ToolContext) -> ToolOutput:
    """List skills, tools or commands, a line each."""
    topic, words = args.get("topic", "skills"), args.get("query", "").casefold().split()
    rows = {"skills": _skills, "tools": _tools, "commands": _commands}[topic](ctx.agent)
    found = [(name, about) for name, about in rows if all(word in f"{name} {about}".casefold() for word in words)]
    lines = [f"{name}: {about}" for name, about in found]
    return ToolOutput("\n".join(lines) or f"No {topic} are called so.", details=[list(row) for row in found])


def _skills(agent: AgentRunner) -> Iterator[tuple[str, str]]:
    for row in skills_of(agent).offer.rows:
        if row.skill.internal_only or row.skill.status == "unlisted":
            continue
        lacks = f" (needs {', '.join(map(_needs, row.reasons))})" if row.reasons else ""
        yield row.name, f"{row.skill.description}{lacks}"


def _tools(agent: AgentRunner) -> Iterator[tuple[str, str]]:
    yield from ((tool.name, tool.description.partition("\n")[0]) for tool in agent.tools)


def _commands(agent: AgentRunner) -> Iterator[tuple[str, str]]:
    yield from ((f"skillkit {entry.item.name}", entry.item.help) for entry in agent.host.registry("commands").entries())


_WORDS = {"missing-python": "pip install {}", "missing-config": "the setting {}", "missing-env": "the variable {}"}


def _needs(reason: str) -> str:
    """Return in words what a skill lacks."""
    code, _, what = reason.partition(":")
    return _WORDS[code].format(what) if code in _WORDS else reason
