"""The tools of org files, on real files."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import pytest
import skillkit_org.plugin
import skillkit_permissions.plugin
from skillkit_org.writing import heading
from skillkit_testkit.conformance import ToolConformance

from skillkit_core import ToolError

WORK = """#+title: Work
* Projects :work:
** TODO [#A] Write report :write:
   DEADLINE: <2026-02-01 Sun>
   With the numbers of bees.
** DONE Buy paper
** WAITING Answer of Ida
* Notes
"""


class TestConformance(ToolConformance):
    plugin = skillkit_org.plugin
    calls: ClassVar = {
        "add_org_inbox_item_tool": {"title": "Buy milk"},
        "parse_org_structure_tool": {"path": "work.org"},
        "list_org_todos_tool": {"path": "."},
        "search_org_headings_tool": {"query": "bees"},
        "get_org_statistics_tool": {"path": "work.org"},
    }

    @pytest.fixture
    def tool_host(self, make_host):
        Path("work.org").write_text(WORK)
        return make_host(self.plugin, settings={"tools.allow": sorted(self.calls)})


@pytest.fixture
def call(make_host, call_tools):
    Path("work.org").write_text(WORK)

    def calls(*turns, plugins=(), settings=None):
        given = {"tools.allow": ["add_org_inbox_item_tool"], **(settings or {})}
        return call_tools(make_host(("org", skillkit_org.plugin), *plugins, settings=given), *turns)

    return calls


@pytest.mark.smoke
def test_what_is_captured_stands_at_the_end_of_the_inbox_and_is_found_again(call):
    Path("inbox.org").write_text("* TODO Old")  # without a line end
    full = {
        "title": "Call  Ida\nnow",
        "body": "* no heading\n  about lunch",
        "tags": ["phone"],
        "deadline": "2026-01-31",
    }
    captured, note, listed, found = call(
        ("add_org_inbox_item_tool", full),
        ("add_org_inbox_item_tool", {"title": "An idea", "todo": ""}),
        ("list_org_todos_tool", {"due_before": "2026-02-01"}),
        ("search_org_headings_tool", {"query": "LUNCH"}),
    )
    assert captured.text == "Captured in inbox.org: TODO Call Ida now :phone:" and note.text.endswith("An idea")
    assert Path("inbox.org").read_text() == (
        "* TODO Old\n* TODO Call Ida now :phone:\n  DEADLINE: <2026-01-31 Sat>\n  * no heading\n    about lunch\n* An idea\n"
    )
    assert listed.text == "inbox.org:2: TODO Call Ida now :phone: (due 2026-01-31)" and len(found.details) == 1


def test_headings_tasks_and_counts_are_read(call):
    outline, open_, waiting, done, counts = call(
        ("parse_org_structure_tool", {"path": "work.org"}),
        ("list_org_todos_tool", {}),
        ("list_org_todos_tool", {"state": "waiting"}),
        ("list_org_todos_tool", {"state": "DONE", "tag": "none"}),
        ("get_org_statistics_tool", {}),
    )
    assert outline.text.splitlines() == [
        "work.org:2: Projects :work:",
        "  work.org:3: TODO [#A] Write report :write: (due 2026-02-01)",
        "  work.org:6: DONE Buy paper",
        "  work.org:7: WAITING Answer of Ida",
        "work.org:8: Notes",
    ]
    assert [row["title"] for row in open_.details] == ["Write report", "Answer of Ida"]
    assert [row["title"] for row in waiting.details] == ["Answer of Ida"] and done.text == "No task fits."
    assert counts.details == {
        "files": 1, "headings": 5, "open": 2, "done": 1, "states": {"TODO": 1, "DONE": 1, "WAITING": 1},
        "tags": {"work": 1, "write": 1},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("title", "tags", "told"), [(" \n", [], "needs a title"), ("x", ["a b"], "no tag of org: 'a b'")]
)
def test_what_would_be_no_heading_is_refused(title, tags, told):
    with pytest.raises(ToolError, match=told):
        heading(title, tags=tags)


def test_what_is_wrong_is_told_in_words(call):
    Path("bytes.org").write_bytes(b"* \xff")
    missing, odd, never = call(
        ("parse_org_structure_tool", {"path": "none.org"}),
        ("parse_org_structure_tool", {"path": "bytes.org"}),
        ("add_org_inbox_item_tool", {"title": "x", "deadline": "2026-02-31"}),
    )
    assert "there is no file or folder" in missing.text and "cannot be read" in odd.text and "no date" in never.text
    assert not Path("inbox.org").exists()


def test_permissions_judge_the_inbox_that_is_set_and_a_file_that_is_named(call, tmp_path):
    guard = [("permissions", skillkit_permissions.plugin)]
    turn = ("add_org_inbox_item_tool", {"title": "x"})
    (asked,) = call(turn, plugins=guard)
    assert asked.outcome == "denied" and "Edit(" in asked.text and not Path("inbox.org").exists()
    rules = {"permissions.allow": ["Edit(/inbox.org)"]}
    done, other = call(
        turn, ("add_org_inbox_item_tool", {"title": "x", "path": "other.org"}), plugins=guard, settings=rules
    )
    assert not done.is_error, done.text
    assert other.outcome == "denied" and not Path("other.org").exists()
