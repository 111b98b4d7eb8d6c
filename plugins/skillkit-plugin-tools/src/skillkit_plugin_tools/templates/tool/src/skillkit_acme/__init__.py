"""The tool "acme": a model learns how long a text takes to read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from skillkit_core import ConfigSection, Tool, ToolContext, ToolError, hookimpl
from skillkit_core.config import setting

PARAMETERS = {
    "type": "object",
    "properties": {"text": {"type": "string", "description": "the text to read"}},
    "required": ["text"],
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True)
class Settings:
    """The section "acme" of the configuration."""

    words_per_minute: int = setting(230, "how many words a person reads in a minute", ge=1)


@hookimpl
def register_config(register: Callable[[ConfigSection], None]) -> None:
    """Declare what people can set."""
    register(ConfigSection("acme", Settings))


@hookimpl
def register_tools(register: Callable[[Tool], None]) -> None:
    """Offer the tool. Its annotations tell guards what it touches: nothing."""
    about = "How long a text takes to read."
    register(Tool("acme", about, acme_tool, PARAMETERS, annotations={"mutates": "none"}))


async def acme_tool(args: Mapping[str, Any], ctx: ToolContext) -> str:
    """Return what the model reads. The arguments fit ``PARAMETERS``."""
    return time_to_read(args["text"], ctx.agent.host.config.section("acme"))


def time_to_read(text: str, settings: Settings) -> str:
    """Return how long a text takes. A ``ToolError`` is what the model can mend."""
    words = len(text.split())
    if not words:
        raise ToolError("there are no words in the text")
    return f"{words} words, about {max(1, round(words / settings.words_per_minute))} min"
