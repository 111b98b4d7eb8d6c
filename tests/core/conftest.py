"""The fixtures of the core's tests."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from core_kit import Kit, run
from core_site import forker, libraries, make_host, site

__all__ = ["forker", "libraries", "make_host", "site"]  # fixtures


@pytest.fixture
def kit(tmp_path: Path) -> Kit:
    """Builds what a test of the loop needs."""
    return Kit(tmp_path)


@pytest.fixture
def go() -> Callable[..., Any]:
    """Run a coroutine; a hang becomes a failure."""
    return run
