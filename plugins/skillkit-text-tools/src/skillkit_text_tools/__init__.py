"""Tools that make one text of others; the functions behind those that need no model.

Names are imported when they are first used (PEP 562).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .comparing import compare_texts as compare_texts
    from .formats import transform_format as transform_format
    from .merging import merge_texts as merge_texts

_WHERE = {"compare_texts": "comparing", "merge_texts": "merging", "transform_format": "formats"}
__all__ = ["compare_texts", "merge_texts", "transform_format"]

__version__ = "0.2.0"


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used."""
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    found = getattr(import_module(f"{__name__}.{_WHERE[name]}"), name)
    globals()[name] = found
    return found
