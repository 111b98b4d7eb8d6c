"""Patches as git and models write them, and what a patch of a long file costs, in places that are looked at."""

import itertools
import os
import random
import subprocess

import pytest
from skillkit_files.changes import Changes
from skillkit_files.diff import summary
from skillkit_files.folder import FileError, Folder
from skillkit_files.patch import _patched, apply_patch, paths_of, read_patch
from skillkit_files.places import GIT, OPENAI, Places
from skillkit_files.read import _Chosen, read_file
from skillkit_files.text import Text

EDIT = "*** Begin Patch\n*** Update File: a.txt\n@@\n one\n-two\n+2\n*** Add File: b.txt\n+new\n*** End Patch\n"
DIFF = "--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n"


def applied(folder, patch):
    changes = Changes(Folder(folder), {})
    apply_patch(patch, changes)
    changes.commit()


@pytest.fixture
def work(tmp_path):
    (tmp_path / "a.txt").write_text("one\ntwo\nthree\n")
    return tmp_path


@pytest.fixture
def git(tmp_path):
    """``git(...)`` runs git in a new repository, and returns what it prints; ``git.folder`` is the repository."""
    if subprocess.run(["git", "--version"], capture_output=True, check=False).returncode:
        pytest.skip("git is not installed")
    folder = tmp_path / "repository"
    folder.mkdir()
    who = {"NAME": "Ann", "EMAIL": "ann@example.org"}
    names = {f"GIT_{role}_{part}": value for role in ("AUTHOR", "COMMITTER") for part, value in who.items()}
    env = {**os.environ, **names, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}

    def run(*words):
        return subprocess.run(["git", *words], cwd=folder, env=env, check=True, capture_output=True, text=True).stdout

    run.folder = folder
    run("init", "-q", "-b", "main")
    return run


def committed(git, message, **files):
    for name, content in files.items():
        (git.folder / name.replace("_", ".")).write_text(content)
    git("add", "-A")
    git("commit", "-qm", message)


def tree(folder):
    files = (f for f in folder.rglob("*") if f.is_file() and ".git" not in f.parts)
    return {str(f.relative_to(folder)): (f.read_bytes(), f.stat().st_mode & 0o111) for f in files}


@pytest.mark.parametrize("signature", ["--signature=2.43.0", "--signature=Ann, of the house", "--no-signature", "-p"])
def test_several_commits_as_git_writes_them_give_the_same_tree_as_in_git(git, signature):
    committed(git, "begin", a_txt="one\ntwo\nthree\n", b_sql="select 1;\n-- \nselect 2;\n", c_py="x = 1\n" * 9)
    for name, _ in tree(git.folder).items():
        (git.folder / name).chmod(0o644)
    before = tree(git.folder)
    committed(git, "Say 2\n\nrename from here to there\nnew file mode 100755\n--- is no head", a_txt="one\n2\nthree\n")
    (git.folder / "run.sh").write_text("#!/bin/sh\n")
    (git.folder / "run.sh").chmod(0o755)
    git("mv", "c.py", "d.py")
    committed(git, "A program, and a new name", a_txt="one\n2\nthree\nfour\n", b_sql="select 1;\nselect 2;\n")
    (git.folder / "run.sh").chmod(0o644)
    git("rm", "-q", "d.py")
    committed(git, "Less", a_txt="one\n")
    patches = git("format-patch", "--stdout", signature, "HEAD~3")
    other = git.folder.parent / "other"
    other.mkdir()
    for name, (content, _) in before.items():
        (other / name).write_bytes(content)

    applied(other, patches)

    assert tree(other) == tree(git.folder)


