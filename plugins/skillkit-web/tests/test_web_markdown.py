"""Markdown becomes a tree of elements from a short list, whatever a model writes."""

import json

from skillkit_web.markdown import tree

ELEMENTS = {
    "p", "ul", "ol", "li", "blockquote", "em", "strong", "s", "code", "br", "hr", "table", "thead", "tbody", "tr", "th", "td",
    "h3", "h4", "h5", "h6", "a", "pre", "span",
}  # fmt: skip


def elements(nodes):
    for node in nodes:
        if isinstance(node, list):
            yield node
            yield from elements(node[2])


def test_texts_have_their_elements():
    found = tree(
        "# Title\n\n1. one\n2. *two* and `code`\n\n```py\nx = 1\n```\n\n| a |\n| - |\n| b |\n\n[x](https://example.org)"
    )
    assert found[0] == ["h3", {}, ["Title"]]
    assert found[1][0] == "ol" and found[1][2][1][2] == [["em", {}, ["two"]], " and ", ["code", {}, ["code"]]]
    assert found[2] == ["pre", {"language": "py"}, ["x = 1\n"]]
    assert found[3][0] == "table" and found[4][2][0] == ["a", {"href": "https://example.org"}, ["x"]]


def test_nothing_that_runs_or_is_fetched_comes_of_a_text():
    hostile = (
        "<script>alert(1)</script> <img src=x onerror=alert(1)> [a](javascript:alert(1)) ![b](http://203.0.113.9/p.png) "
        "[c](data:text/html,x) [d](//evil.example) <https://example.org> \n\n<iframe src=x></iframe>\n\n"
        "[e](https://example.org 'title')" + "\n\n" + ">" * 500 + "deep"
    )
    found = tree(hostile)
    assert {one[0] for one in elements(found)} <= ELEMENTS
    assert all(set(one[1]) <= {"href", "language", "start"} for one in elements(found))
    links = [one[1]["href"] for one in elements(found) if one[0] == "a"]
    assert links == ["http://203.0.113.9/p.png", "https://example.org", "https://example.org"]
    assert "<script>alert(1)</script>" in json.dumps(found).replace('", "', "") and "image: b" in json.dumps(found)
