"""Properties that hold for every text."""

import asyncio
import string

import pytest
from hypothesis import given, settings, strategies as st
from skillkit_offline import OfflineAdapter, choose, fill, rank

from skillkit_core.contracts.adapter import LLMRequest
from skillkit_core.messages import UserMessage
from skillkit_core.models import ModelDefinition

FRAGMENTS = """the top 5 rows of sales.csv where price > 10 since last week by Ada --limit --depth=x merge a.pdf into 'b c' "d"
12% 3km and then delete *.log columns a, b format png jpeg not ignore case { [ ] } : 99999999999999999999 1e999 .. / // ~ -5
2.5 depth levels ten yesterday between 2026-01-01 = name=value http://x.y/z “ ” ‘ ’ ` \\ ٣ ½ 今天 ß İ x.csv where= deep"""
WORDS = [*FRAGMENTS.split(), "\x00", "\x1b", "\ud800"]
requests = st.one_of(
    st.text(max_size=300),
    st.lists(st.sampled_from(WORDS), max_size=25).map(" ".join),
    st.lists(st.sampled_from([*WORDS, *string.printable]), max_size=25).map("".join),
)
PYTHON = {"file": str, "string": str, "integer": int, "number": (int, float), "boolean": bool, "array": list}
HOSTILE = {
    '"': 100_000,
    "“": 50_000,
    "--a=": 50_000,
    "a/": 100_000,
    "a.": 100_000,
    "where ": 50_000,
    "where x > 1 ": 20_000,
    "1,": 100_000,
    "(": 100_000,
    "x.csv ": 40_000,
    "in the ": 40_000,
    "and then ": 20_000,
    "and what is ": 20_000,
    ". show x": 20_000,
    "please ": 20_000,
    "so, i'd like to know ": 20_000,
    "= ": 50_000,
    "9": 100_000,
    "a": 500_000,
    " ": 500_000,
    "top 5 ": 20_000,
    "last 3 days ": 20_000,
    "\x1b": 100_000,
}


@pytest.fixture(scope="session")
def tools(actions, make_action):
    """The actions, and one with an argument of every kind."""
    everything = make_action(
        "any-skill",
        "any",
        "Anything.",
        keywords=["anything"],
        file={"type": "file"},
        limit={"type": "integer", "minimum": 1, "maximum": 50},
        ratio={"type": "number"},
        columns={"type": "array"},
        format={"enum": ["png", "jpeg"]},
        level={"enum": [1, 2, 3], "type": "integer"},
        deep={"type": "boolean"},
        where={},
        since={},
        pattern={"required": True},
        body={"type": "json"},
    )
    return (*actions, everything)


@given(text=requests)
@settings(deadline=None)
def test_no_text_makes_the_choice_fail_and_the_choice_is_always_the_same(text, tools):
    assert choose(text, tools) == choose(text, tools[:-1] + tools[-1:])


@given(text=requests)
@settings(deadline=None)
def test_scores_lie_between_0_and_1_in_falling_order(text, tools):
    scores = [c.score for c in rank(text, tools)]

    assert all(0 <= s <= 1 for s in scores)
    assert scores == sorted(scores, reverse=True)


@given(text=requests, number=st.integers(0, 15))
@settings(deadline=None)
def test_no_argument_is_ever_filled_with_a_wrong_type(text, number, tools):
    declared = tools[number].annotations["args"]
    filled = fill(text, tools[number])

    for name, value in filled.args.items():
        facts = declared[name]
        kind = facts.get("type", "string")
        if facts.get("enum"):
            assert value in facts["enum"]
        elif kind in PYTHON:
            assert isinstance(value, PYTHON[kind]) and isinstance(value, bool) == (kind == "boolean")
        if kind == "array":
            assert all(isinstance(v, str) for v in value)
        assert value >= facts["minimum"] if "minimum" in facts else True
        assert value <= facts["maximum"] if "maximum" in facts else True
        if isinstance(value, str):
            assert "\0" not in value
            value.encode()
    if filled.complete:
        assert {n for n, f in declared.items() if f.get("required") and f.get("default") is None} <= set(filled.args)


@given(text=requests, aborted=st.booleans())
@settings(deadline=None)
def test_a_stream_has_exactly_one_terminal_event_and_it_is_the_last(text, aborted, tools):
    request = LLMRequest(ModelDefinition("offline"), [UserMessage(content=text)], tools)
    if aborted:
        request.signal.abort()

    async def run():
        return [event async for event in OfflineAdapter().stream(request)]

    events = asyncio.run(run())

    assert [e.terminal for e in events] == [False] * (len(events) - 1) + [True]
    assert events[-1].usage is not None
    assert (events[-1].type == "error") == aborted


@pytest.mark.sample(8)
@pytest.mark.parametrize("part", HOSTILE, ids=ascii)
def test_long_and_hostile_texts_are_read_to_an_end(part, tools):
    text = part * HOSTILE[part]

    choose(text, tools)
    assert fill(text, tools[-1]).args.keys() <= set(tools[-1].annotations["args"])
