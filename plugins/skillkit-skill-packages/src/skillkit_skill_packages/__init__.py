"""Packages of skills: found, looked at, installed with a lock, and the scan for what attacks look like.

Public names are imported when they are first used (PEP 562), so that importing the package costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.2.0"

if TYPE_CHECKING:
    from .digest import files_digest as files_digest
    from .scan import FINDINGS as FINDINGS, scan_skill as scan_skill
    from .text_scan import findings as findings

_WHERE = {
    "FINDINGS": "scan",
    "files_digest": "digest",
    "findings": "text_scan",
    "scan_skill": "scan",
}
__all__ = [
    "FINDINGS",
    "files_digest",
    "findings",
    "scan_skill",
]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used."""
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    found = getattr(import_module(f"{__name__}.{_WHERE[name]}"), name)
    globals()[name] = found
    return found
