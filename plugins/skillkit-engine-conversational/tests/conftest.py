"""The stage of the testkit, with this engine; ``/NAME words`` calls a skill."""

from __future__ import annotations

import pytest


@pytest.fixture
def engine_plugins() -> list[str]:
    return ["engine-conversational"]
