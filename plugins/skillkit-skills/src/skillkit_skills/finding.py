"""More skills than a request has room for: the best of them are named with it, and ``find_skills`` looks through all.

The system prompt says only how many there are, so that it stays the same while a conversation goes on; what fits a request
follows the request as a message of its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from skillkit_core.events.results import BeforeAgentStartResult
from skillkit_core.frozen import freeze
from skillkit_core.messages import CustomMessage, blocks_of
from skillkit_core.skills import Skill
from skillkit_core.tools import Tool, ToolContext, ToolOutput

from .agent_skills import ACTIVATE, FIND, skills_of
from .catalogue import whole_rows
from .index import index_of

if TYPE_CHECKING:
    from skillkit_core import AgentRunner, Host
    from skillkit_core.events.types import BeforeAgentStartEvent

__all__ = ["NAMED", "find_tool", "introduction", "named_with_request"]

NAMED = "skills.named"  # the type of the message that names skills
FIRST, LATER = 20, 5  # skills named with the first request, and new ones with each later request
MOST_FOUND = 50
RESULT_CHARS = 8_000


def introduction(count: int) -> str:
    """What the system prompt says of skills that it does not list."""
    return (
        f"{count} skills hold instructions and tools for particular tasks, too many to list here. The best ones for a request "
        f"follow it; {FIND} looks through all of them. When a task fits a description, call {ACTIVATE} with the name first, "
        "unless a tool of the skill does it all."
    )


def named_with_request(event: BeforeAgentStartEvent, agent: AgentRunner) -> Any:
    """The message with the best skills for what was asked, where not all are listed; ``None`` or an awaitable."""
    state = skills_of(agent)
    plan = state.plan(agent.session)
    return _named(agent, event.prompt, state.offered(agent.session), plan.room) if plan.searched else None


async def _named(agent: AgentRunner, prompt: str, skills: Sequence[Skill], room: int) -> BeforeAgentStartResult | None:
    told = _told(agent)
    found = await asyncio.to_thread(index_of(agent.host).search, prompt, skills, FIRST)
    new = [one.skill for one in found[: LATER if told else FIRST] if one.skill.name not in told]
    text, shown = whole_rows(new, room)
    if not shown:
        return None
    said = f"Of {len(skills)} skills these seem to fit best; {FIND} finds others:\n{text}"
    details = {"skills": [skill.name for skill in new[:shown]]}
    message = CustomMessage(
        custom_type=NAMED, content=blocks_of(said), in_context=True, display=False, details=freeze(details)
    )
    return BeforeAgentStartResult(messages=[message])


def _told(agent: AgentRunner) -> set[str]:
    """The skills that messages in the context name already."""
    told: set[str] = set()
    for message in agent.session.context if agent.session is not None else ():
        if isinstance(message, CustomMessage) and message.custom_type == NAMED and isinstance(message.details, Mapping):
            told.update(message.details.get("skills") or ())
    return told


def find_tool(host: Host, skills: Sequence[Skill]) -> Tool:
    """The tool ``find_skills`` over ``skills``."""
    return Tool(
        FIND,
        f"Find skills among the {len(skills)} that are installed, by the words of a task. Do this when none of the skills "
        "named so far fits. The result has names and descriptions.",
        partial(_find, host, skills),
        _PARAMETERS,
        replay="safe",
        annotations=_ANNOTATIONS,
    )


_PARAMETERS = freeze(
    {
        "type": "object",
        "properties": {
            "query": {"type": "string", "description": "What the skill should do, in the words of the task."},
            "limit": {"type": "integer", "minimum": 1, "maximum": MOST_FOUND, "default": 10},
        },
        "required": ["query"],
        "additionalProperties": False,
    }
)
_ANNOTATIONS = freeze({"purpose": "find skills", "mutates": "none"})


async def _find(host: Host, skills: Sequence[Skill], args: Mapping[str, Any], ctx: ToolContext) -> ToolOutput:
    limit = int(args.get("limit") or 10)
    found = await asyncio.to_thread(index_of(host).search, str(args["query"]), skills, MOST_FOUND)
    text, shown = whole_rows([one.skill for one in found[:limit]], RESULT_CHARS)
    details = {"skills": [one.skill.name for one in found[:shown]], "found": len(found)}
    if not found:
        said = f"None of the {len(skills)} skills has any of these words. Try other words for the task."
        return ToolOutput(said, details)
    more = "or more " if len(found) == MOST_FOUND else ""
    rest = f" of {len(found)} {more}that share words with the query; name the task more closely to see others"
    return ToolOutput(f"The best {shown}{rest if len(found) > shown else ''}:\n{text}", details)