@pytest.mark.parametrize(
    "words",
    [
        ("format-patch", "--stdout", "-1"),
        ("format-patch", "--stdout", "--no-prefix", "-1"),
        ("show",),
        ("diff", "--no-prefix", "HEAD~1"),
    ],
)
def test_names_with_blanks_and_of_folders_a_and_b_and_messages_about_patches_are_as_in_git(git, words):
    for name in ("two words.txt", "b/b/b", "a/a.txt"):
        (git.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (git.folder / name).write_text(f"{name}\n")
    committed(git, "begin")
    before = tree(git.folder)
    git("mv", "two words.txt", "b/three more words.txt")
    git("mv", "b/b/b", "b/c")
    committed(git, "On patches\n\n*** Begin Patch\n*** End Patch\n--- one\n+++ two", a_txt="new\n")
    (git.folder / "a" / "a.txt").write_text("other\n")
    git("commit", "-qa", "--amend", "--no-edit")
    other = git.folder.parent / "other"
    for name, (content, _) in before.items():
        (other / name).parent.mkdir(parents=True, exist_ok=True)
        (other / name).write_bytes(content)

    applied(other, git(*words))

    assert tree(other) == tree(git.folder)


def test_a_binary_part_is_refused_with_its_name_and_nothing_is_applied(git):
    committed(git, "begin", a_txt="one\n")
    (git.folder / "dot.png").write_bytes(bytes(range(256)))
    committed(git, "a picture", a_txt="two\n")
    patch = git("format-patch", "--stdout", "-1")
    git("checkout", "-q", "HEAD~1")

    with pytest.raises(FileError, match=r"binary file \(dot\.png\)"):
        applied(git.folder, patch)
    assert (git.folder / "a.txt").read_text() == "one\n"


def test_a_change_of_a_link_is_refused(git):
    (git.folder / "link").symlink_to("a.txt")
    committed(git, "begin", a_txt="one\n")
    (git.folder / "link").unlink()
    (git.folder / "link").symlink_to("b.txt")
    committed(git, "another target")

    with pytest.raises(FileError, match="links and submodules"):
        applied(git.folder, git("format-patch", "--stdout", "-1"))


def test_a_message_that_speaks_of_binary_files_is_no_binary_part(git):
    committed(git, "begin", a_txt="one\n")
    committed(git, "Binary files are next\n\nGIT binary patch\nBinary files a and b differ", a_txt="two\n")
    patch = git("format-patch", "--stdout", "-1")

    assert paths_of({"patch": patch}) == ["a.txt"]


@pytest.mark.parametrize(
    "patch",
    [
        f" {EDIT}",
        f"Here it is:\n```patch\n{EDIT}```\nThat is all.",
        EDIT.replace("*** ", " *** "),
        EDIT.replace("*** ", "\t*** "),
        EDIT.replace("*** Begin", " *** Begin").replace("*** End", "  *** End"),
        "\n".join(f"    {line}" for line in EDIT.splitlines()),
        "1. Apply:\n\n" + "\n".join(f"   {line}" if line else line for line in EDIT.splitlines()) + "\n\nDone.",
        EDIT.replace("*** Add", "  *** Add").replace("*** End", " *** End"),
    ],
)
def test_blanks_before_the_markers_and_an_indented_patch_are_taken(work, patch):
    applied(work, patch)

    assert (work / "a.txt").read_text() == "one\n2\nthree\n"
    assert (work / "b.txt").read_text() == "new\n"


@pytest.mark.parametrize(
    "patch",
    [
        "\n".join(f"    {line}" for line in DIFF.splitlines()),
        f"```diff\n{DIFF}```\n",
        f"As said:\n\n{DIFF.replace('--- a', '  --- a').replace('+++ b', '  +++ b')}",
        "".join(f"\t{line}\n" for line in DIFF.splitlines()) + "\nApply it.",
        f"{DIFF}-- \n2.43.0\n\n",
        f"{DIFF.replace('-1,3 +1,3', '-1,9 +1,9')}-- \n2.39.5 (Apple Git-154)\n",
    ],
)
def test_an_indented_a_fenced_and_a_signed_diff_is_taken(work, patch):
    applied(work, patch)

    assert (work / "a.txt").read_text() == "one\n2\nthree\n"


def test_a_file_about_patches_keeps_its_lines(work):
    about = "To begin:\n*** Begin Patch\n*** Add File: x\n*** End Patch\nThen:\n--- a\nold\n"
    (work / "about.md").write_text(about)
    lines = "".join(f" {line}\n" for line in about.splitlines()[:-1])

    applied(work, f"*** Begin Patch\n*** Update File: about.md\n@@\n{lines}-old\n+new\n*** End Patch")
    assert (work / "about.md").read_text() == about.replace("old", "new")
    applied(work, f"--- a/about.md\n+++ b/about.md\n@@ -1,7 +1,7 @@\n{lines}-new\n+newer\n")
    assert (work / "about.md").read_text() == about.replace("old", "newer")


def test_a_removed_line_of_two_dashes_is_no_signature(work):
    (work / "q.sql").write_text("a\n- \nb\n")

    applied(work, "--- a/q.sql\n+++ b/q.sql\n@@ -1,3 +1,2 @@\n a\n-- \n b\n")

    assert (work / "q.sql").read_text() == "a\nb\n"


# --- growth -----------------------------------------------------------------------------------------------------


def hunks(count, size, at):
    """A diff of ``count`` hunks in a file of ``size`` lines; ``at(n)`` is the number that hunk at line n claims."""
    lines = [f"line {n % 97}" if n % 11 else f"only {n}" for n in range(size)]
    out, step = ["--- a/f", "+++ b/f"], size // count
    for n in range(2, size - 5, step):
        out += [f"@@ -{at(n)},5 +{at(n)},5 @@", *(f" {line}" for line in lines[n : n + 2])]
        out += [f"-{lines[n + 2]}", f"+new {n}", *(f" {line} " for line in lines[n + 3 : n + 5])]
    return lines, "\n".join(out)


@pytest.mark.parametrize(
    "at", [lambda n: n + 1, lambda n: 1, lambda n: n + 40], ids=["one below", "at the top", "far below"]
)
def test_a_patch_looks_at_a_number_of_places_that_grows_with_its_hunks(at):
    looked = []
    for size in (2_000, 20_000, 200_000):
        lines, patch = hunks(size // 100, size, at)
        (op,) = read_patch(patch)
        places, start = Places(lines), 0
        for hunk in op.hunks:
            found = places.nearest(hunk.old, start, hunk.at, GIT)
            assert found is not None
            start = found + len(hunk.old)
        looked.append(places.looked_at / len(op.hunks))

    assert looked[2] <= looked[0] + 2, looked


def test_lines_that_are_all_alike_are_not_compared_over_and_over():
    places = Places(["same"] * 200_000)

    assert places.nearest(["same"] * 3, 0, 150_000, OPENAI) == 150_000
    assert places.first(["same", "same "], 199_990, OPENAI) == 199_990
    assert places.first(["same", "other"], 0, OPENAI) is None
    assert places.looked_at < 5


def test_the_nearest_place_is_taken_and_of_two_the_upper_one():
    places = Places(["x", "a", "x", "a", "x", "a", "x"])

    assert [places.nearest(["a"], 0, at, GIT) for at in range(7)] == [1, 1, 1, 3, 3, 5, 5]
    assert [places.nearest(["x", "a"], 3, at, GIT) for at in range(7)] == [4] * 7
    assert places.first(["a "], 0, GIT) == 1
    assert Places(["a ", "b", "a"]).first(["a"], 0, GIT) == 2


class Counted(bytes):
    """Bytes that count what ``find`` and ``count`` pass over."""

    passed = 0

    def find(self, sub, start=0, *end):
        found = super().find(sub, start, *end)
        Counted.passed += (found if found >= 0 else len(self)) - start
        return found

    def count(self, sub, start=0, *end):
        Counted.passed += (end[0] if end else len(self)) - start
        return super().count(sub, start, *end)

    def rfind(self, sub, start=0, *end):
        Counted.passed += len(self) - start
        return super().rfind(sub, start, *end)


@pytest.mark.parametrize("lines", [2_000, 20_000, 200_000])
def test_reading_near_the_end_passes_over_each_byte_a_few_times(lines):
    data, Counted.passed = "".join(f"{n:04}\n" for n in range(lines)).encode(), 0
    chosen = _Chosen(lines - 2, 10)
    for start in itertools.takewhile(lambda n: n < len(data), itertools.count(0, 1 << 20)):
        chosen.take(Counted(data[start : start + (1 << 20)]))
    chosen.end()

    assert chosen.lines == [f"{n:04}".encode() for n in range(lines - 3, lines)]
    assert Counted.passed <= 3 * len(data)


def test_the_end_of_a_long_file_is_read(work):
    (work / "long.txt").write_text("".join(f"line {n}\n" for n in range(1, 300_001)))

    reading = read_file(Folder(work), "long.txt", "long.txt", 299_999, 10)

    assert reading.text == "299999\tline 299999\n300000\tline 300000"
    assert reading.details["lines"] == 300_000


class Asked(Text):
    """A text that counts how often somebody looks for its line breaks, which reads it whole."""

    looks = 0

    @property
    def crlf(self):
        Asked.looks += 1
        return super().crlf


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_text_is_looked_through_for_its_line_breaks_once_and_not_for_every_line(end):
    (op,) = read_patch("--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n-line 0\n+first\n line 1\n")
    Asked.looks = 0

    out = _patched(Asked("".join(f"line {n}{end}" for n in range(2_000))), op)

    assert out.startswith(f"first{end}line 1{end}") and out.count(end) == 2_000
    assert Asked.looks <= 3


def test_a_new_line_among_both_kinds_of_breaks_gets_that_of_its_place():
    (op,) = read_patch("--- a/f\n+++ b/f\n@@ -1,3 +1,6 @@\n+top\n a\n+mid\n b\n c\n+end\n")

    assert _patched(Text("a\nb\r\nc\r\n"), op) == "top\na\nmid\r\nb\r\nc\r\nend\r\n"


@pytest.mark.parametrize("seed", range(8))
def test_the_diff_of_many_changes_in_a_long_file_makes_the_new_file_of_the_old(tmp_path, seed):
    dice = random.Random(seed)
    old = [f"line {n % 97}" if n % 11 else f"only {n}" for n in range(6_000)]
    new = list(old)
    for _ in range(60):
        at = dice.randrange(len(new) - 9)
        new[at : at + dice.randrange(4)] = [f"new {dice.random()}" for _ in range(dice.randrange(4))]
    block = new[100:140]
    new = [*new[:100], *new[140:5_000], *block, *new[5_000:]]
    (tmp_path / "f").write_text("\n".join(old) + "\n")
    changes = Changes(Folder(tmp_path), {})
    rel, _ = changes.look("f")
    changes.put(rel, ("\n".join(new) + "\n").encode())
    _, diff = summary(changes.made)
    assert "too many" not in diff and "longer" not in diff

    applied(tmp_path, diff)

    assert (tmp_path / "f").read_text() == "\n".join(new) + "\n"
    assert diff.count("\n-") < 200
