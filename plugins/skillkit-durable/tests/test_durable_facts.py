"""Facts of memory-tools in the database of jobs: what a job remembers on one machine, another machine knows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import durable_postgres
import pytest
from skillkit_durable import plugin

from skillkit_core.testing import VirtualClock

memory = pytest.importorskip("skillkit_memory_tools.plugin", reason="facts are of skillkit-memory-tools")
DAY = 86_400


def stored(topic: str, key: str, value: str, **more: Any) -> tuple[str, dict[str, Any]]:
    return "store_fact_tool", {"topic": topic, "key": key, "value": value, **more}


@pytest.mark.parametrize("where", ["sqlite", "postgres"])
def test_facts_of_one_machine_are_known_on_another(
    where: str, request: pytest.FixtureRequest, make_host: Any, call_tools: Any, tmp_path: Path
) -> None:
    url = f"sqlite:///{tmp_path}/jobs.sqlite"
    if where == "postgres":
        url = request.getfixturevalue("postgres")
        durable_postgres.forget_jobs(url)
    clock = VirtualClock()

    def call(machine: str, *turns: Any) -> list[Any]:
        settings = {"memory.store": "durable", "memory.most_facts": 3, "durable.url": url}
        environ = {"SKILLKIT_HOME": str(tmp_path / machine)}
        host = make_host(("memory-tools", memory), ("durable", plugin), settings=settings, environ=environ)
        return [output.text for output in call_tools(host, *turns, clock=clock)]

    assert call("one", stored("trip", "hotel", "Bergen", expires_days=2), stored("trip", "train", "at 8")) == [
        "Stored trip: hotel, until 2023-11-16.",
        "Stored trip: train.",
    ]
    clock.advance(1)
    assert call("two", stored("trip", "train", "at 9"), ("recall_facts_tool", {"topic": "TRIP"})) == [
        "Replaced trip: train.",
        "trip: train: at 9\ntrip: hotel: Bergen (until 2023-11-16)",
    ]
    assert not list((tmp_path / "two").rglob("facts.sqlite"))
    clock.advance(2 * DAY)
    more = [stored("preferences", f"p{n}", "x") for n in range(2)]
    assert call("one", *more, ("recall_facts_tool", {"query": "TRIP"}))[-1] == "trip: train: at 9"
    clock.advance(1)
    assert call("two", stored("preferences", "tea", "green"))[0] == "Stored preferences: tea."
    tea, gone, nothing = call(
        "one",
        ("get_user_preferences_tool", {}),
        ("forget_fact_tool", {"topic": "preferences", "key": "tea"}),
        ("recall_facts_tool", {"query": "train"}),
    )
    assert tea.startswith("preferences: tea: green\n") and gone == "Forgot preferences: tea."
    assert nothing == "Nothing is remembered of that."
