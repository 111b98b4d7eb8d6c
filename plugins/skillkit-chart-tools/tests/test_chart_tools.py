"""Charts, as a model draws them, looked at as SVG and as PNG."""

from __future__ import annotations

import itertools
from pathlib import Path
from xml.etree import ElementTree

import pytest
import skillkit_chart_tools.plugin
import skillkit_permissions.plugin
from skillkit_chart_tools import as_png, drawn
from skillkit_testkit.conformance import ToolConformance

from skillkit_core import ToolError

SALES = {"labels": ["May", "June <b>", "July"], "series": [{"name": "north & south", "values": [3, None, 4.5]}]}
SVG = "{http://www.w3.org/2000/svg}"


class TestConformance(ToolConformance):
    plugin = skillkit_chart_tools.plugin


@pytest.fixture
def call(make_host, call_tools):
    def calls(*turns, plugins=(), settings=None):
        given = settings if settings is not None else {"tools.allow": ["create_chart_tool"]}
        return call_tools(make_host(("chart-tools", skillkit_chart_tools.plugin), *plugins, settings=given), *turns)

    return calls


@pytest.mark.smoke
def test_a_chart_is_a_file_that_runs_no_program_and_loads_nothing(call):
    told, again, png = call(
        ("create_chart_tool", {**SALES, "title": "Sales", "path": "charts/sales.svg"}),
        ("create_chart_tool", {**SALES, "path": "charts/sales.svg"}),
        ("create_chart_tool", {**SALES, "kind": "line", "path": "charts/sales.png"}),
    )
    assert told.text == "The chart of 2 values is in charts/sales.svg." and told.details["values"] == 2
    assert again.is_error and "there already" in again.text
    text = Path("charts/sales.svg").read_text()
    root = ElementTree.fromstring(text)
    assert root.tag == f"{SVG}svg" and not list(root.iter(f"{SVG}script"))
    assert "Sales" in text and "June &lt;b&gt;" in text and "<b>" not in text and "<!--" not in text
    assert not [url for url in ("src=", "url(http", "@import", 'href="http') if url in text]
    assert len([one for one in root.iter(f"{SVG}rect") if "rect" in one.get("class", "")]) == 2
    assert Path("charts/sales.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n" and not png.is_error


@pytest.mark.parametrize("kind", ["bar", "stacked", "line", "points", "pie"])
def test_every_kind_shows_its_values(kind):
    svg = drawn(kind, [1, 2.5, 4], [("a", [3, 1, 2])], title="T", x_title="x", y_title="y")
    ElementTree.fromstring(svg)
    marks = {"bar": "bar", "stacked": "bar", "line": "dot", "points": "dot", "pie": "slice"}[kind]
    assert svg.count(f'class="{marks}') + svg.count('class="dots"') >= 3
    assert as_png(svg)[:4] == b"\x89PNG"


def test_of_many_labels_some_are_written():
    svg = drawn("line", [f"day {n}" for n in range(400)], [("a", range(400))])
    assert 10 < sum(f">day {n}<" in svg for n in range(400)) < 30


@pytest.mark.parametrize(
    ("kind", "labels", "series", "told"),
    [
        ("bar", ["a"], [("s", [1, 2])], "s has 2 values for 1 labels"),
        ("bar", ["a"], [("", [None])], "no numbers"),
        ("line", ["a"], [("", [float("inf")])], "not finite"),
        ("points", ["a"], [("", [1])], "numbers as labels"),
        ("pie", ["a"], [("", [-1])], "not negative"),
        ("pie", ["a"], [("", [0])], "not 0"),
        ("pie", ["a"], [("", [1]), ("", [2])], "one series"),
    ],
)
def test_numbers_that_make_no_chart_are_refused_in_words(kind, labels, series, told):
    with pytest.raises(ToolError, match=told):
        drawn(kind, labels, series)


def test_arguments_that_do_not_fit_and_files_that_may_not_be_written_leave_nothing(call):
    empty, big, typed, ending = call(
        ("create_chart_tool", {"labels": [], "series": [], "path": "a.svg"}),
        ("create_chart_tool", {"labels": list(range(2001)), "series": SALES["series"], "path": "a.svg"}),
        ("create_chart_tool", {**SALES, "labels": "May", "path": "a.svg"}),
        ("create_chart_tool", {**SALES, "path": "a.gif"}),
    )
    assert all(one.is_error for one in (empty, big, typed, ending)) and "does not end in .svg or .png" in ending.text
    guard = [("permissions", skillkit_permissions.plugin)]
    turn = ("create_chart_tool", {**SALES, "path": "charts/a.svg"})
    (refused,) = call(turn, plugins=guard, settings={"permissions.deny": ["Edit(charts/**)"]})
    assert refused.is_error and not list(itertools.chain(Path().glob("*.svg"), Path().glob("charts/*")))
    (made,) = call(turn, plugins=guard, settings={"permissions.allow": ["Edit(charts/**)"]})
    assert not made.is_error and Path("charts/a.svg").exists()


def test_without_the_library_a_png_says_what_to_install(call, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "resvg_py", None)
    (told,) = call(("create_chart_tool", {**SALES, "path": "a.png"}))
    assert told.is_error and "pip install 'skillkit-chart-tools[png]'" in told.text and not Path("a.png").exists()


def test_it_says_the_reason_where_a_folder_is_a_file(call):
    Path("charts").write_text("")
    (told,) = call(("create_chart_tool", {**SALES, "path": "charts/a.svg"}))
    assert told.is_error and "could not be written" in told.text
    with pytest.raises(ToolError):
        drawn("bar", [], [])
