"""The estimate for one model: texts, messages, tools, schemas and images, each weighed by the table of its family."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from skillkit_core.frozen import thaw
from skillkit_core.messages import DocumentBlock, ImageBlock, ProviderBlock, ThinkingBlock, ToolCall
from skillkit_core.models import ModelDefinition

from .families import OTHER, family_of, table, tokenizer_of
from .images import document_tokens, image_tokens
from .pieces import named, weigh
from .shape import parts_of_schema, parts_of_text, parts_of_tools

if TYPE_CHECKING:
    from skillkit_core.messages import AgentMessage
    from skillkit_core.tools import Tool

__all__ = ["Estimate", "estimate_text", "of_request"]


RECORDED_MEDIA = 220  # an image or document of the recorded requests, whose sizes are not told: they are small


class Estimate:
    """Estimates the input tokens of requests to one model.

    Attributes:
        family: the row of the table of weights.
        margin: the relative error of half of the estimates for unseen requests to this tokenizer; ``None``: the tokenizer is
            not known, and the estimate is a guess.
    """

    def __init__(self, model: ModelDefinition) -> None:
        self.model = model
        self.family = family_of(model.id, model.provider, model.api)
        self._weights: Mapping[str, float] = table()["weights"][self.family]
        self._pieces = _pieces_of(self.family)
        errors = table()["error"]
        measured = errors.get(f"family {tokenizer_of(model.id, model.provider, model.api)}", errors["all"])
        known = self.family != OTHER
        self.margin: float | None = (
            max(measured["median"], errors["all"]["median"]) if known else None
        )  # few rows say little

    def text(self, text: str) -> int:
        """Return the tokens of a text alone."""
        return round(weigh(text, self._pieces))

    def message(self, message: AgentMessage) -> int:
        """Return the tokens of one message: its blocks, and what a chat template puts around them."""
        total = self._weights["messages"]
        for block in message.content:
            if isinstance(block, ToolCall):
                arguments = block.raw_args or json.dumps(thaw(block.args), ensure_ascii=False)
                total += self._weights["calls"] + weigh(f"{block.name}\n{arguments}", self._pieces)
            elif isinstance(block, ThinkingBlock):
                total += weigh(block.thinking or block.data or "", self._pieces)
            elif isinstance(block, ImageBlock):
                total += image_tokens(self.model.id, block)
            elif isinstance(block, DocumentBlock):
                total += document_tokens(self.model.id, block, self._pieces)
            elif isinstance(block, ProviderBlock):
                total += weigh(json.dumps(thaw(block.data), ensure_ascii=False), self._pieces)
            elif isinstance(text := getattr(block, "text", None), str):
                total += weigh(text, self._pieces)
        return round(total)

    def prompt(self, system: str, tools: Sequence[Tool], schema: Mapping[str, Any] | None = None) -> int:
        """Return the tokens of what stands before the messages: template, system prompt, tools, and the schema of the answer."""
        total = self._weights["base"]
        if system:
            total += self._weights["messages"] + weigh(system, self._pieces)
        if tools:
            total += self._weigh(_parts_of_tools(tuple([(t.name, t.description, t.parameters) for t in tools])))
        if schema:
            total += self._weigh(parts_of_schema(schema))
        return max(0, round(total))

    def _weigh(self, parts: Mapping[str, float]) -> float:
        return sum(n * self._weights.get(name, 0.0) for name, n in parts.items())


@lru_cache(16)  # most sessions of a host have the same tools
def _parts_of_tools(tools: tuple[tuple[str, str, Mapping[str, Any]], ...]) -> Mapping[str, float]:
    return parts_of_tools({"name": name, "description": text, "parameters": given} for name, text, given in tools)


@cache
def _pieces_of(family: str) -> tuple[float, ...]:
    return named(table()["weights"][family])


def estimate_text(text: str) -> int:
    """Return the tokens of a text for a model that is not known."""
    return round(weigh(text, _pieces_of(OTHER)))


def of_request(text: str, info: Mapping[str, Any]) -> float:
    """Return the estimated tokens of a recorded request.

    Args:
        text: system and messages (``info["said_chars"]`` characters), then a line of JSON for each tool and for a schema.
        info: ``model``, ``provider``, ``api``, ``messages``, ``tools``, ``media``, ``schema``, ``said_chars``.
    """
    model = ModelDefinition(info["model"], info["provider"], info["api"])
    weights: Mapping[str, float] = table()["weights"][family_of(model.id, model.provider, model.api)]
    parts = recorded_parts(text, info)
    total = sum(n * weights.get(name, 0.0) for name, n in parts.items())
    total += int(info["media"]) * RECORDED_MEDIA
    return max(1.0, total)


def recorded_parts(text: str, info: Mapping[str, Any]) -> Mapping[str, int]:
    """Return the parts of a recorded request, see :func:`of_request`."""
    said = text[: info["said_chars"]]
    lines = (
        [json.loads(line) for line in text[len(said) :].split("\n") if line] if info["tools"] or info["schema"] else []
    )
    tools = lines[: info["tools"]]
    parts = parts_of_text(said) + parts_of_tools(tools)
    if info["schema"]:
        parts += parts_of_schema(lines[info["tools"]])
    names = {tool.get("name") for tool in tools}
    parts["base"], parts["messages"] = 1, info["messages"]
    parts["calls"] = sum(line in names for line in said.split("\n"))  # a call is its tool's name, then its arguments
    return parts
