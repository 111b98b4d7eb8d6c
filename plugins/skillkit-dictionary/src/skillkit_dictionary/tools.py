"""The tool ``define_word_tool``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from skillkit_providers import provider_addresses

from skillkit_core import Tool, ToolError, ToolOutput

from .provider import Sense, chosen_dictionary

if TYPE_CHECKING:
    from skillkit_core import Host, ToolContext

__all__ = ["define", "dictionary_tools"]

_WORD = {"type": "string", "minLength": 1, "maxLength": 100, "description": "One word, or a term of several."}
_LIMIT = {"type": "integer", "minimum": 1, "maximum": 50, "default": 8, "description": "Most meanings."}
_SCHEMA = {
    "type": "object",
    "properties": {"word": _WORD, "limit": _LIMIT},
    "required": ["word"],
    "additionalProperties": False,
}


def dictionary_tools(host: Host) -> tuple[Tool, ...]:
    """Return the tool. Its annotation ``host`` is the addresses of the dictionary, where it has any."""
    addresses = provider_addresses(host, "dictionaries", "dictionary.provider")
    facts: dict[str, Any] = {"mutates": "none", "host": addresses} if addresses else {"mutates": "none"}
    about = "Look a word up: its meanings with part of speech, examples, synonyms and opposites."
    return (Tool("define_word_tool", about, f"{__name__}:define", _SCHEMA, replay="safe", annotations=facts),)


async def define(args: Mapping[str, Any], ctx: ToolContext) -> ToolOutput:
    """Say what a word means."""
    word = " ".join(args["word"].split())
    if not word:
        raise ToolError("give a word")
    dictionary = await chosen_dictionary(ctx.agent.host)
    senses = (await dictionary.define(word))[: args.get("limit", 8)]
    lines = [line for n, sense in enumerate(senses, 1) for line in _lines(n, sense)]
    if not senses:
        lines = [f"{dictionary.name} does not know {word!r}."]
    told = "\n".join([*lines, f"(from {dictionary.name})"])
    return ToolOutput(told, details={"word": word, "senses": [asdict(sense) for sense in senses]})


def _lines(number: int, sense: Sense) -> list[str]:
    kind = f"({sense.part_of_speech}) " if sense.part_of_speech else ""
    lines = [f"{number}. {kind}{sense.definition}"]
    lines += [f"   example: {example}" for example in sense.examples]
    lines += [f"   synonyms: {', '.join(sense.synonyms)}"] if sense.synonyms else []
    return lines + ([f"   opposites: {', '.join(sense.opposites)}"] if sense.opposites else [])
