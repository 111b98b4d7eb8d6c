"""The tools of documents, on real files."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import pytest
import skillkit_document_tools.plugin
from skillkit_testkit.conformance import ToolConformance

NAMES = [
    "append_to_document_tool", "create_document_tool", "create_user_file_tool", "create_user_folder_tool", "move_document_tool",
    "tag_document_tool",
]  # fmt: skip


class TestConformance(ToolConformance):
    plugin = skillkit_document_tools.plugin
    calls: ClassVar = {
        "append_to_document_tool": {"path": "a.md", "content": "more"},
        "create_user_folder_tool": {"path": "folder"},
        "get_document_content_tool": {"path": "a.md"},
        "get_document_metadata_tool": {"path": "a.md"},
        "list_documents_by_type_tool": {},
        "list_folders_tool": {"folder": "."},
        "search_documents_tool": {"query": "text"},
        "search_within_document_tool": {"path": "a.md", "query": "text"},
        "tag_document_tool": {"path": "a.md", "add": ["x"]},
    }

    @pytest.fixture
    def tool_host(self, make_host):
        Path("a.md").write_text("# A\n\nA text.\n")
        return make_host(self.plugin, settings={"tools.allow": sorted(self.calls)})


@pytest.fixture
def call(make_host, call_tools):
    """Calls tools with every one of them allowed, and returns their results."""

    def calls(*turns, settings=None, plugins=()):
        host = make_host(skillkit_document_tools.plugin, *plugins, settings={"tools.allow": NAMES, **(settings or {})})
        return call_tools(host, *turns)

    return calls


@pytest.mark.smoke
def test_a_document_is_made_added_to_tagged_and_moved(call):
    made, added, tagged, moved = call(
        (
            "create_document_tool",
            {"title": "Bees & Honey", "content": "# Bees\n\nThey fly", "type": "note", "tags": ["insects"]},
        ),
        ("append_to_document_tool", {"path": "bees-honey.md", "content": "They dance.", "heading": "More"}),
        ("tag_document_tool", {"path": "bees-honey.md", "add": ["garden"], "remove": ["Insects"]}),
        ("move_document_tool", {"path": "bees-honey.md", "folder": "nature/small"}),
    )
    assert made.text == "Made bees-honey.md." and moved.text == "Moved to nature/small/bees-honey.md."
    assert tagged.details == {"tags": ["garden"]} and not added.is_error
    assert Path("nature/small/bees-honey.md").read_text() == (
        "---\ntitle: Bees & Honey\ntype: note\ntags: [garden]\n---\n\n# Bees\n\nThey fly\n\n## More\n\nThey dance.\n"
    )
    assert not Path("bees-honey.md").exists()


@pytest.mark.parametrize(
    ("head", "wanted"),
    [
        ("", "---\ntags: [x]\n---\n\n"),
        ("---\ntitle: T # why\n---\n", "---\ntitle: T # why\ntags: [x]\n---\n"),
        ("---\ntags: [a, b]\ntitle: T\n---\n", "---\ntitle: T\ntags: [a, b, x]\n---\n"),
        ("---\ntags:\n  - a\n  - b\nz: 1\n---\n", "---\nz: 1\ntags: [a, b, x]\n---\n"),
        ("---\ntags: a, b\n---\n", "---\ntags: [a, b, x]\n---\n"),
    ],
)
def test_tags_change_and_every_other_byte_stays(call, head, wanted):
    body = "\n# T\r\n\ntrailing  \n\n\n"
    Path("t.md").write_bytes((head + body).encode())
    call(("tag_document_tool", {"path": "t.md", "add": ["x"]}))
    assert Path("t.md").read_bytes() == (wanted + body).encode()


def test_documents_are_listed_found_and_read_by_type_tag_and_words(call):
    Path("notes").mkdir()
    Path("notes/bees.md").write_text("---\ntitle: Bees\ntype: Reference\ntags: [insects]\n---\nHoney bees dance.\n")
    Path("notes/ships.md").write_text("# Ships\n\nThe keeper counts ships. Bees too.\n")
    Path("notes/data.txt").write_text("bees")
    Path(".hidden").mkdir()
    Path(".hidden/x.md").write_text("bees")
    listed, by_type, by_tag, found, within, head, folders = call(
        ("list_documents_by_type_tool", {}),
        ("list_documents_by_type_tool", {"type": "reference"}),
        ("list_documents_by_type_tool", {"tag": "Insects", "folder": "notes"}),
        ("search_documents_tool", {"query": "bees"}),
        ("search_within_document_tool", {"path": "notes/ships.md", "query": "bees ships"}),
        ("get_document_metadata_tool", {"path": "notes/bees.md"}),
        ("list_folders_tool", {}),
    )
    assert listed.text == "notes/bees.md: Bees [Reference]\nnotes/ships.md: Ships"
    assert [row["path"] for row in by_type.details] == ["notes/bees.md"] == [row["path"] for row in by_tag.details]
    assert [row["path"] for row in found.details] == ["notes/bees.md", "notes/ships.md"]
    assert within.text == "3: The keeper counts ships. Bees too."
    assert head.details["front_matter"]["tags"] == ["insects"] and "words: 3" in head.text
    assert folders.text == "notes"


def test_a_long_document_is_read_on_with_offset(call):
    Path("long.md").write_text("a" * 50_000)
    first, second, beyond = call(
        *(("get_document_content_tool", {"path": "long.md", "offset": offset}) for offset in (0, 40_000, 50_000))
    )
    assert (
        first.text.endswith("[characters 0 to 40000 of 50000; go on with offset 40000]") and len(second.text) == 10_000
    )
    assert beyond.is_error


def test_nothing_outside_of_the_documents_is_touched_also_not_behind_a_link(call, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.md").write_text("secret")
    Path("docs").mkdir()
    Path("docs/link").symlink_to(outside)
    Path("docs/secret.md").symlink_to(outside / "secret.md")
    Path("docs/own.md").write_text("own")
    turns = (
        ("get_document_content_tool", {"path": "docs/secret.md"}),
        ("get_document_content_tool", {"path": "docs/link/secret.md"}),
        ("get_document_content_tool", {"path": "docs/../../outside/secret.md"}),
        ("create_user_file_tool", {"path": "docs/link/new.md", "content": "x"}),
        ("create_document_tool", {"title": "New", "content": "x", "folder": "docs/link"}),
        ("move_document_tool", {"path": "docs/own.md", "folder": "docs/link"}),
        ("create_user_folder_tool", {"path": "elsewhere"}),
    )
    results = call(*turns, settings={"documents.root": "docs"})
    assert all(one.is_error and "lies outside of the documents" in one.text for one in results), results
    (found,) = call(("search_documents_tool", {"query": "secret"}), settings={"documents.root": "docs"})
    assert found.text == "No document has all these words."
    assert sorted(path.name for path in outside.iterdir()) == ["secret.md"] and Path("docs/own.md").exists()


def test_nothing_is_overwritten(call):
    Path("a.md").write_text("old")
    Path("b").mkdir()
    Path("b/a.md").write_text("other")
    made, moved = call(
        ("create_document_tool", {"title": "A", "content": "new"}),
        ("move_document_tool", {"path": "a.md", "folder": "b"}),
    )
    assert made.is_error and moved.is_error and "is there already" in made.text
    assert Path("a.md").read_text() == "old" and Path("b/a.md").read_text() == "other"


def test_without_permissions_changes_must_be_allowed_by_name(make_host, call_tools):
    host = make_host(skillkit_document_tools.plugin)
    (refused,) = call_tools(host, ("create_document_tool", {"title": "A", "content": "x"}))
    assert refused.is_error and not Path("a.md").exists()
