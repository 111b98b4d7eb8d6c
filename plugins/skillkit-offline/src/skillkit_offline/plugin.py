"""What the plugin brings: the provider ``offline`` and its one model."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from skillkit_core import hookimpl

if TYPE_CHECKING:
    from skillkit_core.descriptors import Factory, Provider
    from skillkit_core.models import ModelDefinition


@hookimpl
def register_adapters(register: Callable[[Provider], None]) -> None:
    """Offer the provider ``offline``: no key, no endpoint, ranked after every provider that has a key."""
    from skillkit_core.descriptors import Provider

    register(
        Provider(
            "offline",
            {"offline": "skillkit_offline.adapter:OfflineAdapter"},
            default_model="offline",
            description="chooses a skill's action by its words; no key, no network",
            rank=1000,
        )
    )


@hookimpl
def register_models(register: Callable[[ModelDefinition], None]) -> None:
    """Offer the model ``offline/offline``: free, text and tools, no window."""
    from skillkit_core.models import ModelCost, ModelDefinition

    name = "offline (no model: skills chosen by their words)"
    can = frozenset({"text", "tool_use"})
    register(
        ModelDefinition("offline", "offline", "offline", display_name=name, cost=ModelCost(0.0, 0.0), capabilities=can)
    )


@hookimpl(optionalhook=True)
def register_explanations(register: Callable[[Factory], None]) -> None:
    """Say why the stand-in chooses an action."""
    from skillkit_core.descriptors import Factory

    register(Factory("offline", "skillkit_offline.explaining:OfflineExplains"))
