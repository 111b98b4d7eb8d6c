"""What has nothing to do costs nothing: calls of functions by plugin, as ``tests/benchmarks/calls.py`` counts them."""

from __future__ import annotations

import asyncio
import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from skillkit_core import Host, Selection

pytest.importorskip("skillkit_default")


@pytest.fixture(scope="module")
def calls() -> ModuleType:
    path = Path(__file__).resolve().parents[1] / "benchmarks" / "calls.py"
    spec = importlib.util.spec_from_file_location("benchmark_calls", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_no_plugin_of_the_standard_distribution_exceeds_its_bound(calls: ModuleType, skillkit_home: object) -> None:
    async def counted() -> tuple[dict[str, float], dict[str, tuple[float, float, float]]]:
        host = Host(selection=Selection(only_default=True))
        totals, rows = await calls.measured(host), await calls.by_plugin(host)
        await host.aclose()
        return totals, rows

    totals, rows = asyncio.run(counted())
    over = calls.beyond(rows)
    assert not over, {name: rows[name] for name in over}
    assert [name for name, _, limit in calls.BUDGETS if totals[name] > limit] == []
    assert rows["skillkit_permissions"][2] > 10, "the guard was not asked, so nothing was counted"


def test_a_plugin_that_works_in_every_call_is_noticed(calls: ModuleType) -> None:
    rows = {
        "core": (9_999.0, 9_999.0, 9_999.0),
        "skillkit_planning": (17.0, 17.0, 2.0),
        "skillkit_new": (3.0, 3.0, 0.0),
    }
    assert calls.beyond(rows) == ["skillkit_planning", "skillkit_new"]
