"""Exports, as a model makes them, read back by the libraries that read such files; and bookmarks."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any, ClassVar

import pytest
import skillkit_export_tools.plugin
import skillkit_permissions.plugin
from skillkit_export_tools import export
from skillkit_testkit.conformance import ToolConformance

from skillkit_core import ToolError

REPORT = """# Bees

They **dance** and [sing](https://example.org/song), `buzz`, ![a hive](http://127.0.0.1:9/hive.png) <script>alert(1)</script>.

- wax
  1. yellow

     soft
- honey

> A quote.

| plant | metres |
| --- | --- |
| oak | 20 |
| lime, old | **25** |

```
code <x>
```

---
"""
TREES = [["plant", "metres"], ["oak", "20"], ["lime, old", "25"]]
BOTH = ["export_to_format_tool", "bookmark_url_tool"]


class TestConformance(ToolConformance):
    plugin = skillkit_export_tools.plugin
    calls: ClassVar = {"bookmark_url_tool": {"url": "https://example.org/"}}


@pytest.fixture
def call(make_host, call_tools):
    def calls(*turns: Any, settings: Any = None, plugins: Any = (), **config: Any) -> Any:
        given = settings if settings is not None else {"tools.allow": BOTH}
        return call_tools(
            make_host(("export-tools", skillkit_export_tools.plugin), *plugins, settings=given), *turns, **config
        )

    return calls


@pytest.mark.smoke
def test_a_text_becomes_a_file_of_each_format(call):
    import docx
    import pypdf

    asked = {"content": REPORT, "title": "On bees"}
    kinds = ("html", "docx", "pdf", "txt", "md", "csv", "json")
    told = call(*(("export_to_format_tool", {**asked, "path": f"out/bees.{kind}"}) for kind in kinds))
    assert [one.details["format"] for one in told] == list(kinds)
    html = Path("out/bees.html").read_text()
    assert "<title>On bees</title>" in html and "<strong>dance</strong>" in html and "<td>oak</td>" in html
    assert "<script" not in html and "<img" not in html and '<a href="http://127.0.0.1:9/hive.png">a hive</a>' in html
    document = docx.Document("out/bees.docx")
    looks = [(one.style.name, one.text) for one in document.paragraphs]
    assert looks[:2] == [("Title", "On bees"), ("Heading 1", "Bees")]
    assert ("List Bullet", "wax") in looks and ("List Number 2", "yellow") in looks and ("Quote", "A quote.") in looks
    assert [[cell.text for cell in row.cells] for row in document.tables[0].rows][2] == ["lime, old", "25"]
    assert any(run.bold and run.text == "dance" for one in document.paragraphs for run in one.runs)
    page = pypdf.PdfReader("out/bees.pdf")
    text = page.pages[0].extract_text()
    assert (
        page.metadata.title == "On bees"
        and "They dance and sing" in text
        and "lime, old 25" in text
        and "code <x>" in text
    )
    assert (
        Path("out/bees.txt")
        .read_text()
        .startswith("On bees\n=======\n\nBees\n====\n\nThey dance and sing <https://example.org/song>")
    )
    assert Path("out/bees.md").read_text() == f"# On bees\n\n{REPORT.strip()}\n"
    assert list(csv.reader(io.StringIO(Path("out/bees.csv").read_text()))) == [
        ["plant", "metres"],
        ["oak", "20"],
        ["lime, old", "25"],
    ]
    assert json.loads(Path("out/bees.json").read_text())[0] == {"plant": "oak", "metres": "20"}


def test_a_pdf_has_every_sign_of_the_text_or_says_which_font_it_lacks(tmp_path):
    import pypdf

    told = io.BytesIO(export("Grüße, café", "pdf"))
    assert "Grüße, café" in pypdf.PdfReader(told).pages[0].extract_text()
    with pytest.raises(ToolError, match="there is no font"):
        export("Ω", "pdf", font=str(tmp_path / "none.ttf"))
    with pytest.raises(ToolError, match=r"export\.font"):
        export("Ω \U00012345", "pdf")


def test_rows_come_from_a_table_or_a_list_of_objects():
    assert export('[{"a": 1, "b": [2]}, {"c": "x"}]', "csv").decode() == "a,b,c\r\n1,[2],\r\n,,x\r\n"
    assert json.loads(export('{"a": 1}', "json")) == {"a": 1}
    with pytest.raises(ToolError, match="no table"):
        export("words", "csv")


def test_arguments_that_do_not_fit_write_nothing(call):
    empty, big, typed, kind, again, out = call(
        ("export_to_format_tool", {"content": " ", "path": "a.html"}),
        ("export_to_format_tool", {"content": "x" * 1_000_001, "path": "a.html"}),
        ("export_to_format_tool", {"content": ["x"], "path": "a.html"}),
        ("export_to_format_tool", {"content": "x", "path": "a.exe"}),
        ("bookmark_url_tool", {"url": "javascript:alert(1)"}),
        ("bookmark_url_tool", {"url": "https://a.example/", "tags": ["two words"]}),
    )
    assert all(one.is_error for one in (empty, big, typed, kind, again, out))
    assert "empty" in empty.text and "no ending of a known format" in kind.text and not list(Path().glob("*.*"))
    Path("a.txt").write_text("mine")
    (there,) = call(("export_to_format_tool", {"content": "x", "path": "a.txt"}))
    assert "nothing is overwritten" in there.text and Path("a.txt").read_text() == "mine"


def test_bookmarks_are_lines_that_people_read_and_each_address_is_kept_once(call):
    first = {"url": "https://example.org/a_(b)", "title": "A [b]", "tags": ["bees", "garden"], "note": "read\nlater"}
    told = call(
        ("bookmark_url_tool", first),
        ("bookmark_url_tool", {"url": "https://example.org/"}),
        ("bookmark_url_tool", {**first, "title": "Again"}),
    )
    assert [one.text.split()[0] for one in told] == ["Kept", "Kept", "Replaced"]
    lines = Path("bookmarks.md").read_text().splitlines()
    assert lines[:2] == ["# Bookmarks", ""] and len(lines) == 4
    assert lines[2].startswith("- [https://example.org/](<https://example.org/>) (") and lines[3].endswith(
        ": read later"
    )
    assert lines[3].startswith("- [Again](<https://example.org/a_(b)>) #bees #garden (")
    Path("links.md").write_bytes(b"\xff")
    (broken,) = call(("bookmark_url_tool", {"url": "https://example.org/", "file": "links.md"}))
    assert broken.is_error and "links.md could not be written" in broken.text


def test_permissions_judge_the_file_that_is_written(call):
    guard = [("permissions", skillkit_permissions.plugin)]
    turns = (
        ("export_to_format_tool", {"content": "x", "path": "out/a.html"}),
        ("bookmark_url_tool", {"url": "https://example.org/"}),
    )
    refused = call(*turns, plugins=guard, settings={"permissions.deny": ["Edit(out/**)", "Edit(/bookmarks.md)"]})
    assert [one.is_error for one in refused] == [True, True] and not Path("bookmarks.md").exists()
    allowed = call(*turns, plugins=guard, settings={"permissions.allow": ["Edit(out/**)", "Edit(/bookmarks.md)"]})
    assert [one.outcome for one in allowed] == ["ok", "ok"] and Path("out/a.html").exists()


@pytest.mark.parametrize(("kind", "module", "extra"), [("docx", "docx", "docx"), ("pdf", "fpdf", "pdf")])
def test_without_its_library_a_format_says_what_to_install(monkeypatch, kind, module, extra):
    monkeypatch.setitem(__import__("sys").modules, module, None)
    with pytest.raises(ToolError, match=rf"skillkit-export-tools\[{extra}\]"):
        export("x", kind)
