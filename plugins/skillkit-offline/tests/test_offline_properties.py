"""Properties that hold for every text."""

import asyncio
import string

from conftest import ACTIONS, action
from hypothesis import given, settings
from hypothesis import strategies as st
from skillkit_offline import OfflineAdapter, choose, fill, rank

from skillkit_core.contracts.adapter import LLMRequest
from skillkit_core.messages import UserMessage
from skillkit_core.models import ModelDefinition

WORDS = ["the", "top", "5", "rows", "of", "sales.csv", "where", "price", ">", "10", "since", "last", "week", "by", "Ada", "--limit", "--depth=x", "merge", "a.pdf", "into", "'b", "c'", '"d"', "12%", "3km", "and", "then", "delete", "*.log", "columns", "a,", "b", "format", "png", "jpeg", "not", "ignore", "case", "{", "[", "]", "}", ":", "99999999999999999999", "1e999", "..", "/", "//", "~", "-5", "2.5", "depth", "levels", "ten", "yesterday", "between", "2026-01-01", "=", "name=value", "http://x.y/z", "“", "”", "‘", "’", "`", "\\", "\x00", "\x1b", "�", "٣", "½", "今天", "ß", "İ"]
requests = st.one_of(
    st.text(max_size=300),
    st.lists(st.sampled_from(WORDS), max_size=25).map(" ".join),
    st.lists(st.sampled_from([*WORDS, *string.printable]), max_size=25).map("".join),
)
ANY = action(
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
PYTHON = {"file": str, "string": str, "integer": int, "number": (int, float), "boolean": bool, "array": list}


@given(requests)
@settings(max_examples=400, deadline=None)
def test_no_text_makes_the_choice_fail_and_the_choice_is_always_the_same(text):
    assert choose(text, ACTIONS) == choose(text, ACTIONS)


@given(requests)
@settings(max_examples=300, deadline=None)
def test_scores_lie_between_0_and_1_in_falling_order(text):
    scores = [c.score for c in rank(text, ACTIONS)]

    assert all(0 <= s <= 1 for s in scores)
    assert scores == sorted(scores, reverse=True)


@given(requests, st.sampled_from([*ACTIONS, ANY]))
@settings(max_examples=800, deadline=None)
def test_no_argument_is_ever_filled_with_a_wrong_type(text, tool):
    filled = fill(text, tool)

    for name, value in filled.args.items():
        facts = tool.annotations["args"][name]
        kind = facts.get("type", "string")
        if kind in PYTHON and not facts.get("enum"):
            assert isinstance(value, PYTHON[kind]) and (kind == "boolean" or not isinstance(value, bool))
        if facts.get("enum"):
            assert value in facts["enum"]
        if kind == "array":
            assert all(isinstance(v, str) for v in value)
        if "minimum" in facts and not facts.get("enum"):
            assert value >= facts["minimum"]
        if "maximum" in facts:
            assert value <= facts["maximum"]
        if isinstance(value, str):
            assert "\0" not in value
            value.encode()
    required = [n for n, f in tool.annotations["args"].items() if f.get("required") and f.get("default") is None]
    if filled.complete:
        assert all(n in filled.args for n in required)


@given(requests, st.booleans())
@settings(max_examples=300, deadline=None)
def test_a_stream_has_exactly_one_terminal_event_and_it_is_the_last(text, aborted):
    request = LLMRequest(ModelDefinition("offline"), [UserMessage(content=text)], (*ACTIONS, ANY))
    if aborted:
        request.signal.abort()

    async def run():
        return [event async for event in OfflineAdapter().stream(request)]

    events = asyncio.run(run())

    assert [e.terminal for e in events] == [False] * (len(events) - 1) + [True]
    assert events[-1].usage is not None
    assert (events[-1].type == "error") == aborted


def test_long_and_hostile_texts_are_read_in_bounded_work():
    for text in (
        '"' * 200_000,
        "“" * 50_000,
        "--a=" * 50_000,
        "a/" * 100_000,
        "where " * 50_000,
        "1," * 100_000,
        "(" * 100_000,
        "x.csv " * 40_000,
        "in the " * 40_000,
        "and then " * 20_000,
        "= " * 50_000,
        "9" * 100_000,
        "a" * 500_000,
    ):
        choose(text, ACTIONS)
        fill(text, ANY)
