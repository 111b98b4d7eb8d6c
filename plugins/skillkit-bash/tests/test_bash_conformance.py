"""The contract's own suite."""

from __future__ import annotations

import pytest
from skillkit_bash import BashRuntime
from skillkit_testkit.conformance import RuntimeConformance


@pytest.mark.spec("13.9", "13.10")
@pytest.mark.smoke
class TestBashRuntime(RuntimeConformance):
    @pytest.fixture
    def runtime(self, tmp_path_factory):
        return BashRuntime(spill_dir=tmp_path_factory.mktemp("spill"))
