"""What a sandbox must refuse and what must still work inside: a conformance suite for authors of sandbox backends.

Names are imported when they are first used (PEP 562).
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from .attacks import ATTACKS
    from .ordinary_user import pass_as_an_ordinary_user
    from .stage import NOBODY, Stage, readable_python
    from .suite import SandboxConformance
    from .work import WORK

__all__ = [
    "ATTACKS",
    "NOBODY",
    "WORK",
    "SandboxConformance",
    "Stage",
    "pass_as_an_ordinary_user",
    "readable_python",
]
__version__ = "0.2.0"

pytest.register_assert_rewrite(f"{__name__}.suite", f"{__name__}.ordinary_user")

_WHERE = {
    "ATTACKS": "attacks",
    "NOBODY": "stage",
    "SandboxConformance": "suite",
    "Stage": "stage",
    "WORK": "work",
    "pass_as_an_ordinary_user": "ordinary_user",
    "readable_python": "stage",
}


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_WHERE[name]}", __name__), name)
