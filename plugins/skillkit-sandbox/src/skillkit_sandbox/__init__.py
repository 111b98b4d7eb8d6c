"""Commands in a sandbox that the kernel enforces: :class:`SandboxPolicy` and :class:`Sandbox`."""

from __future__ import annotations

TYPE_CHECKING = False  # the launcher imports this package at every command, and typing costs more than the rest of it
if TYPE_CHECKING:
    from typing import Any

    from .box import Sandbox as Sandbox, Sandboxes as Sandboxes
    from .policy import Limits as Limits, SandboxPolicy as SandboxPolicy, load_policy as load_policy

_MODULE_OF = {
    "Limits": "policy",
    "Sandbox": "box",
    "SandboxPolicy": "policy",
    "Sandboxes": "box",
    "load_policy": "policy",
}

__all__ = ["Limits", "Sandbox", "SandboxPolicy", "Sandboxes", "load_policy"]


def __getattr__(name: str) -> Any:
    module = _MODULE_OF.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f".{module}", __name__), name)
    globals()[name] = value
    return value
