"""What a model that makes a plan may name in a step: the schema of a step, and the fragments, packs and collaborations here."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from skillkit_engines import StepTargets, catalog_of

if TYPE_CHECKING:
    from skillkit_engines import ToolPack

    from skillkit_core import AgentRunner

__all__ = ["PLAN_PACK", "STEPS_SCHEMA", "targets_of"]

PLAN_PACK = "plan"
"""The pack with which a step reads what was too long for it; the planner gives it, and no model chooses it."""

CHARS = 200  # of a description
_NAMES = {"type": "array", "items": {"type": "string"}}
_COLLABORATION = {
    "type": ["object", "null"],
    "properties": {"participants": _NAMES, "tool_packs": _NAMES},
    "required": ["participants", "tool_packs"],
    "additionalProperties": False,
}
_STEP = {
    "type": "object",
    "properties": {
        "step_id": {"type": "integer"},
        "skill_name": {"type": ["string", "null"]},
        "subgraph_name": {"type": ["string", "null"]},
        "collaboration": _COLLABORATION,
        "sub_query": {"type": "string"},
        "depends_on": {"type": "array", "items": {"type": "integer"}},
        "tool_packs": _NAMES,
    },
    "required": [
        "step_id", "skill_name", "subgraph_name", "collaboration", "sub_query", "depends_on", "tool_packs"
    ],
    "additionalProperties": False,
}  # fmt: skip
STEPS_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {"steps": {"type": "array", "items": _STEP}},
    "required": ["steps"],
    "additionalProperties": False,
}


def targets_of(agent: AgentRunner) -> StepTargets | None:
    """Return what a step may name beside a skill; ``None``: nothing, a step is always one skill."""
    text = "\n".join(_lines(agent))
    return StepTargets(_STEP, text) if text else None


def _lines(agent: AgentRunner) -> Iterator[str]:
    catalog, offered = catalog_of(agent.host), {tool.name for tool in agent.tools}
    fragments = [one for one in catalog.fragments.values() if not one.tools or offered.intersection(one.tools)]
    if fragments:
        yield "Fragments. One does a step where it is all that the step needs: subgraph_name in place of skill_name."
        yield from (f"- {one.name}: {_short(one.description)}" for one in fragments)
    packs = [one for one in catalog.packs.values() if one.name != PLAN_PACK and _useful(one, offered)]
    if packs:
        yield "Packs of tools. A step may add them to the tools of its skill: tool_packs."
        yield from (f"- {one.name}: {_short(one.description)}" for one in packs)
    if agent.host.impls("run_collaboration"):
        yield (
            "Where the request wants two or more skills to work on one text together, until one approves of it, a step has "
            'collaboration in place of skill_name: {"participants": ["NAME", "NAME"], "tool_packs": [packs for all of them]}.'
        )


def _useful(pack: ToolPack, offered: Collection[str]) -> bool:
    """Return whether a pack would give a step anything, and all that the pack needs is there."""
    return any(name in offered for name in pack.tools) and all(
        name in offered for name in pack.tools if name not in pack.optional
    )


def _short(text: str) -> str:
    return " ".join(text.split())[:CHARS]
