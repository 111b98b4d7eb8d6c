"""Duplicates and disk usage of real folders, with links, pipes, unreadable files and names that are no options."""

import os

import pytest
from hypothesis import given, settings, strategies as st


def test_equal_files_are_grouped_by_content(workspace):
    workspace.write("photos/a.jpg", b"x" * 100_000)
    workspace.write("photos/old/b.jpg", b"x" * 100_000)
    workspace.write("photos/c.jpg", b"x" * 99_999 + b"y")
    workspace.write("photos/small", b"1")
    workspace.write("photos/-rf", b"1")
    workspace.write("photos/empty1", b"")
    workspace.write("photos/empty2", b"")
    result = workspace.result("find-duplicates", "find", path="photos")
    assert result["duplicates"] == [
        {"size": 100_000, "paths": ["photos/a.jpg", "photos/old/b.jpg"]},
        {"size": 1, "paths": ["photos/-rf", "photos/small"]},
    ]
    assert (result["groups"], result["copies"], result["wasted_bytes"], result["files"]) == (2, 2, 100_001, 5)
    assert result["answer"].splitlines()[0] == "2 groups of equal files in photos: 2 copies that could go, 100.0 kB"
    assert workspace.result("find-duplicates", "find", path="photos", minimum=0)["groups"] == 3
    assert workspace.result("find-duplicates", "find", path="photos", pattern="*.JPG")["groups"] == 1


def test_links_pipes_and_version_control_are_passed_over_with_a_note(workspace):
    workspace.write("a", "same")
    (workspace.path / "link").symlink_to("a")
    (workspace.path / "loop").symlink_to(".")
    (workspace.path / "dangling").symlink_to("nowhere")
    os.link(workspace.path / "a", workspace.path / "hard")
    os.mkfifo(workspace.path / "pipe")
    workspace.write(".git/a", "same")
    result = workspace.result("find-duplicates", "find")
    assert (result["files"], result["groups"]) == (1, 0)
    assert result["notes"] == [
        "skipped 3 symbolic links",
        "skipped 1 hard link, which share their space",
        "skipped 1 special file (pipes, sockets, devices)",
    ]
    assert result["answer"].startswith("no duplicates among 1 file in .")


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_unreadable_files_are_named(workspace):
    for name in ("a", "b", "c"):
        workspace.write(name, "same")
    (workspace.path / "c").chmod(0)
    result = workspace.result("find-duplicates", "find")
    assert result["duplicates"] == [{"size": 4, "paths": ["./a", "./b"]}]
    assert result["notes"] == ["could not read 1 file or folder: ./c"]


@given(st.lists(st.binary(max_size=3), max_size=12))
@settings(max_examples=30)
def test_every_group_is_exactly_one_content(load, tmp_path_factory, contents):
    find = load("find-duplicates", "find")
    root = tmp_path_factory.mktemp("files")
    for number, content in enumerate(contents):
        (root / str(number)).write_bytes(content)
    groups = find.duplicates(find.scan(str(root), 0, "*"))
    found = sorted(sorted(int(os.path.basename(path)) for path in paths) for _, paths in groups)
    expected = sorted(
        [number for number, other in enumerate(contents) if other == content]
        for content in set(contents) if contents.count(content) > 1
    )  # fmt: skip
    assert found == expected


def test_names_that_are_not_unicode_or_hold_newlines_are_shown(workspace):
    for name in (b"bad\xff", b"new\nline"):
        with open(os.path.join(os.fsencode(workspace.path), name), "wb") as stream:
            stream.write(b"same")
    [group] = workspace.result("find-duplicates", "find")["duplicates"]
    assert group["paths"] == ["./bad\\udcff", "./new\\nline"]
    workspace.result("disk-usage", "usage")


def test_many_duplicates_are_cut_and_say_so(workspace):
    for number in range(1_200):
        workspace.write(f"f{number}", "same")
    result = workspace.result("find-duplicates", "find")
    assert (result["copies"], result["truncated"], len(result["duplicates"][0]["paths"])) == (1_199, True, 500)


def test_disk_usage_adds_up_and_sorts(workspace):
    workspace.write("data/big.bin", b"x" * 5_000)
    workspace.write("data/deep/er/mid.txt", b"x" * 3_000)
    workspace.write("data/small.TXT", b"x" * 10)
    os.link(workspace.path / "data/big.bin", workspace.path / "data/again.bin")
    (workspace.path / "data/loop").symlink_to("..")
    result = workspace.result("disk-usage", "usage", path="data")
    assert (result["bytes"], result["files"]) == (8_010, 3)
    assert [item["bytes"] for item in result["largest_files"]] == [5_000, 3_000, 10]
    assert [(item["path"], item["bytes"]) for item in result["largest_folders"]] == [
        ("data/deep", 3_000),
        ("data/deep/er", 3_000),
    ]
    assert result["kinds"][1] == {"kind": ".txt", "bytes": 3_010, "files": 2}
    assert result["notes"] == ["skipped 1 symbolic link"]
    assert "8.0 kB in 3 files" in result["answer"]
    assert len(workspace.result("disk-usage", "usage", path="data", top=1)["largest_files"]) == 1


def test_an_empty_folder_is_an_answer(workspace):
    assert "0 bytes in 0 files" in workspace.result("disk-usage", "usage")["answer"]


@pytest.mark.parametrize(("skill", "action"), [("find-duplicates", "find"), ("disk-usage", "usage")])
def test_a_path_that_is_no_folder_is_a_problem(workspace, skill, action):
    workspace.write("file", "x")
    assert "not a folder" in workspace.problem(skill, action, path="file")
    assert "there is no 'nope'" in workspace.problem(skill, action, path="nope")
    assert "there is no '--help'" in workspace.problem(skill, action, path="--help")
