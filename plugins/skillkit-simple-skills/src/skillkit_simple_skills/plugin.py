"""The plugin ``simple-skills``: the tool with which the skill ``help`` looks around. The skills themselves are data."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from skillkit_core import hookimpl
from skillkit_core.tools import Tool

if TYPE_CHECKING:
    from collections.abc import Mapping

TOPIC: Mapping[str, object] = {
    "type": "object",
    "properties": {
        "topic": {"enum": ["skills", "tools", "commands"], "default": "skills", "description": "What to list."},
        "query": {"type": "string", "maxLength": 200, "description": "Words that all occur; empty: everything."},
    },
    "additionalProperties": False,
}


@hookimpl
def register_tools(register: Callable[[Tool], None]) -> None:
    """Offer ``list_capabilities_tool``."""
    about = "List what is installed: the skills with what those need that cannot be used, the tools, or the commands."
    where = "skillkit_simple_skills.capabilities:list_capabilities"
    register(Tool("list_capabilities_tool", about, where, TOPIC, replay="safe", annotations={"mutates": "none"}))
