"""The stage of the testkit, with the router and an engine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest


@pytest.fixture
def engine_plugins() -> list[str]:
    return ["why", "engine-automation", "routing"]


@pytest.fixture
def engine_name() -> str:
    return "automation"


@pytest.fixture
def hosts(engine_stage: Any) -> Callable[..., Any]:
    """Makes a host with the router: ``hosts(settings={...})``."""
    return engine_stage.host
