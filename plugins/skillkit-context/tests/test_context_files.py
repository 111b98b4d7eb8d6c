"""Which files are read, and how: trust, links, pipes, imports."""

import os
from pathlib import Path

import pytest
from skillkit_context import Settings, load
from skillkit_context.files import Reader, imports_of


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


@pytest.fixture
def read(tmp_path):
    """Loads the context files of a project; the user's are below ``home``."""
    (tmp_path / "repo" / ".git").mkdir(parents=True)

    def run(cwd="repo", trusted=lambda folder, path: True, **settings):
        return load(
            tmp_path / cwd, Settings(**settings), home=tmp_path / "home", config_dir=tmp_path / "home" / "config",
            trusted=trusted,
        )  # fmt: skip

    return run


def reasons(loaded):
    return {left.path.name: left.reason for left in loaded.left_out}


@pytest.mark.smoke
def test_a_pipe_and_a_device_are_left_out_and_nothing_waits_for_them(read, tmp_path):
    os.mkfifo(tmp_path / "repo" / "AGENTS.md")
    (tmp_path / "repo" / "CLAUDE.local.md").symlink_to("/dev/zero")
    write(tmp_path / "repo" / "CLAUDE.md", "Read @pipe.md.")
    os.mkfifo(tmp_path / "repo" / "pipe.md")
    found = read()
    assert [s.text for s in found.sections] == ["Read @pipe.md."]
    assert reasons(found) == {"AGENTS.md": "not-a-file", "CLAUDE.local.md": "outside", "pipe.md": "not-a-file"}


def test_a_folder_that_is_a_link_out_of_the_project_is_not_followed(read, tmp_path):
    write(tmp_path / "elsewhere" / "CLAUDE.md", "secret")
    (tmp_path / "repo" / ".claude").symlink_to(tmp_path / "elsewhere")
    assert read().sections == () and reasons(read()) == {"CLAUDE.md": "outside"}


def test_a_file_has_its_own_place_although_a_nearer_one_imports_it(read, tmp_path):
    write(tmp_path / "repo" / "AGENTS.md", "the whole project")
    write(tmp_path / "repo" / "p" / "CLAUDE.md", "near @../AGENTS.md @extra.md")
    write(tmp_path / "repo" / "p" / "extra.md", "more")
    found = read("repo/p")
    assert [(s.path.parent.name, s.text.splitlines()[0]) for s in found.sections] == [
        ("p", "near @../AGENTS.md @extra.md"),
        ("repo", "the whole project"),
    ]
    assert found.sections[0].text.endswith("extra.md]\nmore") and reasons(found) == {"AGENTS.md": "duplicate"}


def test_trust_is_asked_for_each_folder_and_each_import(read, tmp_path):
    write(tmp_path / "repo" / "CLAUDE.md", "root @new.md")
    write(tmp_path / "repo" / "new.md", "new")
    write(tmp_path / "repo" / "p" / "CLAUDE.md", "near")
    asked = []

    def trusted(folder, path):
        asked.append((folder.name, path.name))
        return folder.name == "repo" and path.name != "new.md"

    found = read("repo/p", trusted)
    assert [s.text for s in found.sections] == ["root @new.md"]
    assert [(x.path.name, x.reason) for x in found.left_out] == [("CLAUDE.md", "untrusted"), ("new.md", "untrusted")]
    assert asked == [("p", "CLAUDE.md"), ("repo", "CLAUDE.md"), ("repo", "new.md")]


def test_many_imports_end_where_there_is_no_room_left(read, tmp_path):
    write(tmp_path / "repo" / "CLAUDE.md", " ".join(f"@{n}.md" for n in range(50)))
    for n in range(50):
        write(tmp_path / "repo" / f"{n}.md", f"{n}" * 500)
    found = read(max_total=2_000)
    (section,) = found.sections
    assert section.truncated and len(section.text.encode()) == 2_000 and len(section.imports) < 5
    assert set(reasons(found).values()) == {"size"}


def test_a_file_that_may_not_be_read_is_said(read, tmp_path):
    path = write(tmp_path / "repo" / "AGENTS.md", "text")
    path.chmod(0)
    if os.access(path, os.R_OK):
        pytest.skip("this user may read everything")
    assert reasons(read()) == {"AGENTS.md": "unreadable"}


def test_a_file_is_read_once(tmp_path):
    path = write(tmp_path / "AGENTS.md", "before")
    reader, inside = Reader(100), [Path(os.path.realpath(tmp_path))]
    assert reader.read(path, inside) == ("before", False)
    path.write_text("after")
    assert reader.read(path, inside) == ("before", False)


@pytest.mark.parametrize(
    ("text", "imports"),
    [
        ("@a.md, @b.md. (@c.md)", ["a.md", "b.md", "c.md"]),
        ("@./a @../b/c.md @~/d.md @/e.md", ["./a", "../b/c.md", "~/d.md", "/e.md"]),
        ("me@x.md `@a.md` ``@b`@c.md``", []),
        ("````\n```\n@a.md\n````\n@b.md", ["b.md"]),
        ("~~~\n@a.md\n```\n@b.md", []),
    ],
)
def test_imports_are_paths_after_an_at_sign_outside_of_code(text, imports):
    assert list(imports_of(text)) == imports
