"""Front matter: every scalar stays text, what is broken is repaired and said with its line, nothing raises."""

from __future__ import annotations

import pytest
from hypothesis import given, settings, strategies as st
from skillkit_markdown import FileLines, flag, lost, mended, natural, read_front_matter, sentence

pytestmark = pytest.mark.smoke

BROKEN = {  # code: a file, and the line that the code is about
    "yaml-unquoted-scalar": (b"---\nname: a\ndescription: See: this\n---\nx", 3),
    "yaml-tabs": (b"---\nname: a\nm:\n\tk: v\n---\nx", 4),
    "yaml-value-dropped": (b'---\nname: a\nm: {"a": "b" "c"}\n---\nx', 3),
    "yaml-stray-lines": (b"---\nname: a\nwhat is this\n---\nx", 3),
    "merge-conflict-markers": (b"---\nname: a\n<<<<<<< ours\nk: v\n---\nx", 3),
    "yaml-alias": (b"---\na: &x [1]\nb: *x\n---\nx", 3),
    "duplicate-key:a": (b"---\na: 1\nb: 2\na: 3\n---\nx", 4),
    "frontmatter-unclosed": (b"\n---\nname: a\n\nbody", 2),
    "encoding-invalid-utf8": (b"---\nname: a\n---\ncaf\xe9", 4),
}


def test_scalars_keep_their_spelling_until_they_are_asked_for_their_type():
    front = read_front_matter(
        b"---\nversion: 1.10\ncount: 5\nyes: no\nday: 2026-01-01\nnone: ~\nlist: [1, true]\n---\nBody\n"
    )
    assert front.values == {
        "version": "1.10", "count": "5", "yes": "no", "day": "2026-01-01", "none": None, "list": ["1", "true"],
    }  # fmt: skip
    assert front.natural()["count"] == 5 and front.natural()["list"] == [1, True] and front.body == "Body"
    assert flag("Yes", False) and not flag("off", True) and flag("perhaps", True)
    assert natural("9" * 301) == "9" * 301


@pytest.mark.parametrize("code", BROKEN)
def test_what_is_broken_is_named_with_its_line_and_a_sentence(code):
    data, line = BROKEN[code]
    front = read_front_matter(data)
    assert code in front.diagnostics
    assert FileLines(data).of_code(code) == line
    assert sentence(code)


@pytest.mark.parametrize("code", ["yaml-unquoted-scalar", "yaml-tabs", "frontmatter-unclosed"])
def test_a_mended_file_reads_the_same_and_needs_no_repair(code):
    data = BROKEN[code][0]
    before = read_front_matter(data)
    text = mended(data, before.values)
    after = read_front_matter(text.encode())
    assert (after.values, after.body) == (before.values, before.body)
    assert code not in after.diagnostics


def test_what_loses_a_key_is_told_from_what_only_needs_quotes():
    assert lost(read_front_matter(BROKEN["yaml-unquoted-scalar"][0]).diagnostics) == []
    assert lost(read_front_matter(BROKEN["yaml-value-dropped"][0]).diagnostics) == ["yaml-value-dropped"]
    assert lost(read_front_matter(BROKEN["yaml-stray-lines"][0]).diagnostics) == ["yaml-stray-lines"]


@settings(deadline=None)
@given(
    st.binary(max_size=300)
    | st.text(alphabet="-a:\n {}[]\"'*&#\t!|>", max_size=200).map(lambda t: f"---\n{t}\n---\nx".encode())
)
def test_no_file_raises(data):
    front = read_front_matter(data)
    lines = FileLines(data)
    for code in front.diagnostics:
        lines.of_code(code)
    mended(data, front.values)


def test_a_file_that_nests_deeply_or_grows_by_aliases_is_refused_in_no_time():
    deep = b"---\na: " + b"[" * 200_000 + b"\n---\nx"
    assert "yaml-value-dropped" in (codes := read_front_matter(deep).diagnostics) or "yaml-unquoted-scalar" in codes
    bomb = (
        b"---\na: &a [x, x]\n"
        + b"".join(b"%c: &%c [*%c, *%c]\n" % (i + 1, i + 1, i, i) for i in range(97, 115))
        + b"---\n"
    )
    assert read_front_matter(bomb).values == {}
