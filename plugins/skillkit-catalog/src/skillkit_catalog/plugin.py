"""The plugin ``catalog``: model definitions and the command ``models``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from skillkit_core import Command, ConfigSection, hookimpl

if TYPE_CHECKING:
    from skillkit_core import Host, ModelDefinition


@hookimpl
def register_models(register: Callable[[ModelDefinition], None], config: Any) -> None:
    """Offer the built-in models, corrected by the configuration, and the user's own."""
    from .catalog import definitions

    for model in definitions(config):
        register(model)


@hookimpl
def resolve_model(name: str, provider: str | None, host: Host) -> ModelDefinition | None:
    """A model that the user defined wins over one of the same name that another plugin brings."""
    from .catalog import own_model

    return own_model(host.config.section("catalog"), name, provider)


@hookimpl
def register_commands(register: Callable[[Command], None]) -> None:
    """Offer ``skillkit models``."""
    register(Command("models", "skillkit_catalog.cli:models", "List models: windows, prices, capabilities."))


@hookimpl
def register_config(register: Callable[[ConfigSection], None]) -> None:
    """Declare the section ``catalog``."""
    register(ConfigSection("catalog", "skillkit_catalog.config:CatalogConfig"))
