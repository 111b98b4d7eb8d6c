"""Shows what hooks of plugins do. Names are imported when they are first used (PEP 562)."""

from __future__ import annotations

from typing import Any

__version__ = "0.2.0"

_WHERE = {"Traced": "tracer", "Tracer": "tracer", "check_hooks": "synthetic", "trace_request": "report"}


def __getattr__(name: str) -> Any:
    module = _WHERE.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{module}"), name)
