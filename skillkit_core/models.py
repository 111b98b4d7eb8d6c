"""Models: definitions, prices and token usage."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from operator import add, attrgetter
from typing import Any

from .fields import check_fields
from .frozen import EMPTY, FrozenDict, freeze

__all__ = ["ModelCost", "ModelDefinition", "TokenUsage"]


@dataclass(frozen=True, slots=True)
class ModelCost:
    """Price of a model.

    Attributes:
        input: US dollars per million input tokens that were not cached.
        output: the same for output and reasoning tokens.
        cache_read: the same for input tokens that were cached.
        cache_write: the same for input tokens that were put into the cache.
        tiers: prices of longer prompts, the shortest first; a tier is paid for all tokens of its request.
        above: of a tier: the prompt has more tokens than this, cached ones included.
    """

    input: float
    output: float
    cache_read: float = 0.0
    cache_write: float = 0.0
    tiers: tuple[ModelCost, ...] = ()
    above: int = 0

    def at(self, prompt: int) -> ModelCost:
        """Return the prices of a request whose prompt has ``prompt`` tokens."""
        return next((tier for tier in reversed(self.tiers) if prompt > tier.above), self)

    def to_dict(self) -> dict[str, Any]:
        """Return the prices as JSON output shows them, without ``tiers`` where there are none."""
        more = {"tiers": [tier.to_dict() | {"above": tier.above} for tier in self.tiers]} if self.tiers else {}
        return {name: getattr(self, name) for name in BUCKETS[:4]} | more


BUCKETS = ("input", "output", "cache_read", "cache_write", "reasoning")
_counts = attrgetter(*BUCKETS)


@dataclass(frozen=True, slots=True)
class TokenUsage:
    """Tokens of one or more requests, in disjoint buckets (spec, section 12).

    Attributes:
        input: input tokens that were not cached.
        output: output tokens, without ``reasoning`` where the provider reports it.
        cache_read: input tokens that were cached.
        cache_write: input tokens that were put into the cache.
        reasoning: tokens of thinking, paid at the output price.
        raw: the provider's own numbers of a single request, unchanged.
    """

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    reasoning: int = 0
    raw: Mapping[str, Any] = EMPTY

    def __post_init__(self) -> None:
        if type(self.raw) is not FrozenDict:
            object.__setattr__(self, "raw", freeze(self.raw))

    @property
    def total(self) -> int:
        """All tokens of all buckets."""
        return self.input + self.output + self.cache_read + self.cache_write + self.reasoning

    @property
    def prompt(self) -> int:
        """The tokens of the prompt, cached ones included."""
        return self.input + self.cache_read + self.cache_write

    def __add__(self, other: TokenUsage) -> TokenUsage:
        return TokenUsage(*map(add, _counts(self), _counts(other)))

    def to_dict(self) -> dict[str, Any]:
        """Return the buckets and the total, as JSON output shows them."""
        return {**{name: getattr(self, name) for name in BUCKETS}, "total": self.total}


@dataclass(frozen=True, slots=True)
class ModelDefinition:
    """The definition of one model.

    Attributes:
        id: the name that the provider's wire uses.
        provider: name of a provider (``host.adapters``).
        api: the wire protocol, one of its provider's ``apis`` or another name for it; empty: the provider's default.
        display_name: name for people; default: ``id``.
        context_window: most tokens of input and output together; 0: unknown.
        max_output_tokens: most tokens of one answer; 0: unknown.
        cost: dollars per million tokens; ``None``: unknown.
        capabilities: of ``text``, ``image``, ``pdf``, ``audio``, ``reasoning``, ``tool_use``, ``structured_output``.
        reasoning: the model can think before it answers.
        thinking_levels: level (``off`` .. ``xhigh``) to the wire's value for it (an effort word or a budget). Levels that a table
            lacks are refused, except ``off``. Empty: the levels are unknown.
        aliases: other names that resolve to this model.
        options: adapter-specific facts, for example parameters that the model refuses.

    Raises:
        UsageError: a value is of a wrong type.
    """

    id: str
    provider: str = ""
    api: str = ""
    display_name: str = ""
    context_window: int = 0
    max_output_tokens: int = 0
    cost: ModelCost | None = None
    capabilities: frozenset[str] | set[str] = frozenset({"text", "tool_use"})
    reasoning: bool = False
    thinking_levels: Mapping[str, Any] = EMPTY
    aliases: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default=EMPTY)

    def __post_init__(self) -> None:
        check_fields(self, f"model {self.id!r}")
        set_ = object.__setattr__
        if not self.display_name:
            set_(self, "display_name", self.id)
        set_(self, "capabilities", frozenset(self.capabilities))
        set_(self, "aliases", tuple(self.aliases))
        set_(self, "thinking_levels", freeze(self.thinking_levels))
        set_(self, "options", freeze(self.options))

    def cost_of(self, usage: TokenUsage) -> float | None:
        """Return the dollars for ``usage`` of one request, or ``None`` when the price is unknown."""
        if self.cost is None:
            return None
        c = self.cost.at(usage.prompt)
        paid = usage.input * c.input + (usage.output + usage.reasoning) * c.output
        return (paid + usage.cache_read * c.cache_read + usage.cache_write * c.cache_write) / 1_000_000

    def to_dict(self) -> dict[str, Any]:
        """Return the definition as JSON output shows it."""
        return {
            "id": self.id, "provider": self.provider, "api": self.api, "display_name": self.display_name,
            "context_window": self.context_window or None, "max_output_tokens": self.max_output_tokens or None,
            "cost": None if self.cost is None else self.cost.to_dict(), "capabilities": sorted(self.capabilities),
            "reasoning": self.reasoning, "aliases": list(self.aliases),
        }  # fmt: skip
