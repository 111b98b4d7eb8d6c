"""Markdown outlines, link checks and figures of texts."""

import pytest

pytestmark = pytest.mark.smoke

GUIDE = """---
title: "# not a heading"
---
# Guide *to* `code`

Text with a [good link](other.md#part-two), a [bad one](missing.md) and
an [anchor](#setup), [no anchor](#nowhere), ![image](img/none.png), <https://example.org>
and [a reference][ref], [undefined][nope].

## Setup

```sh
# not a heading
```

Second title
------------

### Setup
<a name="Here"></a> [here](#here) [again](#setup-1) [out](../../etc/passwd) [mail](mailto:a@b.c)

[ref]: other.md
"""


@pytest.fixture
def docs(workspace):
    workspace.write("docs/guide.md", GUIDE)
    workspace.write("docs/other.md", "# Other\n\n## Part two\n\n[back](guide.md#setup) [space](a%20b.txt)\n")
    workspace.write("docs/a b.txt", "")
    return workspace


def test_an_outline_has_levels_lines_and_anchors(docs):
    result = docs.result("markdown-outline", "outline", file="docs/guide.md")
    assert [(item["level"], item["text"], item["line"], item["anchor"]) for item in result["headings"]] == [
        (1, "Guide to code", 4, "guide-to-code"),
        (2, "Setup", 10, "setup"),
        (2, "Second title", 16, "second-title"),
        (3, "Setup", 19, "setup-1"),
    ]
    assert result["answer"].splitlines()[1:3] == [" 4  # Guide to code", "10    ## Setup"]
    assert docs.result("markdown-outline", "outline", file="docs/guide.md", depth=1)["count"] == 1


def test_broken_links_are_named_with_line_and_reason(docs):
    result = docs.result("markdown-outline", "links", path="docs/guide.md")
    assert [(item["line"], item["target"], item["reason"]) for item in result["broken"]] == [
        (6, "missing.md", "no such file"),
        (7, "#nowhere", "no such heading"),
        (7, "img/none.png", "no such file"),
        (8, "nope", "no such reference is defined"),
        (20, "../../etc/passwd", "points outside the workspace"),
    ]
    assert result["external"] == ["https://example.org", "mailto:a@b.c"]


def test_a_folder_of_documents_is_checked(docs):
    result = docs.result("markdown-outline", "links", path="docs")
    assert (result["files"], result["broken_count"]) == (2, 5)
    assert "docs/guide.md:6" in result["answer"]
    assert (
        docs.result("markdown-outline", "links", path="docs/other.md")["answer"]
        == "2 links in docs/other.md: no broken links"
    )


def test_documents_that_cannot_be_read_are_problems(workspace):
    workspace.write("b.md", b"\0\1")
    assert "binary" in workspace.problem("markdown-outline", "outline", file="b.md")
    assert "there is no" in workspace.problem("markdown-outline", "outline", file="-rf")
    workspace.write("empty/x.txt", "")
    assert "no Markdown file" in workspace.problem("markdown-outline", "links", path="empty")
    workspace.write("none.md", "")
    assert workspace.result("markdown-outline", "outline", file="none.md")["count"] == 0


def test_a_document_of_nothing_but_marks_does_not_hang(workspace):
    workspace.write("deep.md", ">" * 5_000 + " " + "[" * 5_000 + "\n" + "*a_" * 5_000)
    workspace.result("markdown-outline", "links", path="deep.md")


def test_a_text_is_counted(workspace):
    workspace.write("essay.txt", "It's a whale. A WHALE!\n\nWell-known whales? Yes...\nthe end")
    result = workspace.result("text-stats", "stats", file="essay.txt")
    assert (result["words"], result["lines"], result["paragraphs"], result["sentences"]) == (10, 4, 2, 4)
    assert result["frequent"][0] == {"word": "whale", "times": 2}
    assert result["answer"].startswith("essay.txt: 10 words, 4 lines, 57 characters\n")


def test_an_empty_text_is_an_answer_and_a_binary_one_a_problem(workspace):
    workspace.write("empty.txt", "")
    assert workspace.result("text-stats", "stats", file="empty.txt")["words"] == 0
    workspace.write("photo.txt", b"\x89PNG\0")
    assert "binary" in workspace.problem("text-stats", "stats", file="photo.txt")


def test_a_single_huge_line_is_read_in_pieces(workspace):
    workspace.write("line.txt", "word " * 600_000)
    result = workspace.result("text-stats", "stats", file="line.txt")
    assert (result["words"], result["lines"]) == (600_000, 1)


@pytest.mark.parametrize(
    ("given", "times"),
    [
        ({"word": "whale"}, 3),
        ({"word": "whale", "exact": True}, 2),
        ({"word": "whale", "parts": True}, 4),
        ({"word": "white  whale"}, 1),
        ({"word": "-rf"}, 1),
        ({"word": "a.c"}, 0),
    ],
)
def test_occurrences_of_a_word(workspace, given, times):
    workspace.write("t.txt", "A whale, the white whale\nWHALE abc\nwhales -rf\n")
    assert workspace.result("text-stats", "occurrences", file="t.txt", **given)["times"] == times


def test_occurrences_name_lines(workspace):
    workspace.write("t.txt", "one\ntwo words\nwords words\n")
    result = workspace.result("text-stats", "occurrences", file="t.txt", word="words")
    assert result["answer"] == "'words' occurs 3 times on 2 lines of t.txt\n     2: two words\n     3: words words"
    assert "empty" in workspace.problem("text-stats", "occurrences", file="t.txt", word=" ")
