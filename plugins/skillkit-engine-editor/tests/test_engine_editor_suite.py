"""The suite of engines, on an open document."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import pytest
from skillkit_testkit.conformance import EngineConformance


class TestEngine(EngineConformance):
    options = MappingProxyType({"editor": {"type": "article", "content": "# One\n\nA boat.\n"}})

    @pytest.fixture
    def engine_name(self) -> str:
        return "editor"


class TestEdits(TestEngine):
    def reply(self, request: Any) -> str:
        operation = '{"op": "replace_range", "original_text": "boat", "text": "ship"}'
        return f'{{"message": "A ship now.", "operations": [{operation}]}}'
