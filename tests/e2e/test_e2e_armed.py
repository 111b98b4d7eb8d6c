"""Hooks that wait for topics, of every plugin that is installed: they would have had nothing to say before (``while_``)."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib.metadata import entry_points

import pytest

from skillkit_core import Host, Selection
from skillkit_core.hookspecs.markers import EXTRAS

pytest.importorskip("skillkit_testkit")

from skillkit_testkit.conformance import ArmedConformance


@cache
def waiting() -> dict[str, tuple[str, ...]]:
    """Return the topics for which hooks of installed plugins wait, by plugin."""
    found: dict[str, tuple[str, ...]] = {}
    for entry in entry_points(group="skillkit.plugins"):
        extras = [getattr(one, EXTRAS, None) or {} for one in vars(entry.load()).values()]
        topics = {topic for extra in extras for topic in extra.get("while_") or ()}
        if topics:
            found[entry.name] = tuple(sorted(topics))
    return found


@pytest.fixture(params=sorted(waiting()))
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


class TestArmed(ArmedConformance):
    @pytest.fixture(autouse=True)
    def armed(self, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(type(self), "topics", waiting()[name])

    @pytest.fixture
    def armed_host(self, name: str, make_host: Callable[..., Host]) -> Host:
        chosen = Selection(only_default=True, enable={name: "the test"})
        return make_host(discover=True, selection=chosen)


def test_plugins_of_the_standard_distribution_wait() -> None:
    assert {"catalog", "executor", "mcp", "planning", "sandbox", "skills", "subagents", "usage"} <= {*waiting()}
