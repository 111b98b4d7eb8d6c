"""The tool "acme": a model learns how long a text takes to read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from skillkit_core import Tool, ToolContext, ToolError, hookimpl

WORDS_PER_MINUTE = 230
PARAMETERS = {
    "type": "object",
    "properties": {"text": {"type": "string", "description": "the text to read"}},
    "required": ["text"],
    "additionalProperties": False,
}


@hookimpl
def register_tools(register: Callable[[Tool], None]) -> None:
    """Offer the tool. Its annotations tell guards what it touches: nothing."""
    about = "How long a text takes to read."
    register(Tool("acme", about, acme_tool, PARAMETERS, annotations={"mutates": "none"}))


async def acme_tool(args: Mapping[str, Any], ctx: ToolContext) -> str:
    """Return what the model reads. The arguments fit ``PARAMETERS``, and a ``ToolError`` is what the model can mend."""
    words = len(args["text"].split())
    if not words:
        raise ToolError("there are no words in the text")
    return f"{words} words, about {max(1, round(words / WORDS_PER_MINUTE))} min"
