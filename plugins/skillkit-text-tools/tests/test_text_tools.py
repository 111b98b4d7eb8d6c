"""The text tools: each as a model calls it, and what holds for every text."""

from __future__ import annotations

import json
from typing import ClassVar

import pytest
import skillkit_text_tools.plugin
from hypothesis import example, given, settings, strategies as st
from skillkit_testkit.conformance import ToolConformance
from skillkit_text_tools import compare_texts, merge_texts, transform_format

from skillkit_core import ErrorKind, ToolError
from skillkit_core.testing import Fail

STORY = (
    "The lighthouse keeper counts ships. Every night the keeper writes the number of ships into a book. "
    "His dog sleeps. In winter few ships pass the lighthouse. He likes soup."
)


class TestConformance(ToolConformance):
    plugin = skillkit_text_tools.plugin
    calls: ClassVar = {
        "summarize_text_tool": {"text": STORY, "method": "rules"},
        "extract_structured_data_tool": {"text": "Due: 2026-02-03", "method": "rules"},
        "transform_format_tool": {"text": "- a", "source": "bullets", "target": "prose"},
        "compare_texts_tool": {"a": "x", "b": "y"},
        "merge_texts_tool": {"texts": ["a", "b"]},
        "clipboard_store_tool": {"name": "url", "text": "https://example.org"},
        "clipboard_get_tool": {},
    }


@pytest.fixture
def call(make_host, call_tools):
    """Calls tools in one conversation, and returns their results."""
    return lambda *turns, **config: call_tools(make_host(skillkit_text_tools.plugin), *turns, **config)


@pytest.mark.smoke
def test_a_summary_is_the_models_and_without_one_the_sentences_that_say_most(call):
    asked = {"text": STORY, "sentences": 2}
    (told,) = call(("summarize_text_tool", asked), "A keeper counts ships.")
    assert told.text == "A keeper counts ships." and told.details == {"by": "model"}
    (ruled,) = call(("summarize_text_tool", {**asked, "method": "rules", "form": "bullets"}))
    first, second = ruled.text.splitlines()
    assert first == "- The lighthouse keeper counts ships." and "ships" in second and ruled.details == {"by": "rules"}
    (empty,) = call(("summarize_text_tool", {"text": " \n"}))
    assert empty.is_error and "empty" in empty.text


def test_where_no_model_can_be_asked_the_rules_count_unless_a_model_was_demanded(call):
    asked = {"text": STORY, "sentences": 1}
    (ruled,) = call(("summarize_text_tool", asked), Fail(ErrorKind.auth, "no key"))
    assert ruled.text == "The lighthouse keeper counts ships."
    (demanded,) = call(("summarize_text_tool", {**asked, "method": "model"}), Fail(ErrorKind.auth, "no key"))
    assert demanded.is_error and "the model could not be asked" in demanded.text


def test_data_is_found_by_rules_and_fields_by_a_model(call):
    text = (
        "Meet Ida (ida@example.org) on 3 March 2026 or March 5, 2026, see https://example.org/a_(b). Budget: 1,250.50 EUR, "
        "7 people.\nDeadline: 2026-02-30\nOwner: Ida Berg\n- **Room**: 4b"
    )
    (found,) = call(("extract_structured_data_tool", {"text": text, "method": "rules"}))
    assert json.loads(found.text) == {
        "urls": ["https://example.org/a_(b)"],
        "emails": ["ida@example.org"],
        "dates": ["2026-03-03", "2026-03-05"],
        "numbers": [1250.5, 7],
        "pairs": {"Deadline": "2026-02-30", "Owner": "Ida Berg", "Room": "4b"},
    }
    fields = {"text": text, "fields": ["owner", "place"]}
    (asked,) = call(
        ("extract_structured_data_tool", fields), '```json\n{"owner": "Ida", "place": null, "more": 1}\n```'
    )
    assert json.loads(asked.text) == {"owner": "Ida", "place": None}
    (ruled,) = call(("extract_structured_data_tool", {**fields, "method": "rules"}))
    assert json.loads(ruled.text) == {"owner": "Ida Berg", "place": None}


def test_t_3_texts_that_were_kept_are_there_in_the_session_and_in_no_other(call, make_host):
    stored = ("clipboard_store_tool", {"name": "url", "text": "https://example.org"})
    later = ("clipboard_store_tool", {"name": "url", "text": "https://example.org/2"})
    kept = call(stored, ("clipboard_get_tool", {"name": "url"}), later, ("clipboard_get_tool", {"name": "url"}))
    assert [one.text for one in kept[1::2]] == ["https://example.org", "https://example.org/2"]
    names, missing = call(("clipboard_get_tool", {}), ("clipboard_get_tool", {"name": "url"}))
    assert names.text == "Kept in this session: nothing." and missing.is_error and "'url'" in missing.text


