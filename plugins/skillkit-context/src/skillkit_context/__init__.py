"""What models are told of a project: context files, prompt files, and facts of the environment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .files import LeftOut, Loaded, Section, load
    from .settings import DEFAULTS, Fact, Settings

__all__ = ["DEFAULTS", "Fact", "LeftOut", "Loaded", "Section", "Settings", "load"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from . import files, settings

    return getattr(settings if name in settings.__all__ else files, name)
