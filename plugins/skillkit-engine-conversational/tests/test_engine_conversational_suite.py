"""The suite of engines."""

from __future__ import annotations

import pytest
from skillkit_testkit.conformance import EngineConformance


class TestEngine(EngineConformance):
    rejects = '{"handoff": "elsewhere", "reason": "it is not mine"}'

    @pytest.fixture
    def engine_name(self) -> str:
        return "conversational"
