"""The suite of engines."""

from __future__ import annotations

import pytest
from skillkit_testkit.conformance import EngineConformance


class TestEngine(EngineConformance):
    @pytest.fixture
    def engine_name(self) -> str:
        return "automation"
