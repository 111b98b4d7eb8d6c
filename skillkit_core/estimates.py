"""How many tokens a text, a message or a request may have, as long as no provider has counted them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from .descriptors import load_object
from .messages import AgentMessage, DocumentBlock, ImageBlock, ProviderBlock, ThinkingBlock, ToolCall
from .models import ModelDefinition, TokenUsage
from .tools import Tool

if TYPE_CHECKING:
    from .contracts.adapter import LLMRequest
    from .host.manager import Host

CHARACTERS = 4
MESSAGE_OVERHEAD = 4
IMAGE_TOKENS = 1_200


def estimate_tokens(text: str) -> int:
    """Return the estimated tokens of a text: four characters to a token, rounded up."""
    return (len(text) + CHARACTERS - 1) // CHARACTERS


def estimate_message(message: AgentMessage, estimate: Callable[[str], int] = estimate_tokens) -> int:
    """Return the estimated tokens of one message."""
    total = MESSAGE_OVERHEAD
    for block in message.content:
        text = getattr(block, "text", None)
        if isinstance(text, str):
            total += estimate(text)
        elif isinstance(block, ToolCall):
            total += estimate(block.raw_args or str(block.args)) + estimate(block.name)
        elif isinstance(block, ThinkingBlock):
            total += estimate(block.thinking) + estimate(block.data or "")
        elif isinstance(block, (ImageBlock, DocumentBlock)):
            total += IMAGE_TOKENS
        elif isinstance(block, ProviderBlock):
            total += estimate(str(block.data))
    return total


class Estimator:
    """The estimate of texts alone: a message is the sum of its texts, and so are system prompt and tools.

    Attributes:
        margin: the relative error of half of the estimates, ``None`` where nobody measured it.
    """

    margin: float | None = None

    def __init__(self, text: Callable[[str], int] = estimate_tokens) -> None:
        self.text = text

    def message(self, message: AgentMessage) -> int:
        """Return the tokens of one message."""
        return estimate_message(message, self.text)

    def prompt(self, system: str, tools: Sequence[Tool]) -> int:
        """Return the tokens of what stands before the messages."""
        return self.text(system) + sum(self.text(f"{t.name}{t.description}{dict(t.parameters)}") for t in tools)


def estimator_for(host: Host, model: ModelDefinition | None) -> Estimator:
    """Return what the first registered estimator whose pattern fits a model makes, else :class:`Estimator`."""
    from fnmatch import fnmatchcase

    model = model or ModelDefinition("")
    offered = sorted((e.item for e in host.token_estimators.entries()), key=lambda item: "*" in item.models)
    for item in offered:
        if any(fnmatchcase(model.id, pattern) for pattern in item.models):
            found: Estimator = Estimator(load_object(item.estimate))
            return found if item.create is None else load_object(item.create)(model)
    return Estimator()


def estimate_usage(host: Host, request: LLMRequest, answer: AgentMessage) -> TokenUsage:
    """Return what a request with this answer, or the part of it that has arrived, may have used."""
    estimator = estimator_for(host, request.model)
    prompt = estimator.prompt(request.system, request.tools) + sum(map(estimator.message, request.messages))
    return TokenUsage(input=prompt, output=estimator.message(answer) if answer.content else 0)
