"""The models as the configuration wants them: built-in ones with corrections, names of the user's, and models of the user's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from skillkit_core.frozen import thaw
from skillkit_core.models import ModelDefinition

from .catalog import cost_of, definition, find, named, refreshed

if TYPE_CHECKING:
    from .config import CatalogConfig
    from .entries import Override

__all__ = ["aliased", "definitions", "own_model"]


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
