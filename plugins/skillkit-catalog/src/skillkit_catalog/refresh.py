"""What is newer than the catalogue: in the release of ``genai-prices`` that is installed, or in a provider's own list.

Source of the prices: https://github.com/pydantic/genai-prices. Its windows fill gaps only, because many of them are rounded.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any

from skillkit_core.errors import SkillKitError

if TYPE_CHECKING:
    from genai_prices.types import ModelInfo, ModelPrice, TieredPrices

    from skillkit_core import ModelCost, ModelDefinition

__all__ = ["COMPARED", "Found", "from_genai_prices", "from_list", "genai_cost", "genai_model"]

COMPARED = "0.2.3"  # the release of genai-prices that models.json was compared with
_PROVIDERS = {"google-openai": "google", "xai": "x-ai"}  # their name where it is not ours
_PRICES = {
    "input": "input_mtok",
    "output": "output_mtok",
    "cache_read": "cache_read_mtok",
    "cache_write": "cache_write_mtok",
}


@dataclass(slots=True)
class Found:
    """What would change.

    Attributes:
        source: where the facts come from.
        looked_at: the number of models that the source knows.
        models: ``provider/id`` to the new facts.
        changes: a row a fact: model, field, what is known now, what would be; ``None`` is unknown.
    """

    source: str
    looked_at: int = 0
    models: dict[str, dict[str, Any]] = field(default_factory=dict)
    changes: list[tuple[str, str, Any, Any]] = field(default_factory=list)

    def compare(self, name: str, now: ModelDefinition | None, new: Mapping[str, Any]) -> None:
        """Add what ``new`` says differently about the model that is known as ``now``."""
        self.looked_at += 1
        known: dict[str, Any] = {}
        if now is not None:
            known = {"context_window": now.context_window or None, "max_output_tokens": now.max_output_tokens or None}
            known["cost"] = None if now.cost is None else now.cost.to_dict()
        facts: dict[str, Any] = {}
        for fact in ("context_window", "max_output_tokens", "cost"):
            value = new.get(fact)
            if value and value != known.get(fact):
                facts[fact] = value
                self.changes.append((name, fact, known.get(fact), value))
        if now is None and not facts:
            self.changes.append((name, "model", None, "new"))
        if facts or now is None:
            if now is None:
                facts = {
                    **{key: new[key] for key in ("id", "provider", "api", "capabilities") if new.get(key)},
                    **facts,
                }
            self.models[name] = {**facts, "source": self.source, "as_of": date.today().isoformat()}


def from_genai_prices(models: Iterable[ModelDefinition]) -> Found:
    """What the installed ``genai-prices`` says about ``models``; those that have ended are left as they were.

    Raises:
        SkillKitError: the package is not installed, or older than what the built-in data were compared with.
    """
    from importlib.metadata import PackageNotFoundError, version

    from .notices import has_ended

    hint = "pip install --upgrade 'skillkit-catalog[refresh]', or name a provider with --provider"
    try:
        release = version("genai-prices")
    except PackageNotFoundError:
        raise SkillKitError("the package genai-prices is not installed", hint=hint) from None
    if _numbers(release) < _numbers(COMPARED):
        raise SkillKitError(f"genai-prices {release} is older than {COMPARED}, which the catalogue is from", hint=hint)
    found = Found(f"genai-prices {release}")
    for model in models:
        info = None if has_ended(model) else genai_model(model)
        if info is None:
            continue
        new: dict[str, Any] = {} if model.context_window else {"context_window": info.context_window}
        if (cost := genai_cost(info)) is not None:
            new["cost"] = _kept(model.cost, cost).to_dict()
        found.compare(f"{model.provider}/{model.id}", model, new)
    return found


def _kept(now: ModelCost | None, cost: ModelCost) -> ModelCost:
    """The price of a gateway's list, with our price of cache writes where the list has the storage alone."""
    from dataclasses import replace

    if now is None or cost.cache_write >= cost.input:
        return cost
    tiers = tuple(replace(tier, cache_write=max(tier.cache_write, tier.input)) for tier in cost.tiers)
    return replace(cost, cache_write=cost.input, tiers=tiers)


def from_list(provider: str, listed: Iterable[ModelDefinition], known: Mapping[str, ModelDefinition]) -> Found:
    """What the list of a provider's endpoint says; models that are not ``known`` are new ones.

    A new model that the list does not describe gets its window alone: adapters take a model without any description for one
    that can do everything.
    """
    from .catalog import modalities

    found = Found(f"the list of {provider}")
    for model in listed:
        name = f"{model.provider}/{model.id}"
        now = known.get(name)
        said = (about for about in (now, model) if about is not None)
        described = any(m.cost is not None or m.reasoning or len(modalities(m)["input"]) > 1 for m in said)
        new = {"id": model.id, "provider": model.provider, "api": model.api, "context_window": model.context_window}
        if described:
            new["max_output_tokens"] = model.max_output_tokens
            new["cost"] = None if model.cost is None else model.cost.to_dict()
            new["capabilities"] = sorted(model.capabilities)
        if now is not None and now.cost is not None and now.cost.tiers and model.cost is not None:
            del new["cost"]  # lists name the price of short prompts only
        found.compare(name, now, new)
    return found


def genai_model(model: ModelDefinition) -> ModelInfo | None:
    """The entry of the installed ``genai-prices`` for a model, or ``None``."""
    from genai_prices.data_snapshot import get_snapshot

    provider = _PROVIDERS.get(model.provider, model.provider)
    try:
        return get_snapshot().find_provider_model(model.id, None, provider, None)[1]
    except LookupError:
        return None


def genai_cost(info: ModelInfo, day: date | None = None) -> ModelCost | None:
    """An entry's price on ``day`` (default: today); one that changes with the hour is the dearest. ``None``: none per token."""
    day = day or datetime.now(UTC).date()
    prices = [info.get_prices(datetime(day.year, day.month, day.day, hour, 30, tzinfo=UTC)) for hour in range(24)]
    costs = [cost for cost in map(_cost, prices) if cost is not None]
    return max(costs, key=lambda cost: (cost.input, cost.output), default=None)


def _cost(prices: ModelPrice) -> ModelCost | None:
    from .catalog import cost_of

    given = {ours: value for ours, theirs in _PRICES.items() if (value := getattr(prices, theirs)) is not None}
    if not {"input", "output"} <= set(given):
        return None
    starts = sorted({tier.start for value in given.values() for tier in getattr(value, "tiers", ())})
    tiers = [{"above": start, **{name: _at(value, start) for name, value in given.items()}} for start in starts]
    return cost_of({**{name: _at(value, None) for name, value in given.items()}, "tiers": tiers})


def _at(value: Any, start: int | None) -> float:
    """The price from the tier that starts at ``start`` on; ``None``: of short prompts."""
    price = getattr(value, "base", value)
    if start is not None:
        tiered: TieredPrices = value
        for tier in getattr(tiered, "tiers", ()):
            price = tier.price if tier.start <= start else price
    number = float(price)
    return int(number) if number.is_integer() else number


def _numbers(release: str) -> tuple[int, ...]:
    return tuple(int(part) for part in release.split(".")[:3] if part.isdigit())
