"""The tools of memory: over sessions, until facts end, by a clock that the test moves."""

from __future__ import annotations

from typing import ClassVar

import pytest
import skillkit_memory_tools.plugin
from skillkit_testkit.conformance import ToolConformance

from skillkit_core import ErrorKind
from skillkit_core.testing import Fail, VirtualClock

DAY = 86_400


class TestConformance(ToolConformance):
    plugin = skillkit_memory_tools.plugin
    calls: ClassVar = {
        "store_fact_tool": {"topic": "garden", "key": "bees", "value": "two hives"},
        "recall_facts_tool": {"query": "bees"},
        "get_user_preferences_tool": {"domain": "writing"},
    }


@pytest.fixture
def call(make_host, call_tools):
    """Calls tools, each time in a session of its own."""
    return lambda *turns, settings=None, **more: call_tools(
        make_host(skillkit_memory_tools.plugin, settings=settings or {}), *turns, **more
    )


def store(topic, key, value, **more):
    return ("store_fact_tool", {"topic": topic, "key": key, "value": value, **more})


@pytest.mark.smoke
def test_a_fact_is_recalled_in_another_session_replaced_and_forgotten(call):
    stored, again = call(store("garden", "bees", "two hives"), store("garden", "bees", "three hives"))
    assert stored.text == "Stored garden: bees." and again.text == "Replaced garden: bees."
    by_topic, by_words, none = call(
        ("recall_facts_tool", {"topic": "Garden"}),
        ("recall_facts_tool", {"query": "HIVES three"}),
        ("recall_facts_tool", {"query": "x"}),
    )
    assert (
        by_topic.text == "garden: bees: three hives" == by_words.text and none.text == "Nothing is remembered of that."
    )
    forgot, gone = call(*[("forget_fact_tool", {"topic": "garden", "key": "bees"})] * 2)
    assert forgot.text == "Forgot garden: bees." and gone.is_error


def test_t_3_a_fact_ends_when_its_days_are_over(call):
    clock = VirtualClock()
    call(store("trip", "hotel", "Bergen", expires_days=2), store("trip", "train", "at 9"), clock=clock)
    clock.advance(2 * DAY - 1)
    assert "hotel: Bergen (until " in call(("recall_facts_tool", {"topic": "trip"}), clock=clock)[0].text
    clock.advance(1)
    assert call(("recall_facts_tool", {"topic": "trip"}), clock=clock)[0].text == "trip: train: at 9"


def test_the_setting_ends_facts_that_say_nothing_and_the_oldest_go_where_there_are_too_many(call):
    clock = VirtualClock()
    call(store("a", "b", "c"), clock=clock, settings={"memory.expire_days": 1})
    clock.advance(DAY)
    assert call(("recall_facts_tool", {}), clock=clock)[0].text == "Nothing is remembered of that."
    for n in range(4):
        clock.advance(1)
        call(store("n", str(n), "x"), clock=clock, settings={"memory.most_facts": 2})
    assert [row["key"] for row in call(("recall_facts_tool", {}), clock=clock)[0].details] == ["3", "2"]


def test_preferences_are_those_of_the_domain_and_those_of_all(call):
    call(
        store("preferences", "language", "English"), store("preferences/writing", "style", "short"),
        store("preferences/weather", "units", "metric"),
    )  # fmt: skip
    some, every = call(("get_user_preferences_tool", {"domain": "Writing"}), ("get_user_preferences_tool", {}))
    assert [row["key"] for row in some.details] == ["style", "language"] and len(every.details) == 3


def test_a_secret_is_not_remembered(make_host, call_tools, monkeypatch):
    monkeypatch.setenv("SOME_KEY", "sk-this-is-a-secret-1234")
    host = make_host(skillkit_memory_tools.plugin)
    assert host.secret("SOME_KEY")
    _, told = call_tools(host, store("keys", "some", "it is sk-this-is-a-secret-1234"), ("recall_facts_tool", {}))
    assert told.details[0]["value"] == "it is ***"


def test_the_conversation_is_summarised_by_the_model_or_quoted(call):
    (told,) = call(("get_conversation_summary_tool", {}), "They said go.")
    assert told.text == "They said go." and told.details == {"by": "model", "messages": 1}
    (quoted,) = call(("get_conversation_summary_tool", {"turns": 3}), Fail(ErrorKind.auth, "no key"))
    assert quoted.text == "user: Go." and quoted.details["by"] == "rules"


def test_the_file_of_facts_is_for_the_person_alone(call, tmp_path):
    call(store("a", "b", "c"))
    (file,) = tmp_path.rglob("facts.sqlite")
    assert file.stat().st_mode & 0o777 == 0o600


GOOD = {"topic": "t", "key": "k", "value": "v"}


@pytest.mark.parametrize(
    "more",
    [
        {"topic": ""},
        {"topic": " "},
        {"value": ""},
        {"value": "v" * 10_001},
        {"value": 1},
        {"expires_days": 0},
        {"more": 1},
    ],
)
def test_what_is_no_fact_is_refused(call, more):
    assert call(("store_fact_tool", {**GOOD, **more}))[0].is_error
