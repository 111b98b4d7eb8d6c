"""What has nothing to do costs nothing: calls of functions by plugin, as ``tests/benchmarks/calls.py`` counts them."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

pytest.importorskip("skillkit_default")
SCRIPT = Path(__file__).resolve().parents[1] / "benchmarks" / "calls.py"


@pytest.fixture(scope="module")
def calls() -> ModuleType:
    spec = importlib.util.spec_from_file_location("benchmark_calls", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_no_plugin_of_the_standard_distribution_exceeds_its_bound() -> None:
    """In a process of its own: modules that other tests have imported, and agents that they have asked, would count."""
    counted = subprocess.run([sys.executable, SCRIPT, "--by-plugin"], capture_output=True, text=True, timeout=120)
    assert counted.returncode == 0, counted.stdout
    guard = next(line.split() for line in counted.stdout.splitlines() if line.startswith("skillkit_permissions"))
    assert float(guard[4]) > 10, "the guard was not asked, so nothing was counted"


def test_a_plugin_that_works_in_every_call_is_noticed(calls: ModuleType) -> None:
    rows = {
        "core": (9_999.0, 9_999.0, 9_999.0),
        "skillkit_planning": (17.0, 17.0, 2.0),
        "skillkit_new": (3.0, 3.0, 0.0),
    }
    assert calls.beyond(rows) == ["skillkit_planning", "skillkit_new"]
