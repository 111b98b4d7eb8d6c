"""Hot reload: skills that change on the disk change in the conversation.

Names are imported when they are first used (PEP 562).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .reload import Reload, reload_skills
    from .watch import FolderWatch

__all__ = ["FolderWatch", "Reload", "reload_skills"]

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    where = "watch" if name == "FolderWatch" else "reload"
    return getattr(import_module(f"{__name__}.{where}"), name)
