"""The model definitions: those of ``models.json``, and what the configuration adds and corrects.

The data are JSON because that loads nearly a hundred times faster than YAML, diffs line by line (one model, one line) and
can be read by other programs. A cache price that is missing there counts as the input price, so that a cost is never shown
too low because of it. ``cost: null`` means that the price is not known.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skillkit_core.frozen import thaw
from skillkit_core.models import ModelCost, ModelDefinition

if TYPE_CHECKING:
    from .config import CatalogConfig, Override

__all__ = ["ProviderFacts", "builtin", "definition", "definitions", "find", "own_model", "providers"]

_DATA = Path(__file__).with_name("models.json")


@dataclass(frozen=True, slots=True)
class ProviderFacts:
    """Where the facts about a provider's models come from, and the month (``YYYY-MM``) they were true."""

    provider: str
    api: str
    source: str
    as_of: str
    models: tuple[ModelDefinition, ...]


@cache
def providers() -> tuple[ProviderFacts, ...]:
    """The built-in data, as in ``models.json``."""
    return tuple(
        ProviderFacts(
            group["provider"],
            group["api"],
            group["source"],
            group["as_of"],
            tuple(definition(entry, group["provider"], group["api"]) for entry in group["models"]),
        )
        for group in json.loads(_DATA.read_bytes())
    )


@cache
def builtin() -> tuple[ModelDefinition, ...]:
    """The built-in models, in the order of the file."""
    return tuple(model for facts in providers() for model in facts.models)


def cost_of(given: Mapping[str, float] | None) -> ModelCost | None:
    """A price; missing cache prices are the input price."""
    if given is None:
        return None
    price = given["input"]
    return ModelCost(price, given["output"], given.get("cache_read", price), given.get("cache_write", price))


def definition(entry: Mapping[str, Any], provider: str = "", api: str = "") -> ModelDefinition:
    """One entry as a definition; ``provider`` and ``api`` are those of its group. A ``note`` goes into the options."""
    capabilities = set(entry.get("capabilities", ("text", "tool_use")))
    reasoning = bool(entry.get("reasoning", "reasoning" in capabilities))
    note = {"note": entry["note"]} if entry.get("note") else {}
    return ModelDefinition(
        id=entry["id"],
        provider=entry.get("provider", provider),
        api=entry.get("api") or api,
        display_name=entry.get("display_name") or "",
        context_window=entry.get("context_window") or 0,
        max_output_tokens=entry.get("max_output_tokens") or 0,
        cost=cost_of(entry.get("cost")),
        capabilities=capabilities | ({"reasoning"} if reasoning else set()),
        reasoning=reasoning,
        thinking_levels=entry.get("thinking_levels") or {},
        aliases=tuple(entry.get("aliases", ())),
        options={**(entry.get("options") or {}), **note},
    )


def find(name: str) -> ModelDefinition | None:
    """The built-in model called ``name``: ``provider/id``, an id or an alias."""
    for model in builtin():
        if name == f"{model.provider}/{model.id}":
            return model
    return next((m for m in builtin() if name == m.id or name in m.aliases), None)


def definitions(config: CatalogConfig | None) -> list[ModelDefinition]:
    """Every model that this plugin offers: the built-in ones as overridden, replaced by or followed by the user's own."""
    found = {(m.provider, m.id): m for m in builtin()}
    if config is not None:
        for name, change in config.overrides.items():
            model = find(name)
            if model is not None:
                found[model.provider, model.id] = _changed(model, change)
        found |= {(m.provider, m.id): m for m in _own(config)}
    return list(found.values())


def own_model(config: CatalogConfig | None, name: str, provider: str | None) -> ModelDefinition | None:
    """The user's own model called ``name`` (of ``provider``), or ``None``."""
    if config is None or not config.models:
        return None
    for model in _own(config):
        names = {model.id, *model.aliases}
        full = {f"{model.provider}/{n}" for n in names}
        if name in full or (name in names and provider in (None, model.provider)):
            return model
    return None


def _own(config: CatalogConfig) -> list[ModelDefinition]:
    return [definition(entry.model_dump(exclude_none=True)) for entry in config.models]


def _changed(model: ModelDefinition, change: Override) -> ModelDefinition:
    given = change.model_dump(exclude_unset=True)
    if "cost" in given:
        given["cost"] = (
            None if given["cost"] is None else cost_of({k: v for k, v in given["cost"].items() if v is not None})
        )
    if "options" in given:
        given["options"] = {**thaw(model.options), **given["options"]}
    if "capabilities" in given:
        given["reasoning"] = given.get("reasoning", "reasoning" in given["capabilities"])
    return replace(model, **given)
