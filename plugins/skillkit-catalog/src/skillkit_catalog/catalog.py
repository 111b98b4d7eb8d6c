"""The model definitions: those of ``models.json``, what ``models refresh`` has kept, and what the configuration says.

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
from typing import TYPE_CHECKING, Any

from skillkit_core.errors import SkillKitError
from skillkit_core.frozen import thaw
from skillkit_core.models import ModelCost, ModelDefinition

if TYPE_CHECKING:
    from .config import CatalogConfig, Override

__all__ = [
    "ProviderFacts",
    "aliased",
    "builtin",
    "definition",
    "definitions",
    "find",
    "modalities",
    "named",
    "overlay_path",
    "own_model",
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


def definitions(config: CatalogConfig | None, overlay: Mapping[str, Any] | None = None) -> list[ModelDefinition]:
    """Every model that this plugin offers: the built-in ones, refreshed and overridden, and the user's own.

    ``overlay``: what ``models refresh`` has kept, ``provider/id`` to the facts that are newer than the built-in ones.
    """
    found = {(m.provider, m.id): m for m in refreshed(overlay or {})}
    if config is not None:
        for name, change in config.overrides.items():
            model = find(name)
            if model is not None:
                key = model.provider, model.id
                found[key] = _changed(found[key], change)
        found |= {(m.provider, m.id): m for m in _own(config)}
        for alias, target in config.aliases.items():
            model = named(found.values(), _followed(config.aliases, target))
            if model is not None:
                key = model.provider, model.id
                found[key] = replace(found[key], aliases=(*found[key].aliases, alias))
    return list(found.values())


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


def aliased(config: CatalogConfig | None, name: str) -> str | None:
    """The model name that the user's alias ``name`` means, or ``None``."""
    return None if config is None or name not in config.aliases else _followed(config.aliases, name)


def _followed(aliases: Mapping[str, str], name: str) -> str:
    while name in aliases:  # the configuration refuses loops
        name = aliases[name]
    return name


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
    ends = given.pop("deprecated", None)
    if "cost" in given:
        given["cost"] = cost_of(given["cost"])
    if "options" in given:
        given["options"] = {**thaw(model.options), **given["options"]}
    if ends is not None:
        given["options"] = {**thaw(model.options), **given.get("options", {}), "deprecated": ends}
    if "capabilities" in given:
        given["reasoning"] = given.get("reasoning", "reasoning" in given["capabilities"])
    return replace(model, **given)
