"""``request_tools``: a model gets a pack of tools for its next answer. It never gets what its run may not use."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from skillkit_engines import ToolPack, catalog_of, settings_of

from skillkit_core.errors import ToolError
from skillkit_core.messages import ToolResultMessage, UserMessage
from skillkit_core.tools import Tool, ToolContext, ToolOutput

from .events import ToolsRequestedEvent

if TYPE_CHECKING:
    from skillkit_core import AgentRunner, Host

__all__ = ["best_pack", "request_tools", "tools_for"]

_WORD = re.compile(r"[a-z0-9]+")
_EMPTY = frozenset(
    ("a", "an", "and", "for", "i", "in", "is", "me", "my", "of", "on", "or", "some", "the", "to", "tool", "with")
)


async def request_tools(args: Mapping[str, Any], ctx: ToolContext) -> ToolOutput:
    """Return which tools the model has in its next answer.

    Raises:
        ToolError: no pack fits, none of its tools may be used here, or the run has got as many packs as it may.
    """
    agent = ctx.agent
    most, count = settings_of(agent.host).request_tools, _got(agent)
    pack = _pack(agent.host, args)
    offered = {tool.name for tool in agent.tools}
    names = tuple(name for name in pack.tools if name in offered) if pack is not None else ()
    reason = _refusal(agent.host, pack, names, count, most)
    about = {"pack": pack.name if pack is not None else "", "why": str(args.get("why") or "")}
    given = () if reason else names
    event = agent.events.make(ToolsRequestedEvent, **about, tools=given, reason=reason, count=count + (not reason))
    await agent.events.emit(event)
    if reason or pack is None:
        raise ToolError(reason)
    missing = [name for name in pack.tools if name not in offered]
    more = f" Not installed or not allowed here: {', '.join(missing)}." if missing else ""
    left = most - count - 1
    text = f"In your next answer you can also call: {', '.join(names)}.{more} You can ask for {left} more packs."
    return ToolOutput(text, {"pack": pack.name, "tools": list(names)})


def _refusal(host: Host, pack: ToolPack | None, names: tuple[str, ...], count: int, most: int) -> str:
    """Return why a model gets nothing; empty: it does."""
    if count >= most:
        return f"This run has got {count} packs of tools, and may get no more. Go on with what you have."
    if pack is None:
        known = ", ".join(sorted(catalog_of(host).packs))
        return f"No pack of tools fits. The packs: {known}."
    if not names:
        return f"None of the tools of {pack.name} is installed and allowed here ({', '.join(pack.tools)})."
    return ""


def _pack(host: Host, args: Mapping[str, Any]) -> ToolPack | None:
    packs = catalog_of(host).packs
    if args.get("pack"):
        return packs.get(str(args["pack"]))
    return best_pack(tuple(packs.values()), str(args.get("query") or ""))


def best_pack(packs: tuple[ToolPack, ...], query: str) -> ToolPack | None:
    """Return the pack whose name, tools and description share most words with a query; ``None``: none shares any."""
    words = _words(query)
    scored = [(_score(pack, words), pack) for pack in packs]
    best = max(scored, key=lambda one: one[0], default=None)
    return best[1] if best is not None and best[0] > 0 else None


def _score(pack: ToolPack, words: frozenset[str]) -> float:
    name, about = _words(pack.name), _words(f"{pack.description} {' '.join(pack.tools)}")
    return 2 * len(words & name) + len(words & about)


def _words(text: str) -> frozenset[str]:
    found = _WORD.findall(text.lower().replace("_", " "))
    return frozenset(word[:-1] if word.endswith("s") and len(word) > 3 else word for word in found) - _EMPTY


def _got(agent: AgentRunner) -> int:
    """Return how many packs the run has got: results since its input, so that a resumed run counts on."""
    count = 0
    for message in reversed(agent.messages):
        if isinstance(message, UserMessage) and message.source != "steer":
            break
        if isinstance(message, ToolResultMessage) and message.tool_name == "request_tools" and not message.is_error:
            count += 1
    return count


def tools_for(host: Host) -> tuple[Tool, ...]:
    """Return ``request_tools``, with the names of the packs that it can bring; nothing where no model needs it."""
    here = {entry.item.name for entry in host.tools.entries()}
    filled = [pack for pack in catalog_of(host).packs.values() if not here.isdisjoint(pack.tools)]
    named = any("request_tools" in (*skill.tools, *skill.optional_tools) for skill in host.skills.items())
    if not named and not any(pack.waits for pack in filled):
        return ()
    known = f" The packs: {', '.join(sorted(pack.name for pack in filled))}." if filled else ""
    about = "Ask for more tools where yours do not suffice: name a pack, or say what you need. You have them in your next answer."
    return (
        Tool(
            "request_tools", about + known, f"{__name__}:request_tools",
            {
                "type": "object",
                "properties": {
                    "pack": {"type": "string", "description": "Name of a pack."},
                    "query": {"type": "string", "description": "What you need, in words, where you know no name."},
                    "why": {"type": "string", "description": "What for."},
                },
                "additionalProperties": False,
            },
            sequential=True, annotations={"mutates": "none", "grants": True},
        ),
    )  # fmt: skip
