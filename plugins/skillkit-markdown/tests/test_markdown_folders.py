"""Folders of Markdown: the project's file hides the user's, nothing untrusted is read, nothing leads out of its folder."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import pytest
from skillkit_markdown import FileError, Folder, NamedFile, Unusable, collect, folders_of, read_bytes, read_inside

pytestmark = pytest.mark.smoke


@dataclass(frozen=True, slots=True)
class Note(NamedFile):
    text: str = ""


def note(file):
    file.require_whole()
    if not file.front.body:
        raise Unusable("it is empty", "nothing")
    return Note(file.name, file.path, file.origin, file.repairs(), text=file.front.body)


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def notes(*folders, **options):
    return list(collect(Note, folders, note, **options))


def test_the_folders_of_a_kind_are_the_projects_and_the_users(make_host, tmp_path):
    host = make_host(cwd=tmp_path)
    found = list(folders_of(host, "agents"))
    assert [f.origin for f in found] == ["project", "project:claude", "user", "user:claude"]
    assert [f.counts(f.path / "any.md") for f in found] == [False, False, True, True]
    assert found[0].path == tmp_path / ".skillkit/agents" and found[2].path == host.config_dir / "agents"


def test_of_two_files_with_one_name_the_first_wins_and_the_other_says_who_hides_it(tmp_path):
    first = write(tmp_path / "project/deploy.md", "Ours")
    second = write(tmp_path / "user/deploy.md", "Mine")
    ours, mine = notes(Folder("project", tmp_path / "project"), Folder("user", tmp_path / "user"))
    assert (ours.text, ours.broken, ours.hidden_by) == ("Ours", False, None)
    assert (mine.path, mine.broken, mine.hidden_by) == (second, True, first)
    assert mine.problems == (f"hidden by {first}, which has the same name",)


def test_a_file_that_cannot_be_used_hides_none(tmp_path):
    write(tmp_path / "project/deploy.md", "---\na: 1\na: 2\n---\nOurs")
    write(tmp_path / "user/deploy.md", "Mine")
    ours, mine = notes(Folder("project", tmp_path / "project"), Folder("user", tmp_path / "user"))
    assert ours.broken and not mine.broken


def test_nothing_of_a_folder_that_is_not_trusted_is_opened(tmp_path):
    folder = tmp_path / "project"
    write(folder / "deploy.md", "Ours").chmod(0)
    write(tmp_path / "user/deploy.md", "Mine")
    (mine,) = notes(Folder("project", folder, counts=lambda path: False), Folder("user", tmp_path / "user"))
    assert mine.text == "Mine" and not mine.broken


def test_files_that_lead_out_are_too_large_or_no_text_are_said_and_not_read(tmp_path):
    folder, secret = tmp_path / "notes", write(tmp_path / "secret.md", "Secret")
    write(folder / "huge.md", "x" * 300_000)
    (folder / "latin.md").write_bytes(b"caf\xe9")
    (folder / "link.md").symlink_to(secret)
    write(folder / "empty.md", "---\na: b\n---\n")
    found = {n.path.name: n for n in notes(Folder("user", folder))}
    assert found["huge.md"].problems == ("it is larger than 256 KiB",)
    assert found["link.md"].problems == ("it is a link out of its folder",) and found["link.md"].text == ""
    assert "cannot be read" in found["latin.md"].problems[0]
    assert found["empty.md"].name == "nothing" and all(n.broken for n in found.values())


def test_a_repair_is_said_with_its_line_and_a_lost_key_makes_the_file_unusable(tmp_path):
    write(tmp_path / "a.md", "---\nabout: One: two\n---\nText")
    write(tmp_path / "b.md", '---\ntools: [read\nmore: {"x" "y"\n---\nText')
    mended, broken = notes(Folder("user", tmp_path))
    assert mended.problems == ("line 2: a value needs quotes and was read as text",) and not mended.broken
    assert broken.broken and broken.problems[0].startswith("line 3: ")


def test_names_in_sub_folders_and_the_most_files_of_a_folder(tmp_path):
    for name in ("fix/types.md", "a.md", "b.md"):
        write(tmp_path / name, "Text")
    assert [n.name for n in notes(Folder("user", tmp_path))] == ["a", "b"]
    assert [n.name for n in notes(Folder("user", tmp_path), deep=True)] == ["a", "b", "fix/types"]
    assert [n.name for n in notes(Folder("user", tmp_path), deep=True, most=1)] == ["a"]


def test_only_regular_files_inside_are_read(tmp_path):
    inside, outside = write(tmp_path / "in/a.md", "text"), write(tmp_path / "out/b.md", "text")
    os.mkfifo(tmp_path / "in/pipe")
    (tmp_path / "in/link").symlink_to(outside)
    (tmp_path / "in/folder").mkdir()
    assert read_inside(inside, [tmp_path / "in"], 2) == b"te" and read_bytes(inside, 99) == b"text"
    for name, reason in {"pipe": "not-a-file", "link": "outside", "folder": "not-a-file", "none": "missing"}.items():
        with pytest.raises(FileError) as said:
            read_inside(tmp_path / "in" / name, [tmp_path / "in"], 99)
        assert said.value.reason == reason
    with pytest.raises(OSError, match="regular"):
        read_bytes(tmp_path / "in/pipe", 99)
