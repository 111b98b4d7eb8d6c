"""The section ``catalog`` of the configuration: models and names of your own, and corrections of built-in ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from skillkit_core.config import setting

__all__ = ["CatalogConfig"]


@dataclass(frozen=True, slots=True)
class CatalogConfig:
    """Models that the catalogue does not know, or knows wrongly."""

    models: list[Any] = setting(
        list,
        "models of your own; the same provider and id replaces one",
        of="skillkit_catalog.entries:Models",
    )
    overrides: dict[str, Any] = setting(dict, "corrections, by model name", of="skillkit_catalog.entries:Overrides")
    aliases: dict[str, Any] = setting(
        dict, "names of your own for models, by the name", of="skillkit_catalog.entries:Aliases"
    )
