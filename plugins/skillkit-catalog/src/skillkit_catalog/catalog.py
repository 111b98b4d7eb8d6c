"""The model definitions: those of ``models.json``, and what ``models refresh`` has kept.

The data are JSON because that loads nearly a hundred times faster than YAML, diffs line by line (one model, one line) and
can be read by other programs. A cache price that is missing there counts as the input price, so that a cost is never shown
too low because of it. ``cost: null`` means that the price is not known. A price that changes with the hour is the dearest.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from skillkit_core.errors import SkillKitError
from skillkit_core.models import ModelCost, ModelDefinition

__all__ = [
    "ProviderFacts",
    "builtin",
    "definition",
    "find",
    "modalities",
    "named",
    "overlay_path",
    "providers",
    "refreshed",
]

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


def cost_of(given: Mapping[str, Any] | None) -> ModelCost | None:
    """A price; missing cache prices are the input price."""
    if given is None:
        return None
    tiers = sorted(given.get("tiers") or (), key=lambda tier: int(tier["above"]))
    return ModelCost(*_prices(given), tuple(ModelCost(*_prices(tier), above=tier["above"]) for tier in tiers))


def _prices(given: Mapping[str, Any]) -> tuple[float, float, float, float]:
    price = given["input"]
    read, write = given.get("cache_read"), given.get("cache_write")
    return price, given["output"], price if read is None else read, price if write is None else write


def definition(entry: Mapping[str, Any], provider: str = "", api: str = "") -> ModelDefinition:
    """One entry as a definition; ``provider`` and ``api`` are those of its group.

    The options also hold its ``note``, and ``deprecated``: ``since``, ``retires`` (dates, ``YYYY-MM-DD``) and ``successor``.
    """
    capabilities = set(entry.get("capabilities", ("text", "tool_use")))
    reasoning = bool(entry.get("reasoning", "reasoning" in capabilities))
    more = {name: entry[name] for name in ("note", "deprecated") if entry.get(name)}
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
        options={**(entry.get("options") or {}), **more},
    )


def modalities(model: ModelDefinition) -> dict[str, list[str]]:
    """What goes into a request and what comes back, of ``text``, ``image``, ``pdf`` and ``audio``."""
    return {
        "input": [kind for kind in ("text", "image", "pdf", "audio") if kind in model.capabilities],
        "output": ["text"],
    }


def find(name: str) -> ModelDefinition | None:
    """The built-in model called ``name``: ``provider/id``, an id or an alias."""
    return named(builtin(), name)


def named(models: Iterable[ModelDefinition], name: str) -> ModelDefinition | None:
    """The one of ``models`` called ``name``: ``provider/id``, an id or an alias."""
    all_ = tuple(models)
    for model in all_:
        if name == f"{model.provider}/{model.id}":
            return model
    return next((m for m in all_ if name == m.id), None) or next((m for m in all_ if name in m.aliases), None)


def overlay_path(data_dir: Path) -> Path:
    """The file that ``models refresh`` keeps: ``{"models": {"provider/id": facts}}``.

    The facts are as in ``models.json``, with ``source`` and ``as_of`` each.
    """
    return data_dir / "catalog" / "models.json"


def refreshed(overlay: Mapping[str, Any]) -> list[ModelDefinition]:
    """The built-in models with newer facts, and the models that only the overlay knows.

    Raises:
        ValueError: the overlay is not what ``models refresh`` writes.
    """
    found = {f"{m.provider}/{m.id}": m for m in builtin()}
    try:
        for name, facts in overlay.items():
            model = found.get(name)
            if model is None:
                found[name] = definition(facts)
                continue
            newer = {field: facts[field] for field in ("context_window", "max_output_tokens") if field in facts}
            if "cost" in facts:
                newer["cost"] = cost_of(facts["cost"])
            found[name] = replace(model, **newer)
    except (AttributeError, KeyError, TypeError, SkillKitError) as error:
        raise ValueError(f"{type(error).__name__}: {error}") from None
    return list(found.values())