def test_oversized_and_wrongly_typed_arguments_never_reach_a_tool(call):
    big, wrong = call(("merge_texts_tool", {"texts": ["a" * 500_001]}), ("compare_texts_tool", {"a": 1, "b": "x"}))
    assert big.is_error and wrong.is_error and "texts" in big.text and "a" in wrong.text


def test_t_4_a_comparison_shows_what_was_removed_and_added(call):
    (told,) = call(("compare_texts_tool", {"a": "one\ntwo\nthree\n", "b": "one\n2\nthree\nfour\n"}))
    assert told.text.splitlines() == ["  one", "- two", "+ 2", "  three", "+ four"]
    assert call(("compare_texts_tool", {"a": "", "b": ""}))[0].text == "The texts are identical."


# --- for every text -----------------------------------------------------------------------------------------------

LINES = st.text(alphabet=st.sampled_from('ab \n\r|\\"`#*-1{}[]\u2028\x85é'), max_size=40)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8)
    | LINES,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=4), inner, max_size=2),
    max_leaves=4,
)
ROWS = st.lists(st.dictionaries(st.text(max_size=5) | LINES, VALUES, max_size=3), max_size=4)


@settings(deadline=None)
@given(a=LINES, b=LINES)
def test_t_4_each_side_of_a_comparison_is_whole(a, b):
    found = compare_texts(a, b)
    assert (
        "".join(c.get("a", "") for c in found["changes"]) == a
        and "".join(c.get("b", "") for c in found["changes"]) == b
    )
    assert found["identical"] == (a == b)


@settings(deadline=None)
@given(rows=ROWS.filter(lambda rows: not rows or any(rows)))
def test_t_4_a_table_leads_back_to_the_same_json(rows):
    table = transform_format(json.dumps(rows), "json", "table")
    table.encode()
    assert json.loads(transform_format(table, "table", "json")) == rows


@settings(deadline=None)
@given(texts=st.lists(LINES, max_size=4))
def test_t_4_merging_keeps_every_paragraph_and_merging_again_changes_nothing(texts):
    for strategy in ("concatenate", "interleave", "deduplicate"):
        merged = merge_texts(texts, strategy)
        if strategy == "concatenate" and "`" not in merged and "\r" not in merged:
            assert merge_texts([merged]) == merged
        words = {" ".join(word.split()) for text in texts for word in text.split("\n") if word.strip()}
        assert words <= {" ".join(line.split()) for line in merged.split("\n")} or "\r" in "".join(texts)


@settings(deadline=None)
@example(text="* ")
@example(text="*\\\r1")
@example(text="a\n\n* * \n")
@given(text=LINES)
def test_any_markdown_becomes_org_without_a_heading_that_was_none(text):
    made = transform_format(text, "markdown", "org")
    headings = sum(line.startswith("*") and line.lstrip("*").startswith(" ") for line in made.split("\n"))
    assert headings <= text.count("#") + text.count("-") + text.count("=")


def test_markdown_becomes_org_also_in_quotes_lists_tables_and_code():
    text = "Title\n=====\n\n* a **b\n  c** d\n* [x] x\n\n> quote *a*\n> b\n\n| a | b |\n|---|---|\n| **x** | y\\|z |\n"
    text += "\n    code\n"
    assert transform_format(text, "markdown", "org") == (
        "* Title\n\n- a *b\n  c* d\n- [X] x\n\n#+begin_quote\nquote /a/\nb\n#+end_quote\n\n"
        "| a | b |\n|---+---|\n| *x* | y\\vert{}z |\n\n#+begin_example\ncode\n#+end_example\n"
    )


@pytest.mark.parametrize(
    ("text", "source", "target", "told"),
    [
        ("{}", "json", "table", "a list of objects"),
        ("[{}]", "json", "table", "without keys"),
        ("[NaN]", "json", "table", "NaN is no JSON"),
        ("nope", "table", "json", "no table"),
        ("| a | a |\n| - | - |\n", "table", "json", "the same name"),
        ("| a |\n| - |\n| 1 | 2 |\n", "table", "json", "line 3"),
        ("x", "org", "markdown", "no way leads"),
    ],
)
def test_what_cannot_be_converted_is_refused_in_words(text, source, target, told):
    with pytest.raises(ToolError, match=told):
        transform_format(text, source, target)
