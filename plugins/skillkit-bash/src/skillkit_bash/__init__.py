"""Runs commands for SkillKit: :class:`BashRuntime` and the opt-in tool ``bash``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from skillkit_process import Lines as Lines

    from .config import BashConfig as BashConfig
    from .runtime import BashRuntime as BashRuntime, clean_environment as clean_environment

_MODULE_OF = {
    "BashConfig": ".config", "BashRuntime": ".runtime", "Lines": "skillkit_process", "clean_environment": ".runtime",
}  # fmt: skip

__all__ = ["BashConfig", "BashRuntime", "Lines", "clean_environment"]


def __getattr__(name: str) -> Any:
    module = _MODULE_OF.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(module, __name__), name)
    globals()[name] = value
    return value
